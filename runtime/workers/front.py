"""What stands in front of every engine: gate, leases, door and control server of one life of a replica.

Rules of this file:

- Nothing is served before every lease that an earlier life left open is accounted for.
- It ends in this order: nobody is let in, what runs is let run for a while, what still runs is aborted and
  settled, then machines, engine and stores are closed. Every wait is bounded.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from ...protocol.generated.gate_service import GATE, GateServicer
from ...protocol.generated.lease_service import LEASE, LeaseServicer
from ...protocol.host import MachineHost
from ...protocol.refusals import STORAGE
from ...protocol.server import Server, Service
from ...protocol.store import Durability, Keep
from ..engines import Engine
from ..tracelog import TraceLog
from ..watching.context import begin_front
from .config import require_positive
from .door import Call, Door, Refusal
from .gate import GateActions
from .leases import Leases
from .records import LeaseStore
from .run import Run
from .standing import FrontServicer

if TYPE_CHECKING:
    from ..weights import BucketSource, ManifestStore

_log = logging.getLogger(__name__)
QUICK_S = 0.5
"""How long control calls may go on at the end: those that are left only watch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What is bounded, and how; what is kept. Times are in seconds; each number is above 0, else
    ValueError is raised; but `hold` and `verify` may be 0.

    `hold_limit`: the most requests that wait at a closed gate; `hold`: the longest that one waits, 0 refuses
    at once; `per_client`: the most requests that one client has waiting and running; `proceed`: how long one
    that was admitted waits for its client to let it go on, where it asked for that, before it is cancelled;
    `lease`: how long a lease may be unsettled before its outcome counts as unknown; `reconcile`: how long it may
    take to find it out, before the replica is poisoned; `remember`: how long a settled one can still be asked
    for; `stop`: how long a graceful end may take; `durability`: what may be lost of the leases' records; `keep`:
    how long those of closed leases are kept.
    """

    hold_limit: int = 1024
    hold: float = 60.0
    per_client: int = 4096
    proceed: float = 30.0
    lease: float = 600.0
    reconcile: float = 30.0
    remember: float = 60.0
    stop: float = 5.0
    verify: float = 0.0
    durability: Durability = Durability.STRICT
    keep: Keep = field(default_factory=Keep)

    def __post_init__(self) -> None:
        require_positive(
            hold_limit=self.hold_limit, per_client=self.per_client, proceed=self.proceed, lease=self.lease,
            reconcile=self.reconcile, remember=self.remember, stop=self.stop,
        )  # fmt: skip
        if not self.hold >= 0:
            raise ValueError(f"hold is {self.hold}: give seconds, 0 to hold nobody")
        if not self.verify >= 0:
            raise ValueError(f"verify is {self.verify}: give seconds, 0 for never")


class OpenedEngine(Engine, Protocol):
    """An engine that runs between enter and exit."""

    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *error: object) -> None: ...


class Front:
    """Gate, leases and door of one life of a replica. Use as `async with`, once.

    `manifests` and `source` are the road on which the engine gets weights, none if it has its own. `server`
    serves Gate, Lease and how the front stands; keyword arguments that are left over are its own. Raises
    StoreError where `state` cannot be used, ServerError where it cannot listen.
    """

    def __init__(
        self, replica: str, incarnation: str, engine: OpenedEngine, state: Path, bounds: Bounds,
        *, trace: TraceLog | None = None, manifests: ManifestStore | None = None, source: BucketSource | None = None,
        **server: Any,
    ) -> None:  # fmt: skip
        self.replica, self.incarnation, self.engine, self.bounds = replica, incarnation, engine, bounds
        self._state, self._server = state, server
        self._trace, self._manifests, self._source = trace, manifests, source
        self._stack = AsyncExitStack()
        self.told: list[Callable[[Call, Run], None]] = []
        """Told of each request that was let in, with its lease, before anything is done for it."""
        self.records: LeaseStore
        self.gate: GateActions
        self.leases: Leases
        self.door: Door
        self.server: Server

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await self._open(stack)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *error: Any) -> bool | None:
        return await self._stack.__aexit__(*error)

    async def _open(self, stack: AsyncExitStack) -> None:
        bounds, trace = self.bounds, self._trace
        records = LeaseStore(self._state / "leases.sqlite", bounds.durability, keep=bounds.keep, sole=True)
        self.records = stack.enter_context(contextlib.closing(records))
        self.gate = gate = GateActions(
            self.replica, self.engine, self._manifests, self._source, trace, bounds.verify
        )
        self.leases = leases = Leases(
            self.engine, self.records, gate, trace,
            patience=bounds.proceed, unsettled=bounds.lease, reconcile=bounds.reconcile, remember=bounds.remember,
        )  # fmt: skip
        self.door = Door(
            self._admit, limit=bounds.hold_limit, longest=bounds.hold,
            per_client=bounds.per_client, open_of=lambda client: leases.open_of[client],
        )  # fmt: skip
        stack.push_async_callback(leases.close)
        gates = MachineHost(
            GATE, gate, incarnation=self.incarnation, grace=bounds.stop,
            observer=gate.log, lives=gate.log and gate.log.lives,
            on_failure=lambda _, output, error: gate.fault(f"{output} failed: {error!r}"),
        )  # fmt: skip
        gates.observe(gate.observe)
        lease_host = MachineHost(
            LEASE, leases, incarnation=self.incarnation, grace=bounds.stop,
            observer=leases.log, lives=leases.log and leases.log.lives,
            on_failure=lambda lease, output, error: gate.fault(f"lease {lease}: {output} failed: {error!r}"),
        )  # fmt: skip
        services = (GateServicer(gates), LeaseServicer(lease_host), FrontServicer(self))
        self.server = Server(services, grace=QUICK_S, **self._server)
        gate.host, gate.leases, gate.let_in, gate.poisoned = gates, leases, self.door.let_in, self._poisoned
        leases.host, leases.let_in = lease_host, self.door.let_in
        await stack.enter_async_context(gate)
        await stack.enter_async_context(gates)
        await stack.enter_async_context(lease_host)
        await stack.enter_async_context(self.engine)
        stack.push_async_callback(self._rest)
        stack.callback(begin_front(self))
        gate.begin()
        await leases.account_for(self.records.open_leases())
        await stack.enter_async_context(self.server)
        stack.callback(self.door.shut)

    @asynccontextmanager
    async def serving(self, service: Service, **server: Any) -> AsyncIterator[Server]:
        """Serve requests too; on leaving nobody is let in any more, and what runs gets its time."""
        async with Server([service], grace=self.bounds.stop, **server) as data:
            try:
                yield data
            finally:
                self.door.shut()

    async def enter(self, call: Call) -> Run:
        """Admit a request, at once or after waiting, and record that. Raises Refusal."""
        run = await self.door.enter(call)
        try:
            await self.leases.record_admission(run, call.labels)
        except BaseException:
            run.cancel()
            raise
        return run

    def _admit(self, call: Call) -> Run | Refusal:
        """Gate and lease step together."""
        if call.chosen and self.leases.is_used(call.lease):
            return Refusal("reused", f"lease {call.lease!r} was used before: take a new id", retry=False)
        gate = self.gate.live
        if gate.state != "POISONED" and (trouble := self.leases.trouble):
            return Refusal(STORAGE, trouble, retry=True)
        outcome = self.gate.admit(call.lease, call.pin)
        if outcome.refused:
            text = f"{outcome.text}: {self.gate.why}" if gate.state == "POISONED" else outcome.text
            return Refusal(outcome.reason, text, retry=outcome.retry)
        try:
            run = self.leases.begin(call, gate.epoch, gate.version)
        except BaseException:
            # Nobody else will: a lease that never began would hold up every drain.
            self.gate.settle(call.lease)
            raise
        for tell in self.told:
            try:
                tell(call, run)
            except Exception:
                _log.exception("lease %s: who is told of it failed, and it goes on", call.lease)
        return run

    async def _poisoned(self) -> None:
        await self.server.set_serving(False, GateServicer.SERVICE)

    async def _rest(self) -> None:
        """Nobody calls any more: let leases close, then end the engine, which ends what is left."""
        await self.leases.all_closed(self.bounds.stop)
        self.gate.rest()
        await self.engine.close()
        if not await self.leases.all_closed(self.bounds.stop):
            _log.error("leases are still open: the next life of this replica accounts for them")
