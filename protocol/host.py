"""The one place where live machines step in a process: instances of one machine and what follows a step.

Rules of this file:

- A step is synchronous: the replay of a repeat, the step itself, its record for the journal and the
  queueing of its outputs happen with no await between them, so that nothing can come between and no
  cancellation leaves half of it.
- Outputs run after the step, in order, one at a time for an instance; events that a handler raises
  are whole steps of their own, and what they cause is queued behind.
- What follows a step is held back until the step, and every stored step before it, is on the disk:
  answers, outputs and what watchers see. Steps that are not stored wait for nothing.
- Each sender gets the outcome of its own event.
- Observers see and do not rule: what one raises is logged, and the step and all that follows it go on.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable
from contextvars import ContextVar
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

from ..statemachines.compiler import Outcome
from .journal import Journal, Ticket
from .steps import ANSWERS, ROOM, Answer, Beside, Record, Saved, Steps, decode_saved
from .store import MemoryStore, Store
from .tasks import Tasks
from .watch import Change, Watcher
from .wire import Wire, outcome_of

_log = logging.getLogger(__name__)

H = TypeVar("H")
P = ParamSpec("P")
Observer = Callable[[str, int, Any, str, str, Outcome, str], None]
"""Called at every step: instance, number after it, event, state before, state after, outcome, cause."""
Lives = Callable[[str, Any, bool], None]
"""Called when an instance begins, with its live machine and whether it goes on from a snapshot, and when
it is dropped, with None."""

_cause: ContextVar[str] = ContextVar("cause", default="")
_NOBODY: frozenset[Watcher] = frozenset()


def current_cause() -> str:
    """In a handler: what caused the step whose output it carries out (an operation or lease id)."""
    return _cause.get()


class UnknownInstance(LookupError):
    """The host has no such instance."""


class PayloadMismatch(ValueError):
    """An operation id came a second time with another request."""


class Slot:
    """One instance: its live machine, the number of its last change, and what waits behind its steps."""

    __slots__ = ("held", "instance", "live", "message", "number", "outbox", "runner", "ticket", "watchers")

    def __init__(self, instance: str, live: Any, number: int) -> None:
        self.instance, self.live, self.number = instance, live, number
        self.message: tuple[int, Any] = (-1, None)
        """The number and message of the last snapshot that was asked for."""
        self.ticket: Ticket | None = None
        """The last stored step, while it is on its way to the disk."""
        self.held: deque[tuple[Ticket, tuple[Any, ...], Change | None, str]] | None = None
        """What follows steps at and after that: ticket, outputs, change, cause. An empty one would take more memory
        than all else of an instance that is at rest."""
        self.outbox: deque[tuple[Any, str]] | None = None
        """Outputs that wait for the runner."""
        self.runner: asyncio.Task[None] | None = None
        self.watchers: frozenset[Watcher] = _NOBODY


class MachineHost:
    """Owns the live instances of one machine. Use as `async with MachineHost(...) as host`.

    `handlers` has one async method per output of the machine, called as `method(instance, *fields)`.
    A handler that raises ends the host with its exception, unless `on_failure(instance, output, error)`
    is given and returns. `incarnation` names this life of the process; `store` keeps answers and
    snapshots, memory if not given, for as long as `ANSWERS` and `ROOM` say; `observer` sees every step,
    `lives` every beginning and end of an instance; what they raise is logged. On leaving, queued
    outputs get `grace` seconds to run.
    """

    def __init__(
        self,
        wire: Wire[H],
        handlers: H,
        *,
        incarnation: str,
        store: Store | None = None,
        observer: Observer | None = None,
        lives: Lives | None = None,
        on_failure: Callable[[str, Any, Exception], None] | None = None,
        grace: float = 5.0,
    ) -> None:
        self.wire, self.incarnation = wire, incarnation
        self.steps = Steps(store if store is not None else MemoryStore(ANSWERS, room=ROOM))
        self.journal: Journal[Record | Beside] = Journal(self.steps)
        self._observers = [observer] if observer is not None else []
        self._lives = [lives] if lives is not None else []
        self._said = ""
        self._on_failure, self._grace = on_failure, grace
        self._slots: dict[str, Slot] = {}
        self._open: dict[tuple[str, str], tuple[Answer, Ticket]] = {}
        self._handlers = {output: getattr(handlers, name) for output, name in wire.handlers}
        self._group = Tasks()

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                await self._finish()
            for slot in self._slots.values():
                self._end(slot)
            await self._group.__aexit__(kind, error, trace)
        finally:
            await self.journal.close()

    async def _finish(self) -> None:
        """Let what was queued run, in the time that is granted; then stop it."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._grace
        await self.journal.flush(self._grace)
        while runners := [s.runner for s in self._slots.values() if s.runner is not None]:
            _, late = await asyncio.wait(runners, timeout=max(0.0, until - loop.time()))
            for runner in late:
                runner.cancel()

    # -- instances -------------------------------------------------------------------------------

    def create(self, instance: str, **given: Any) -> None:
        """A new instance in the initial state; `given` are the fields declared `.given()`.

        Raises ValueError if there is one of this name.
        """
        self._add(instance, self.wire.machine.Live(**given), 0)

    def adopt(self, instance: str, snapshot: Any) -> None:
        """A new instance with the content of `snapshot`. Raises ValueError if there is one of this name."""
        self._add(instance, snapshot.live(), 0, True)

    def restore(self, instance: str) -> bool:
        """Go on from the last stored snapshot, with its number; whether there was one."""
        saved = self.steps.saved(self.wire.name, instance)
        if saved is not None:
            self._go_on(instance, saved)
        return saved is not None

    def restore_all(self, instances: Iterable[str]) -> None:
        """`restore` each of these of which there is a snapshot; all that are stored are read at once."""
        found = self.steps.all_saved(self.wire.name)
        for instance in instances:
            if (saved := found.get(instance)) is not None:
                self._go_on(instance, decode_saved(saved))

    def drop(self, instance: str) -> None:
        """Forget an instance that has ended: its queued outputs still run, its answers are kept."""
        slot = self._slots.pop(instance, None)
        if slot is not None:
            self._end(slot)
            self._show(self._lives, instance, None, False)

    def __contains__(self, instance: str) -> bool:
        return instance in self._slots

    def instances(self) -> list[str]:
        return list(self._slots)

    def live(self, instance: str) -> Any:
        """The live machine, to be read. Raises UnknownInstance."""
        return self._slot(instance).live

    def snapshot(self, instance: str) -> tuple[int, Any]:
        """The number and an immutable copy of the instance. Raises UnknownInstance."""
        slot = self._slot(instance)
        return slot.number, slot.live.snapshot()

    def observe(self, also: Observer, lives: Lives | None = None) -> None:
        """Let another observer see every step, and `lives` every beginning and end, after those that are there."""
        self._observers.append(also)
        if lives is not None:
            self._lives.append(lives)

    # -- steps -----------------------------------------------------------------------------------

    def step(self, instance: str, event: Any, cause: str = "", *, noted: bool = False) -> Outcome:
        """Step now, and wait for no store: the way of the hot path. Raises UnknownInstance.

        What is `noted` is stored with the next step that has to be, so that a next life most likely knows of it.
        """
        slot = self._slot(instance)
        cause = cause or _cause.get()
        number = slot.number
        outcome = self._step(slot, event, cause)
        if noted and slot.number != number:
            saved = Saved(self.incarnation, slot.number, self._message(slot).SerializeToString())
            self.journal.add(Record(self.wire.name, instance, "", None, saved), rides=True)
        if outcome.outputs or slot.watchers:
            self._follow(slot, event, outcome, cause, number)
        return outcome

    async def apply(
        self, instance: str, event: Any, *, operation_id: str = "", durable: bool = False, cause: str = ""
    ) -> Outcome:
        """Step; return when the step is on the disk if it is an operation or `durable`.

        With an operation id a repeat gets the stored outcome, without its outputs. The step itself is
        made at once: who stops waiting undoes nothing. Raises UnknownInstance, PayloadMismatch.
        """
        if not (operation_id or durable):
            return self.step(instance, event, cause)
        if operation_id:
            payload = repr(event).encode()
            done = self.recall(instance, operation_id, payload)
            if done is None:
                done = self.operate(instance, event, operation_id, payload, cause)
            reply, ticket = done
            outcome = outcome_of(reply)
        else:
            outcome, _, ticket = self._store(self._slot(instance), event, "", b"", cause or _cause.get())
        if ticket is not None:
            await ticket.wait()
        return outcome

    def recall(self, instance: str, operation_id: str, payload: bytes) -> tuple[Any, Ticket | None] | None:
        """The reply that this operation had, marked as replayed, and its ticket while it is being stored.

        `payload` stands for the whole request. Raises PayloadMismatch if the id had another one.
        """
        answer, ticket = self._open.get((instance, operation_id), (None, None))
        if answer is None:
            answer = self.steps.answer(self.wire.name, instance, operation_id)
            if answer is None:
                return None
        if answer.payload != payload:
            raise PayloadMismatch(f"operation {operation_id} was another request: take a new id for a new request")
        reply = self.wire.reply.FromString(answer.reply)
        reply.replayed = True
        return reply, ticket

    def operate(
        self, instance: str, event: Any, operation_id: str, payload: bytes, cause: str = ""
    ) -> tuple[Any, Ticket | None]:
        """Step as a new operation: the reply, and the ticket to wait for before anyone is told of it.

        Raises UnknownInstance.
        """
        _, reply, ticket = self._store(self._slot(instance), event, operation_id, payload, cause or operation_id)
        return reply, ticket

    def present(self, instance: str) -> tuple[Any, Ticket | None]:
        """A reply that only shows the instance, and the ticket of its last stored step.

        Raises UnknownInstance.
        """
        slot = self._slot(instance)
        reply = self.wire.reply(
            instance=instance, incarnation=self.incarnation, number=slot.number, snapshot=self._message(slot)
        )
        return reply, slot.ticket

    async def watch(self, instance: str) -> AsyncGenerator[Any, None]:
        """Transitions as messages: first the instance as it is, then each change; ends when it is dropped.

        Changes that come faster than they are read are one: a fresh snapshot stands for them. Raises UnknownInstance.
        """
        slot = self._slot(instance)
        watcher = Watcher()
        slot.watchers |= {watcher}
        last = -2
        try:
            while (change := await watcher.next()) is not None:
                if change.number <= last:
                    continue
                transition = self._transition(slot, change, last)
                if slot.ticket is not None:
                    await slot.ticket.wait()
                last = transition.number
                yield transition
        finally:
            slot.watchers -= {watcher}

    # -- inside ----------------------------------------------------------------------------------

    def _go_on(self, instance: str, saved: Saved) -> None:
        snapshot = self.wire.value(self.wire.snapshot.FromString(saved.snapshot))
        self._add(instance, snapshot.live(), saved.number, True)

    def _add(self, instance: str, live: Any, number: int, goes_on: bool = False) -> None:
        if instance in self._slots:
            raise ValueError(f"{self.wire.name} {instance} is there already: drop it first, or take another name")
        self._slots[instance] = Slot(instance, live, number)
        self._show(self._lives, instance, live, goes_on)

    def _slot(self, instance: str) -> Slot:
        slot = self._slots.get(instance)
        if slot is None:
            raise UnknownInstance(f"no {self.wire.name} is named {instance!r} here: ask where it lives now")
        return slot

    def _end(self, slot: Slot) -> None:
        for watcher in slot.watchers:
            watcher.end()

    def _message(self, slot: Slot) -> Any:
        if slot.message[0] != slot.number:
            slot.message = (slot.number, self.wire.to_message(slot.live))
        return slot.message[1]

    def _transition(self, slot: Slot, change: Change, last: int) -> Any:
        """The instance as it is now, to one who saw it at `last`; with the change, if that is all that came since."""
        shown = {"incarnation": self.incarnation, "number": slot.number, "snapshot": self._message(slot)}
        if change.number == slot.number == last + 1:
            return self.wire.transition(**shown, event=change.event, rule=change.rule, cause=change.cause)
        return self.wire.transition(**shown, fresh=True)

    def _step(self, slot: Slot, event: Any, cause: str) -> Outcome:
        live = slot.live
        before = live.state
        outcome = live.step(event)
        if outcome.kind == "go" or outcome.kind == "stay":
            slot.number += 1
        self._show(self._observers, slot.instance, slot.number, event, before, live.state, outcome, cause)
        return outcome

    def _show(self, observers: list[Callable[P, None]], *seen: P.args, **named: P.kwargs) -> None:
        for observer in observers:
            try:
                observer(*seen, **named)
            except Exception as error:
                # One that fails at every step says so once.
                if (said := f"{type(error).__name__}: {error}") != self._said:
                    self._said = said
                    _log.exception("%s: an observer failed, and the step goes on", self.wire.name)

    def _store(
        self, slot: Slot, event: Any, operation_id: str, payload: bytes, cause: str
    ) -> tuple[Outcome, Any, Ticket | None]:
        number = slot.number
        outcome = self._step(slot, event, cause)
        message = self._message(slot)
        reply, answer = None, None
        if operation_id:
            reply = self.wire.answer(slot.instance, self.incarnation, slot.number, message, outcome)
            answer = Answer(payload, reply.SerializeToString())
        saved = None
        if slot.number != number:
            saved = Saved(self.incarnation, slot.number, message.SerializeToString())
        ticket = self.journal.add(Record(self.wire.name, slot.instance, operation_id, answer, saved))
        if ticket is not None:
            slot.ticket = ticket
            if answer is not None:
                self._open[slot.instance, operation_id] = (answer, ticket)
            ticket.then.append(lambda: self._stored(slot, operation_id, ticket))
        if outcome.outputs or slot.watchers:
            self._follow(slot, event, outcome, cause, number)
        return outcome, reply, ticket

    def _stored(self, slot: Slot, operation_id: str, ticket: Ticket) -> None:
        """A step is on the disk: let go what waited for it."""
        self._open.pop((slot.instance, operation_id), None)
        if slot.ticket is ticket:
            slot.ticket = None
        while slot.held and slot.held[0][0].done:
            _, outputs, change, cause = slot.held.popleft()
            self._release(slot, outputs, change, cause)
        if not slot.held:
            slot.held = None

    def _follow(self, slot: Slot, event: Any, outcome: Outcome, cause: str, before: int) -> None:
        change = None
        if slot.watchers and slot.number != before:
            change = Change(slot.number, type(event).__name__, outcome.rule, cause)
        if slot.ticket is not None:
            if slot.held is None:
                slot.held = deque()
            slot.held.append((slot.ticket, outcome.outputs, change, cause))
        else:
            self._release(slot, outcome.outputs, change, cause)

    def _release(self, slot: Slot, outputs: tuple[Any, ...], change: Change | None, cause: str) -> None:
        if change is not None:
            for watcher in slot.watchers:
                watcher.tell(change)
        if outputs:
            if slot.outbox is None:
                slot.outbox = deque()
            slot.outbox.extend((output, cause) for output in outputs)
            if slot.runner is None:
                slot.runner = self._group.create_task(self._run(slot))

    async def _run(self, slot: Slot) -> None:
        """Carry out an instance's outputs, one after another, until none waits."""
        try:
            while slot.outbox:
                output, cause = slot.outbox.popleft()
                _cause.set(cause)
                try:
                    await self._handlers[type(output)](slot.instance, *output.values())
                except Exception as error:
                    if self._on_failure is None:
                        raise
                    self._on_failure(slot.instance, output, error)
        finally:
            slot.runner = None
            if not slot.outbox:
                slot.outbox = None
