"""Turns of sessions: bound to a replica, run there, stored, and ended when their leases have.

Rules of this file:

- A turn is on the disk before its request leaves; a binding before anything of the request runs.
- A session is bound only while no operation runs, to the least loaded replica at the published version. It moves
  only by its policy, under a new number.
- A generation is stored before its end is told.
- A lease is out of the session only when its end is known: its replica has settled or lost it, or the replica's
  process has ended. Whoever stops waiting does not end the turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import secrets
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from ...protocol.tasks import Tasks
from ...statemachines.session import Rebinding, Session
from .backend import ASK_AGAIN_S, Admitted, Backend, Made, Over, Request, Word
from .cohort import Cohort, Place
from .errors import SessionClosed, TurnLost, TurnRefused
from .sessions import Sessions

W = TypeVar("W")
_log = logging.getLogger(__name__)
CUT_S = 2.0
"""How long a turn that was cut waits for its lease to be over before it is told."""
END_S = 10.0
"""How long leases whose end is not known are asked for once the server ends."""
_WAITS = frozenset({"binding_now", "turn_active"})
"""Refusals of the machine that pass by themselves: the turn waits."""
_PASSES = frozenset({"other_version"})
"""Refusals of a gate after which another replica is chosen: what is published has just changed."""
RECOVERS = 256
"""How many leases of an earlier life are asked for at the same time."""


@dataclass(slots=True)
class Turn:
    """One turn: what was made, tokens with their log-probabilities and versions, in order.

    `version` is what the request was admitted to, `ending` how it ended; `binding`, `replica` and `incarnation` say
    where it ran. `segment` is its number in the session's trace, once it is stored.
    """

    lease: str
    prompt_ids: Sequence[int] = ()
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    versions: list[int] = field(default_factory=list)
    version: int | None = None
    ending: str = ""
    binding: int = 0
    replica: str = ""
    incarnation: str = ""
    segment: int = 0


@dataclass(slots=True)
class Told(Generic[W]):
    """Who a turn is told to while it runs, and what is stored beside it. All are optional.

    `word` is called with each word of the request in turn; True ends it there: the turn is then `stop`, and has the
    tokens up to `used()`. `made` is awaited before a turn that has completed is stored, `note` gives what is stored
    with it. `attached` has values for the tokens, by name.
    """

    word: Callable[[Turn, Word], bool] | None = None
    used: Callable[[], int] | None = None
    made: Callable[[], Awaitable[object]] | None = None
    note: Callable[[Turn], bytes] | None = None
    attached: Callable[[Turn], Mapping[str, Sequence[bytes | None]]] | None = None


@dataclass(slots=True)
class _Call:
    """A request of a turn. `sent_to` is the replica that may hold it; None before it, and once its end is known.
    `counted` is the life whose load it counts for while its session is being bound there."""

    session: str
    lease: str
    sent_to: Place | None = None
    counted: str | None = None


class Router(Generic[W]):
    """Runs the turns of `sessions` over the replicas of `cohort`. Use as `async with`, inside of that of `sessions`."""

    def __init__(self, sessions: Sessions, cohort: Cohort, backend: Backend[W]) -> None:
        self.sessions, self.cohort, self.backend = sessions, cohort, backend
        self._settings = sessions.settings
        # A lease's id is never used twice, whatever a next life of this server restores.
        self._life, self._numbers = secrets.token_hex(4), itertools.count(1)
        self._endings = Tasks()
        self._ending: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        await self._endings.__aenter__()
        self._recover()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            # What is not known by then is found out by the next life.
            if self._ending:
                await asyncio.wait(self._ending, timeout=END_S)
            for task in self._ending:
                task.cancel()
            await self._endings.__aexit__(kind, error, trace)
        finally:
            await self.backend.close()

    def _end(self, work: Coroutine[Any, Any, None]) -> None:
        """Something that goes on after its turn was told."""
        task = self._endings.create_task(work)
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def _recover(self) -> None:
        """End the turns that an earlier life has left, each once its lease is over."""
        machines = ((session, self.sessions.host.live(session)) for session in self.sessions.facts)
        left = [(session, lease, live.incarnation) for session, live in machines for lease in live.leases]
        leases = iter(left)
        for _ in range(min(len(left), RECOVERS)):
            self._end(self._end_earlier(leases))
        for incarnation in list(self.sessions.loads.sessions):
            if not self.cohort.is_alive(incarnation):
                self.sessions.lose(incarnation)

    async def _end_earlier(self, leases: Iterator[tuple[str, str, str | None]]) -> None:
        """A lease of a session that was not bound may be at any replica; it never went on from there."""
        for session, lease, incarnation in leases:
            places = self.cohort.living() if incarnation is None else [self.cohort.place(incarnation)]
            await asyncio.gather(*(self._until_known(place, lease) for place in places if place is not None))
            self._end_turn(session, lease)

    # -- turns -----------------------------------------------------------------------------------

    async def turn(
        self, session: str, work: W, told: Told[W] | None = None, *, prompt_ids: Sequence[int] = (),
        within: float | None = None,
    ) -> Turn:  # fmt: skip
        """One generation of the session, stored; waits at a closed gate as long as that holds requests.

        Raises SessionClosed, TurnRefused (not to be retried now), TurnLost, StorageDown.
        """
        clock, told = asyncio.get_running_loop().time, told or Told()
        until = clock() + (self._settings.call if within is None else within)
        while True:
            call = _Call(session, f"{session}.{self._life}{next(self._numbers)}")
            await self._begin(call, until)
            try:
                turn = await self._run(call, work, told, Turn(call.lease, prompt_ids), until - clock())
                if turn.ending in ("stop", "length"):
                    if told.made is not None:
                        await told.made()
                    await self._keep(session, turn, told)
                    await self._until_over(call)
                    return turn
                raise TurnLost(session, call.lease, turn.ending, f"ended as {turn.ending}")
            except TurnRefused as refusal:
                may_pass = refusal.reason in _PASSES or (refusal.retry and self._settings.persists)
                # A session that may move waits for the end of a life that is given up, and goes on elsewhere.
                may_pass |= refusal.reason == "poisoned" and self._may_move(session)
                if not may_pass or clock() + ASK_AGAIN_S >= until:
                    raise
            finally:
                if call.sent_to is None:
                    self._end_turn(session, call.lease)
                else:
                    self._end(self._end_when_known(call, call.sent_to))
            await asyncio.sleep(ASK_AGAIN_S)

    async def _begin(self, call: _Call, until: float) -> None:
        """The turn is on the disk. Waits while the session is being bound. Raises SessionClosed."""
        clock, session = asyncio.get_running_loop().time, call.session
        while True:
            await self.move(session, until - clock())
            if self.sessions.live(session).state == "BINDING" and clock() < until:
                # Another turn binds it: this one would be refused.
                await asyncio.sleep(ASK_AGAIN_S / 4)
                continue
            begin = self.sessions.durably(session, Session.BeginTurn(lease=call.lease), cause=call.lease)
            try:
                await begin
                return
            except SessionClosed as closed:
                if not self._passes(session, closed.reason) or clock() >= until:
                    raise
            except BaseException:
                # The step may have been made, and is stored later: it is over before anything was sent.
                self._end_turn(session, call.lease)
                raise
            await asyncio.sleep(ASK_AGAIN_S / 4)

    def _may_move(self, session: str) -> bool:
        return self.sessions.live(session).policy != Rebinding.NEVER

    def _passes(self, session: str, reason: str) -> bool:
        """Whether the machine takes the turn later: also where a session moves, once its leases are over."""
        return reason in _WAITS or (reason == "lost" and self._may_move(session))

    async def move(self, session: str, within: float) -> None:
        """Bind anew, by policy, a session whose replica is lost or leaves, once it has no lease left."""
        if not self._moves(session):
            return
        place = await self._choose(session, min(within, self._settings.patience))
        if not self._moves(session):
            # Another turn of the session has moved it meanwhile.
            return
        self.sessions.loads.binds(place.incarnation)
        try:
            await self.sessions.durably(
                session, Session.Rebind(replica=place.replica, incarnation=place.incarnation)
            )
        finally:
            self.sessions.loads.bound(place.incarnation)
        self._require_alive(session, place)

    def _moves(self, session: str) -> bool:
        live = self.sessions.live(session)
        if live.state == "LOST":
            return live.policy != Rebinding.NEVER and not live.leases
        may_move = live.state == "BOUND" and live.policy == Rebinding.ON_EVACUATION
        return may_move and self.cohort.is_leaving(live.incarnation)

    async def _run(self, call: _Call, work: W, told: Told[W], turn: Turn, within: float) -> Turn:
        session, lease = call.session, call.lease
        live = self.sessions.live(session)
        if live.state != "BINDING":
            place = self._bound_place(session, lease, live)
            return await self._follow(call, place, Request(session, lease, work, None, False, within), told, turn)
        place = await self._choose(session, min(within, self._settings.patience))
        if not (live.state == "BINDING" and lease in live.leases):
            raise TurnLost(session, lease, "moved", f"the session was {live.state.lower()} while it waited")
        # A gate that its deadline reopened may serve a version that is not published: not for binding.
        request = Request(session, lease, work, self.cohort.published, True, within)
        self.sessions.loads.binds(place.incarnation)
        call.counted = place.incarnation
        try:
            return await self._follow(call, place, request, told, turn)
        finally:
            self._uncount(call)

    def _uncount(self, call: _Call) -> None:
        """Its session is bound by now, or will not be: it counts by itself."""
        if call.counted is not None:
            self.sessions.loads.bound(call.counted)
            call.counted = None

    async def _follow(
        self, call: _Call, place: Place, request: Request[W], told: Told[W], turn: Turn
    ) -> Turn:
        live, call.sent_to = self.sessions.live(call.session), place
        turn.replica, turn.incarnation = place.replica, place.incarnation
        try:
            async with aclosing(self.backend.run(place, request)) as words:
                async for word in words:
                    if isinstance(word, Admitted):
                        turn.version = word.version
                        if request.waits:
                            await self._bind(call.session, call.lease, place)
                            self._uncount(call)
                        turn.binding = live.binding
                    elif isinstance(word, Over):
                        turn.ending, call.sent_to = word.ending, None
                    elif isinstance(word, Made):
                        turn.ids += word.ids
                        turn.logprobs += word.logprobs
                        turn.versions += word.versions
                    if told.word is not None and told.word(turn, word) and not turn.ending:
                        self._cut(turn, told)
                        break
        except TurnRefused:
            call.sent_to = None
            raise
        return turn

    def _cut(self, turn: Turn, told: Told[W]) -> None:
        """Whoever is told needs no more: what was made up to there is the turn."""
        used = len(turn.ids) if told.used is None else told.used()
        del turn.ids[used:], turn.logprobs[used:], turn.versions[used:]
        turn.ending = "stop"

    async def _until_over(self, call: _Call) -> None:
        """Of a turn that was cut: its lease is over, so that what its caller does next finds no turn active."""
        if call.sent_to is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CUT_S):
                    if await self._is_over(call.sent_to, call.lease):
                        call.sent_to = None

    async def _bind(self, session: str, lease: str, place: Place) -> None:
        """The replica has admitted the session's first lease: bind, and let it go on. Raises TurnLost, StorageDown."""
        bound = Session.Bound(replica=place.replica, incarnation=place.incarnation)
        outcome = await self.sessions.durably(session, bound, cause=lease)
        if outcome.kind != "go":
            raise TurnLost(session, lease, "moved", "the session no longer waits to be bound")
        self._require_alive(session, place)
        if not await self.backend.proceed(place, lease):
            raise TurnLost(session, lease, "broken", "it was not let go on")

    def _require_alive(self, session: str, place: Place) -> None:
        """Its end may have been told before the session could hear of it."""
        if not self.cohort.is_alive(place.incarnation):
            self.sessions.lose(place.incarnation)

    async def _keep(self, session: str, turn: Turn, told: Told[W]) -> None:
        """Store a turn that completed. Raises StorageDown."""
        if not len(turn.ids) == len(turn.logprobs) == len(turn.versions):
            raise TurnLost(session, turn.lease, "labels", "tokens and their labels do not match")
        spans = [(version, len(list(same))) for version, same in itertools.groupby(turn.versions)]
        segment, ticket = self.sessions.kept.grow(
            session, turn.lease, turn.prompt_ids, turn.ids, turn.logprobs, spans, turn.ending, binding=turn.binding,
            incarnation=turn.incarnation, attached=None if told.attached is None else told.attached(turn),
            note=b"" if told.note is None else told.note(turn),
        )  # fmt: skip
        turn.segment = segment.number
        await self.sessions.stored(session, ticket)

    def _end_turn(self, session: str, lease: str) -> None:
        if session in self.sessions.host and lease in self.sessions.host.live(session).leases:
            # Noted: a next life has to ask replicas for the leases that it finds open.
            self.sessions.host.step(session, Session.EndTurn(lease=lease), cause=lease, noted=True)

    async def _end_when_known(self, call: _Call, place: Place) -> None:
        """End the turn once its lease has settled or is lost; a lease without an end keeps it open."""
        await self._until_known(place, call.lease)
        self._end_turn(call.session, call.lease)

    async def _until_known(self, place: Place, lease: str) -> None:
        while not await self._is_over(place, lease):
            _log.warning("lease %s on %s has no end yet: it is asked for again", lease, place.incarnation)

    async def _is_over(self, place: Place, lease: str) -> bool:
        return await self.backend.is_over(place, lease, lambda: self.cohort.is_alive(place.incarnation))

    # -- replicas --------------------------------------------------------------------------------

    async def _choose(self, session: str, within: float) -> Place:
        """The least loaded replica at the published version, while no operation runs. Raises TurnRefused."""
        cohort = self.cohort

        def is_ready() -> bool:
            return cohort.is_idle and bool(cohort.serving())

        if not await cohort.changed.until(is_ready, within):
            text = f"no replica at the published version within {within:g} s"
            raise TurnRefused(session, "no_replica", text)
        return self.sessions.loads.choose(cohort.serving())

    def _bound_place(self, session: str, lease: str, live: Any) -> Place:
        place = self.cohort.place(live.incarnation)
        if place is None:
            reason = "lost" if live.policy == Rebinding.NEVER else "broken"
            raise TurnLost(session, lease, reason, f"the session is bound to {live.incarnation}, which has ended")
        return place
