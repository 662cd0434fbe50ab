"""The leases of one incarnation: what the Lease machine asks for, and where the engine's output goes.

Rules of this file:

- A lease goes its way whether its client listens or not: what comes from the engine and the disk
  becomes its events, and what it emits is done.
- The order at the end: the engine has ended it, its record is stored, its receipt is stored, the gate
  lets it go, and only then the client hears of it.
- Tokens that the table ignores are neither recorded nor delivered.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, Protocol

from ...protocol.host import MachineHost
from ...protocol.journal import Journal
from ...statemachines.compiler import Outcome
from ...statemachines.lease import Lease
from ...statemachines.sorts import Ending
from ..engines import Engine, EngineError, Finish, FinishReason, InvalidRequest, Request, Token
from ..tracelog import TraceLog
from .records import Admission, Closure, Forwarding, LeaseRecord, LeaseStore, OpenLease, Terminal

_log = logging.getLogger(__name__)
_ENDINGS = {
    FinishReason.STOP: Ending.COMPLETED,
    FinishReason.LENGTH: Ending.COMPLETED,
    FinishReason.ABORTED: Ending.ABORTED,
    FinishReason.FAILED: Ending.FAILED,
}
LOST = "lost"


class GateSide(Protocol):
    """What a lease tells the gate."""

    def settle(self, lease: str) -> None: ...
    def orphan(self, lease: str, why: str) -> None: ...
    def give_up(self, lease: str) -> None: ...
    def frozen(self, lease: str, epoch: int) -> None: ...
    def thawed(self, lease: str, epoch: int) -> None: ...
    def fault(self, why: str) -> None: ...


class Run:
    """One lease on its way: a sink of the engine, and what its client has not heard yet."""

    __slots__ = (
        "_leases", "ending", "epoch", "fresh", "ids", "lease", "logprobs", "reason", "request", "session", "spans",
        "timer", "version", "wake", "why",
    )  # fmt: skip

    def __init__(self, leases: Leases, request: Request, session: str, epoch: int, version: int | None) -> None:
        self._leases = leases
        self.lease, self.session, self.request = request.request_id, session, request
        self.epoch, self.version = epoch, version
        """Of the gate, at the moment when it admitted the request."""
        self.ids: list[int] = []
        self.logprobs: list[float] = []
        self.spans: list[tuple[int, int]] = []
        self.fresh: list[Token] = []
        """Tokens that the client has not heard of."""
        self.reason = ""
        """How the engine ended it."""
        self.why = ""
        self.ending = ""
        """How the lease closed: an ending, or `lost`; empty while it is open."""
        self.wake = asyncio.Event()
        self.timer: asyncio.TimerHandle | None = None

    def step(self, event: Any) -> Outcome:
        return self._leases.host.step(self.lease, event, self.lease)

    def cancel(self) -> None:
        """The client no longer wants it."""
        if not self.ending:
            self.step(Lease.Cancel())

    # -- what the engine tells -------------------------------------------------------------------

    def tokens(self, tokens: Sequence[Token]) -> None:
        if self.ending:
            return
        for version, group in groupby(tokens, key=lambda t: t.version):
            made = list(group)
            if self.step(Lease.Progress(count=len(made), version=version)).kind != "stay":
                continue
            self.ids.extend(t.id for t in made)
            self.logprobs.extend(t.logprob for t in made)
            if self.spans and self.spans[-1][0] == version:
                self.spans[-1] = (version, self.spans[-1][1] + len(made))
            else:
                self.spans.append((version, len(made)))
            self.fresh.extend(made)
        self.wake.set()

    def suspended(self, epoch: int) -> None:
        if not self.ending:
            self.step(Lease.Frozen())
            self._leases.gate.frozen(self.lease, epoch)

    def continued(self, epoch: int) -> None:
        if not self.ending:
            self.step(Lease.Thawed())
            self._leases.gate.thawed(self.lease, epoch)

    def finished(self, finish: Finish) -> None:
        self._leases.engine_ended(self, finish)


class Leases:
    """Performs what leases ask for. `host`, which `log` watches, is set before use.

    Times are in seconds: `unsettled` until the outcome of a lease counts as unknown, `reconcile` to find
    it out, `remember` that a closed lease can still be asked for.
    """

    def __init__(
        self, engine: Engine, records: LeaseStore, gate: GateSide, trace: TraceLog | None,
        *, unsettled: float, reconcile: float, remember: float,
    ) -> None:  # fmt: skip
        self.host: MachineHost
        self.log = None if trace is None else trace.of("Lease")
        self.gate, self.records = gate, records
        self.journal: Journal[LeaseRecord] = Journal(records)
        self.runs: dict[str, Run] = {}
        self._engine, self._trace = engine, trace
        self._unsettled, self._reconcile, self._remember = unsettled, reconcile, remember
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._open = 0
        self._none_open = asyncio.Event()
        self._none_open.set()

    # -- the way of a lease ----------------------------------------------------------------------

    def is_used(self, lease: str) -> bool:
        """Whether an id was ever admitted here."""
        return lease in self.runs or self.records.is_known(lease)

    def begin(self, request: Request, session: str, epoch: int, version: int | None) -> Run:
        """A lease that the gate has just admitted."""
        run = Run(self, request, session, epoch, version)
        self.host.create(run.lease, session=session)
        self._watch(run)
        run.timer = asyncio.get_running_loop().call_later(self._unsettled, self._overdue, run)
        return run

    async def record_admission(self, run: Run, labels: Mapping[str, str]) -> None:
        """Return when the next life of this process would know of the lease."""
        life, prompt = self.host.incarnation, run.request.prompt_ids
        await self._stored(Admission(run.lease, run.session, life, run.epoch, run.version, prompt, labels))

    def forward(self, run: Run) -> None:
        """To the engine, if the table lets it, as soon as that is recorded: the client is not needed for it."""
        if run.ending or run.step(Lease.Forward()).kind != "go":
            return
        self._then(Forwarding(run.lease), lambda: self._send(run))

    def engine_ended(self, run: Run, finish: Finish) -> None:
        """The engine knows the end."""
        if run.ending:
            return
        if finish.reason is FinishReason.FAILED and not (health := self._engine.health()).ok:
            self.gate.fault(health.why)
        run.reason, run.why = run.reason or finish.reason.value, run.why or finish.why
        if run.step(Lease.Ended(ending=_ENDINGS[finish.reason])).kind == "go" and self._state(run) == "ENDED":
            ending = self.host.live(run.lease).ending
            record = Terminal(run.lease, ending, run.why, run.ids, run.logprobs, run.spans)
            self._then(record, lambda: run.step(Lease.Recorded()))

    def lose_track(self, lease: str, why: str) -> None:
        """Nobody knows what became of a lease that the gate has orphaned."""
        run = self.runs.get(lease)
        if run is not None and not run.ending and run.step(Lease.Unknown(why=why)).kind == "go":
            run.why = why

    async def account_for(self, dead: Sequence[OpenLease]) -> None:
        """Close every lease that an earlier life of this process left open; return when that is stored."""
        for lease in dead:
            state = "ENDED" if lease.ending else "FORWARDED" if lease.forwarded else "ADMITTED"
            ending = lease.ending or Ending.COMPLETED
            snapshot = Lease.initial(session=lease.session).replace(state=state, spans=lease.spans, ending=ending)
            self.host.adopt(lease.lease, snapshot)
            run = Run(self, Request(lease.lease, (), 0), lease.session, 0, None)
            self._watch(run)
            run.step(Lease.Recorded() if lease.ending else Lease.Gone())
            if self._state(run) == "LOST":
                run.why = f"{lease.incarnation} ended while it ran"
                self.gate.settle(run.lease)
                self._then(Closure(lease.lease, None), lambda run=run: self._close(run, LOST))
        await self._none_open.wait()

    async def all_closed(self, within: float) -> bool:
        """Wait until no lease is open, at most `within` seconds; whether none is."""
        try:
            async with asyncio.timeout(within):
                await self._none_open.wait()
        except TimeoutError:
            return False
        return True

    async def close(self) -> None:
        """Nothing is waited for any more. Raises StoreError if records could not be stored."""
        for timer in self._timers.values():
            timer.cancel()
        for run in self.runs.values():
            if run.timer is not None:
                run.timer.cancel()
        await self.journal.close()

    # -- outputs of the machine ------------------------------------------------------------------

    async def abort_request(self, instance: str) -> None:
        try:
            async with asyncio.timeout(self._reconcile):
                await self._engine.abort(instance)
        except (TimeoutError, EngineError) as error:
            self._orphan(self.runs[instance], f"the engine did not answer an abort: {error!r}")

    async def reconcile(self, instance: str) -> None:
        run = self.runs[instance]
        try:
            async with asyncio.timeout(self._reconcile):
                await self._engine.abort(instance)
        except (TimeoutError, EngineError) as error:
            _log.error("lease %s: not reconciled: %r", instance, error)
            if run.step(Lease.GiveUp()).kind == "go":
                self.gate.give_up(instance)
                self._then(Closure(instance, None), lambda: self._close(run, LOST))
        else:
            run.step(Lease.Reconciled())

    async def receipt(self, instance: str, ending: Ending, spans: Mapping[int, int]) -> None:
        run = self.runs[instance]
        await self._stored(Closure(instance, ending))
        # After it is stored: the next life of this process then never tells of it a second time.
        if self._trace is not None:
            self._trace.fact("Lease", instance, "receipt", session=run.session, ending=ending, spans=spans)
        self.gate.settle(instance)
        self._close(run, ending.value)

    # -- inside ----------------------------------------------------------------------------------

    def _state(self, run: Run) -> str:
        return self.host.live(run.lease).state

    def _watch(self, run: Run) -> None:
        self.runs[run.lease] = run
        self._open += 1
        self._none_open.clear()

    def _send(self, run: Run) -> None:
        try:
            self._engine.generate(run.request, run)
        except InvalidRequest as error:
            run.finished(Finish(FinishReason.FAILED, str(error)))
        except EngineError as error:
            self._orphan(run, f"the engine did not take the request: {error}")

    def _overdue(self, run: Run) -> None:
        self._orphan(run, f"not settled within {self._unsettled:g} s")

    def _orphan(self, run: Run, why: str) -> None:
        if not run.ending and run.step(Lease.Unknown(why=why)).kind == "go":
            run.why = why
            self.gate.orphan(run.lease, why)

    def _close(self, run: Run, ending: str) -> None:
        run.ending = ending
        if run.timer is not None:
            run.timer.cancel()
        run.wake.set()
        self._open -= 1
        if not self._open:
            self._none_open.set()
        later = asyncio.get_running_loop().call_later
        self._timers[run.lease] = later(self._remember, self._forget, run.lease)

    def _forget(self, lease: str) -> None:
        del self.runs[lease], self._timers[lease]
        self.host.drop(lease)

    async def _stored(self, record: LeaseRecord) -> None:
        ticket = self.journal.add(record)
        if ticket is not None:
            await ticket.wait()

    def _then(self, record: LeaseRecord, do: Callable[[], object]) -> None:
        """Record, and go on when it is stored."""

        def go_on() -> None:
            try:
                do()
            except Exception as error:
                # Others wait for the same write; the replica's own state is in doubt.
                _log.exception("after the record of lease %s", record.lease)
                self.gate.fault(f"lease {record.lease} could not go on: {error!r}")

        ticket = self.journal.add(record)
        if ticket is None:
            go_on()
        else:
            ticket.then.append(go_on)
