"""The sessions of one server: begun, finished, read, retired, expired; restored by its next life.

Rules of this file:

- The Session machine says what may happen. What it must not forget is on the disk before anybody is answered.
- A session that has retired is buried, and then known by its id alone.
- A consumer that is silent for too long has died; a session that nobody calls for too long expires.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, OrderedDict
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

from ...protocol.generated.session_service import SESSION
from ...protocol.host import MachineHost
from ...protocol.journal import Ticket
from ...protocol.store import Store, StoreError
from ...protocol.tasks import Tasks
from ...statemachines.compiler import Outcome
from ...statemachines.session import Rebinding, Session
from ..tracelog import TraceLog
from .errors import GONE, Elsewhere, NotYours, SessionClosed, SessionError, StorageDown
from .ids import ForgedId, Ids, key_of
from .loads import Loads
from .settings import SessionSettings
from .store import Facts, SessionStore
from .traces import Tree

SWEEP_S = 1.0
"""How often it is looked whose time is over."""
_RUNS = ("BOUND", "TURN")


class Sessions:
    """Use as `async with`: entering restores the sessions of `server`, which no other process may be meanwhile.

    `incarnation` names this life of the server. `store` is shared by all servers of a host; it is the caller's.
    """

    def __init__(
        self, store: Store, *, server: str, incarnation: str, settings: SessionSettings | None = None,
        log: TraceLog | None = None,
    ) -> None:  # fmt: skip
        self.server, self.settings = server, settings or SessionSettings()
        self.ids = Ids(key_of(store), self.settings.id_life)
        self.loads = Loads()
        logged = log.of("Session") if log else None
        self.host = MachineHost(
            SESSION, self, incarnation=incarnation, store=store, observer=logged,
            lives=logged.lives if logged else None,
        )  # fmt: skip
        self.host.observe(self._observe)
        self.kept = SessionStore(store, self.host.journal.add, trees=self.settings.trees)
        self.facts: dict[str, Facts] = {}
        """Of the sessions that live here."""
        self.owned: Counter[str] = Counter()
        """How many of them each owner has, those with them that are just being begun."""
        self.deaths: Counter[str] = Counter()
        """How many replicas have died under turns of a task."""
        self._runs_at: dict[str, str] = {}
        self._begins: dict[str, asyncio.Task[Facts | SessionError]] = {}
        self._called: OrderedDict[str, float] = OrderedDict()
        self._consumers: dict[str, float] = {}
        self._reads: dict[str, set[str]] = {}
        self._group = Tasks()
        self._sweeping: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self.host.__aenter__()
        await self._group.__aenter__()
        self._restore()
        self._sweeping = self._group.create_task(self._sweep())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._sweeping is not None:
            self._sweeping.cancel()
        try:
            await self._group.__aexit__(kind, error, trace)
        finally:
            await self.host.__aexit__(kind, error, trace)

    def _restore(self) -> None:
        found = self.kept.of_server(self.server)
        self.host.restore_all(found)
        for session, facts in found.items():
            if session not in self.host and self.kept.is_buried(session):
                # It began here while another server had begun and buried it.
                continue
            self._add(session, facts)
            if session not in self.host:
                self.host.create(session, policy=facts.policy)
            live = self.host.live(session)
            self._place(session, live)
            if live.state == "RETIRED":
                self._group.create_task(self.free_trace(session))
            elif live.state == "TRAINING":
                self._hears(live.consumer, session)

    # -- begin -----------------------------------------------------------------------------------

    def __contains__(self, session: str) -> bool:
        return session in self.facts

    def live(self, session: str) -> Any:
        """The session's machine, to be read. Raises SessionClosed where it does not live here, Elsewhere."""
        if session not in self.host:
            self.require_here(session)
            raise SessionClosed(session, "unknown", "is not known: it was never begun")
        return self.host.live(session)

    def require_here(self, session: str) -> None:
        """Raises SessionClosed for an id that is used up or not ours to use, Elsewhere for another server's session."""
        if session in self.facts:
            return
        stands = self.kept.facts(session)
        if stands is not None and stands.server != self.server:
            raise Elsewhere(session, stands.server)
        # ForgedId is a ValueError: the id is bad, whoever it is of.
        bucket = self.ids.bucket(session)
        if self.kept.is_buried(session) or (bucket is not None and stands is None and self.ids.is_expired(bucket)):
            raise SessionClosed(session, GONE, "is retired")

    async def open(
        self, session: str, *, owner: str = "", policy: Rebinding | None = None, tier: str = "exact", task: str = "",
        anew: bool = False,
    ) -> Facts:  # fmt: skip
        """Begin the session, or go on with it; what it was begun with. With `anew` one that was begun is refused.

        `owner` is the token that asks, empty where nobody is known. Raises SessionClosed, Elsewhere, NotYours,
        StorageDown, ValueError for an id that was forged.
        """
        if (known := self.facts.get(session)) is None:
            self.require_here(session)
            issued = self.ids.bucket(session) is not None
            if task and self.deaths[task] >= self.settings.deaths:
                text = f"is of task {task!r}, under which {self.deaths[task]} replicas have died: it is not tried again"
                raise SessionClosed(session, "quarantined", text)
            if len(self.facts) + len(self._begins) >= self.settings.sessions:
                text = f"is one too many: {len(self.facts)} live here"
                raise SessionClosed(session, "too_many_sessions", text, retry=True)
            if not issued and self.kept.chosen >= self.settings.chosen_ids:
                text = "has an id of its client's choice, of which no more can be remembered: take an issued one"
                raise SessionClosed(session, "too_many_ids", text, retry=True)
            wanted = Facts(self.server, owner, policy or self.settings.policy, issued, tier, task)
            beginning = self._begins.get(session)
            if beginning is None:
                # It counts from now on: many may begin at the same time.
                self.owned[owner] += 1
                beginning = self._begins[session] = self._group.create_task(self._begin(session, wanted))
            # Whoever stops waiting undoes nothing: it begins all the same.
            if not (await asyncio.wait([beginning], timeout=self.settings.store))[0]:
                raise StorageDown(session, self._why(TimeoutError()))
            if isinstance(found := beginning.result(), SessionError):
                raise found
            known = found
            if known.server != self.server:
                raise Elsewhere(session, known.server)
        elif anew:
            raise SessionClosed(session, "known", "was begun before: take a new id")
        if known.owner and known.owner != owner:
            raise NotYours(session)
        self.touch(session)
        return known

    async def _begin(self, session: str, wanted: Facts) -> Facts | SessionError:
        """Write it down, and have it live here if it is this server's; what stands, or why it cannot be."""
        try:
            known = await self.kept.begin(session, wanted)
            if known.server == self.server and session not in self.facts:
                self._add(session, known)
                self.host.create(session, policy=known.policy)
            return known
        except SessionError as error:
            return error
        except StoreError as error:
            return StorageDown(session, self._why(error))
        finally:
            self.owned[wanted.owner] -= 1
            del self._begins[session]

    def _add(self, session: str, facts: Facts) -> None:
        self.facts[session] = facts
        self.owned[facts.owner] += 1
        self.touch(session)

    def touch(self, session: str) -> None:
        """Somebody calls: its time to live begins anew."""
        if session in self.facts:
            self._called[session] = asyncio.get_running_loop().time()
            self._called.move_to_end(session)

    # -- the rest of its life --------------------------------------------------------------------

    async def finish(self, session: str) -> None:
        """The conversation is complete. Raises SessionClosed if it cannot be, StorageDown."""
        await self.durably(session, Session.Finish())

    async def take(self, session: str, consumer: str) -> Tree:
        """Begin to read the trace as `consumer`, the name of one life of a process. Raises SessionClosed."""
        await self.durably(session, Session.Take(consumer=consumer))
        return self.read(session, consumer)

    def read(self, session: str, consumer: str) -> Tree:
        """The trace, for its present consumer. Raises SessionClosed for anybody else."""
        live = self.live(session)
        if live.state != "TRAINING" or live.consumer != consumer:
            raise SessionClosed(session, "not_consumer", f"is {live.state.lower()}, and not read by {consumer!r}")
        self.hear(consumer)
        return self.kept.tree(session)

    async def release(self, session: str, consumer: str) -> None:
        """The trace was read: the session retires. Raises SessionClosed; one that is retired already is released."""
        try:
            await self.durably(session, Session.Release(consumer=consumer))
        except SessionClosed as closed:
            if closed.reason != GONE:
                raise
        self.hear(consumer)

    async def retire(self, session: str) -> None:
        """End the session, once its turns have ended. Raises SessionClosed while its trace is read."""
        try:
            await self.durably(session, Session.Retire())
        except SessionClosed as closed:
            if closed.reason != GONE:
                raise

    async def retire_all(self, sessions: Iterable[str]) -> dict[str, str]:
        """Retire each; the reason of those that are not."""
        refused: dict[str, str] = {}

        async def one(session: str) -> None:
            try:
                await self.retire(session)
            except (SessionClosed, StorageDown, Elsewhere) as error:
                refused[session] = error.reason
            except ForgedId:
                refused[session] = "malformed"
            except StoreError:
                refused[session] = "storage"

        async with asyncio.TaskGroup() as group:
            for session in set(sessions):
                group.create_task(one(session))
        return refused

    def hear(self, consumer: str) -> None:
        """The consumer lives."""
        if consumer in self._consumers:
            self._consumers[consumer] = asyncio.get_running_loop().time()

    async def consumer_lost(self, consumer: str) -> list[str]:
        """The consumer has died: what it read can be taken again; those sessions."""
        given_back = []
        # What cannot be stored now stays the consumer's, to be given back when it is looked at again.
        for session in list(self._reads.get(consumer, ())):
            with contextlib.suppress(SessionClosed):
                if (await self.durably(session, Session.ConsumerLost(consumer=consumer))).kind == "go":
                    given_back.append(session)
        if not self._reads.get(consumer):
            self._consumers.pop(consumer, None)
            self._reads.pop(consumer, None)
        return given_back

    def lose(self, incarnation: str) -> list[str]:
        """An incarnation has ended: the sessions that were bound to it are lost; their ids."""
        lost, deadly = [], set[str]()
        for session in list(self.loads.sessions.get(incarnation, ())):
            had_turn = self.host.live(session).state == "TURN"
            if self.host.step(session, Session.Lose(incarnation=incarnation), cause=incarnation).kind == "go":
                lost.append(session)
                if had_turn and (task := self.facts[session].task):
                    deadly.add(task)
        # However many turns of a task it had: it has died once.
        self.deaths.update(deadly)
        return lost

    async def durably(self, session: str, event: Any, cause: str = "") -> Outcome:
        """Step, and return once it is on the disk. Raises SessionClosed for a refusal, Elsewhere, StorageDown."""
        self.live(session)
        self.touch(session)
        try:
            async with asyncio.timeout(self.settings.store):
                outcome = await self.host.apply(session, event, durable=True, cause=cause or session)
        except TimeoutError as error:
            raise StorageDown(session, self._why(error)) from error
        if outcome.refused:
            raise SessionClosed.by(session, outcome)
        return outcome

    async def stored(self, session: str, ticket: Ticket | None) -> None:
        """Return once it is stored. Raises StorageDown where that takes too long; it is tried on."""
        try:
            async with asyncio.timeout(self.settings.store):
                if ticket is not None:
                    await ticket.wait()
        except TimeoutError as error:
            raise StorageDown(session, self._why(error)) from error

    # -- what the machine asks for ---------------------------------------------------------------

    async def settle_not_sent(self, instance: str, leases: frozenset[str]) -> None:
        """Nothing: the turn that holds the lease sees the session's state, and ends it itself."""

    async def free_trace(self, instance: str) -> None:
        """Bury a session that has retired."""
        if (ticket := self.kept.bury(instance, self.facts[instance].issued)) is not None:
            await ticket.wait()
        self.owned[self.facts.pop(instance).owner] -= 1
        self._called.pop(instance, None)
        self.host.drop(instance)

    # -- inside ----------------------------------------------------------------------------------

    def _why(self, error: Exception) -> str:
        failure = self.host.journal.failure
        return str(failure or error or "the disk does not answer")

    def _hears(self, consumer: str, session: str) -> None:
        self._consumers[consumer] = asyncio.get_running_loop().time()
        self._reads.setdefault(consumer, set()).add(session)

    def _observe(
        self, session: str, number: int, event: Any, before: str, after: str, outcome: Outcome, cause: str
    ) -> None:
        if outcome.kind == "go" or isinstance(event, Session.Rebind):
            self._place(session, self.host.live(session))
        if after == "TRAINING" and before != "TRAINING":
            # Also where nobody waits for the disk any more: this consumer can die as well.
            self._hears(self.host.live(session).consumer, session)
        elif before == "TRAINING" and after != "TRAINING":
            for read in self._reads.values():
                read.discard(session)

    def _place(self, session: str, live: Any) -> None:
        """Note where it may run now."""
        now = live.incarnation if live.state in _RUNS else None
        self.loads.place(session, now, self._runs_at.get(session))
        if now is None:
            self._runs_at.pop(session, None)
        else:
            self._runs_at[session] = now

    async def _sweep(self) -> None:
        """Expire what nobody calls, and give up consumers that are silent."""
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(SWEEP_S)
            for consumer in [c for c, at in self._consumers.items() if at + self.settings.consumer < clock()]:
                if self._reads.get(consumer):
                    await self._try(self.consumer_lost(consumer))
                else:
                    self._consumers.pop(consumer, None)
                    self._reads.pop(consumer, None)
            while self._called and (oldest := next(iter(self._called.items())))[1] + self.settings.ttl < clock():
                self._called.move_to_end(oldest[0])
                self._called[oldest[0]] = clock()
                await self._try(self.durably(oldest[0], Session.Expire()))

    @staticmethod
    async def _try(work: Any) -> None:
        """What cannot be done now comes round again."""
        with contextlib.suppress(SessionClosed, StorageDown):
            await work
