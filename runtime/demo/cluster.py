"""The processes of a run and what holds them together: launcher, controller, trainer, sessions.

Rules of this file:

- A process's end is a fact for the Replica machine; what follows (sessions lost, a new incarnation) is
  what that machine emits.
- Everything that was started here ends here, on every way out.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ...protocol.sqlite import SqliteStore
from ...statemachines.replica import Replica
from ..config import as_json
from ..controller.controller import Controller, ReplicaActions
from ..controller.member import MemberError
from ..controller.register import Register
from ..controller.sync import SyncSettings
from ..controller.trainer import TrainerHandle
from ..launcher import Launcher, LaunchError, Worker
from ..sessions import Prompt, Router, Sessions, SessionSettings, Workers
from ..sessions.inside import ControllerCohort
from ..tracelog import TraceLog
from ..weights import ManifestStore, remove_run
from ..workers.config import RolloutConfig, TrainerConfig

START_S = 120.0
"""How long a worker may take to start; the first DeepSpeed start on a machine compiles."""
REPLACEMENTS = 4
"""How many incarnations of one replica may die before the run ends: more is no accident."""


class ClusterError(Exception):
    """The run cannot go on; says what ended it."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The files of one run, all below `folder`."""

    folder: Path
    run: str

    @property
    def trace(self) -> Path:
        return self.folder / "trace"

    @property
    def model(self) -> Path:
        return self.folder / "model"

    @property
    def manifests(self) -> Path:
        return self.folder / "manifests"

    @property
    def processes(self) -> Path:
        return self.folder / "processes"

    def state(self, name: str) -> Path:
        return self.folder / "state" / name

    def make(self) -> None:
        for folder in (self.trace, self.manifests, self.processes, self.state("")):
            folder.mkdir(parents=True, exist_ok=True)


@dataclass(slots=True)
class Incident:
    """Something that happened to a process."""

    incarnation: str
    what: str
    sessions_lost: tuple[str, ...] = ()


@dataclass(eq=False)
class Cluster:
    """A running cohort: use `async with cluster(...)`."""

    layout: Layout
    launcher: Launcher
    controller: Controller
    sessions: Sessions
    router: Router[Prompt]
    log: TraceLog
    rollout: Callable[[str, str], RolloutConfig]
    group: asyncio.TaskGroup
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    trainer: TrainerHandle | None = None
    workers: dict[str, Worker] = field(default_factory=dict)
    incidents: list[Incident] = field(default_factory=list)
    told: int = 0
    is_ending: bool = False
    """Set once, when the run ends: nothing is started any more."""
    ended: dict[str, str] = field(default_factory=dict)

    def spawn(self, work: Coroutine[None, None, None]) -> None:
        """Something that goes on beside the run, until it ends or the run does; its failure ends the run."""
        if self.is_ending:
            work.close()
            return
        self.tasks = [t for t in self.tasks if not t.done()]
        self.tasks.append(self.group.create_task(work))

    async def start_replica(self, replica: str) -> None:
        """A new incarnation of `replica`, joined and caught up, watched until its end."""
        incarnation = self.launcher.next_incarnation(replica)
        config = as_json(self.rollout(replica, incarnation))
        worker = await self.launcher.start("rollout", replica, incarnation, config, within=START_S)
        self.workers[incarnation] = worker
        self.spawn(self._watch(worker))
        try:
            await self.controller.join(replica, incarnation, worker.ready["control"], worker.ready["data"])
        except MemberError:
            # Its end makes the Replica machine ask for another incarnation.
            worker.kill()
            await worker.wait()
            return
        self.spawn(self.controller.probe(replica, incarnation))

    async def start_trainer(self, config: Callable[[str], TrainerConfig], *, within: float) -> TrainerHandle:
        """The trainer's process, claimed."""
        incarnation = self.launcher.next_incarnation("trainer")
        worker = await self.launcher.start(
            "trainer", "trainer", incarnation, as_json(config(incarnation)), within=START_S
        )
        self.workers[incarnation] = worker
        ready = worker.ready
        self.trainer = TrainerHandle(
            incarnation, ready["control"], ready["data"], term=self.controller.term, within=within
        )
        await self.trainer.claim()
        self.spawn(self._guard(worker))
        return self.trainer

    async def _guard(self, worker: Worker) -> None:
        """The run needs its trainer."""
        status = await worker.wait()
        self._note_end(worker, status)
        raise ClusterError(f"{worker.incarnation} ended with status {status}; its log ends:\n{worker.said_last()}")

    async def _watch(self, worker: Worker) -> None:
        status = await worker.wait()
        self._note_end(worker, status)
        if worker.incarnation in self.controller.replicas:
            why = f"its process ended with status {status}"
            self.controller.tell(worker.incarnation, Replica.Exited(why=why))

    def _note_end(self, worker: Worker, status: int) -> None:
        how = f"signal {-status}" if status < 0 else f"status {status}"
        for incarnation in _lives(worker):
            self.ended[incarnation] = how
        if status != 0:
            self.incidents.append(Incident(worker.incarnation, how))

    # -- what the Replica machine asks for -------------------------------------------------------

    async def stop_process(self, incarnation: str) -> None:
        worker = self.workers[incarnation]
        worker.kill()
        await worker.wait()

    async def replace(self, incarnation: str) -> None:
        lost = self.sessions.lose(incarnation)
        for incident in self.incidents:
            if incident.incarnation == incarnation:
                incident.sessions_lost = tuple(lost)
        await self._replace(self.workers[incarnation].name)

    async def _replace(self, replica: str) -> None:
        """Start the next life of a replica. Raises ClusterError when too many have ended."""
        lives = [w for w in self.launcher.workers if w.name == replica]
        if len(lives) > REPLACEMENTS:
            said = lives[-1].said_last()
            raise ClusterError(f"{replica} has died {len(lives)} times; its last log ends:\n{said}")
        self.spawn(self._try_again(replica))

    async def _try_again(self, replica: str) -> None:
        try:
            await self.start_replica(replica)
        except LaunchError as error:
            self.incidents.append(Incident(f"{replica}, starting", str(error)))
            await self._replace(replica)

    async def evacuate(self, incarnation: str) -> None:
        """Sessions end by themselves; the table says when the last has gone."""


def _lives(worker: Worker) -> list[str]:
    """The incarnations that have ended with this process: of a trainer of several ranks, each rank's."""
    return [rank["incarnation"] for rank in worker.ready.get("ranks", ())] or [worker.incarnation]


@asynccontextmanager
async def cluster(
    layout: Layout, settings: SyncSettings, rollout: Callable[[str, str], RolloutConfig], log: TraceLog,
    *, turn_s: float,
) -> AsyncIterator[Cluster]:  # fmt: skip
    """A controller, sessions and a launcher without workers yet; all of it ends on leaving."""
    held: list[Cluster] = []

    def of(method: str) -> Callable[[str], Awaitable[None]]:
        return lambda incarnation: getattr(held[0], method)(incarnation)

    layout.make()
    actions = ReplicaActions(of("stop_process"), of("replace"), of("evacuate"))
    store = SqliteStore(layout.state("sessions.db"))
    try:
        with Register(layout.state("register.db")) as register:
            async with Launcher(layout.processes) as launcher:
                controller = Controller(register, ManifestStore(layout.manifests), settings, actions, log)
                async with controller:
                    sessions = Sessions(
                        store, server="agents", incarnation=controller.incarnation, log=log,
                        settings=SessionSettings(patience=turn_s, call=turn_s, persists=True),
                    )  # fmt: skip
                    router = Router(sessions, ControllerCohort(controller), Workers())
                    async with sessions, router, asyncio.TaskGroup() as group:
                        made = Cluster(layout, launcher, controller, sessions, router, log, rollout, group)
                        held.append(made)
                        yield made
                        made.is_ending = True
                        for task in made.tasks:
                            task.cancel()
                await launcher.stop_all()
                for worker in made.workers.values():
                    for incarnation in _lives(worker):
                        made.ended.setdefault(incarnation, "stopped")
    finally:
        store.close()
        remove_run(layout.run)
