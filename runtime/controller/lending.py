"""Lends the devices of a cohort to the trainer, until whoever asked for them gives them back.

Rules of this file:

- One lend at a time; while it stands no other operation begins, and the windows of its gates are renewed.
- Devices are taken back only when the trainer is known not to use them. One that has failed is ended for it.
- A lend that nobody gives back while the trainer stands idle ends by itself: the trainer is ended first, so that it
  trains on nothing that it no longer has.
- What cannot be installed is not taken back: the lend stands, and the published version may come back instead.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...protocol.store import StoreError
from ...statemachines.sorts import Mode
from .devices import STARTING, UNKNOWN, USES, TrainerUse
from .sync import INSTANCE, Operation, SyncFailed, now

if TYPE_CHECKING:
    from .controller import Controller

_log = logging.getLogger(__name__)
LOOK_S = 1.0
"""How often the trainer is asked what it does with what it was lent."""

SOON_S = 0.1
"""How often it is asked by whoever gives devices back."""


@dataclass(eq=False, slots=True)
class Lend:
    """One lend by its name, an operation id; `granted` once every device of it is the trainer's."""

    name: str
    operation: Operation
    granted: asyncio.Event = field(default_factory=asyncio.Event)


class Lending:
    """The lends of one controller. `idle`: how long a trainer may stand idle with devices, in seconds."""

    def __init__(self, controller: Controller, use: TrainerUse, idle: float) -> None:
        self._controller, self._use, self._idle = controller, use, idle
        self._lend: Lend | None = None

    def stands(self, name: str) -> bool:
        """Whether the devices of this lend are the trainer's."""
        return self._lend is not None and self._lend.name == name and self._is_out(self._lend)

    async def lend(self, name: str, version: int, mode: Mode) -> Operation:
        """Drain all live members and lend their devices; the operation, which goes on. Raises SyncFailed.

        `version` is what may come back, the published one or a newer one.
        """
        controller = self._controller
        controller.require_ruling()
        controller.require_free()
        if controller.published is None:
            text = "nothing is published: sync a version before devices are lent"
            raise SyncFailed(text, "nothing_published", retry=True)
        if not self._is_known():
            text = "no trainer is enlisted in the roster: nobody could know when its devices are free"
            raise SyncFailed(text, "no_trainer")

        async def during() -> None:
            await self._until_back(lend)

        operation = Operation(version, controller.settings.deadline, mode, lends=True, during=during)
        lend = self._lend = Lend(name, operation)
        controller.lends = operation
        task = controller.begin(operation)
        while not (lend.granted.is_set() or task.done()):
            await controller.changed.until(lambda: lend.granted.is_set() or task.done(), controller.settings.deadline)
        if not lend.granted.is_set():
            operation.retry = operation.retry or not operation.reason
            raise controller.failure("no device was lent", operation)
        return operation

    async def returned(self, name: str, version: int) -> Operation:
        """Take the devices of a lend back, with `version` or with what is published; the operation.

        Raises SyncFailed, OSError and ManifestError where the version cannot be installed.
        """
        controller = self._controller
        controller.require_ruling()
        lend = self._standing(name)
        operation, published = lend.operation, controller.published
        if version not in (operation.version, published):
            text = f"the devices were lent for version {operation.version}, and {published} is published"
            raise SyncFailed(f"version {version} cannot come back: {text}", "other_version")
        await controller.require_bytes(version)
        await self._until_unused()
        self._standing(name)
        operation.back = version
        controller.changed.notify()
        await operation.done.wait()
        if operation.outcome == "published":
            return operation
        if version != published or controller.overruled.is_set():
            raise controller.failure(f"version {version} was not published", operation)
        await self._home(operation)
        return operation

    # -- while a lend stands ---------------------------------------------------------------------

    def _standing(self, name: str) -> Lend:
        if self._lend is None or not self.stands(name):
            raise SyncFailed(f"no device is lent by {name}: what is published is served", "not_lent")
        return self._lend

    def _is_out(self, lend: Lend) -> bool:
        """Whether the trainer has the devices, and nobody has given them back."""
        operation = lend.operation
        return (
            lend.granted.is_set()
            and operation.back is None
            and self._controller.lends is operation
            and self._controller.syncs.live(INSTANCE).state == "LENT"
        )

    async def _until_back(self, lend: Lend) -> None:
        """Until the devices are given back, or nobody is left who lends one, or the trainer stood idle for too long."""
        controller = self._controller
        if controller.syncs.live(INSTANCE).state == "LENT":
            lend.granted.set()
            controller.changed.notify()
        worked, ended = now(), frozenset[str]()
        while self._is_out(lend) and not await controller.changed.until(lambda: not self._is_out(lend), LOOK_S):
            states = await self._states()
            if not ended and states is not None and not _stand_idle(states.values()):
                worked = now()
            if states is None or now() - worked <= self._idle:
                continue
            if not ended:
                ended = frozenset(states)
                _log.error("nobody has given devices back for %g s: they are taken from %s", self._idle, [*states])
            # A later life has not been told to train on anything.
            if self._are_ended(ended, states, "it stood idle with devices that nobody gave back"):
                lend.operation.back = controller.published

    async def _until_unused(self) -> None:
        """Wait until no trainer uses a device, at most the operation's time. Raises SyncFailed."""
        until = now() + self._controller.settings.deadline
        while True:
            states = await self._states()
            # One that is only starting has been told nothing by whoever gives the devices back.
            if states is not None and USES.isdisjoint(states.values()):
                return
            states = states or {}
            failed = frozenset(life for life, state in states.items() if state == "FAILED")
            self._are_ended(failed, states, "it has failed with devices that are given back")
            if now() > until:
                uses = ", ".join(f"{life} ({state})" for life, state in states.items())
                raise SyncFailed(f"the devices are still in use: {uses}", "in_use", retry=True)
            await asyncio.sleep(SOON_S)

    async def _home(self, operation: Operation) -> None:
        """Wait until every member is at what is published again. Raises SyncFailed where none is."""
        controller = self._controller
        while controller.lends is operation:
            await controller.changed.until(lambda: controller.lends is not operation, SOON_S)
        controller.begin_catching_up()
        await controller.changed.until(
            lambda: controller.overruled.is_set() or not any(map(controller.is_behind, controller.members)),
            controller.settings.deadline,
        )
        serving = {member.replica for member in controller.serving()}
        for replica in serving.intersection(operation.members):
            operation.closed.add(replica)
        if not serving:
            raise controller.failure("what is published is not served again yet", operation)

    # -- inside ----------------------------------------------------------------------------------

    def _is_known(self) -> bool:
        try:
            return self._use.is_known()
        except StoreError as error:
            raise SyncFailed(str(error), "register", retry=True) from error

    async def _states(self) -> dict[str, str] | None:
        """What each life does; None where the roster cannot be read, which its follower says."""
        with contextlib.suppress(StoreError):
            return await self._use.states()
        return None

    def _are_ended(self, lives: frozenset[str], states: dict[str, str], why: str) -> bool:
        """Order the end of those that go on; whether none does."""
        left = lives.intersection(states)
        for life in sorted(left):
            with contextlib.suppress(StoreError):
                self._use.roster.order_end(life, self._controller.term, why)
        return not left


def _stand_idle(states: Iterable[str]) -> bool:
    """Whether every trainer is known to do nothing."""
    return {UNKNOWN, STARTING, "TRAINING", "PUBLISHING", "SAVING", "LOADING"}.isdisjoint(states)
