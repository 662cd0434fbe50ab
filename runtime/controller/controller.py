"""The controller of one term: operations one at a time, the cohort, and catching up.

Rules of this file:

- Every operation, a sync or a catch-up, runs alone: the lock is the queue of operations.
- Which replicas take part is read from the Replica machine; what they do, from the Sync machine.
- A replica that left a cohort, or is new, catches up by `converge` before it serves.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self

from ...protocol.client import CallError
from ...protocol.generated.replica_service import REPLICA
from ...protocol.generated.sync_service import SYNC
from ...protocol.host import MachineHost
from ...protocol.wire import Wire
from ...statemachines.replica import Replica
from ...statemachines.sync import Sync
from ..signals import Signal
from ..tracelog import TraceLog
from ..weights import ManifestError, ManifestStore
from .member import Member, MemberError
from .register import Register
from .sync import INSTANCE, Operation, SyncActions, SyncSettings, nothing

PROBE_S, PROBE_WITHIN_S = 1.0, 3.0
"""How often a replica is asked how it is, and how long it may take to answer."""

PATIENCE = 5
"""Probes that a replica may miss in a row before it is dead."""


class SyncFailed(Exception):
    """An operation did not publish; the text says why."""


class ReplicaActions:
    """What the Replica machine asks of the process around the controller."""

    def __init__(
        self, stop: Callable[[str], Awaitable[None]], replace: Callable[[str], Awaitable[None]],
        evacuate: Callable[[str], Awaitable[None]],
    ) -> None:  # fmt: skip
        self._stop, self._replace, self._evacuate = stop, replace, evacuate

    async def stop_process(self, instance: str) -> None:
        await self._stop(instance)

    async def replace(self, instance: str) -> None:
        await self._replace(instance)

    async def evacuate(self, instance: str) -> None:
        await self._evacuate(instance)


class Controller:
    """Rules the gates of a run for one term. Use as `async with`.

    `stop`, `replace` and `evacuate` are given an incarnation and act on its process and sessions.
    `log` is the trace log of this process.
    """

    def __init__(
        self, register: Register, manifests: ManifestStore, settings: SyncSettings, actions: ReplicaActions,
        log: TraceLog | None = None,
    ) -> None:  # fmt: skip
        self.register, self.manifests, self.settings = register, manifests, settings
        self.term = register.new_term()
        self.incarnation = f"controller.{self.term}"
        self.members: dict[str, Member] = {}
        self.operations: list[Operation] = []
        self._alone = asyncio.Lock()
        self._group = asyncio.TaskGroup()
        self.changed = Signal()
        """Notified after every step of Sync and Replica."""
        self._actions = SyncActions(settings, register, manifests, self._member)
        self._log = log
        self.syncs = self._host(SYNC, self._actions)
        self._actions.host = self.syncs
        self.replicas = self._host(REPLICA, actions)

    def _host(self, wire: Wire, actions: Any) -> MachineHost:
        """A host whose steps are logged, and then told to those who wait for a change."""
        logged = self._log.of(wire.name) if self._log else None

        def observe(*step: Any) -> None:
            if logged is not None:
                logged(*step)
            self.changed.notify()

        lives = logged.lives if logged is not None else None
        return MachineHost(wire, actions, incarnation=self.incarnation, observer=observe, lives=lives)

    async def __aenter__(self) -> Self:
        await self.syncs.__aenter__()
        await self.replicas.__aenter__()
        await self._group.__aenter__()
        self.syncs.create(INSTANCE, term=self.term, minimum=self.settings.minimum)
        restore = Sync.Restore(epoch=self.register.epoch, published=self.register.published)
        self.syncs.step(INSTANCE, restore, cause=f"{self.term}.0")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            try:
                await self._group.__aexit__(kind, error, trace)
            finally:
                await self.replicas.__aexit__(kind, error, trace)
        finally:
            await self.syncs.__aexit__(kind, error, trace)
            for member in self.members.values():
                await member.close()

    # -- the cohort ------------------------------------------------------------------------------

    @property
    def published(self) -> int | None:
        return self.syncs.live(INSTANCE).published

    @property
    def is_idle(self) -> bool:
        """Whether no operation runs: sessions may be bound."""
        return self.syncs.live(INSTANCE).state == "IDLE"

    def state_of(self, replica: str) -> str:
        """The Replica state of the present incarnation of `replica`."""
        member = self.members.get(replica)
        return self.replicas.live(member.incarnation).state if member else "DEAD"

    def is_alive(self, incarnation: str) -> bool:
        """Whether this incarnation has not been declared dead."""
        return incarnation in self.replicas and self.replicas.live(incarnation).state != "DEAD"

    def serving(self) -> list[Member]:
        """Members that sessions may be bound to: serving, at the published version."""
        return [
            m
            for m in self.members.values()
            if (live := self.replicas.live(m.incarnation)).state == "SERVING" and live.version == self.published
        ]

    def _member(self, replica: str) -> Member:
        member = self.members.get(replica)
        if member is None:
            raise MemberError(f"{replica} has left")
        return member

    async def join(self, replica: str, incarnation: str, control: str, data: str) -> None:
        """Take in a new incarnation, and bring it to the published version if there is one.

        Raises MemberError if it cannot be claimed or does not catch up.
        """
        self.replicas.create(incarnation, patience=PATIENCE)
        await self.claim(replica, incarnation, control, data)
        if self.published is not None:
            await self.catch_up(replica)

    async def claim(self, replica: str, incarnation: str, control: str, data: str) -> None:
        """Take the gate of a new incarnation over; it then takes part in the next operation."""
        member = Member(replica, incarnation, control, data, term=self.term, call=self.settings.call)
        try:
            await member.claim()
        except CallError as error:
            await member.close()
            raise MemberError(str(error)) from error
        old = self.members.get(replica)
        self.members[replica] = member
        if old is not None:
            await old.close()
        self.tell(incarnation, Replica.Started())

    def tell(self, incarnation: str, event: Any) -> None:
        """A fact about an incarnation, for its Replica machine."""
        self.replicas.step(incarnation, event, cause=incarnation)

    async def probe(self, replica: str, incarnation: str) -> None:
        """Ask one incarnation how it is, again and again; ends when it is dead.

        One that has fallen behind is brought to the published version; one that said that it installs and is
        silent for longer than its gate may stay closed is overdue.
        """
        clock = asyncio.get_running_loop().time
        heard = clock()
        while self.replicas.live(incarnation).state != "DEAD":
            await asyncio.sleep(PROBE_S)
            member = self.members.get(replica)
            if member is None or member.incarnation != incarnation:
                continue
            try:
                gate = (await member.gate.get(deadline=PROBE_WITHIN_S)).snapshot
            except CallError:
                if clock() - heard > self.settings.window_ms / 1000:
                    self.tell(incarnation, Replica.Overdue())
                self.tell(incarnation, Replica.Missed())
                continue
            heard = clock()
            self.tell(incarnation, Replica.Answered(installing=gate.state == "INSTALLING"))
            if gate.state == "POISONED":
                self.tell(incarnation, Replica.Poisoned(why="its gate is poisoned"))
            elif self.state_of(replica) == "SYNCING" and self.published is not None:
                with contextlib.suppress(MemberError):
                    await self.catch_up(replica)

    # -- operations ------------------------------------------------------------------------------

    async def sync(self, version: int, *, train: Callable[[], Awaitable[None]] | None = None) -> Operation:
        """Bring all live members to `version`, whose manifest and bytes are durable, and publish it.

        With `train` the members' devices are lent out while it runs. Returns the operation that
        published. Whoever stops waiting does not stop the operation. Raises SyncFailed; what `train` raised.
        """
        self.manifests.get(version)
        operation = await asyncio.shield(self._group.create_task(self._operate(version, train)))
        if operation.trouble is not None:
            raise operation.trouble
        if operation.outcome != "published":
            reasons = "; ".join(f"{r}: {w}" for r, w in {**operation.dropped, **operation.declined}.items())
            raise SyncFailed(f"version {version} was not published ({operation.outcome}) {reasons}".rstrip())
        return operation

    async def _operate(self, version: int, train: Callable[[], Awaitable[None]] | None) -> Operation:
        async with self._alone:
            members = [r for r in self.members if self.state_of(r) in ("SYNCING", "SERVING", "SUSPECT")]
            operation = Operation(
                self.register.next_epoch(), version, tuple(members), self.settings.deadline, train=train or nothing
            )
            self._actions.operation = operation
            self.operations.append(operation)
            begin = Sync.Begin(
                epoch=operation.epoch, version=version, members=frozenset(members), mode=self.settings.mode,
                lend=train is not None,
            )  # fmt: skip
            outcome = self.syncs.step(INSTANCE, begin, cause=f"{self.term}.{operation.epoch}")
            if outcome.refused:
                operation.end(f"refused: {outcome.text}")
                return operation
            await operation.done.wait()
            for replica in members:
                self._conclude(replica, operation)
        return operation

    def _conclude(self, replica: str, operation: Operation) -> None:
        member = self.members.get(replica)
        if member is None:
            return
        if replica in operation.dropped or replica in operation.declined:
            why = operation.dropped.get(replica) or operation.declined[replica]
            self.tell(member.incarnation, Replica.LeftBehind(why=why))
        elif operation.outcome == "published":
            self.tell(member.incarnation, Replica.Synced(version=operation.version))

    async def catch_up(self, replica: str) -> None:
        """Bring one member to the published version by `converge`. Raises MemberError."""
        async with self._alone:
            member, version = self._member(replica), self.published
            if version is None:
                return
            try:
                digests = self.manifests.get(version).rank_digests
                gate, epoch = (await member.gate.get()).snapshot, self.register.next_epoch()
            except (CallError, OSError, ManifestError) as error:
                raise MemberError(f"{member.incarnation} cannot catch up to {version}: {error}") from error
            if self._log:
                self._log.fact("Sync", INSTANCE, "catch_up", replica=replica, epoch=epoch, version=version)
            await member.converge(
                version, epoch, digests(sorted(gate.ranks)), mode=self.settings.mode,
                window_ms=self.settings.window_ms, within=self.settings.deadline,
                is_durable=lambda v: v in self.manifests.versions(),
            )  # fmt: skip
            self.tell(member.incarnation, Replica.Synced(version=version))
