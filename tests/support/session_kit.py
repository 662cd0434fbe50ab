"""Sessions over replicas with a scripted data plane on real gRPC; their leases are real machines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sluicegate.protocol.generated import rollout_pb2 as pb
from sluicegate.protocol.generated import rollout_pb2_grpc as rpc
from sluicegate.protocol.generated.lease_service import LEASE, LeaseServicer
from sluicegate.protocol.host import MachineHost
from sluicegate.protocol.server import Server
from sluicegate.protocol.sqlite import SqliteStore
from sluicegate.protocol.store import Store
from sluicegate.runtime.sessions import Prompt, Router, Sampling, Sessions, SessionSettings, Workers
from sluicegate.runtime.sessions.ids import keep
from sluicegate.runtime.signals import Signal
from sluicegate.statemachines.lease import Lease
from sluicegate.statemachines.sorts import Ending

SAMPLING = Sampling(max_new_tokens=2)


def prompt(*ids: int) -> Prompt:
    return Prompt(ids, SAMPLING, 1)


async def until(holds: Callable[[], Any], within: float = 10) -> None:
    async with asyncio.timeout(within):
        while not holds():  # noqa: ASYNC110 - looked at from outside, as a client would
            await asyncio.sleep(0.01)


class Replica(rpc.RolloutServicer):
    """One life of a replica: admits, waits to be let go on, then holds each request until it is let go or aborted."""

    SERVICE = "sluicegate.v1.Rollout"
    leases: MachineHost

    def __init__(self, incarnation: str) -> None:
        self.incarnation = incarnation
        self.replica = incarnation.partition(".")[0]
        self.control = self.data = ""
        self.go, self.settle = asyncio.Event(), asyncio.Event()
        self.before_admission: asyncio.Event | None = None
        self.asked: list[pb.GenerateRequest] = []
        self.forwarded: list[str] = []
        self.aborted: list[str] = []
        self._proceeds: dict[str, asyncio.Event] = {}

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Replica]:
        async with AsyncExitStack() as stack:
            self.leases = await stack.enter_async_context(MachineHost(LEASE, self, incarnation=self.incarnation))
            control = await stack.enter_async_context(Server([LeaseServicer(self.leases)], grace=0.1))
            data = await stack.enter_async_context(Server([self], grace=0.1))
            self.control, self.data = control.target, data.target
            try:
                yield self
            finally:
                self.go.set()
                self.settle.set()

    def add_to(self, server: Any) -> None:
        rpc.add_RolloutServicer_to_server(self, server)

    async def abort_request(self, instance: str) -> None: ...

    async def reconcile(self, instance: str) -> None: ...

    async def receipt(self, instance: str, ending: Ending, spans: Any) -> None: ...

    async def Generate(self, request: pb.GenerateRequest, context: Any) -> AsyncIterator[pb.GenerateChunk]:
        lease = request.request_id
        self.asked.append(request)
        go_on = self._proceeds.setdefault(lease, asyncio.Event())
        if self.before_admission is not None:
            await self.before_admission.wait()
        self.leases.create(lease, session=request.session)
        yield pb.GenerateChunk(lease=lease, incarnation=self.incarnation, epoch=0, version=0)
        if request.waits:
            await go_on.wait()
        self.leases.step(lease, Lease.Forward())
        self.forwarded.append(lease)
        await self.go.wait()
        yield pb.GenerateChunk(token_ids=[1, 2], log_probs=[-1, -1], spans=[pb.VersionSpan(version=0, count=2)])
        self._end(lease, Ending.COMPLETED)
        yield pb.GenerateChunk(finish_reason=pb.FINISH_REASON_LENGTH)

    async def Proceed(self, request: pb.ProceedRequest, context: Any) -> pb.ProceedAnswer:
        self._proceeds.setdefault(request.request_id, asyncio.Event()).set()
        return pb.ProceedAnswer(running=True)

    async def Abort(self, request: pb.AbortRequest, context: Any) -> pb.AbortAnswer:
        self.aborted.append(request.request_id)
        await self.settle.wait()
        if request.request_id in self.leases:
            self._end(request.request_id, Ending.ABORTED)
        return pb.AbortAnswer(running=True)

    def _end(self, lease: str, ending: Ending) -> None:
        self.leases.step(lease, Lease.Ended(ending=ending))
        self.leases.step(lease, Lease.Recorded())


class Replicas:
    """The cohort, as it is told."""

    def __init__(self, *replicas: Replica) -> None:
        self.changed, self.is_idle, self.published = Signal(), True, 0
        self.lives = list(replicas)
        self.dead: set[str] = set()
        self.leaving: set[str] = set()

    def serving(self) -> list[Replica]:
        return [r for r in self.living() if r.incarnation not in self.leaving]

    def place(self, incarnation: str) -> Replica | None:
        return next((r for r in self.living() if r.incarnation == incarnation), None)

    def is_alive(self, incarnation: str) -> bool:
        return self.place(incarnation) is not None

    def is_leaving(self, incarnation: str) -> bool:
        return incarnation in self.leaving

    def living(self) -> list[Replica]:
        return [r for r in self.lives if r.incarnation not in self.dead]


@dataclass
class Served:
    """One life of a session server, without HTTP."""

    sessions: Sessions
    router: Router[Prompt]
    cohort: Replicas

    @property
    def replica(self) -> Replica:
        return self.cohort.lives[0]

    def state(self, session: str = "s") -> str:
        return self.sessions.live(session).state

    async def turn(self, session: str = "s", *ids: int) -> Any:
        work = prompt(*(ids or (5,)))
        return await self.router.turn(session, work, prompt_ids=work.ids)


@dataclass
class Host:
    """A host with a store, on which servers live one after another, or beside each other."""

    path: Path
    cohort: Replicas
    life: int = 0
    settings: dict[str, Any] = field(default_factory=dict)

    @asynccontextmanager
    async def server(self, name: str = "a", **settings: Any) -> AsyncIterator[Served]:
        self.life += 1
        wanted = SessionSettings(**{"patience": 5, "call": 10, "store": 5, **self.settings, **settings})
        store: Store = SqliteStore(self.path, keep=keep(wanted.id_life))
        try:
            sessions = Sessions(store, server=name, incarnation=f"{name}.{self.life}", settings=wanted)
            router = Router(sessions, self.cohort, Workers())
            async with sessions, router:
                yield Served(sessions, router, self.cohort)
        finally:
            store.close()


@asynccontextmanager
async def host(folder: Path, *incarnations: str, **settings: Any) -> AsyncIterator[Host]:
    """A host with replicas of these lives."""
    async with AsyncExitStack() as stack:
        lives = [await stack.enter_async_context(Replica(i).serving()) for i in incarnations or ("a.1",)]
        yield Host(folder / "sessions.db", Replicas(*lives), settings=settings)
