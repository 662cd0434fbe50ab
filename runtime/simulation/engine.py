"""An engine that makes tokens as it is told to, and notes what no engine should be asked for.

Rules of this file:

- It obeys as an engine does (`runtime/engines/base.py`) unless a script says otherwise; a script is what
  is awaited before a command is obeyed, and may wait, fail or never end.
- A token's id says which weights made it and its place in its request, whatever its label says.
- `wrong` is what happened on the device that must not: it is the judge, the gate's table is not asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Any, Self

from ..engines import (
    AbortOutcome,
    EngineBusy,
    Finish,
    FinishReason,
    Health,
    InstallFailed,
    NotStaged,
    Request,
    Resident,
    Sink,
    Token,
)
from ..signals import Signal
from ..weights import BucketSource, Manifest

Script = Callable[[], Awaitable[object]]
PLACES = 1000
"""Token ids are the version times this, plus the place of the token in its request."""
NEVER = float("inf")


class Place(StrEnum):
    """Where a request is."""

    SIDE = "side"
    """In a queue beside the scheduler."""
    RUNNING = "running"
    REMOTE = "remote"
    """Parked until a transfer from another machine has come."""


@dataclass(slots=True)
class Held:
    """A request that the engine has."""

    request: Request
    sink: Sink
    place: Place
    made: int = 0


def made_by(token: int) -> int:
    """The version of the weights that made a token."""
    return token // PLACES


def place_of(token: int) -> int:
    """The place of a token in its request, from 0."""
    return token % PLACES


async def never() -> None:
    """A script for what is never answered."""
    await asyncio.Event().wait()


def after(seconds: float) -> Script:
    """A script for what takes so long."""
    return lambda: asyncio.sleep(seconds)


class ScriptedEngine:
    """One replica's engine, of some ranks. While it is entered it makes a token every `pace` seconds for each
    request that runs, by itself; none for `pace` 0: then `step` does.

    What scripts may change: `enters` (where a request goes), `script` (by name of a command; `answer`: before
    ranks that are idle have said so), `ignores`
    (ranks that load nothing and say that they did), `refuses` (ranks that fail to load, and why), `silent`
    (ranks that never answer that they are idle), `passes` (ranks whose device still computes), `broken` (why
    it no longer works), `fragile` (it breaks by an abort of what it does not have).
    """

    caches = ("kv",)

    def __init__(self, ranks: Sequence[str] = ("0",), *, pace: float = 0.01) -> None:
        self.ranks, self.pace = tuple(ranks), pace
        self.held: dict[str, Held] = {}
        self.over: dict[str, FinishReason | None] = {}
        self.told: list[str] = []
        self.wrong: list[str] = []
        self.loaded: dict[str, int | None] = dict.fromkeys(self.ranks)
        """The version of the weights on each rank's device."""
        self.staged: dict[int, str] = {}
        self.enters: Callable[[Request], Place] = lambda request: Place.RUNNING
        self.script: dict[str, Script] = {}
        self.ignores: set[str] = set()
        self.refuses: dict[str, str] = {}
        self.silent: set[str] = set()
        self.passes: set[str] = set()
        self.broken = ""
        self.fragile = False
        self.made = 0
        self._ended: dict[str, Held] = {}
        self._changed = Signal()
        self._frozen: int | None = None
        self._continued = -1
        self._resident: int | None = None
        self._runs: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        if self.pace:
            self._runs = asyncio.create_task(self._run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # -- what a script does --------------------------------------------------------------------------

    @property
    def runnable(self) -> bool:
        """Whether a step would make a token."""
        return self._frozen is None and any(h.place is Place.RUNNING for h in self.held.values())

    def step(self) -> None:
        """One pass: a token for every request that runs."""
        if self._frozen is not None or self.broken:
            return
        for held in [h for h in self.held.values() if h.place is Place.RUNNING]:
            self._make(held)

    def begin_pass(self, *ranks: str) -> None:
        """These ranks' devices compute, whatever the requests do."""
        self.passes.update(ranks)

    def end_pass(self, *ranks: str) -> None:
        self.passes.difference_update(ranks)
        self._changed.notify()

    def answers(self, *ranks: str) -> None:
        """These ranks answer from now on."""
        self.silent.difference_update(ranks)
        self._changed.notify()

    def recover(self, version: int, other: ScriptedEngine) -> None:
        """Begin with weights that an earlier engine had."""
        self.loaded = dict.fromkeys(self.ranks, version)
        self._resident, self.staged[version] = version, other.staged[version]

    def echo(self, lease: str) -> None:
        """A token comes of a request that has ended."""
        held = self._ended[lease]
        held.sink.tokens([Token((self._resident or 0) * PLACES + held.made, -1.0, self._resident or 0)])

    # -- what a gate asks ----------------------------------------------------------------------------

    def check(self, request: Request) -> None: ...

    def generate(self, request: Request, sink: Sink) -> None:
        lease = request.request_id
        self.told.append(f"generate {lease}")
        held = Held(request, sink, self.enters(request))
        if lease in self.held or self.over.get(lease) is not None:
            self.wrong.append(f"{lease} came a second time")
        elif lease in self.over:
            sink.finished(Finish(FinishReason.ABORTED, "it was aborted before it arrived"))
        elif self.broken or self._resident is None:
            self.over[lease] = FinishReason.FAILED
            sink.finished(Finish(FinishReason.FAILED, self.broken or "no weights"))
        else:
            self.held[lease] = held
            if self._frozen is not None:
                sink.suspended(self._frozen)
            self._changed.notify()

    async def abort(self, request_id: str) -> AbortOutcome:
        await self._obey("abort", request_id)
        held = self.held.get(request_id)
        if held is None:
            over = self.over.get(request_id)
            if self.fragile:
                self.broken = f"an abort of {request_id}, which it does not have"
            self.over.setdefault(request_id, None)
            return AbortOutcome.UNKNOWN if over is None else AbortOutcome.FINISHED
        self._end(held, Finish(FinishReason.ABORTED, "aborted"))
        return AbortOutcome.STOPPED

    async def running(self) -> list[str]:
        return list(self.held)

    async def freeze(self, epoch: int) -> list[str]:
        await self._obey("freeze", epoch)
        if epoch <= self._continued:
            return []
        if self._frozen is None or epoch > self._frozen:
            self._frozen = epoch
            for held in list(self.held.values()):
                held.sink.suspended(epoch)
            self._changed.notify()
        return list(self.held)

    async def continue_(self, epoch: int) -> bool:
        await self._obey("continue", epoch)
        if self._frozen is not None and epoch < self._frozen:
            return False
        self._continued = max(self._continued, epoch)
        if self._frozen is not None:
            self._frozen = None
            for held in list(self.held.values()):
                held.sink.continued(epoch)
            self._changed.notify()
        return True

    async def quiesce(self) -> tuple[str, ...]:
        await self._obey("quiesce", "")
        await self._changed.until(
            lambda: not (self._frozen is None and self.held) and not self.passes and not self.silent >= {*self.ranks},
            NEVER,
        )
        idle = tuple(rank for rank in self.ranks if rank not in self.silent)
        await self._obey("answer", idle)
        return idle

    async def stage(self, manifest: Manifest, source: BucketSource) -> None:
        await self._obey("stage", manifest.version)
        self.staged[manifest.version] = manifest.digest

    async def commit(self, version: int) -> dict[str, str]:
        if version not in self.staged:
            raise NotStaged(f"version {version} is not staged")
        if self.passes or (self._frozen is None and self.held):
            busy = ", ".join(sorted(self.passes | self.held.keys()))
            self.wrong.append(f"version {version} was installed under {busy}")
        self._resident = None
        try:
            await self._obey("commit", version)
            if self.refuses:
                self.loaded |= {rank: version for rank in self.ranks if rank not in self.refuses}
                raise InstallFailed("; ".join(f"rank {rank}: {why}" for rank, why in self.refuses.items()))
        except Exception as error:
            self.broken = f"the install of version {version} failed: {error}"
            raise InstallFailed(self.broken) from error
        self.loaded |= {rank: version for rank in self.ranks if rank not in self.ignores}
        self._resident = version
        return {rank: self._digest(held) for rank, held in self.loaded.items()}

    async def resident_digest(self) -> Resident:
        return Resident(self._resident, {rank: self._digest(held) for rank, held in self.loaded.items()})

    async def reset_caches(self) -> dict[str, bool]:
        return dict.fromkeys(self.caches, True)

    async def release_memory(self) -> None:
        await self._obey("release", "")
        if self.held:
            self.wrong.append(f"memory was released under {', '.join(self.held)}")
            raise EngineBusy("requests are held")
        self._resident = None
        self.loaded = dict.fromkeys(self.ranks)

    async def restore_memory(self) -> None: ...

    def health(self) -> Health:
        running = sum(h.place is Place.RUNNING for h in self.held.values())
        return Health(
            ok=not self.broken, why=self.broken, version=self._resident, resident=self._resident is not None,
            running=running, waiting=len(self.held) - running, frozen_epoch=self._frozen, step_age_s=None,
            steps=self.made, tokens=self.made,
        )  # fmt: skip

    async def close(self) -> None:
        if self._runs is not None:
            self._runs.cancel()
        for held in list(self.held.values()):
            self._end(held, Finish(FinishReason.FAILED, "the engine was closed"))

    # -- inside --------------------------------------------------------------------------------------

    async def _obey(self, command: str, about: Any) -> None:
        self.told.append(f"{command} {about}".rstrip())
        if script := self.script.get(command):
            await script()

    async def _run(self) -> None:
        while True:
            await self._changed.until(lambda: self.runnable and not self.broken, NEVER)
            await asyncio.sleep(self.pace)
            self.step()

    def _make(self, held: Held) -> None:
        versions = {*self.loaded.values()}
        if len(versions) > 1 or None in versions:
            self.wrong.append(f"{held.request.request_id}: a token was made by {self.loaded}")
        version = self.loaded[self.ranks[0]] or 0
        self.made += 1
        token = Token(version * PLACES + held.made, -1.0, self._resident or 0)
        held.made += 1
        held.sink.tokens([token])
        if held.made >= held.request.max_new_tokens:
            self._end(held, Finish(FinishReason.LENGTH))

    def _end(self, held: Held, finish: Finish) -> None:
        lease = held.request.request_id
        del self.held[lease]
        self.over[lease] = finish.reason
        self._ended[lease] = held
        held.sink.finished(finish)
        self._changed.notify()

    def _digest(self, version: int | None) -> str:
        return "" if version is None else self.staged.get(version, "")
