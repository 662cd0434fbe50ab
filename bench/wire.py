"""A generated gRPC call against a bare `grpc.aio` unary call, in one run.

The bare call has the same request and answer messages, and a server that answers a constant. Both
are measured in turn, several times, over loopback within one process; each figure is the median of
the ratios of neighbouring measurements, so that what else runs on the machine falls on both.

    python -m bench.wire [seconds per measurement]
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from grpc import aio

from sluicegate.protocol.client import dial
from sluicegate.protocol.generated import gate_pb2 as pb
from sluicegate.protocol.generated import gate_pb2_grpc as rpc
from sluicegate.protocol.generated.gate_service import GATE, GateClient, GateServicer, snapshot_message
from sluicegate.protocol.host import MachineHost
from sluicegate.protocol.roles import Role
from sluicegate.protocol.server import Server
from sluicegate.protocol.sqlite import SqliteStore
from sluicegate.protocol.store import MemoryStore, Store
from sluicegate.statemachines.gate import Gate, Mode

ROUNDS = 11
Call = Callable[[], Awaitable[object]]


class Bare(rpc.GateServicer):
    """Answers every call with one constant."""

    SERVICE = "sluicegate.v1.Gate"
    ROLES = Role.CONTROL

    def __init__(self) -> None:
        snapshot = snapshot_message(Gate.initial(ranks=frozenset({"0"})))
        self.reply = pb.GateReply(instance="g", incarnation="i", number=1, snapshot=snapshot, kind=pb.GateReply.KIND_GO)

    def add_to(self, server: aio.Server) -> None:
        rpc.add_GateServicer_to_server(self, server)

    async def Renew(self, request: pb.GateRenewRequest, context: aio.ServicerContext[Any, Any]) -> pb.GateReply:
        return self.reply


class Idle:
    """Handlers that do nothing: what is measured is the wire."""

    def __getattr__(self, name: str) -> Callable[..., Awaitable[None]]:
        async def nothing(*_: object) -> None:
            pass

        return nothing


async def rate(call: Call, callers: int, seconds: float) -> float:
    """Calls per second of `callers` that call one after another."""
    until = time.perf_counter() + seconds
    counts = [0] * callers

    async def caller(i: int) -> None:
        while time.perf_counter() < until:
            await call()
            counts[i] += 1

    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for i in range(callers):
            group.create_task(caller(i))
    return sum(counts) / (time.perf_counter() - began)


async def compare(store: Store, seconds: float) -> dict[int, tuple[float, float, float]]:
    """For each concurrency: bare calls per second, generated calls per second, median of their ratios."""
    results: dict[int, tuple[float, float, float]] = {}
    try:
        idle: Any = Idle()
        async with MachineHost(GATE, idle, incarnation="bench", store=store) as host:
            host.create("g", ranks=frozenset({"0"}))
            async with (
                Server([GateServicer(host)]) as server,
                Server([Bare()]) as bare_server,
                dial(server.target) as channel,
                dial(bare_server.target) as bare_channel,
            ):
                client = GateClient(channel, "g")
                await client.claim(term=1)
                await client.seal(term=1, epoch=1, mode=Mode.WAIT, window=1000)
                stub = rpc.GateStub(bare_channel)

                async def bare() -> object:
                    fence = pb.GateTermEpochFence(incarnation="i", operation_id="o", term=1, epoch=1)
                    return await stub.Renew(pb.GateRenewRequest(instance="g", fence=fence, window=1000), timeout=10.0)

                async def generated() -> object:
                    return await client.renew(term=1, epoch=1, window=1000)

                for callers in (1, 64):
                    await rate(bare, callers, seconds / 4)
                    await rate(generated, callers, seconds / 4)
                    pairs = [
                        (await rate(bare, callers, seconds), await rate(generated, callers, seconds))
                        for _ in range(ROUNDS)
                    ]
                    results[callers] = (
                        statistics.median(b for b, _ in pairs),
                        statistics.median(g for _, g in pairs),
                        statistics.median(g / b for b, g in pairs),
                    )
    finally:
        store.close()
    return results


def main(seconds: float = 0.5) -> None:
    print(f"{'store':10} {'callers':>7} {'bare/s':>8} {'generated/s':>12} {'ratio':>6}   (aim 0.60)")
    with tempfile.TemporaryDirectory() as folder:
        stores: tuple[tuple[str, Store], ...] = (
            ("memory", MemoryStore()),
            ("sqlite", SqliteStore(Path(folder, "store.sqlite"))),
        )
        for name, store in stores:
            for callers, (bare, generated, ratio) in asyncio.run(compare(store, seconds)).items():
                print(f"{name:10} {callers:7} {bare:8.0f} {generated:12.0f} {ratio:6.2f}")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 0.5)
