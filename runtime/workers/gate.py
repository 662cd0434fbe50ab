"""What the gate of a replica asks for, done with the engine; and what engine and timer answer, as events.

Rules of this file:

- The cause of an answer names the question: `timer 3.0`, `quiesce 3`, `install 3`; a fault's, the replica.
- Nothing here decides whether a command is legal now: the table has, and it judges the answers too.
- What waits for the engine runs beside the gate's other outputs; commands reach the engine in the order
  in which they were emitted.
- What the engine cannot do leaves its device or weights in doubt: that is a fault, or a failed install. What
  it cannot answer at the moment leaves nothing in doubt: it is asked again, as long as the gate asks for it. So is
  an install whose version is not staged any more, or whose road is out of reach.
- An install has the engine's one place to stage for itself: whatever else is on its way there is ended.
- Why the gate was poisoned is kept for as long as this life lasts: the table only says that it is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from ...protocol.host import MachineHost
from ...protocol.tasks import Tasks
from ...statemachines.compiler import Outcome
from ...statemachines.gate import Gate
from ...statemachines.sorts import Mode
from ..engines import Engine, EngineBusy, EngineError, InstallFailed, NoStaging, NotStaged
from ..signals import Signal
from ..tracelog import TraceLog
from ..weights import OutOfReach
from .verifying import Proof, verify

if TYPE_CHECKING:
    from ..weights import BucketSource, Manifest, ManifestStore

_log = logging.getLogger(__name__)
WATCH_S, AGAIN_S = 0.5, 0.2
"""How often the engine is looked at while nothing is heard of it, and the pause before it is asked again."""


class StaleTerm(Exception):
    """Who asks was overruled: a controller of a higher term has claimed the gate."""


class Overtaken(Exception):
    """An install has the engine's place to stage; it can be asked again after it."""


class NotLent(Exception):
    """The device is not lent by this lend."""


class LeaseSide(Protocol):
    """What the gate tells leases."""

    def withdraw(self, lease: str) -> bool: ...
    def lose_track(self, lease: str, why: str) -> None: ...
    def orphan(self, lease: str, why: str) -> None: ...
    def installed(self) -> None: ...


class GateActions:
    """The one gate of a replica. Use as `async with`.

    Set before use: `host`, which `observe` watches beside the log; `leases`; `let_in`, which tries for requests that
    wait; `poisoned`, which is told when the gate is. Without `manifests` and `source` the engine finds
    the weights that it commits by itself.
    """

    def __init__(
        self, replica: str, engine: Engine, manifests: ManifestStore | None, source: BucketSource | None,
        trace: TraceLog | None, verify: float = 0.0,
    ) -> None:  # fmt: skip
        self.host: MachineHost
        self.leases: LeaseSide
        self.let_in: Callable[[], object]
        self.poisoned: Callable[[], Awaitable[None]]
        self.replica = replica
        self.why = ""
        """Why the gate is poisoned; empty while it is not."""
        self.proof = Proof()
        self._verify = verify
        self.log = None if trace is None else trace.of("Gate")
        self._engine, self._manifests, self._source = engine, manifests, source
        self._group = Tasks()
        self._running: set[asyncio.Task[None]] = set()
        self._stagings: dict[asyncio.Timeout, int] = {}
        """What ends each staging that is on its way, and its version."""
        self._question: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._released, self._freed = "", Signal()
        """The lend that memory was last freed for, and what tells of it."""

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        self._spawn(self._watch_engine())
        if self._verify:
            self._spawn(verify(self._engine, self.proof, self._verify, self._corrupt))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.rest()
        await self._group.__aexit__(kind, error, trace)

    def observe(
        self, instance: str, number: int, event: Any, before: str, after: str, outcome: Outcome, cause: str
    ) -> None:
        """Keeps why the gate is poisoned, and says so."""
        if after == "POISONED" and before != after:
            self.why = _why(event)
            facts = {
                "event": "poison", "replica": self.replica, "incarnation": self.host.incarnation,
                "by": type(event).__name__, "why": self.why, "before": before, "term": self.live.term,
                "epoch": self.live.epoch,
            }  # fmt: skip
            _log.error("%s is poisoned: %s", self.replica, self.why, extra={"facts": facts})

    def begin(self) -> None:
        """The gate of this incarnation: sealed, without weights."""
        self.host.create(self.replica, ranks=frozenset(self._engine.ranks))

    def rest(self) -> None:
        """Look after nothing any more: timer and tasks end."""
        if self._timer is not None:
            self._timer.cancel()
        for task in self._running:
            task.cancel()

    @property
    def live(self) -> Any:
        return self.host.live(self.replica)

    @property
    def is_installing(self) -> bool:
        """Whether weights change now."""
        return self.live.state == "INSTALLING"

    def step(self, event: Any, cause: str) -> Outcome:
        return self.host.step(self.replica, event, cause)

    # -- what leases tell ------------------------------------------------------------------------

    def admit(self, lease: str, pin: int | None) -> Outcome:
        return self.step(Gate.Admit(lease=lease, pin=pin), lease)

    def settle(self, lease: str) -> None:
        self.step(Gate.Settle(lease=lease), lease)

    def orphan(self, lease: str, why: str) -> None:
        self.step(Gate.Orphan(lease=lease, why=why), lease)

    def give_up(self, lease: str) -> None:
        self.step(Gate.GiveUp(lease=lease), lease)

    def frozen(self, lease: str, epoch: int) -> None:
        self.step(Gate.Frozen(lease=lease, epoch=epoch), lease)

    def thawed(self, lease: str, epoch: int) -> None:
        self.step(Gate.Thawed(epoch=epoch, lease=lease), lease)

    def fault(self, why: str) -> None:
        """Device or weights are in doubt."""
        self.step(Gate.Fault(why=why), self.replica)

    def _corrupt(self, why: str) -> None:
        """Weights that are served are not what was proved: also what runs on them ends."""
        self.fault(why)
        self._abort(frozenset(self.live.active))

    # -- outputs of the machine ------------------------------------------------------------------

    async def start_timer(self, instance: str, epoch: int, timer: int, window: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(window / 1000, self._expire, epoch, timer)

    async def start_drain(self, instance: str, epoch: int, mode: Mode) -> None:
        if mode is Mode.ABORT:
            self._abort(self.live.active)
        elif mode is Mode.KEEP:
            self._insist("a freeze", lambda: self._engine.freeze(epoch), lambda: self._is_draining(epoch))

    async def ask_quiesce(self, instance: str, epoch: int) -> None:
        if self._question is not None:
            self._question.cancel()
        self._question = self._insist("rest", lambda: self._quiesce(epoch), lambda: self._is_draining(epoch))

    async def start_install(self, instance: str, epoch: int, version: int) -> None:
        now = asyncio.get_running_loop().time()
        for end, staged in self._stagings.items():
            if staged != version and not end.expired():
                end.reschedule(now)
        self._spawn(self._install(epoch, version))

    async def release_memory(self, instance: str, lend: str) -> None:
        async def release() -> None:
            await self._engine.release_memory()
            self._released = lend
            self._freed.notify()

        self._insist("its memory", release, lambda: self.live.lent == lend)

    async def thaw_all(self, instance: str, epoch: int, leases: frozenset[str]) -> None:
        self._thaw(epoch)
        self.leases.installed()
        self.let_in()

    async def thaw(self, instance: str, epoch: int, lease: str) -> None:
        self._thaw(epoch)

    async def abort_suspended(self, instance: str, leases: frozenset[str]) -> None:
        self.leases.installed()
        self._abort(leases)
        self.let_in()
        await self.poisoned()

    async def abort_late(self, instance: str, lease: str) -> None:
        self._abort((lease,))

    # -- weights ---------------------------------------------------------------------------------

    async def until_released(self, lend: str) -> None:
        """Wait until the engine's memory is free for this lend. Raises NotLent where the gate has not lent it, or no
        longer has."""
        while self.live.lent == lend:
            if await self._freed.until(lambda: self._released == lend, AGAIN_S) and self.live.lent == lend:
                return
        raise NotLent(f"{self.replica} has not lent its device by {lend!r}, or no longer has")

    async def stage(self, version: int, term: int) -> Manifest:
        """Receive and verify a version beside the resident one, as the controller of `term` asks.

        Raises StaleTerm, Overtaken by an install of another version, FileNotFoundError, ManifestError, WeightsError,
        NoStaging where there is no road for weights, another EngineError while memory is lent; what is resident stays.
        """
        if term < self.live.term:
            raise StaleTerm(f"term {self.live.term} rules {self.replica}, term {term} asked: claim the gate first")
        if self.is_installing:
            raise Overtaken(f"weights are being installed: stage version {version} after it")
        end = asyncio.timeout(None)
        self._stagings[end] = version
        try:
            async with end:
                return await self._receive(version)
        except TimeoutError as error:
            if not end.expired():
                raise
            raise Overtaken(f"an install began before version {version} was staged: stage it after it") from error
        finally:
            del self._stagings[end]

    async def _receive(self, version: int) -> Manifest:
        if self._manifests is None or self._source is None:
            raise NoStaging(f"version {version} cannot be staged here: give manifests and a source of buckets")
        manifest = await asyncio.to_thread(self._manifests.get, version)
        if self.live.lent is None:
            # The device was given back, and nothing has been installed since.
            await self._engine.restore_memory()
        await self._engine.stage(manifest, self._source)
        return manifest

    async def _install(self, epoch: int, version: int) -> None:
        self.proof.clear()
        try:
            digests = await self._commit(epoch, version)
        except Exception as error:
            _log.exception("%s: the install of version %d failed", self.replica, version)
            for rank in self._engine.ranks:
                self.step(Gate.InstallFailed(epoch=epoch, rank=rank, why=str(error)), f"install {epoch}")
            return
        for rank in self._engine.ranks:
            if rank in digests:
                event = Gate.Installed(epoch=epoch, rank=rank, digest=digests[rank])
            else:
                event = Gate.InstallFailed(epoch=epoch, rank=rank, why="it did not say what it holds")
            self.step(event, f"install {epoch}")
        # One that was not what the controller named has poisoned the gate.
        self.proof.set(version, digests)

    async def _commit(self, epoch: int, version: int) -> dict[str, str]:
        """What the ranks hold once the version is resident; asked again while nothing is in doubt and it did not come.

        The gate's window bounds it.
        """
        while True:
            try:
                # Memory that was lent to the trainer, if it was.
                await self._engine.restore_memory()
                try:
                    return await self._engine.commit(version)
                except NotStaged:
                    await self._receive(version)
                    return await self._engine.commit(version)
            except (InstallFailed, EngineBusy, NoStaging):
                raise
            except (EngineError, OutOfReach) as error:
                if not self._engine.health().ok:
                    raise
                _log.warning("%s: the install of version %d was not answered: %r", self.replica, version, error)
                await asyncio.sleep(AGAIN_S)
                # Another install may have begun meanwhile, and what was committed is its own to say.
                if not self._is_installing(epoch):
                    raise

    # -- inside ----------------------------------------------------------------------------------

    async def _quiesce(self, epoch: int) -> None:
        for rank in await self._engine.quiesce():
            self.step(Gate.Quiesced(epoch=epoch, rank=rank), f"quiesce {epoch}")

    def _is_draining(self, epoch: int) -> bool:
        return self.live.state == "DRAINING" and self.live.epoch == epoch

    def _is_installing(self, epoch: int) -> bool:
        return self.is_installing and self.live.epoch == epoch

    def _thaw(self, epoch: int) -> None:
        # An engine that a later operation has frozen does not obey it: it may be asked for ever.
        self._insist("a continue", lambda: self._engine.continue_(epoch), lambda: self.live.state != "POISONED")

    def _abort(self, leases: Iterable[str]) -> None:
        for lease in sorted(leases):
            if not self.leases.withdraw(lease):
                self._spawn(self._end(lease))

    async def _end(self, lease: str) -> None:
        try:
            await self._engine.abort(lease)
        except EngineError as error:
            self.leases.orphan(lease, f"the engine did not answer an abort: {error!r}")

    def _expire(self, epoch: int, timer: int) -> None:
        self.step(Gate.Deadline(epoch=epoch, timer=timer), f"timer {epoch}.{timer}")
        for lease in sorted(self.live.orphaned):
            self.leases.lose_track(lease, "it was not continued in time")

    async def _watch_engine(self) -> None:
        """An engine that fails while nobody asks it anything is found out too."""
        while True:
            await asyncio.sleep(WATCH_S)
            if not (health := self._engine.health()).ok:
                self.fault(health.why)
                return

    def _insist(
        self, what: str, ask: Callable[[], Awaitable[object]], is_wanted: Callable[[], bool]
    ) -> asyncio.Task[None]:
        """Ask the engine beside the other outputs, again while it could not answer and it is wanted."""

        async def insist() -> None:
            while is_wanted():
                try:
                    await ask()
                    return
                except EngineError as error:
                    if not (health := self._engine.health()).ok:
                        self.fault(health.why)
                        return
                    _log.warning("%s: the engine was asked for %s and could not answer: %r", self.replica, what, error)
                await asyncio.sleep(AGAIN_S)

        return self._spawn(insist())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        async def run() -> None:
            try:
                await work
            except Exception as error:
                _log.exception("%s: the engine failed", self.replica)
                self.fault(f"the engine failed: {error!r}")

        task = self._group.create_task(run())
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        # One that is cancelled before it begins has never looked at it.
        task.add_done_callback(lambda _: work.close())
        return task


def _why(event: Any) -> str:
    """In words, what an event that poisons a gate says."""
    match event:
        case Gate.Poison() | Gate.Fault():
            return str(event.why)
        case Gate.InstallFailed():
            return f"rank {event.rank} could not install: {event.why}"
        case Gate.Installed():
            return f"rank {event.rank} holds {event.digest}, which the install did not name"
        case Gate.GiveUp():
            return f"what became of lease {event.lease} could not be found out"
        case Gate.Orphan():
            return f"weights were being installed when lease {event.lease} became unknown: {event.why}"
        case Gate.Deadline():
            return "its window ended while weights were in doubt or the device was lent"
    return type(event).__name__
