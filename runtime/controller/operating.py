"""One operation from its beginning to its end: staged, begun with those that have staged it, and concluded.

Rules of this file:

- Operations run alone. One stages first, beside what catches up and before anything is sealed: an engine has one
  place to stage, so one version is brought about at a time.
- Only who has staged takes part; who could not stays at what it serves, and catches up later.
- One that cannot begin says why, and has changed nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from ...statemachines.replica import Replica
from ...statemachines.sync import Sync
from .member import Member
from .register import RegisterError
from .staging import Staging
from .sync import INSTANCE, Operation, SyncActions

if TYPE_CHECKING:
    from .controller import Controller

KEPT = 100
"""How many operations are remembered."""


class Operating:
    """Runs the operations of one controller. `alone` is held while one runs."""

    def __init__(self, controller: Controller, actions: SyncActions) -> None:
        self._controller, self._actions = controller, actions
        self.alone = asyncio.Lock()
        self._turn = asyncio.Lock()

    async def run(self, operation: Operation) -> None:
        """From staging to what it means for each replica. What came of it is told by the operation."""
        controller = self._controller
        # What is staged on a device that is lent would be freed, and a pause installs nothing.
        staging = None
        if not operation.is_pause and not operation.lends:
            staging = Staging(operation.version, controller.settings.staging, controller.overrule)
        try:
            async with contextlib.AsyncExitStack() as stack:
                if staging is not None:
                    # One version at a time: an engine has one place to stage.
                    await stack.enter_async_context(self._turn)
                    await staging.by(self._candidates(operation))
                await stack.enter_async_context(self.alone)
                midway = await controller.catching.end(controller.settings.call)
                members = [m for m in self._candidates(operation) if m.replica not in midway]
                if staging is not None:
                    await staging.by(members)
                    operation.unstaged = {m.replica: why for m in members if (why := staging.why_not(m))}
                    operation.mark("staged")
                operation.members = tuple(m.replica for m in members if m.replica not in operation.unstaged)
                if not self._begin_with_members(operation):
                    return
                await operation.done.wait()
                if not controller.overruled.is_set():
                    for replica in (*operation.members, *operation.unstaged):
                        self._conclude(replica, operation)
        finally:
            if controller.paused is operation:
                controller.paused = None
            if controller.lends is operation:
                controller.lends = None

    def _candidates(self, operation: Operation) -> list[Member]:
        """Who may take part."""
        controller = self._controller
        states = ("SERVING", "SUSPECT") if operation.is_pause else ("SYNCING", "SERVING", "SUSPECT")
        return [
            member for r, member in controller.members.items()
            if controller.state_of(r) in states and not (operation.is_pause and controller.is_behind(r))
        ]  # fmt: skip

    def _begin_with_members(self, operation: Operation) -> bool:
        """Whether it has begun; else its end is told, and nothing was sealed."""
        controller = self._controller
        if controller.overruled.is_set():
            operation.end("overruled: a higher term rules")
            return False
        if operation.unstaged and len(operation.members) < controller.settings.minimum:
            operation.reason, operation.retry = "not_staged", True
            operation.end(f"refused: {len(operation.members)} replicas have staged version {operation.version}")
            return False
        if not operation.is_pause and controller.paused is not None:
            operation.reason, operation.retry = "paused", True
            operation.end("refused: the cohort was paused meanwhile")
            return False
        try:
            operation.epoch = controller.register.next_epoch()
        except RegisterError as error:
            operation.reason, operation.retry = "register", True
            operation.end(f"refused: {error}")
            return False
        operation.extend()
        self._actions.operation = operation
        controller.operations.append(operation)
        del controller.operations[:-KEPT]
        begin = Sync.Begin(
            epoch=operation.epoch, version=operation.version, members=frozenset(operation.members),
            mode=operation.mode, lend=operation.is_pause or operation.lends,
        )  # fmt: skip
        outcome = controller.syncs.step(INSTANCE, begin, cause=f"{controller.term}.{operation.epoch}")
        if outcome.refused:
            operation.reason, operation.retry = outcome.reason, outcome.retry
            operation.end(f"refused: {outcome.text}")
        return not outcome.refused

    def _conclude(self, replica: str, operation: Operation) -> None:
        controller = self._controller
        member, published = controller.members.get(replica), controller.published
        if member is None or not controller.is_alive(member.incarnation):
            return
        if replica in operation.closed and published is not None:
            controller.tell(member.incarnation, Replica.Synced(version=published))
        elif replica not in operation.unstaged or published == operation.version:
            why = operation.left_behind().get(replica, "the operation went on without it")
            controller.tell(member.incarnation, Replica.LeftBehind(why=why))
