"""An engine that is made of blocks of somebody's code: what a gate asks of it, it does to them or has hooks for.

Rules of this file:

- A block that was let in is a request of this engine: it runs once the gate has forwarded it, and is over
  when its code has left it, never sooner. To abort it is to cancel the task that is in it.
- What only the server behind the blocks can do is a hook. Hooks that stop and continue it run one at a
  time, in the order in which the gate asked for them.
- An install that was begun and did not succeed leaves the weights in doubt for ever.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from ..engines import (
    AbortOutcome,
    EngineBusy,
    EngineError,
    Finish,
    FinishReason,
    Health,
    InstallFailed,
    NoStaging,
    Request,
    Resident,
    Sink,
)
from ..engines.base import require_caches_reset

if TYPE_CHECKING:
    from ..weights import BucketSource, Manifest, ManifestStore

_log = logging.getLogger(__name__)
Install = Callable[[int, "Manifest | None"], Awaitable[str | Mapping[str, str]]]
_EARLY = Finish(FinishReason.ABORTED, "the gate ended it before it began")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """What the server behind the blocks does itself; see `EmbeddedGate`. `longest`: seconds for a stop or a go."""

    install: Install
    freeze: Callable[[int], Awaitable[None]] | None = None
    continue_: Callable[[int], Awaitable[None]] | None = None
    quiesce: Callable[[], Awaitable[Iterable[str] | None]] | None = None
    release: Callable[[], Awaitable[None]] | None = None
    restore: Callable[[], Awaitable[None]] | None = None
    caches: Mapping[str, Callable[[], Awaitable[bool]]] = field(default_factory=dict)
    longest: float = 30.0


class Block:
    """One block, in the task that asks for it. It runs from when it was started until it is left."""

    __slots__ = ("begun", "has_cancelled", "is_aborted", "is_running", "lease", "over", "sink", "task", "version")

    def __init__(self, lease: str, task: asyncio.Task[object]) -> None:
        loop = asyncio.get_running_loop()
        self.lease, self.task = lease, task
        self.sink: Sink | None = None
        self.is_running = self.is_aborted = self.has_cancelled = False
        self.version: int | None = None
        """What labels the tokens that are made now."""
        self.begun: asyncio.Future[bool] = loop.create_future()
        """Whether it may run; false once it was ended before that."""
        self.over: asyncio.Future[None] = loop.create_future()

    def cancel(self) -> None:
        """Have its code end it, once."""
        if not self.is_aborted:
            self.is_aborted = True
            if self.is_running:
                self.has_cancelled = self.task.cancel()


class BlockEngine:
    """See `Engine`. `ranks` are those that the server behind the blocks has."""

    def __init__(self, ranks: Iterable[str], hooks: Hooks, manifests: ManifestStore | None) -> None:
        self.ranks, self.caches = tuple(ranks), tuple(hooks.caches)
        self.version: int | None = None
        self._hooks, self._manifests = hooks, manifests
        self._blocks: dict[str, Block] = {}
        self._frozen: int | None = None
        self._continued = -1
        self._order = asyncio.Lock()
        self._idle = asyncio.Event()
        self._idle.set()
        self._broken = ""
        self._resident = False
        self._running = self._tokens = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    # -- blocks ----------------------------------------------------------------------------------

    def expect(self, lease: str, task: asyncio.Task[object]) -> Block | None:
        """A block that asks to enter under this id: from now on an abort finds it. None if the id is taken."""
        if lease in self._blocks:
            return None
        block = self._blocks[lease] = Block(lease, task)
        return block

    def leave(self, block: Block, finish: Finish) -> None:
        """The block's code has left it, or never came into it."""
        if self._blocks.get(block.lease) is not block:
            return
        del self._blocks[block.lease]
        self._running -= block.is_running
        block.is_running = False
        self._look()
        block.over.set_result(None)
        if not block.begun.done():
            block.begun.set_result(False)
        if block.sink is not None:
            block.sink.finished(finish)

    def abandon(self, block: Block, finish: Finish) -> None:
        """The block no longer waits to begin; one that was not forwarded yet ends when it is."""
        block.is_aborted = True
        if block.sink is not None:
            self.leave(block, finish)

    def count(self, tokens: int) -> None:
        """So many more tokens were made."""
        self._tokens += tokens

    # -- what a gate asks ------------------------------------------------------------------------

    def check(self, request: Request) -> None:
        """Whatever a block does, its server judges."""

    def generate(self, request: Request, sink: Sink) -> None:
        """See `Engine.generate`: the block may begin. Raises EngineError for one that is not there."""
        block = self._blocks.get(request.request_id)
        if block is None:
            raise EngineError(f"there is no block {request.request_id!r}: it was left before it began")
        block.sink = sink
        if block.is_aborted or self._broken:
            self.leave(block, Finish(FinishReason.FAILED, self._broken) if self._broken else _EARLY)
        elif self._frozen is not None:
            sink.suspended(self._frozen)
        else:
            self._start(block)

    async def abort(self, request_id: str) -> AbortOutcome:
        """See `Engine.abort`."""
        block = self._blocks.get(request_id)
        if block is None:
            return AbortOutcome.FINISHED
        block.cancel()
        if block.sink is not None and not block.is_running:
            self.leave(block, _EARLY)
        if block.sink is None:
            # It has not been forwarded; when it is, it ends at once.
            return AbortOutcome.UNKNOWN
        await asyncio.shield(block.over)
        return AbortOutcome.STOPPED

    async def running(self) -> list[str]:
        """See `Engine.running`."""
        return list(self._blocks)

    async def freeze(self, epoch: int) -> list[str]:
        """See `Engine.freeze`. Without a hook for it nothing is stopped: blocks run to their end."""
        if self._hooks.freeze is None:
            _log.warning("epoch %d asks to keep what runs; this server cannot freeze it, so it is waited for", epoch)
            return []
        async with self._order:
            if epoch <= self._continued:
                return []
            if self._frozen is None or epoch > self._frozen:
                self._frozen = epoch
                async with asyncio.timeout(self._hooks.longest):
                    await self._hooks.freeze(epoch)
                self._look()
                for _, sink in self._forwarded():
                    sink.suspended(epoch)
            return [block.lease for block, _ in self._forwarded()]

    async def continue_(self, epoch: int) -> bool:
        """See `Engine.continue_`."""
        async with self._order:
            if self._frozen is not None and epoch < self._frozen:
                return False
            self._continued = max(self._continued, epoch)
            if self._frozen is not None and self._hooks.continue_ is not None:
                # First the labels: what the hook lets run is made by the weights that are there now.
                for block, _ in self._forwarded():
                    block.version = self.version
                async with asyncio.timeout(self._hooks.longest):
                    await self._hooks.continue_(epoch)
                self._frozen = None
                for block, sink in self._forwarded():
                    sink.continued(epoch)
                    if not block.is_running:
                        self._start(block)
                self._look()
            return True

    async def quiesce(self) -> tuple[str, ...]:
        """See `Engine.quiesce`."""
        await self._idle.wait()
        answered = None if self._hooks.quiesce is None else await self._hooks.quiesce()
        return self.ranks if answered is None else tuple(answered)

    async def stage(self, manifest: Manifest, source: BucketSource) -> None:
        """Blocks have a server that finds its weights itself."""
        raise NoStaging("this server gets its weights in its install hook")

    async def commit(self, version: int) -> dict[str, str]:
        """See `Engine.commit`: has the server install, and all its caches emptied."""
        if self._broken:
            raise EngineError(f"the server must be replaced: {self._broken}")
        if not self._idle.is_set():
            raise EngineBusy("cannot install while blocks run: drain or freeze first")
        manifest = None if self._manifests is None else await asyncio.to_thread(self._manifests.get, version)
        try:
            held = await self._hooks.install(version, manifest)
            if not isinstance(held, (str, Mapping)) or not held:
                raise EngineError(f"the install hook gave {held!r}: return the digest of what is resident")
            answers = {name: await reset() is True for name, reset in self._hooks.caches.items()}
            require_caches_reset(self.caches, answers)
        except (Exception, asyncio.CancelledError) as error:
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                raise
            # A hook may also pass on that something of its own was cancelled: that is a failure like any other.
            self._broken = f"the install of version {version} failed: {error!r}"
            self._resident = False
            raise InstallFailed(self._broken) from error
        self.version, self._resident = version, True
        return dict.fromkeys(self.ranks, held) if isinstance(held, str) else dict(held)

    async def resident_digest(self) -> Resident:
        """Only an install proves what a server holds."""
        raise EngineError("this server tells what it holds when it installs")

    async def reset_caches(self) -> dict[str, bool]:
        """See `Engine.reset_caches`."""
        return {name: await reset() is True for name, reset in self._hooks.caches.items()}

    async def release_memory(self) -> None:
        """See `Engine.release_memory`; a server without a hook for it keeps its memory, and rests."""
        if self._forwarded():
            raise EngineBusy(f"cannot release memory: {len(self._blocks)} blocks are not over")
        self._resident = False
        if self._hooks.release is not None:
            await self._hooks.release()

    async def restore_memory(self) -> None:
        """See `Engine.restore_memory`."""
        if self._hooks.restore is not None:
            await self._hooks.restore()

    def health(self) -> Health:
        """See `Engine.health`."""
        return Health(
            ok=not self._broken, why=self._broken, version=self.version, resident=self._resident,
            running=self._running, waiting=len(self._blocks) - self._running, frozen_epoch=self._frozen,
            step_age_s=None, steps=0, tokens=self._tokens,
        )  # fmt: skip

    async def close(self) -> None:
        """Has every block end; does not wait for those that will not."""
        for block in list(self._blocks.values()):
            block.cancel()
            if block.sink is not None and not block.is_running:
                self.leave(block, _EARLY)

    # -- inside ----------------------------------------------------------------------------------

    def _forwarded(self) -> list[tuple[Block, Sink]]:
        return [(block, block.sink) for block in self._blocks.values() if block.sink is not None]

    def _start(self, block: Block) -> None:
        block.version, block.is_running = self.version, True
        self._running += 1
        block.begun.set_result(True)
        self._look()

    def _look(self) -> None:
        if self._frozen is None and self._running:
            self._idle.clear()
        else:
            self._idle.set()
