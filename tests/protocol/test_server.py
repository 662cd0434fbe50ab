"""Where a server may listen, and how it stops."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest
from grpc import StatusCode
from grpc_health.v1 import health_pb2, health_pb2_grpc

from sluicegate.protocol.access import Access
from sluicegate.protocol.client import Unreachable, dial
from sluicegate.protocol.generated.gate_service import GateClient, GateServicer
from sluicegate.protocol.server import Server, ServerError


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.0.2.1", "example.invalid"])
def test_beyond_loopback_without_credentials_is_refused_unless_accepted_in_words(address: str) -> None:
    with pytest.raises(ServerError, match="i_accept_plaintext_beyond_loopback"):
        Server([], address=address)


async def test_plaintext_that_is_accepted_in_words_listens() -> None:
    access = Access(address="0.0.0.0", i_accept_plaintext_beyond_loopback=True)
    async with Server([], access=access) as server:
        assert server.port > 0


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost"])
async def test_loopback_listens_on_a_port_from_the_system(address: str) -> None:
    async with Server([], address=address) as one, Server([], address=address) as two:
        assert 0 < one.port != two.port > 0


async def test_a_port_that_is_taken_is_an_error_with_its_mend() -> None:
    async with Server([]) as one:
        with pytest.raises(ServerError, match=f"cannot listen on 127.0.0.1:{one.port}: take another port"):
            async with Server([], port=one.port):
                pytest.fail("it listens twice")


async def test_a_stop_is_bounded_and_ends_the_watchers(served: Any) -> None:
    loop = asyncio.get_running_loop()
    server = Server([GateServicer(served.host)], grace=0.2)
    async with server:
        channel = dial(server.target)
        watch = GateClient(channel, "g").watch()
        await anext(watch)
        began = loop.time()
    assert loop.time() - began < 5
    with pytest.raises(Unreachable):
        await anext(watch)
    await channel.close()


async def test_calls_that_come_all_at_once_are_all_answered() -> None:
    """More of them than gRPC lets wait for its server by itself."""
    async with Server([]) as server, dial(server.target) as channel:
        health: Any = health_pb2_grpc.HealthStub(channel)
        calls = [health.Check(health_pb2.HealthCheckRequest(), timeout=60) for _ in range(4000)]
        codes = [await call.code() for call in calls]
        assert codes == [StatusCode.OK] * len(calls)


async def test_calls_of_several_callers_at_once_are_bounded_for_each_alone() -> None:
    async with Server([], access=Access(calls_per_client=800)) as server, AsyncExitStack() as stack:
        channels = [await stack.enter_async_context(dial(server.target)) for _ in range(4)]
        stubs: list[Any] = [health_pb2_grpc.HealthStub(channel) for channel in channels]
        calls = [stub.Check(health_pb2.HealthCheckRequest(), timeout=60) for _ in range(700) for stub in stubs]
        assert {await call.code() for call in calls} == {StatusCode.OK}
