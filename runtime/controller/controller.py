"""The controller of one term: operations one at a time, the cohort, and catching up.

Rules of this file:

- Every operation runs alone. Replicas catch up beside each other, and never beside an operation: one that
  begins waits a while for them, and goes on without those whose gates are still in the middle.
- Which replicas take part is read from the Replica machine; what they do, from the Sync machine.
- A replica that left a cohort, is new, or was found by a takeover catches up by `converge` before it serves.
- Once a higher term is known to rule, nothing is done any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self

from ...protocol.client import CallError
from ...protocol.generated.replica_service import REPLICA
from ...protocol.generated.sync_service import SYNC
from ...protocol.host import MachineHost
from ...protocol.tasks import Tasks
from ...protocol.wire import Wire
from ...statemachines.compiler import Outcome
from ...statemachines.replica import Replica
from ...statemachines.sorts import Mode
from ...statemachines.sync import Sync
from ..signals import Signal
from ..tracelog import TraceLog
from ..weights import ManifestStore
from .catching import CatchingUp
from .health import probe
from .member import Member, MemberError, Overruled, as_member_error, nobody_trains
from .operating import Operating
from .register import Register
from .replicas import ReplicaActions
from .sync import INSTANCE, Operation, SyncActions, SyncFailed, SyncSettings

GRACE_S = 1.0
"""How long outputs of the machines may go on once the controller is left."""


async def always_there(version: int) -> bool:
    """Of a run whose bytes outlive everything that could ask for them."""
    return True


class Controller:
    """Rules the gates of a run for one term. Use as `async with`.

    `actions` are given an incarnation and act on its process and sessions. `log` is the trace log of this
    process. `has_bytes` says whether the bytes of a version can be installed from; `uses_device` whether the
    trainer that an earlier controller lent a device to may still train on it.
    """

    def __init__(
        self, register: Register, manifests: ManifestStore, settings: SyncSettings, actions: ReplicaActions,
        log: TraceLog | None = None, *, incarnation: str = "",
        has_bytes: Callable[[int], Awaitable[bool]] = always_there,
        uses_device: Callable[[], Awaitable[bool]] = nobody_trains,
    ) -> None:  # fmt: skip
        self.register, self.manifests, self.settings = register, manifests, settings
        self.term = register.new_term()
        self.incarnation = incarnation or f"controller.{self.term}"
        self.members: dict[str, Member] = {}
        self.operations: list[Operation] = []
        """The last ones that were begun."""
        self.overruled = asyncio.Event()
        """Set once a higher term is known to rule."""
        self.why_overruled = ""
        self.paused: Operation | None = None
        self.lends: Operation | None = None
        """The operation that lends devices to whoever asked for them, while it goes on."""
        self._hold = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._group = Tasks()
        self.catching = CatchingUp(self, self._group, uses_device)
        self.changed = Signal()
        """Notified after every step of Sync and Replica."""
        self._replica_actions, self._has_bytes = actions, has_bytes
        self._actions = SyncActions(settings, register, manifests, self.member, self.is_durable, self.overrule)
        self.log = log
        self._operating = Operating(self, self._actions)
        self.syncs = self._host(SYNC, self._actions)
        self._actions.host = self.syncs
        self.replicas = self._host(REPLICA, actions)
        self.replicas.observe(self._observe_replica)

    def _host(self, wire: Wire, actions: Any) -> MachineHost:
        """A host whose steps are logged, and then told to those who wait for a change."""
        logged = self.log.of(wire.name) if self.log else None
        lives = logged.lives if logged is not None else None
        host = MachineHost(wire, actions, incarnation=self.incarnation, observer=logged, lives=lives, grace=GRACE_S)
        host.observe(lambda *step: self.changed.notify())
        return host

    def _observe_replica(
        self, incarnation: str, number: int, event: Any, before: str, after: str, outcome: Outcome, cause: str
    ) -> None:
        if outcome.kind != "go":
            return
        if after == "DEAD":
            if not any(isinstance(o, Replica.Replace) for o in outcome.outputs):
                self._replica_actions.leaving.add(incarnation)
            for member in self.members.values():
                if member.incarnation == incarnation:
                    member.end(getattr(event, "why", type(event).__name__.lower()))

    async def __aenter__(self) -> Self:
        await self.syncs.__aenter__()
        await self.replicas.__aenter__()
        await self._group.__aenter__()
        self.syncs.create(INSTANCE, term=self.term, minimum=self.settings.minimum)
        self._restore(self.register.published)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            try:
                self._hold.set()
                self.changed.notify()
                self.catching.stop()
                await self._group.__aexit__(kind, error, trace)
            finally:
                await self.replicas.__aexit__(kind, error, trace)
        finally:
            await self.syncs.__aexit__(kind, error, trace)
            for member in self.members.values():
                await member.close()

    def stop(self) -> None:
        """End at once: operations and catching up are given up, and gates are left as they are."""
        self.catching.stop()
        for task in self._tasks:
            task.cancel()

    def overrule(self, why: str) -> None:
        """A higher term rules: whatever goes on here ends, and nothing begins."""
        if self.overruled.is_set():
            return
        self.overruled.set()
        self.why_overruled = why
        epoch = self.syncs.live(INSTANCE).epoch
        self.syncs.step(INSTANCE, Sync.Overruled(), cause=f"{self.term}.{epoch}")
        self._hold.set()
        self.catching.stop()
        if self.operations:
            self.operations[-1].end(f"overruled: {why}")

    # -- the cohort ------------------------------------------------------------------------------

    @property
    def published(self) -> int | None:
        return self.syncs.live(INSTANCE).published

    @property
    def is_idle(self) -> bool:
        """Whether no operation runs: sessions may be bound."""
        return self.syncs.live(INSTANCE).state == "IDLE"

    async def is_durable(self, version: int) -> bool:
        """Whether manifest and bytes of a version are durable, so that any gate can be brought to it."""
        return version in self.manifests.versions() and await self._has_bytes(version)

    def state_of(self, replica: str) -> str:
        """The Replica state of the present incarnation of `replica`."""
        member = self.members.get(replica)
        return self.replicas.live(member.incarnation).state if member else "DEAD"

    def is_alive(self, incarnation: str) -> bool:
        """Whether this incarnation has not been declared dead."""
        return incarnation in self.replicas and self.replicas.live(incarnation).state != "DEAD"

    def serving(self) -> list[Member]:
        """Members that sessions may be bound to: serving, at the published version."""
        return [m for m in self.members.values() if self._is_home(m.replica, "SERVING")]

    def is_behind(self, replica: str) -> bool:
        """Whether a live member has to catch up."""
        if self.published is None or self.state_of(replica) not in ("SYNCING", "SERVING", "SUSPECT"):
            return False
        return not self._is_home(replica, "SERVING", "SUSPECT")

    def _is_home(self, replica: str, *states: str) -> bool:
        if (member := self.members.get(replica)) is None:
            return False
        live = self.replicas.live(member.incarnation)
        return live.state in states and live.version == self.published

    def member(self, replica: str) -> Member:
        """The present incarnation of `replica`. Raises MemberError if there is none."""
        member = self.members.get(replica)
        if member is None:
            raise MemberError(f"{replica} has left")
        return member

    async def join(self, replica: str, incarnation: str, control: str, data: str) -> None:
        """Take in a new incarnation, and bring it to the published version if there is one.

        Raises MemberError if it cannot be claimed or does not catch up.
        """
        self.introduce(incarnation)
        await self.claim(replica, incarnation, control, data)
        if self.published is not None:
            await self.catch_up(replica)

    def introduce(self, incarnation: str) -> None:
        """A life of a replica is known: it is probed, and may be claimed."""
        self.replicas.create(incarnation, patience=self.settings.patience)

    async def claim(self, replica: str, incarnation: str, control: str, data: str) -> Any:
        """Take the gate of a new incarnation over; it then takes part in the next operation. Its snapshot.

        Raises MemberError.
        """
        staged_by = data if self.settings.staging else ""
        member = Member(replica, incarnation, control, staged_by, term=self.term, call=self.settings.call)
        try:
            gate = (await member.claim()).snapshot
        except CallError as error:
            await member.close()
            if isinstance(failure := as_member_error(error), Overruled):
                self.overrule(str(failure))
            raise MemberError(str(failure)) from error
        old = self.members.get(replica)
        self.members[replica] = member
        if old is not None:
            # Whoever still asks it must not find its channel closed.
            old.end(f"{incarnation} has taken its place")
            await old.close()
        self.tell(incarnation, Replica.Started())
        return gate

    def tell(self, incarnation: str, event: Any) -> None:
        """A fact about an incarnation, for its Replica machine."""
        self.replicas.step(incarnation, event, cause=incarnation)

    async def probe(self, replica: str, incarnation: str) -> None:
        """Ask one incarnation how it is until it is dead, or a higher term rules; see `probe`."""
        await probe(self, replica, incarnation)

    # -- operations ------------------------------------------------------------------------------

    async def sync(self, version: int, *, train: Callable[[], Awaitable[None]] | None = None) -> Operation:
        """Bring all live members to `version`, whose manifest and bytes are durable, and publish it.

        With `train` the members' devices are lent out while it runs. Returns the operation that
        published. Whoever stops waiting does not stop the operation. Raises SyncFailed; what `train` raised.
        """
        self.require_ruling()
        self.require_free()
        await self.require_bytes(version)
        operation = Operation(
            version, self.settings.deadline, self.settings.mode, lends=train is not None, during=train
        )
        await asyncio.shield(self.begin(operation))
        if operation.trouble is not None:
            raise operation.trouble
        if operation.outcome != "published":
            raise self.failure(f"version {version} was not published", operation)
        return operation

    async def pause(self, mode: Mode | None = None) -> Operation:
        """Drain all gates that serve and keep them so until `resume`. Raises SyncFailed."""
        self.require_ruling()
        version = self.published
        if self.paused is not None:
            raise SyncFailed("the cohort is paused already", "paused", retry=True)
        self.require_free()
        if version is None:
            raise SyncFailed("nothing is published: there is nothing to pause", "nothing_published", retry=True)
        self._hold = asyncio.Event()

        async def during() -> None:
            self.changed.notify()
            # Who is dropped meanwhile may have been the last member: the operation is over then.
            while not await self.changed.until(self._is_released, self.settings.deadline):
                pass

        operation = Operation(version, self.settings.deadline, mode or self.settings.mode, during=during)
        self.paused = operation
        task = self.begin(operation)
        while not (self.is_paused or task.done()):
            await self.changed.until(lambda: self.is_paused or task.done(), self.settings.deadline)
        if not self.is_paused:
            raise self.failure("the cohort was not paused", operation)
        return operation

    def _is_released(self) -> bool:
        return self._hold.is_set() or self.syncs.live(INSTANCE).state != "LENT"

    @property
    def is_paused(self) -> bool:
        """Whether a pause has its window, the one in which nothing is lent."""
        return (
            self.paused is not None
            and self.paused is self._actions.operation
            and self.syncs.live(INSTANCE).state == "LENT"
        )

    async def resume(self) -> Operation:
        """End the pause: every gate that is paused is open again. Raises SyncFailed."""
        self.require_ruling()
        operation = self.paused
        if operation is None:
            raise SyncFailed("the cohort is not paused", "not_paused")
        self._hold.set()
        self.changed.notify()
        await operation.done.wait()
        if operation.outcome.startswith("overruled"):
            raise self.failure("the cohort was not resumed", operation)
        return operation

    def require_free(self) -> None:
        """Raises SyncFailed while an operation goes on that ends only when somebody asks for it."""
        if self.paused is not None:
            raise SyncFailed("the cohort is paused: resume it first", "paused", retry=True)
        if self.lends is not None:
            raise SyncFailed("the devices are lent to the trainer: give them back first", "lent", retry=True)

    async def require_bytes(self, version: int) -> None:
        """Raises SyncFailed where the bytes of a version are not there, OSError and ManifestError where its manifest
        is not."""
        self.manifests.get(version)
        if not await self.is_durable(version):
            raise SyncFailed(f"version {version} has a manifest, but its bytes are not there", "no_bytes")

    def require_ruling(self) -> None:
        """Raises SyncFailed once a higher term rules."""
        if self.overruled.is_set():
            raise SyncFailed("a controller of a higher term rules: ask that one", "overruled")

    @staticmethod
    def failure(text: str, operation: Operation) -> SyncFailed:
        """What is said of an operation that has not done what it was begun for."""
        reasons = "; ".join(f"{r}: {w}" for r, w in operation.left_behind().items())
        reason = operation.reason or operation.outcome.partition(":")[0].replace(" ", "_")
        said = f"{text} ({operation.outcome}) {reasons}".rstrip()
        return SyncFailed(said, reason, retry=operation.retry, operation=operation)

    def begin(self, operation: Operation) -> asyncio.Task[None]:
        """The task that carries an operation out, from its turn to its end."""
        task = self._group.create_task(self._operating.run(operation))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: self.changed.notify())
        return task

    # -- catching up -----------------------------------------------------------------------------

    async def catch_up(self, replica: str) -> None:
        """Bring one member to the published version by `converge`. Raises MemberError."""
        async with self._operating.alone:
            task = self.catching.begin(replica)
        await asyncio.wait((task,))
        if task.cancelled():
            raise MemberError(f"{replica} has not caught up: an operation began, or a higher term rules")
        if (error := task.result()) is not None:
            raise error

    def begin_catching_up(self) -> None:
        """Bring home whoever is behind, if no operation runs."""
        if not self._operating.alone.locked():
            for replica in self.members:
                if self.is_behind(replica):
                    self.catching.begin(replica)

    def raise_to(self, version: int) -> None:
        """A gate is above what is published, and its bytes are durable: publish that; all have to catch up.

        No operation may be running. Raises Overruled.
        """
        if self.published is not None and version <= self.published:
            return
        if not self.register.publish(version, self.term):
            raise Overruled("the register is ruled by a higher term")
        self._restore(version)
        for member in self.members.values():
            self.tell(member.incarnation, Replica.LeftBehind(why=f"version {version} is published"))

    def _restore(self, published: int | None) -> None:
        restore = Sync.Restore(epoch=self.register.epoch, published=published)
        self.syncs.step(INSTANCE, restore, cause=f"{self.term}.0")
