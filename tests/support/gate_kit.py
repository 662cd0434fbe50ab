"""A server that is somebody else's, behind the gate of the library, and who commands that gate."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from rollout_kit import Driven, driven, judged

from sluicegate import EmbeddedGate
from sluicegate.runtime.weights import Manifest
from sluicegate.statemachines.sorts import Mode


def digest_of(version: int) -> str:
    return f"weights-{version}"


class Published:
    """Versions as a controller knows them: what each rank must hold."""

    def __init__(self, run: str) -> None:
        self.run = run

    def publish(self, version: int) -> Published:
        self.version = version
        return self

    def rank_digests(self, ranks: Iterable[str]) -> dict[str, str]:
        return {rank: digest_of(self.version) for rank in ranks}


class TokenServer:
    """Makes tokens in small steps, each with the weights that it then has; it can stop between any two."""

    def __init__(self) -> None:
        self.version: int | None = None
        self.goes = asyncio.Event()
        self.goes.set()
        self.steps = 0
        self.rests = asyncio.Event()
        self.rests.set()
        self.installed: list[int] = []
        self.install_s = 0.01

    async def token(self) -> int:
        await self.goes.wait()
        self.steps += 1
        self.rests.clear()
        try:
            before = self.version
            await asyncio.sleep(0.001)
            assert before is not None
            assert before == self.version, "the weights changed under a token"
            return before
        finally:
            self.steps -= 1
            if not self.steps:
                self.rests.set()

    async def install(self, version: int, manifest: Manifest | None) -> str:
        assert not self.steps, "the device is not idle"
        self.version = None
        await asyncio.sleep(self.install_s)
        self.version = version
        self.installed.append(version)
        return digest_of(version)

    async def freeze(self, epoch: int) -> None:
        self.goes.clear()
        await self.rests.wait()

    async def continue_(self, epoch: int) -> None:
        self.goes.set()


async def until(holds: Callable[[], object], within: float = 20.0) -> None:
    """Return when it holds; looked at often, since nothing tells."""
    async with asyncio.timeout(within):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


KEEP = (Mode.WAIT, Mode.ABORT, Mode.KEEP)


def made_for(server: TokenServer, folder: Path, *, keep: bool = True, **changes: Any) -> EmbeddedGate:
    """A gate in front of the server, with its trace."""
    hooks = {"freeze": server.freeze, "continue_": server.continue_, "modes": KEEP} if keep else {}
    settings = {"install": server.install, "state": folder / "state", "trace": folder / "trace", "run": "library"}
    return EmbeddedGate("replica-0", **{**settings, **hooks, **changes})


@asynccontextmanager
async def commanded(gate: EmbeddedGate) -> AsyncIterator[Driven]:
    """The gate open, and claimed over its control port."""
    async with gate:
        ready = {
            "replica": gate.replica, "incarnation": gate.incarnation, "control": gate.control, "data": gate.control,
        }  # fmt: skip
        async with driven(ready, Published("library")) as controller:
            yield controller


def judge(folder: Path) -> None:
    """The tables and the rules between machines explain what the gate logged, of all its lives."""
    verdict = judged(Published("library"), sorted(map(str, (folder / "trace").iterdir())), {}, folder)  # pyright: ignore[reportArgumentType]
    assert verdict.valid, verdict.refusal
    assert verdict.instances["Gate"] >= 1
