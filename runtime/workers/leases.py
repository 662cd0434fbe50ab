"""The leases of one incarnation: what the Lease machine asks for, and where the engine's output goes.

Rules of this file:

- A lease goes its way whether its client listens or not: what comes from the engine and the disk
  becomes its events, and what it emits is done.
- The order at the end: the engine has ended it, its record is stored, its receipt is stored, the gate
  lets it go, and only then the client hears of it.
- An unknown outcome is found out in three ways, one after another: the engine acknowledges an abort; its
  list no longer has the request; or, behind the abort, every rank comes to rest. That rest says nothing
  about a drain: the gate is not told of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from ...protocol.host import MachineHost
from ...protocol.journal import Journal
from ...protocol.store import Add
from ...statemachines.lease import Lease
from ...statemachines.sorts import Ending
from ..engines import Engine, EngineError, Finish, FinishReason, InvalidRequest, Request
from ..tracelog import TraceLog
from .records import Admission, Closure, Forwarding, LeaseRecord, LeaseStore, OpenLease, Terminal, encode
from .run import Run

if TYPE_CHECKING:
    from .door import Call

_log = logging.getLogger(__name__)
_ENDINGS = {
    FinishReason.STOP: Ending.COMPLETED,
    FinishReason.LENGTH: Ending.COMPLETED,
    FinishReason.ABORTED: Ending.ABORTED,
    FinishReason.FAILED: Ending.FAILED,
}
LOST = "lost"
_OVER = frozenset({"ENDED", "SETTLED", "LOST"})
"""States in which a request neither runs nor will."""
RETRY_S = 0.5
"""At most so long is waited before an engine that could not say what became of a request is asked again."""


class GateSide(Protocol):
    """What a lease tells the gate."""

    def settle(self, lease: str) -> None: ...
    def orphan(self, lease: str, why: str) -> None: ...
    def give_up(self, lease: str) -> None: ...
    def frozen(self, lease: str, epoch: int) -> None: ...
    def thawed(self, lease: str, epoch: int) -> None: ...
    def fault(self, why: str) -> None: ...
    @property
    def is_installing(self) -> bool: ...


class Leases:
    """Performs what leases ask for. `host`, which `log` watches, and `let_in` are set before use.

    Times are in seconds: `patience` that a request may wait to go on to the engine, `unsettled` until the
    outcome of a lease counts as unknown, `reconcile` to find it out, `remember` that a closed lease can still be
    asked for.
    """

    def __init__(
        self, engine: Engine, records: LeaseStore, gate: GateSide, trace: TraceLog | None,
        *, patience: float, unsettled: float, reconcile: float, remember: float,
    ) -> None:  # fmt: skip
        self.host: MachineHost
        self.let_in: Callable[[], object]
        """Called when records can be stored again, after a request was told that they cannot."""
        self.log = None if trace is None else trace.of("Lease")
        self.gate, self.records = gate, records
        self.journal: Journal[Add] = Journal(records)
        self.runs: dict[str, Run] = {}
        self.open_of: Counter[str] = Counter()
        """How many leases of each client are open."""
        self._engine, self._trace = engine, trace
        self._patience, self._unsettled = patience, unsettled
        self._reconcile, self._remember = reconcile, remember
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._silent: dict[str, str] = {}
        self._open, self._turned_away = 0, False
        self._none_open = asyncio.Event()
        self._none_open.set()

    # -- the way of a lease ----------------------------------------------------------------------

    def is_used(self, lease: str) -> bool:
        """Whether an id was ever admitted here."""
        return lease in self.runs or self.records.is_known(lease)

    @property
    def open(self) -> int:
        """How many leases are open."""
        return self._open

    @property
    def trouble(self) -> str:
        """Why nothing can be stored at present, empty while the store works; the caller turns a request away."""
        failure = self.journal.failure
        self._turned_away |= failure is not None
        return "" if failure is None else str(failure)

    def begin(self, call: Call, epoch: int, version: int | None) -> Run:
        """A lease that the gate has just admitted."""
        run = Run(self, call.request, call.session, epoch, version, client=call.client, waits=call.waits)
        self.host.create(run.lease, session=run.session)
        self._watch(run)
        self._set_timer(run, self._unsettled, self._overdue)
        return run

    async def record_admission(self, run: Run, labels: Mapping[str, str]) -> None:
        """Return when the next life of this process would know of the lease."""
        life, prompt = self.host.incarnation, run.request.prompt_ids
        await self._stored(Admission(run.lease, run.session, life, run.epoch, run.version, prompt, labels))

    def told(self, run: Run) -> None:
        """Its client knows what it was admitted to: it goes on, or waits for its client to let it."""
        run.is_told = True
        if not run.waits:
            self.forward(run)
        elif not run.ending:
            self._set_timer(run, self._patience, self._tire)

    def proceed(self, run: Run) -> bool:
        """Its client lets it go on, once it is told; whether it does or did, and is not over."""
        is_over = bool(run.ending) or self._state(run) in _OVER
        if run.waits and not is_over:
            run.waits = False
            if run.is_told:
                self._set_timer(run, self._unsettled, self._overdue)
                self.forward(run)
        return not is_over

    def withdraw(self, lease: str) -> bool:
        """End a request that waits to go on, of which the engine knows nothing; whether it was one."""
        run = self.runs.get(lease)
        if run is None or not run.waits:
            return False
        run.cancel()
        return True

    def forward(self, run: Run) -> bool:
        """To the engine, if the table lets it, as soon as that is recorded: the client is not needed for it.

        Whether it is on its way.
        """
        if run.ending or run.step(Lease.Forward()).kind != "go":
            return False
        self._then(Forwarding(run.lease), lambda: self._send(run))
        return True

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

    def engine_lost(self, run: Run, why: str) -> None:
        """Nothing more is heard of it."""
        self._orphan(run, why)

    def installed(self) -> None:
        """No install goes on any more: what was lost meanwhile is to be found out."""
        silent, self._silent = self._silent, {}
        for lease, why in silent.items():
            self.orphan(lease, why)

    def lose_track(self, lease: str, why: str) -> None:
        """Nobody knows what became of a lease that the gate has orphaned."""
        run = self.runs.get(lease)
        if run is not None and not run.ending and run.step(Lease.Unknown(why=why)).kind == "go":
            run.why = why

    def orphan(self, lease: str, why: str) -> None:
        """Nobody knows what became of a lease; the gate hears of it, too."""
        if (run := self.runs.get(lease)) is not None:
            self._orphan(run, why)

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
            if not run.ending:
                # Whoever still listens is let go; the next life of this process accounts for it.
                run.ending, run.why = LOST, "this life of the replica ended before it"
                run.wake.set()
        await self.journal.close()

    # -- outputs of the machine ------------------------------------------------------------------

    async def abort_request(self, instance: str) -> None:
        try:
            async with asyncio.timeout(self._reconcile):
                await self._engine.abort(instance)
        except (TimeoutError, EngineError) as error:
            self._orphan(self.runs[instance], f"the engine did not answer an abort: {error!r}")

    async def reconcile(self, instance: str) -> None:
        run, clock = self.runs[instance], asyncio.get_running_loop().time
        until = clock() + self._reconcile
        while (left := until - clock()) > 0:
            if await self._is_over(run, min(left, self._reconcile / 3)):
                run.step(Lease.Reconciled())
                return
            await asyncio.sleep(min(self._reconcile / 20, RETRY_S))
        if run.step(Lease.GiveUp()).kind == "go":
            _log.error("lease %s: what became of it could not be found out", instance)
            self.gate.give_up(instance)
            self._then(Closure(instance, None), lambda: self._close(run, LOST))

    async def receipt(self, instance: str, ending: Ending, spans: Mapping[int, int]) -> None:
        run = self.runs[instance]
        await self._stored(Closure(instance, ending))
        # After it is stored: the next life of this process then never tells of it a second time.
        if self._trace is not None:
            self._trace.fact("Lease", instance, "receipt", session=run.session, ending=ending, spans=spans)
        self.gate.settle(instance)
        self._close(run, ending.value)

    # -- inside ----------------------------------------------------------------------------------

    async def _is_over(self, run: Run, each: float) -> bool:
        """Whether an orphaned request is known to have ended; each of the three ways gets `each` seconds."""
        is_given = False

        async def acknowledged() -> bool:
            nonlocal is_given
            is_given = True
            await self._engine.abort(run.lease)
            return True

        async def not_listed() -> bool:
            return run.lease not in await self._engine.running()

        async def at_rest() -> bool:
            # Proves something only behind an abort that is on its way.
            return is_given and set(await self._engine.quiesce()) >= set(self._engine.ranks)

        for way in (acknowledged, not_listed, at_rest):
            if run.ending or self._state(run) != "ORPHANED":
                # The engine has told of its end meanwhile.
                return True
            try:
                async with asyncio.timeout(each):
                    if await way():
                        return True
            except TimeoutError:
                _log.warning("lease %s: the engine did not answer (%s)", run.lease, way.__name__)
            except EngineError as error:
                is_given &= way is not acknowledged
                _log.warning("lease %s: the engine could not answer (%s): %r", run.lease, way.__name__, error)
        return False

    def _state(self, run: Run) -> str:
        return self.host.live(run.lease).state

    def _watch(self, run: Run) -> None:
        self.runs[run.lease] = run
        if run.client:
            self.open_of[run.client] += 1
        self._open += 1
        self._none_open.clear()

    def _send(self, run: Run) -> None:
        try:
            self._engine.generate(run.request, run)
        except InvalidRequest as error:
            run.finished(Finish(FinishReason.FAILED, str(error)))
        except EngineError as error:
            self._orphan(run, f"the engine did not take the request: {error}")

    def _set_timer(self, run: Run, after: float, then: Callable[[Run], None]) -> None:
        if run.timer is not None:
            run.timer.cancel()
        run.timer = asyncio.get_running_loop().call_later(after, then, run)

    def _tire(self, run: Run) -> None:
        if run.step(Lease.Cancel()).kind == "go":
            run.why = f"it was not told to proceed within {self._patience:g} s"

    def _overdue(self, run: Run) -> None:
        self._orphan(run, f"not settled within {self._unsettled:g} s")
        if not run.ending:
            # One that waits for the store is not unknown: it is looked at again.
            self._set_timer(run, self._unsettled, self._overdue)

    def _orphan(self, run: Run, why: str) -> None:
        """Nobody knows what became of it. What is frozen under an install does not run: it is found out after it."""
        if self.gate.is_installing:
            self._silent[run.lease] = why
        elif not run.ending and run.step(Lease.Unknown(why=why)).kind == "go":
            run.why = why
            self.gate.orphan(run.lease, why)

    def _close(self, run: Run, ending: str) -> None:
        run.ending = ending
        if run.timer is not None:
            run.timer.cancel()
        run.wake.set()
        if run.client:
            self.open_of[run.client] -= 1
            if not self.open_of[run.client]:
                del self.open_of[run.client]
        self._open -= 1
        if not self._open:
            self._none_open.set()
        later = asyncio.get_running_loop().call_later
        self._timers[run.lease] = later(self._remember, self._forget, run.lease)

    def _forget(self, lease: str) -> None:
        del self.runs[lease], self._timers[lease]
        self.host.drop(lease)

    async def _stored(self, record: LeaseRecord) -> None:
        ticket = self.journal.add(encode(record))
        if ticket is not None:
            ticket.then.append(self._works_again)
            await ticket.wait()

    def _works_again(self) -> None:
        if self._turned_away and self.journal.failure is None:
            self._turned_away = False
            self.let_in()

    def _then(self, record: LeaseRecord, do: Callable[[], object]) -> None:
        """Record, and go on when it is stored."""

        def go_on() -> None:
            try:
                do()
                self._works_again()
            except Exception as error:
                # Others wait for the same write; the replica's own state is in doubt.
                _log.exception("after the record of lease %s", record.lease)
                self.gate.fault(f"lease {record.lease} could not go on: {error!r}")

        ticket = self.journal.add(encode(record))
        if ticket is None:
            go_on()
        else:
            ticket.then.append(go_on)
