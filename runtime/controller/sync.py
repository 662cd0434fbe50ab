"""The actions of the Sync machine: each output, carried out on the members at the same time.

Rules of this file:

- The table decides what comes next; here a member's answer becomes its event, and nothing else.
- A member that fails, refuses, has ended or does not answer in time is dropped, with its reason.
- Every wait is bounded by the operation's deadline; sealing and draining leave a part of it for the install.
- A refusal by a higher term ends everything at once.
- A pause is a same-version window that lends nothing: it is held where devices would be lent, its install
  is refused since the weights are resident, and so every member is resumed on what it holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any

from ...protocol.client import CallError, Refused
from ...protocol.host import MachineHost
from ...statemachines.sorts import Mode
from ...statemachines.sync import Sync
from ..weights import ManifestError, ManifestStore
from .converge import is_drained, is_verified
from .member import Member, MemberError, Overruled, as_member_error
from .register import Register, RegisterError

INSTANCE = "sync"
"""The name of a controller's one instance of Sync."""


@dataclass(frozen=True, slots=True)
class SyncSettings:
    """How an operation runs. `deadline`, `takeover`, `call` and `staging` in seconds.

    The gates' window is the sum of the first two: a gate may stay closed for an operation and for a new
    controller to take it over. `drain_share` of the deadline is for sealing and draining. A replica whose
    drain did not end in its time under `wait` is drained by `escalation` the next time. One that misses
    `patience` probes in a row is dead. `staging` is how long a replica may take to receive a version while its gate
    is still open; 0: it receives it in the window.
    """

    mode: Mode = Mode.KEEP
    minimum: int = 1
    deadline: float = 20.0
    takeover: float = 10.0
    call: float = 5.0
    drain_share: float = 0.7
    escalation: Mode = Mode.ABORT
    patience: int = 5
    staging: float = 120.0

    @property
    def window_ms(self) -> int:
        return int(1000 * (self.deadline + self.takeover))


def now() -> float:
    """The event loop's time in seconds."""
    return asyncio.get_running_loop().time()


async def nothing() -> None:
    """What an operation that lends no device trains meanwhile."""


RETRY_S = 0.2
"""Pause between two tries of a register that cannot be written."""


@dataclass(slots=True)
class Operation:
    """What is told of one operation; `marks` in seconds since its begin.

    `during` runs between the drain and the install, with `lends` while the devices are lent; `trouble` is what
    it raised; `back` is the version that came back with the devices, where another than `version` may. `allowed` is
    the deadline in seconds, begun anew by `extend`. `closed` are the members that are open again; `reason` and `retry`
    are those of a refusal to begin. `unstaged` are replicas that take no part, since they could not stage the version.
    """

    version: int
    allowed: float
    mode: Mode
    lends: bool = False
    during: Callable[[], Awaitable[None]] | None = None
    epoch: int = 0
    members: tuple[str, ...] = ()
    began: float = field(default_factory=now)
    marks: dict[str, float] = field(default_factory=dict)
    dropped: dict[str, str] = field(default_factory=dict)
    declined: dict[str, str] = field(default_factory=dict)
    unstaged: dict[str, str] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)
    outcome: str = ""
    reason: str = ""
    retry: bool = False
    trouble: Exception | None = None
    back: int | None = None
    until: float = 0.0
    done: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.extend()

    @property
    def is_pause(self) -> bool:
        """Whether it holds the gates drained, and neither lends nor installs."""
        return self.during is not None and not self.lends

    def extend(self) -> None:
        """Begin the deadline anew."""
        self.until = now() + self.allowed

    def mark(self, phase: str) -> None:
        self.marks[phase] = now() - self.began

    def end(self, outcome: str) -> None:
        """The first outcome stands."""
        if not self.done.is_set():
            self.outcome = outcome
            self.mark("end")
            self.done.set()

    def left_behind(self) -> dict[str, str]:
        """The replicas that it went on without, and why."""
        reasons = {**self.unstaged, **self.declined, **self.dropped}
        return {r: why for r, why in reasons.items() if r not in self.closed}


class SyncFailed(Exception):
    """An operation did not publish, or pause; the text says why, `reason` names it for programs."""

    def __init__(self, text: str, reason: str = "failed", *, retry: bool = False, operation: Operation | None = None):
        super().__init__(text)
        self.reason, self.retry, self.operation = reason, retry, operation


class SyncActions:
    """Carries out what Sync emits; `members` gives the present members by replica.

    `is_durable` says whether manifest and bytes of a version are, `overruled` is called once a higher term is
    known to rule.
    """

    def __init__(
        self, settings: SyncSettings, register: Register, manifests: ManifestStore, members: Callable[[str], Member],
        is_durable: Callable[[int], Awaitable[bool]], overruled: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.settings, self._register, self._manifests, self._members = settings, register, manifests, members
        self._is_durable, self._overruled = is_durable, overruled
        self.host: MachineHost
        self.operation: Operation
        self._slow: set[str] = set()

    # -- outputs of the machine ------------------------------------------------------------------

    async def send_seal(self, instance: str, epoch: int, members: frozenset[str], mode: Mode) -> None:
        async def seal(member: Member) -> None:
            await member.seal(epoch, mode, self.settings.window_ms)
            self._step(Sync.Sealed(replica=member.replica))

        await self._each(members, seal, self._left_for_draining())
        self.operation.mark("sealed")

    async def send_drain(self, instance: str, epoch: int, members: frozenset[str]) -> None:
        is_wait = self.operation.mode is Mode.WAIT

        async def drain(member: Member) -> None:
            if is_wait and member.incarnation in self._slow:
                await member.escalate(epoch, self.settings.escalation)
            await member.drain(epoch)
            if is_wait:
                self._slow.add(member.incarnation)
            gate = await member.until(
                lambda g, n: g.epoch != epoch or g.state != "DRAINING" or is_drained(g), self._left()
            )
            self._slow.discard(member.incarnation)
            self._require(gate, epoch, "DRAINING")
            self._step(Sync.Drained(replica=member.replica))

        await self._each(members, drain, self._left_for_draining())
        self.operation.mark("drained")

    async def send_lend(self, instance: str, epoch: int, members: frozenset[str]) -> None:
        lent: dict[str, str] = {}

        async def lend(member: Member) -> None:
            lent[member.replica] = await member.lend(epoch)

        if self.operation.lends:
            await self._each(members, lend)
            self.operation.mark("lent")
        async with asyncio.TaskGroup() as group:
            renewing = group.create_task(self._renew(epoch, frozenset(lent) if self.operation.lends else members))
            try:
                await (self.operation.during or nothing)()
            except Exception as error:
                # The devices go back whatever became of the training; the caller of the sync is told.
                self.operation.trouble = error
            renewing.cancel()
        if self.host.live(INSTANCE).state != "LENT":
            # Nobody is left, or a higher term rules, which asks the trainer itself.
            return
        self.operation.extend()

        async def take_back(member: Member) -> None:
            await member.returned(epoch, lent[member.replica])
            # The gate's window is as long as the deadline that begins now.
            await member.renew(epoch, self.settings.window_ms)

        await self._each(lent, take_back)
        back = self.operation.back
        if back is None or back == self.operation.version:
            self._step(Sync.Trained())
            return
        # There is nothing of this version to install: each comes home to what is published by itself.
        for replica in sorted(members):
            self._drop(replica, f"its device came back without version {self.operation.version}")

    async def _renew(self, epoch: int, members: frozenset[str]) -> None:
        """Give the gates a new window three times in each, until cancelled."""
        while True:
            await asyncio.sleep(self.settings.window_ms / 3000)
            self.operation.extend()
            await self._each(members, lambda member: member.renew(epoch, self.settings.window_ms))

    async def send_install(self, instance: str, epoch: int, members: frozenset[str], version: int) -> None:
        async def install(member: Member) -> None:
            manifest = self._manifests.get(version)
            gate = (await member.gate.get()).snapshot
            if gate.version != version and not await self._is_durable(version):
                # An install that finds no bytes poisons its gate.
                raise MemberError(f"the bytes of version {version} are not there any more")
            try:
                await member.install(epoch, version, manifest.rank_digests(sorted(gate.ranks)))
            except Refused as refusal:
                self.operation.declined[member.replica] = str(refusal)
                self._step(Sync.Declined(replica=member.replica))
                return
            # A gate that its deadline reopened at the version counts as installed.
            gate = await member.until(
                lambda g, n: g.epoch != epoch or g.state != "INSTALLING" or is_verified(g), self._left()
            )
            if not (gate.epoch == epoch and gate.version == version and gate.state in ("INSTALLING", "REOPENED")):
                raise MemberError(f"{member.incarnation} did not install {version}: its gate is {gate.state}")
            self._step(Sync.Installed(replica=member.replica))

        await self._each(members, install)
        self.operation.mark("installed")

    async def record(self, instance: str, version: int) -> None:
        stands = await self._publish(version)
        self.operation.mark("recorded")
        if stands:
            self._step(Sync.Recorded())
        else:
            self._overruled("the register is ruled by a higher term")

    async def send_reopen(self, instance: str, epoch: int, members: frozenset[str]) -> None:
        async def reopen(member: Member) -> None:
            await member.reopen(epoch)
            await member.close_gate(epoch, self._left())
            self._closed(member)

        await self._each(members, reopen)

    async def send_resume(self, instance: str, epoch: int, members: frozenset[str]) -> None:
        published = self._register.published

        async def resume(member: Member) -> None:
            if published is None:
                raise MemberError(f"{member.incarnation} has no published version to go back to")
            manifest = self._manifests.get(published)
            gate = (await member.gate.get()).snapshot
            await member.converge(
                published, epoch, manifest.rank_digests(sorted(gate.ranks)), mode=self.settings.mode,
                window_ms=self.settings.window_ms, within=self._left(), is_durable=self._is_durable,
            )  # fmt: skip
            self._closed(member)

        await self._each(members, resume)

    async def announce(self, instance: str, version: int) -> None:
        self.operation.end("published")

    async def report(self, instance: str, epoch: int) -> None:
        self.operation.end("rolled back")

    # -- inside ----------------------------------------------------------------------------------

    async def _each(
        self, members: Iterable[str], do: Callable[[Member], Coroutine[Any, Any, object]], within: float | None = None
    ) -> None:
        """`do` for all members at the same time, within the operation's time or less; who fails is dropped."""
        within = self._left() if within is None else within

        async def one(replica: str) -> None:
            try:
                async with asyncio.timeout(within):
                    member = self._members(replica)
                    await member.while_alive(do(member))
            except TimeoutError:
                self._drop(replica, f"no answer within {within:.3g} s of an operation's {self.settings.deadline:g} s")
            except CallError as error:
                failure = as_member_error(error)
                if isinstance(failure, Overruled):
                    raise failure from error
                self._drop(replica, str(failure))
            except MemberError as error:
                self._drop(replica, str(error))
            except (OSError, ManifestError) as error:
                self._drop(replica, f"what it should hold cannot be told: {error}")

        try:
            async with asyncio.TaskGroup() as group:
                for replica in sorted(members):
                    group.create_task(one(replica))
        except* Overruled as found:
            self._overruled(str(found.exceptions[0]))

    async def _publish(self, version: int) -> bool:
        """Write the register, again while it cannot be written and time is left. Raises RegisterError."""
        while True:
            try:
                # In a thread: a disk that is slow holds no probe and no control call up.
                return await asyncio.to_thread(self._register.publish, version, self.host.live(INSTANCE).term)
            except RegisterError:
                if now() > self.operation.until:
                    raise
            await asyncio.sleep(RETRY_S)

    def _closed(self, member: Member) -> None:
        self.operation.closed.add(member.replica)
        self._step(Sync.Closed(replica=member.replica))

    def _drop(self, replica: str, why: str) -> None:
        self.operation.dropped[replica] = why
        self._step(Sync.Drop(replica=replica, why=why))

    def _step(self, event: Any) -> None:
        self.host.step(INSTANCE, event, cause=f"{self.host.live(INSTANCE).term}.{self.operation.epoch}")

    def _left(self) -> float:
        """Seconds left of the operation; a little even when it is over, so that ends can be told."""
        return max(0.5, self.operation.until - now())

    def _left_for_draining(self) -> float:
        """Seconds left for sealing and draining."""
        return max(0.5, self._left() - (1 - self.settings.drain_share) * self.operation.allowed)

    @staticmethod
    def _require(gate: Any, epoch: int, state: str) -> None:
        if gate.epoch != epoch or gate.state != state:
            raise MemberError(f"its gate is {gate.state} in epoch {gate.epoch}, not {state} in {epoch}")
