"""The cohort as the roster tells it: lives are claimed, taken over, watched, ended by order, and let go.

Rules of this file:

- A takeover claims every gate that answers, determines the target, publishes it, and brings all home. A gate
  that is claimed later joins by the same function.
- Processes are started and ended by launchers; a controller writes orders, and reads what became of them.
- That a process has ended is known from the roster alone. While it cannot be read nothing new is known, and all
  that is known goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

from ...protocol.client import CallError, Rejected
from ...protocol.store import StoreError
from ...protocol.tasks import Tasks
from ...statemachines.replica import Replica
from .controller import Controller
from .converge import reaches
from .health import PROBE_S
from .member import MemberError, Overruled
from .replicas import ReplicaActions
from .roster import Life, Roster

T = TypeVar("T")
_log = logging.getLogger(__name__)
LOOK_S = 0.2
"""How often the roster is looked at."""


class Cohort:
    """Follows the replicas of a roster for one controller. Use as `async with`: it begins with the takeover.

    `controller` is set before use. `leave`: seconds that sessions may take to go from a replica that leaves.
    """

    def __init__(self, roster: Roster, leave: float) -> None:
        self.controller: Controller
        self.roster, self._leave = roster, leave
        self._group = Tasks()
        self._tasks: set[asyncio.Task[Any]] = set()
        self.home = asyncio.Event()
        """Set once every gate that was found has come home, or could not within its time."""
        self._known: set[str] = set()
        self._evacuated: dict[str, asyncio.Event] = {}
        self.actions = ReplicaActions(self._stop_process, self._replace, self._evacuate, self._retire)

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        self.spawn(self._rule())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await self._group.__aexit__(kind, error, trace)

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Something that goes on until it ends, or the cohort is left; its failure ends the process."""
        task = self._group.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _rule(self) -> None:
        self.spawn(self._take_over(self._arrivals()))
        await self._follow()

    async def _take_over(self, lives: list[Life]) -> None:
        """Claim all that answer, publish the newest that one of them reaches, and bring all to it."""
        controller = self.controller
        gates = await asyncio.gather(*(self._claim(life) for life in lives))
        held = [reaches(gate) for gate in gates if gate is not None and gate.state != "POISONED"]
        durable = [version for version in held if version is not None and await controller.is_durable(version)]
        if durable and not controller.overruled.is_set():
            try:
                controller.raise_to(max(durable))
            except Overruled as found:
                controller.overrule(str(found))
        controller.begin_catching_up()
        for life in lives:
            self.spawn(self._attend(life))
        await controller.changed.until(
            lambda: controller.overruled.is_set() or not any(map(controller.is_behind, controller.members)),
            controller.settings.deadline,
        )
        self.home.set()

    async def _follow(self) -> None:
        """Take in who begins, tell who has ended, and see whether a higher term rules; until one does."""
        controller = self.controller
        said = ""
        while not controller.overruled.is_set():
            try:
                ruling, ended, arrived = self.roster.ruling(), self._ended(), self._arrivals()
            except StoreError as error:
                if str(error) != said:
                    said = str(error)
                    _log.error("the roster cannot be read, which is tried again: %s", said)
                await asyncio.sleep(LOOK_S)
                continue
            said = ""
            if ruling > controller.term:
                controller.overrule(f"term {ruling} rules")
                return
            for life in arrived:
                self.spawn(self._attend(life))
            for incarnation, how in ended.items():
                controller.tell(incarnation, Replica.Exited(why=f"its process ended: {how}"))
            await asyncio.sleep(LOOK_S)

    def evacuated(self, incarnation: str) -> bool:
        """No session needs this life any more; whether it is one that leaves."""
        event = self._evacuated.get(incarnation)
        if event is not None:
            event.set()
        return event is not None

    # -- lives -----------------------------------------------------------------------------------

    def _arrivals(self) -> list[Life]:
        """Lives that are ready and were not known."""
        found = [life for life in self.roster.living("rollout") if life.control and life.incarnation not in self._known]
        for life in found:
            self._known.add(life.incarnation)
            self.controller.introduce(life.incarnation)
        return found

    def _ended(self) -> dict[str, str]:
        """Of the lives that count as alive, those that have ended, and how."""
        lives = [self.roster.life(incarnation) for incarnation in filter(self.controller.is_alive, self._known)]
        return {life.incarnation: life.ended for life in lives if life is not None and life.ended is not None}

    async def _attend(self, life: Life) -> None:
        """Claim it, again while it does not answer; then ask how it is until it is dead."""
        controller = self.controller
        while not self._is_claimed(life):
            if controller.overruled.is_set() or not controller.is_alive(life.incarnation):
                return
            if await self._claim(life) is None:
                await asyncio.sleep(PROBE_S)
        controller.begin_catching_up()
        await controller.probe(life.name, life.incarnation)

    def _is_claimed(self, life: Life) -> bool:
        member = self.controller.members.get(life.name)
        return member is not None and member.incarnation == life.incarnation

    async def _claim(self, life: Life) -> Any:
        """The gate's snapshot, or None where it does not answer: that is a missed probe, but for one that is there
        and does not let this controller in."""
        controller = self.controller
        try:
            gate = await controller.claim(life.name, life.incarnation, life.control, life.data)
        except (MemberError, CallError) as error:
            if isinstance(found := error.__cause__, Rejected) and found.is_turned_away:
                _log.error("%s does not let this controller claim it: %s", life.incarnation, found)
                return None
            controller.tell(life.incarnation, Replica.Missed())
            return None
        if await self._is_retired(life.incarnation):
            controller.tell(life.incarnation, Replica.Leave())
        return gate

    async def _is_retired(self, incarnation: str) -> bool:
        """What the roster says, once it can be read; False once a higher term rules, which then has the say."""
        while not self.controller.overruled.is_set():
            # Who follows the roster says why it cannot be used.
            with contextlib.suppress(StoreError):
                return self.roster.is_retired(incarnation)
            await asyncio.sleep(LOOK_S)
        return False

    # -- what the Replica machine asks for -------------------------------------------------------

    async def _stop_process(self, incarnation: str) -> None:
        """Order the end, and wait until the launcher has seen it."""
        await self._order(self.roster.order_end, incarnation, "it is dead, or has left")
        while not self.controller.overruled.is_set():
            # Who follows the roster says why it cannot be used.
            with contextlib.suppress(StoreError):
                life = self.roster.life(incarnation)
                if life is None or life.ended is not None:
                    return
            await asyncio.sleep(LOOK_S)

    async def _replace(self, incarnation: str) -> None:
        """The launcher replaces every life that is not to retire; the roster tells of the next one."""

    async def _retire(self, incarnation: str) -> None:
        await self._order(self.roster.order_retirement, incarnation, "it leaves as planned")

    async def _evacuate(self, incarnation: str) -> None:
        self._evacuated.setdefault(incarnation, asyncio.Event())
        self.spawn(self._until_gone(incarnation))

    async def _until_gone(self, incarnation: str) -> None:
        """Until no session needs it and no lease is left, or the time is over; it is retired before anything else."""
        controller = self.controller
        await self._retire(incarnation)
        member = next((m for m in controller.members.values() if m.incarnation == incarnation), None)
        try:
            async with asyncio.timeout(self._leave):
                await self._evacuated[incarnation].wait()
                if member is not None:
                    await member.while_alive(member.until(is_at_rest, self._leave))
        except (TimeoutError, MemberError):
            pass
        controller.tell(incarnation, Replica.Evacuated())

    async def _order(self, order: Callable[[str, int, str], bool], incarnation: str, why: str) -> None:
        """Write an order, again while the roster cannot be used; until a higher term rules."""
        while not self.controller.overruled.is_set():
            # Who follows the roster says why it cannot be used.
            with contextlib.suppress(StoreError):
                if not order(incarnation, self.controller.term, why):
                    self.controller.overrule("the roster is ruled by a higher term")
                return
            await asyncio.sleep(LOOK_S)


def is_at_rest(gate: Any, number: int) -> bool:
    """Whether a gate has no lease that is not settled."""
    return not (gate.active or gate.suspended or gate.orphaned)
