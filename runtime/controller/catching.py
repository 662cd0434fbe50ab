"""Replicas that come home: each brought to the published version by `converge`, beside the others.

Rules of this file:

- No operation runs meanwhile: one that begins ends this for all.
- Weights are staged first: who cannot do that stays as it is, and is tried again.
- What is published may be raised meanwhile, by a gate that is above it; all then go on to the new one.
- Nothing is raised out of the tasks: what became of one is its result.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from ...protocol.client import CallError
from ...statemachines.replica import Replica
from ...statemachines.sorts import Mode
from ..weights import ManifestError
from .member import Above, Member, MemberError, Overruled, as_member_error
from .register import RegisterError
from .sync import INSTANCE

if TYPE_CHECKING:
    from .controller import Controller


class CatchingUp:
    """The members that catch up now. `uses_device`: as for the controller."""

    def __init__(
        self, controller: Controller, group: asyncio.TaskGroup, uses_device: Callable[[], Awaitable[bool]]
    ) -> None:
        self._controller, self._group, self._uses_device = controller, group, uses_device
        self._tasks: dict[str, asyncio.Task[MemberError | None]] = {}
        self._slow: set[str] = set()
        """Incarnations that were drained last time and did not come home: they are not waited for again."""
        self.why_not: dict[str, str] = {}
        """Of replicas that have not caught up: what the last try said."""

    def begin(self, replica: str) -> asyncio.Task[MemberError | None]:
        """The task that brings a member home; there is one at a time. No operation may be running."""
        task = self._tasks.get(replica)
        if task is None:
            task = self._tasks[replica] = self._group.create_task(self._come_home(replica))
            task.add_done_callback(lambda _: self._tasks.pop(replica, None))
        return task

    def stop(self) -> None:
        for task in self._tasks.values():
            task.cancel()

    async def end(self, within: float) -> set[str]:
        """Wait at most `within` seconds for those that are on their way; the rest is stopped, and returned."""
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=within)
        late = dict(self._tasks)
        self.stop()
        if late:
            await asyncio.wait(late.values())
        return set(late)

    async def _come_home(self, replica: str) -> MemberError | None:
        controller = self._controller
        try:
            member = controller.member(replica)
            await member.while_alive(self._stage(member))
            await self._follow(member)
        except MemberError as failure:
            self.why_not[replica] = str(failure)
            return failure
        except Overruled as found:
            controller.overrule(str(found))
            return MemberError(f"{replica} has not caught up: {found}")
        self.why_not.pop(replica, None)
        return None

    async def _stage(self, member: Member) -> None:
        """Bring the weights beside those that it has, in time of its own, where nothing has to be done before."""
        controller, version = self._controller, self._controller.published
        try:
            gate = (await member.gate.get()).snapshot
        except CallError as error:
            raise as_member_error(error) from error
        is_free = gate.lent is None and gate.state not in ("INSTALLING", "POISONED")
        if version is not None and is_free and not (gate.version == version and gate.resident):
            if not await controller.is_durable(version):
                raise MemberError(f"the bytes of version {version} are not there any more")
            await member.stage(version, controller.settings.staging)

    async def _follow(self, member: Member) -> None:
        """Until the member is at what is published, whatever that becomes. Raises MemberError, Overruled."""
        controller, within = self._controller, self._controller.settings.deadline
        try:
            async with asyncio.timeout(within):
                while (version := controller.published) is not None:
                    try:
                        await member.while_alive(self._converge(member, version))
                    except Above as above:
                        controller.raise_to(above.version)
                    if controller.published == version:
                        return
        except TimeoutError:
            raise MemberError(f"{member.incarnation} did not catch up within {within:g} s") from None
        except CallError as error:
            raise as_member_error(error) from error
        except (OSError, ManifestError, RegisterError) as error:
            raise MemberError(f"{member.incarnation} cannot catch up: {error}") from error

    async def _converge(self, member: Member, version: int) -> None:
        controller, settings = self._controller, self._controller.settings
        digests = controller.manifests.get(version).rank_digests
        gate, epoch = (await member.gate.get()).snapshot, controller.register.next_epoch()
        if controller.log:
            controller.log.fact("Sync", INSTANCE, "catch_up", replica=member.replica, epoch=epoch, version=version)
        is_slow = settings.mode is Mode.WAIT and member.incarnation in self._slow
        self._slow.add(member.incarnation)
        await member.converge(
            version, epoch, digests(sorted(gate.ranks)),
            mode=settings.escalation if is_slow else settings.mode, window_ms=settings.window_ms,
            within=settings.deadline, is_durable=controller.is_durable, uses_device=self._uses_device,
            is_target=lambda: controller.published == version,
        )  # fmt: skip
        self._slow.discard(member.incarnation)
        controller.tell(member.incarnation, Replica.Synced(version=version))
