"""A run of all machines, made by stepping them as the runtime does, and logged as the runtime logs.

Nothing here knows what a table says: each step's outcome is what the live machine answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from traced_group import Group

from sluicegate.runtime.tracelog import TraceLog, merge
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.lease import Lease
from sluicegate.statemachines.machines import MACHINES
from sluicegate.statemachines.replica import Replica
from sluicegate.statemachines.session import Rebinding, Session
from sluicegate.statemachines.sorts import Ending, Mode
from sluicegate.statemachines.sync import Sync
from sluicegate.statemachines.trainer import Trainer

BY_NAME = {m.ir.name: m for m in MACHINES}
RANK = "0"


def digest(version: int) -> str:
    return f"digest-of-{version}"


class Process:
    """One life of a process: its live machines and its log."""

    def __init__(self, folder: Path, incarnation: str, run: str = "test") -> None:
        self.incarnation = incarnation
        self.path = folder / f"{incarnation}.ndjson"
        self.log = TraceLog(self.path, run=run, process=incarnation.partition(".")[0], incarnation=incarnation)
        self.live: dict[tuple[str, str], Any] = {}

    def born(self, machine: Any, instance: str, **given: Any) -> None:
        live = self.live[machine.ir.name, instance] = machine.Live(**given)
        self.log.of(machine.ir.name).lives(instance, live, False)

    def restored(self, snapshot: Any, instance: str) -> None:
        name = snapshot.machine.ir.name
        live = self.live[name, instance] = snapshot.live()
        self.log.of(name).lives(instance, live, True)

    def step(self, instance: str, event: Any, cause: str) -> Any:
        name = type(event).__qualname__.partition(".")[0]
        live = self.live[name, instance]
        before = live.state
        outcome = live.step(event)
        self.log.of(name)(instance, 0, event, before, live.state, outcome, cause)
        return outcome


class Publisher(Process):
    """The trainer of a run, as far as it publishes; whoever calls makes the versions."""

    def __init__(self, folder: Path, run: str = "test") -> None:
        super().__init__(folder, "trainer.1", run)
        self.born(Trainer, "trainer", ranks={"trainer"})

    def publish(self, term: int, version: int, make: Callable[[], Any]) -> None:
        """Publish what `make` makes durable, with its manifest, for the controller of this term."""
        if self.live["Trainer", "trainer"].term < term:
            self.step("trainer", Trainer.Claim(term=term), f"{term}.trainer.1.claim.{term}")
        cause = f"{term}.trainer.1.publish.{version}"
        self.step("trainer", Trainer.Publish(term=term, version=version), cause)
        made = make().digest
        self.log.fact("Trainer", "trainer", "manifest", version=version, digest=made)
        published(self, made, cause)


def published(trainer: Process, digest: str, cause: str) -> None:
    """A trainer of one rank answers that it has published weights of this digest."""
    job = trainer.live["Trainer", "trainer"].job
    trainer.step("trainer", Trainer.Published(rank="trainer", job=job, digest=digest), cause)


def trained(trainer: Process, batch: str) -> None:
    """A trainer of one rank answers that it has taken the step."""
    trainer.step("trainer", Trainer.Trained(rank="trainer", job=trainer.live["Trainer", "trainer"].job), batch)


class Worker(Process):
    """One life of a replica: a gate, and its leases."""

    def __init__(self, folder: Path, replica: str, life: int) -> None:
        super().__init__(folder, f"{replica}.{life}")
        self.replica = replica
        self.born(Gate, replica, ranks={RANK})

    @property
    def gate(self) -> Any:
        return self.live["Gate", self.replica]

    def on_gate(self, event: Any, cause: str) -> Any:
        return self.step(self.replica, event, cause)

    def admit(self, lease: str, session: str, pin: int | None = None) -> bool:
        admitted = not self.on_gate(Gate.Admit(lease=lease, pin=pin), lease).refused
        if admitted:
            self.born(Lease, lease, session=session)
        return admitted

    def on_lease(self, lease: str, *events: Any) -> None:
        for event in events:
            self.step(lease, event, lease)

    def close(self, lease: str) -> None:
        """Store the receipt of a settled lease, then let it leave the gate."""
        live = self.live["Lease", lease]
        if live.state == "SETTLED":
            self.log.fact("Lease", lease, "receipt", session=live.session, ending=live.ending, spans=live.spans)
        self.on_gate(Gate.Settle(lease=lease), lease)

    def finish(self, lease: str) -> None:
        self.on_lease(lease, Lease.Ended(ending=Ending.COMPLETED), Lease.Recorded())
        self.close(lease)

    def orphan(self, lease: str) -> None:
        self.on_lease(lease, Lease.Unknown(why="the stream broke"))
        self.on_gate(Gate.Orphan(lease=lease, why="the stream broke"), lease)

    def quiesce(self) -> None:
        epoch = self.gate.epoch
        self.on_gate(Gate.Quiesced(epoch=epoch, rank=RANK), f"quiesce {epoch}")

    def deadline(self) -> None:
        epoch, timer = self.gate.epoch, self.gate.timer
        self.on_gate(Gate.Deadline(epoch=epoch, timer=timer), f"timer {epoch}.{timer}")

    def freeze(self) -> None:
        for lease in sorted(self.gate.active):
            self.on_lease(lease, Lease.Frozen())
            self.on_gate(Gate.Frozen(lease=lease, epoch=self.gate.epoch), lease)

    def thaw(self, leases: Iterable[str]) -> None:
        for lease in sorted(leases):
            self.on_lease(lease, Lease.Thawed())
            self.on_gate(Gate.Thawed(epoch=self.gate.epoch, lease=lease), lease)

    def installed(self) -> None:
        epoch, version = self.gate.epoch, self.gate.target
        self.on_gate(Gate.Installed(epoch=epoch, rank=RANK, digest=digest(version)), f"install {epoch}")


class World:
    """A controller, a trainer, sessions, and the workers that are started."""

    def __init__(self, folder: Path, term: int = 1) -> None:
        self.folder, self.term, self.epoch, self._operations = folder, term, 0, 0
        self.ended: dict[str, str] = {}
        self.workers: dict[str, Worker] = {}
        self.controller = Process(folder, f"controller.{term}")
        self.sessions = Process(folder, "agents.1")
        self.trainer = Process(folder, "trainer.1")
        self.processes = [self.controller, self.sessions, self.trainer]
        self.trainer.born(Trainer, "trainer", ranks={"trainer"})
        self.controller.born(Sync, "sync", term=term, minimum=1)
        self.on_sync(Sync.Restore(epoch=0, published=None), 0)
        self.trainer.step("trainer", Trainer.Claim(term=term), f"{term}.trainer.1.claim.1")

    # -- what the processes do -------------------------------------------------------------------

    @property
    def sync(self) -> Any:
        return self.controller.live["Sync", "sync"]

    def on_sync(self, event: Any, epoch: int | None = None) -> Any:
        return self.controller.step("sync", event, f"{self.term}.{self.epoch if epoch is None else epoch}")

    def command(self, worker: Worker, event: Any) -> Any:
        """A control event, as the controller's client sends it."""
        self._operations += 1
        epoch, name = getattr(event, "epoch", 0), type(event).__name__.lower()
        return worker.on_gate(event, f"{self.term}.{epoch}.{worker.incarnation}.{name}.{self._operations}")

    def on_replica(self, worker: Worker, event: Any) -> None:
        self.controller.step(worker.incarnation, event, worker.incarnation)

    def publish(self, version: int) -> None:
        cause = f"{self.term}.trainer.1.publish.{version}"
        self.trainer.step("trainer", Trainer.Publish(term=self.term, version=version), cause)
        self.trainer.log.fact("Trainer", "trainer", "manifest", version=version, digest=digest(version))
        published(self.trainer, digest(version), cause)

    def train(self, batch: str) -> None:
        self.trainer.step("trainer", Trainer.Train(term=self.term, batch=batch), f"{self.term}.trainer.1.train.{batch}")
        trained(self.trainer, batch)

    def start(self, replica: str, life: int = 1) -> Worker:
        worker = self.workers[replica] = Worker(self.folder, replica, life)
        self.processes.append(worker)
        self.controller.born(Replica, worker.incarnation, patience=2)
        self.command(worker, Gate.Claim(term=self.term))
        self.on_replica(worker, Replica.Started())
        return worker

    def kill(self, replica: str) -> None:
        """End a worker as a signal does: what it wrote stays, and its log is not closed."""
        worker = self.workers.pop(replica)
        worker.log.flush()
        self.processes.remove(worker)
        self.ended[worker.incarnation] = "signal 9"
        self.on_replica(worker, Replica.Exited(why="signal 9"))

    def kill_agents(self) -> None:
        self.sessions.log.flush()
        self.processes.remove(self.sessions)
        self.ended[self.sessions.incarnation] = "signal 9"

    # -- operations ------------------------------------------------------------------------------

    def begin(self, version: int, mode: Mode = Mode.KEEP, lend: bool = False) -> list[Worker]:
        """Start an operation and seal all its members."""
        self.epoch += 1
        members = [self.workers[r] for r in sorted(self.workers)]
        self.on_sync(
            Sync.Begin(epoch=self.epoch, version=version, members=frozenset(self.workers), mode=mode, lend=lend)
        )
        for worker in members:
            self.command(worker, Gate.Seal(term=self.term, epoch=self.epoch, mode=mode, window=1000))
            self.on_sync(Sync.Sealed(replica=worker.replica))
        return members

    def drain(self, members: Iterable[Worker], *, told: bool = True) -> None:
        for worker in members:
            self.command(worker, Gate.Drain(term=self.term, epoch=self.epoch))
            if worker.gate.mode == Mode.KEEP:
                worker.freeze()
            worker.quiesce()
            if told:
                self.on_sync(Sync.Drained(replica=worker.replica))

    def install(self, worker: Worker, version: int) -> bool:
        event = Gate.Install(term=self.term, epoch=self.epoch, version=version, digests={RANK: digest(version)})
        if self.command(worker, event).refused:
            self.on_sync(Sync.Declined(replica=worker.replica))
            return False
        worker.installed()
        self.on_sync(Sync.Installed(replica=worker.replica))
        return True

    def reopen(self, members: Iterable[Worker]) -> None:
        for worker in members:
            self.command(worker, Gate.Reopen(term=self.term, epoch=self.epoch))
            worker.thaw(worker.gate.active | worker.gate.suspended)
            self.command(worker, Gate.Close(term=self.term, epoch=self.epoch))
            self.on_sync(Sync.Closed(replica=worker.replica))

    def synced(self, members: Iterable[Worker], version: int) -> None:
        for worker in members:
            self.on_replica(worker, Replica.Synced(version=version))

    def update(self, version: int, mode: Mode = Mode.KEEP) -> None:
        """A whole operation without a fault."""
        self.publish(version)
        members = self.begin(version, mode)
        self.drain(members)
        for worker in members:
            self.install(worker, version)
        self.on_sync(Sync.Recorded())
        self.reopen(members)
        self.synced(members, version)

    def pause(self) -> list[Worker]:
        """All gates are drained, and lent to nobody."""
        members = self.begin(self.sync.published, Mode.WAIT, lend=True)
        self.drain(members)
        return members

    def resume(self, members: Iterable[Worker]) -> None:
        """End the pause: every gate refuses to install what it holds, and is resumed on it."""
        self.on_sync(Sync.Trained())
        for worker in members:
            self.install(worker, self.sync.published)
        for worker in members:
            self.command(worker, Gate.Resume(term=self.term, epoch=self.epoch))
            self.command(worker, Gate.Close(term=self.term, epoch=self.epoch))
            self.on_sync(Sync.Closed(replica=worker.replica))

    def catch_up(self, worker: Worker) -> None:
        version = self.sync.published
        self.epoch += 1
        at = {"term": self.term, "epoch": self.epoch}
        self.controller.log.fact("Sync", "sync", "catch_up", replica=worker.replica, epoch=self.epoch, version=version)
        if worker.gate.state == "REOPENED":
            self.command(worker, Gate.Close(term=self.term, epoch=worker.gate.epoch))
        self.command(worker, Gate.Seal(**at, mode=Mode.WAIT, window=1000))
        self.command(worker, Gate.Drain(**at))
        worker.quiesce()
        self.command(worker, Gate.Install(**at, version=version, digests={RANK: digest(version)}))
        worker.installed()
        self.command(worker, Gate.Reopen(**at))
        self.command(worker, Gate.Close(**at))
        self.synced([worker], version)

    # -- sessions --------------------------------------------------------------------------------

    def open(self, session: str) -> None:
        self.sessions.born(Session, session, policy=Rebinding.NEVER)

    def turn(self, session: str, number: int, replica: str, tokens: int = 2) -> str:
        """Begin a turn and make tokens; the lease. Empty if the gate refused it."""
        lease, worker = f"{session}.{number}", self.workers[replica]
        begun = self.sessions.step(session, Session.BeginTurn(lease=lease), lease)
        assert not begun.refused
        if not worker.admit(lease, session):
            self.end_turn(session, lease)
            return ""
        if self.sessions.live["Session", session].state == "BINDING":
            self.sessions.step(session, Session.Bound(replica=replica, incarnation=worker.incarnation), lease)
        worker.on_lease(lease, Lease.Forward())
        self.tokens(replica, lease, tokens)
        return lease

    def tokens(self, replica: str, lease: str, count: int) -> None:
        worker = self.workers[replica]
        worker.on_lease(lease, Lease.Progress(count=count, version=worker.gate.version))

    def end_turn(self, session: str, lease: str) -> None:
        self.sessions.step(session, Session.EndTurn(lease=lease), lease)

    def finish_turn(self, session: str, replica: str, lease: str) -> None:
        self.workers[replica].finish(lease)
        self.end_turn(session, lease)

    # -- the trace -------------------------------------------------------------------------------

    def merge(self) -> Path:
        for process in self.processes:
            process.log.close()
        logs = sorted(self.folder.glob("*.*.ndjson"))
        return merge(logs, self.ended, self.folder / "trace.ndjson")


def small_run(folder: Path) -> Path:
    """Two replicas, three versions, two sessions of which one crosses an update."""
    world = World(folder)
    world.start("r0")
    world.start("r1")
    world.update(0, Mode.WAIT)
    world.train("b1")
    world.publish(1)
    world.open("s0")
    world.open("s1")
    first = world.turn("s0", 1, "r0")
    world.finish_turn("s0", "r0", first)
    crossing = world.turn("s0", 2, "r0")
    other = world.turn("s1", 1, "r1")
    world.finish_turn("s1", "r1", other)
    members = world.begin(1)
    assert world.turn("s1", 2, "r1") == "", "the gate is sealed"
    world.drain(members)
    for worker in members:
        world.install(worker, 1)
    world.on_sync(Sync.Recorded())
    world.reopen(members)
    world.synced(members, 1)
    world.tokens("r0", crossing, 3)
    world.finish_turn("s0", "r0", crossing)
    late = world.turn("s1", 3, "r1")
    world.finish_turn("s1", "r1", late)
    world.update(2, Mode.WAIT)
    for session in ("s0", "s1"):
        world.sessions.step(session, Session.Finish(), f"finish-{session}")
        world.sessions.step(session, Session.Take(consumer="learner"), f"take-{session}")
        world.sessions.step(session, Session.Release(consumer="learner"), f"release-{session}")
    return world.merge()


def eventful_run(folder: Path) -> Path:
    """A kill during an install, an orphan, a gate that its deadline reopened, a poison, and a second life."""
    world = World(folder)
    for replica in ("r0", "r1", "r2"):
        world.start(replica)
    world.update(0)
    for number, replica in enumerate(("r0", "r1", "r2")):
        world.open(f"s{number}")
        lease = world.turn(f"s{number}", 1, replica)
        world.finish_turn(f"s{number}", replica, lease)

    # An outcome that nobody knows, and that is then found out.
    lost = world.turn("s0", 2, "r0")
    world.workers["r0"].orphan(lost)
    world.workers["r0"].on_lease(lost, Lease.Reconciled())
    world.workers["r0"].close(lost)
    world.end_turn("s0", lost)

    # r1 is killed while it installs, with a lease on it.
    on_killed = world.turn("s1", 2, "r1")
    world.publish(1)
    members = world.begin(1)
    world.drain(members)
    world.install(members[0], 1)
    event = Gate.Install(term=1, epoch=world.epoch, version=1, digests={RANK: digest(1)})
    world.command(members[1], event)
    dead = world.workers["r1"]
    world.kill("r1")
    world.on_sync(Sync.Drop(replica="r1", why="its process has ended"))
    world.sessions.step("s1", Session.Lose(incarnation=dead.incarnation), dead.incarnation)
    world.end_turn("s1", on_killed)
    world.install(members[2], 1)
    world.on_sync(Sync.Recorded())
    world.reopen([members[0], members[2]])
    world.synced([members[0], members[2]], 1)

    # Its next life tells of the lease that it found, and catches up.
    again = world.start("r1", 2)
    again.restored(dead.live["Lease", on_killed].snapshot().replace(state="FORWARDED"), on_killed)
    again.on_lease(on_killed, Lease.Gone())
    world.catch_up(again)

    # The deadline of r2 reopens it in the middle of an operation: it declines, and catches up.
    world.publish(2)
    members = world.begin(2, Mode.WAIT)
    world.drain(members)
    late = world.workers["r2"]
    late.deadline()
    for worker in members:
        world.install(worker, 2)
    world.on_sync(Sync.Recorded())
    world.reopen([w for w in members if w is not late])
    world.synced([w for w in members if w is not late], 2)
    world.on_replica(late, Replica.LeftBehind(why="it declined"))
    world.catch_up(late)

    # r0 finds its device in doubt.
    broken = world.workers["r0"]
    broken.on_gate(Gate.Fault(why="the device does not answer"), "r0")
    world.on_replica(broken, Replica.Poisoned(why="its gate is poisoned"))

    # The session server goes on in a second life from what it had stored.
    world.sessions.log.close()
    second = Process(folder, "agents.2")
    world.processes.append(second)
    second.restored(world.sessions.live["Session", "s2"].snapshot(), "s2")
    world.sessions = second
    turn = world.turn("s2", 2, "r2")
    world.finish_turn("s2", "r2", turn)

    # A trainer of two ranks takes the place of the first.
    world.trainer.log.close()
    group = Group(world, Process)
    group.train("b9")
    group.publish(3, digest(3))
    return world.merge()
