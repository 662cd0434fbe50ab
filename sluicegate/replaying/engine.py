"""An engine that does nothing by itself: what it is told is noted, and what it answers is decided outside."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from ..runtime.engines import AbortOutcome, Health, InstallFailed, Request, Resident, Sink
from ..runtime.weights import BucketSource, Manifest


class ScriptedEngine:
    """The engine of one replica. `told` is what it was asked to do, in order."""

    def __init__(self, ranks: Sequence[str]) -> None:
        self.ranks, self.caches = tuple(ranks), ()
        self.told: list[str] = []
        self._quiet: asyncio.Future[tuple[str, ...]] | None = None
        self._install: asyncio.Future[dict[str, str]] | None = None

    # -- what is decided outside -------------------------------------------------------------------

    def becomes_quiet(self) -> bool:
        """All ranks answer the open question; whether there was one."""
        return _answer(self._quiet, self.ranks)

    def holds(self, digests: dict[str, str]) -> bool:
        """All ranks answer the install that runs; whether there was one."""
        return _answer(self._install, digests)

    def breaks(self, why: str) -> bool:
        """The install that runs fails; whether there was one."""
        if self._install is None or self._install.done():
            return False
        self._install.set_exception(InstallFailed(why))
        return True

    # -- what a gate asks --------------------------------------------------------------------------

    def check(self, request: Request) -> None: ...

    def generate(self, request: Request, sink: Sink) -> None:
        self.told.append(f"generate {request.request_id}")

    async def abort(self, request_id: str) -> AbortOutcome:
        self.told.append(f"abort {request_id}")
        return AbortOutcome.STOPPED

    async def running(self) -> list[str]:
        return []

    async def freeze(self, epoch: int) -> list[str]:
        self.told.append(f"freeze {epoch}")
        return []

    async def continue_(self, epoch: int) -> bool:
        self.told.append(f"continue {epoch}")
        return True

    async def quiesce(self) -> tuple[str, ...]:
        self.told.append("quiesce")
        self._quiet = asyncio.get_running_loop().create_future()
        return await self._quiet

    async def stage(self, manifest: Manifest, source: BucketSource) -> None:
        self.told.append(f"stage {manifest.version}")

    async def commit(self, version: int) -> dict[str, str]:
        self.told.append(f"commit {version}")
        self._install = asyncio.get_running_loop().create_future()
        return await self._install

    async def resident_digest(self) -> Resident:
        return Resident(None, {})

    async def reset_caches(self) -> dict[str, bool]:
        return {}

    async def release_memory(self) -> None:
        self.told.append("release memory")

    async def restore_memory(self) -> None: ...

    def health(self) -> Health:
        return Health(True, "", None, False, 0, 0, None, None, 0, 0)

    async def close(self) -> None: ...


class NoBuckets:
    """The weights of a replay: every version is staged already, so that none is ever read."""

    def buckets(self, manifest: Manifest) -> Iterator[tuple[int, memoryview]]:
        return iter(())


def _answer(question: asyncio.Future[Any] | None, value: object) -> bool:
    if question is None or question.done():
        return False
    question.set_result(value)
    return True
