"""The lives of a run's processes: replicas, controllers, the trainer; each with the real code of its kind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import torch

from ...protocol.client import dial
from ...protocol.generated.trainer_service import TRAINER, TrainerClient, TrainerServicer
from ...protocol.host import MachineHost
from ...protocol.server import Server
from ..controller.controller import Controller, ReplicaActions
from ..controller.register import Register
from ..controller.sync import SyncSettings
from ..controller.trainer import TrainerHandle
from ..tracelog import TraceLog
from ..weights import ManifestStore, ShmPublisher
from ..workers.config import RolloutConfig
from ..workers.door import Door
from ..workers.rollout import replica as serve_replica
from ..workers.trainer_actions import GROUP, Batch, Publishing, RankActions
from ..workers.trainer_data import TrainerDataServicer
from ..workers.trainer_jobs import Jobs
from .clock import THREAD_S
from .engine import ScriptedEngine
from .network import SimNetwork
from .process import Process

T = TypeVar("T")
BUCKET_BYTES, BATCH_BYTES = 1 << 20, 1 << 20


@dataclass(frozen=True, slots=True)
class Layout:
    """The files of one run, all below `folder`."""

    folder: Path
    run: str = "simulation"

    @property
    def trace(self) -> Path:
        return self.folder / "trace"

    @property
    def manifests(self) -> Path:
        return self.folder / "manifests"

    @property
    def shm(self) -> Path:
        return self.folder / "shm"

    def state(self, name: str) -> Path:
        return self.folder / "state" / name

    def make(self) -> None:
        for folder in (self.trace, self.manifests, self.shm, self.state("trainer")):
            folder.mkdir(parents=True, exist_ok=True)

    def log(self, incarnation: str) -> TraceLog:
        """The trace log of a life."""
        path = self.trace / f"{incarnation}.ndjson"
        return TraceLog(path, run=self.run, process=incarnation.partition(".")[0], incarnation=incarnation)


class ReplicaLife:
    """One life of a replica: its process, its engine, and a look at its gate and leases."""

    def __init__(
        self, replica: str, number: int, engine: ScriptedEngine, layout: Layout, network: SimNetwork, **config: Any
    ) -> None:
        self.replica, self.incarnation, self.engine = replica, f"{replica}.{number}", engine
        self._network = network
        settings = RolloutConfig(
            replica=replica, run=layout.run, model=layout.folder, state=layout.state(replica),
            manifests=layout.manifests, trace=layout.trace, incarnation=self.incarnation, shm_root=layout.shm, **config,
        )  # fmt: skip
        self.process: Process[dict[str, Any]] = Process(
            self.incarnation, network, lambda: serve_replica(settings, cast(Any, engine))
        )
        self.facts: dict[str, Any] = {}
        self.gates: MachineHost
        self.leases: MachineHost
        self.door: Door

    async def start(self) -> None:
        self.facts = await self.process.start()
        hosts = {
            s.host.wire.name: s.host
            for s in self._network.listening[self.facts["control"]].servicers
            if hasattr(s, "host")
        }
        self.gates, self.leases = hosts["Gate"], hosts["Lease"]
        (requests,) = (s for s in self._network.listening[self.facts["data"]].servicers if hasattr(s, "_front"))
        self.door = requests._front.door

    @property
    def gate(self) -> Any:
        """The live Gate, to be read."""
        return self.gates.live(self.replica)

    def lease(self, lease: str) -> Any:
        """A live Lease, to be read."""
        return self.leases.live(lease)


class ControllerLife:
    """One life of a controller, with the trainer as it reaches it."""

    def __init__(
        self, incarnation: str, layout: Layout, network: SimNetwork, settings: SyncSettings, actions: ReplicaActions
    ) -> None:
        self.incarnation, self._layout, self._settings, self._actions = incarnation, layout, settings, actions
        self.process: Process[Controller] = Process(incarnation, network, self._serve)
        self.controller: Controller
        self.register: Register
        self.trainer: TrainerHandle | None = None

    async def start(self) -> None:
        self.controller = await self.process.start()

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Something that the controller's process does."""
        return self.process.spawn(work)

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Have the controller's process do something, and wait for it."""
        return await self.spawn(work)

    async def reach_trainer(self, life: TrainerLife) -> None:
        """Claim the trainer."""

        async def claim() -> TrainerHandle:
            target = life.target
            handle = TrainerHandle(life.incarnation, target, target, term=self.controller.term, within=60.0)
            await handle.claim()
            return handle

        self.trainer = await self.run(claim())

    async def publish(self) -> int:
        """Have the trainer publish the next version; its number."""
        assert self.trainer is not None
        version = self.register.next_version()
        await self.run(self.trainer.publish(version))
        return version

    @asynccontextmanager
    async def _serve(self) -> AsyncIterator[Controller]:
        with Register(self._layout.folder / "register.db") as self.register, self._layout.log(self.incarnation) as log:
            manifests = ManifestStore(self._layout.manifests)
            async with Controller(self.register, manifests, self._settings, self._actions, log) as controller:
                yield controller
                if self.trainer is not None:
                    await self.trainer.close()


class _Thread:
    """The thread of a trainer: what the loop does in its place takes so many seconds."""

    seconds = THREAD_S


class Alone:
    """A rank that has nobody to agree with."""

    def agree(self, what: str) -> None: ...

    def outcome(self, problem: str) -> str:
        return problem


class Core:
    """A trainer's core without training: each version's one tensor is another."""

    def __init__(self) -> None:
        self.step = 0
        self.frozen: tuple[str, ...] = ()
        self.did: list[str] = []
        """What it was told to do, in order."""

    def named_parameters_bucketwise(self, size: int) -> Iterator[tuple[str, torch.Tensor]]:
        self.step += 1
        self.did.append("publish")
        yield "w", torch.full((4,), float(self.step))

    def train(self, samples: object, newest: int) -> dict[str, float]:
        self.step += 1
        self.did.append("train")
        return {}


class TrainerLife:
    """One life of a trainer, a group of itself, that publishes at once."""

    def __init__(self, layout: Layout, network: SimNetwork) -> None:
        self.incarnation, self.target, self._layout = "trainer.1", "", layout
        self.process: Process[str] = Process(self.incarnation, network, self._serve)
        self.host: MachineHost
        self.core = Core()
        self._thread = _Thread()
        self._actions: RankActions

    @property
    def live(self) -> Any:
        """The live Trainer, to be read."""
        return self.host.live(GROUP)

    def slow(self, seconds: float) -> None:
        """Each piece of work takes so long from now on."""
        self._thread.seconds = seconds

    def give(self, batch: str) -> None:
        """Submit a batch."""
        self._actions.batches[batch] = Batch(b"", 0, ())

    def client(self) -> TrainerClient:
        """A client of it, for a process that dials it."""
        return TrainerClient(dial(self.target), GROUP, incarnation=self.incarnation)

    async def start(self) -> None:
        self.target = await self.process.start()

    @asynccontextmanager
    async def _serve(self) -> AsyncIterator[str]:
        layout = self._layout
        with layout.log(self.incarnation) as log:
            publishing = Publishing(
                ManifestStore(layout.manifests), ShmPublisher(layout.run, root=layout.shm), BUCKET_BYTES,
                torch.float32, 64,
            )  # fmt: skip
            self._actions = actions = RankActions(
                GROUP, cast(Any, self.core), cast(Any, self._thread), publishing, log,
                together=Alone(), folder=layout.state("trainer"),
            )  # fmt: skip
            seen = log.of("Trainer")
            self.host = actions.host = MachineHost(
                TRAINER, actions, incarnation=self.incarnation, observer=seen, lives=seen.lives
            )
            actions.failed, jobs = _nobody, Jobs()
            jobs.watch(self.host)
            async with self.host:
                self.host.create(GROUP, ranks={GROUP})
                data = TrainerDataServicer(actions, None, jobs, limit=BATCH_BYTES)
                async with Server([TrainerServicer(self.host), data]) as server:
                    yield server.target


async def _nobody() -> None: ...
