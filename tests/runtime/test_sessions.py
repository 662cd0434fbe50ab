"""Turns of sessions over a replica with a scripted data plane on real gRPC: who ends a turn, and who is bound."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from grpc import aio

from sluicegate.protocol.generated import rollout_pb2 as pb
from sluicegate.protocol.generated import rollout_pb2_grpc as rpc
from sluicegate.protocol.generated.lease_service import LEASE, LeaseServicer
from sluicegate.protocol.host import MachineHost
from sluicegate.protocol.server import Server
from sluicegate.protocol.sqlite import SqliteStore
from sluicegate.runtime.sessions import Router, Sampling, SessionClosed, TurnLost
from sluicegate.runtime.signals import Signal
from sluicegate.statemachines.lease import Lease
from sluicegate.statemachines.sorts import Ending

SAMPLING = Sampling(max_new_tokens=2)


class Replica(rpc.RolloutServicer):
    """Admits, then holds each request until it is let go or aborted; its leases are real machines."""

    SERVICE = "sluicegate.v1.Rollout"
    leases: MachineHost

    def __init__(self) -> None:
        self.go, self.settle = asyncio.Event(), asyncio.Event()
        self.before_admission: asyncio.Event | None = None
        self.aborted: list[str] = []
        self.asked: list[str] = []

    def add_to(self, server: aio.Server) -> None:
        rpc.add_RolloutServicer_to_server(self, server)

    async def abort_request(self, instance: str) -> None: ...

    async def reconcile(self, instance: str) -> None: ...

    async def receipt(self, instance: str, ending: Ending, spans: Any) -> None: ...

    async def Generate(self, request: pb.GenerateRequest, context: Any) -> AsyncIterator[pb.GenerateChunk]:
        self.asked.append(request.request_id)
        if self.before_admission is not None:
            await self.before_admission.wait()
        self.leases.create(request.request_id, session=request.session)
        self.leases.step(request.request_id, Lease.Forward())
        yield pb.GenerateChunk(lease=request.request_id, incarnation="a.1", epoch=0, version=0)
        await self.go.wait()
        yield pb.GenerateChunk(
            token_ids=[1, 2], log_probs=[-1, -1], spans=[pb.VersionSpan(version=0, count=2)]
        )
        self._end(request.request_id, Ending.COMPLETED)
        yield pb.GenerateChunk(finish_reason=pb.FINISH_REASON_LENGTH)

    async def Abort(self, request: pb.AbortRequest, context: Any) -> pb.AbortAnswer:
        self.aborted.append(request.request_id)
        await self.settle.wait()
        if request.request_id in self.leases:
            self._end(request.request_id, Ending.ABORTED)
        return pb.AbortAnswer(running=True)

    def _end(self, lease: str, ending: Ending) -> None:
        self.leases.step(lease, Lease.Ended(ending=ending))
        self.leases.step(lease, Lease.Recorded())


class Cohort:
    """What the router needs of a controller."""

    def __init__(self, control: str, data: str) -> None:
        self.changed, self.alive, self.is_idle, self.published = Signal(), True, True, 0
        self.member = SimpleNamespace(replica="a", incarnation="a.1", control=control, data=data)
        self.members = {"a": self.member}

    def serving(self) -> list[Any]:
        return [self.member] if self.alive else []

    def is_alive(self, incarnation: str) -> bool:
        return self.alive


@pytest.fixture
async def setting(tmp_path: Path) -> AsyncIterator[tuple[Router, Replica, Cohort]]:
    async with AsyncExitStack() as stack:
        replica = Replica()
        replica.leases = await stack.enter_async_context(MachineHost(LEASE, replica, incarnation="a.1"))
        control = await stack.enter_async_context(Server([LeaseServicer(replica.leases)], grace=0.1))
        data = await stack.enter_async_context(Server([replica], grace=0.1))
        cohort = Cohort(control.target, data.target)
        store = SqliteStore(tmp_path / "s.db")
        stack.callback(store.close)
        router: Any = Router(cohort, incarnation="r.1", store=store, patience=5, call=10)  # pyright: ignore[reportArgumentType]
        await stack.enter_async_context(router)
        router.open("s")
        yield router, replica, cohort
        replica.go.set()
        replica.settle.set()


def state(router: Router) -> str:
    return router.sessions.live("s").state


async def until(holds: Any) -> None:
    async with asyncio.timeout(5):
        while not holds():  # noqa: ASYNC110 - looked at from outside, as a client would
            await asyncio.sleep(0.01)


async def test_a_turn_gives_its_tokens_and_binds_the_session(setting: tuple[Router, Replica, Cohort]) -> None:
    router, replica, _ = setting
    replica.go.set()
    turn = await router.turn("s", [5], SAMPLING, 1)
    assert (turn.ids, turn.versions, turn.reason) == ([1, 2], [0, 0], "length")
    assert (state(router), router.sessions.live("s").incarnation) == ("BOUND", "a.1")


async def test_who_stops_waiting_does_not_end_the_turn_but_the_lease_does(
    setting: tuple[Router, Replica, Cohort],
) -> None:
    router, replica, _ = setting
    call = asyncio.create_task(router.turn("s", [5], SAMPLING, 1))
    await until(lambda: state(router) == "TURN")
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await until(lambda: replica.aborted == ["s.1"])
    assert state(router) == "TURN"
    with pytest.raises(SessionClosed, match="a turn is active"):
        await router.finish("s")
    replica.settle.set()
    await until(lambda: state(router) == "BOUND")


async def test_a_session_that_retires_while_it_waits_to_be_bound_sends_nothing(
    setting: tuple[Router, Replica, Cohort],
) -> None:
    router, replica, cohort = setting
    cohort.is_idle = False
    call = asyncio.create_task(router.turn("s", [5], SAMPLING, 1))
    await until(lambda: state(router) == "BINDING")
    await router.retire("s")
    cohort.is_idle = True
    cohort.changed.notify()
    with pytest.raises(TurnLost):
        await call
    assert replica.asked == []
    assert "s" not in router.sessions


async def test_a_replica_that_ends_before_its_admission_is_heard_loses_the_session(
    setting: tuple[Router, Replica, Cohort],
) -> None:
    router, replica, cohort = setting
    replica.before_admission = asyncio.Event()
    call = asyncio.create_task(router.turn("s", [5], SAMPLING, 1))
    await until(lambda: replica.asked == ["s.1"])
    cohort.alive = False
    assert router.lose("a.1") == []
    replica.before_admission.set()
    await until(lambda: state(router) == "LOST")
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await until(lambda: router.sessions.live("s").leases == set())


async def test_a_broken_stream_keeps_the_turn_until_its_replica_is_known_to_have_ended(
    setting: tuple[Router, Replica, Cohort],
) -> None:
    router, replica, cohort = setting
    call = asyncio.create_task(router.turn("s", [5], SAMPLING, 1))
    await until(lambda: state(router) == "TURN")
    replica.leases.drop("s.1")
    replica.leases.create("s.1", session="s")
    replica.leases.step("s.1", Lease.Forward())
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.sleep(0.3)
    assert state(router) == "TURN"
    cohort.alive = False
    replica.settle.set()
    await until(lambda: state(router) in ("BOUND", "LOST"))
