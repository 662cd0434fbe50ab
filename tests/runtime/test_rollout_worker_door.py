"""The door of a worker: aborts, limits, and several clients before one gate."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from grpc import StatusCode, aio

from sluicegate.protocol.access import Access, acting_as
from sluicegate.protocol.generated import rollout_pb2
from sluicegate.statemachines.sorts import Mode

from ..support.rollout_kit import (
    Driven,
    Refused,
    Weights,
    command,
    driven,
    first_tokens,
    last,
    served,
    shows,
    standing,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def weights(tmp_path: Path) -> Weights:
    return Weights("gate-test", tmp_path)


@asynccontextmanager
async def served_clients(gate: Driven, count: int) -> AsyncIterator[list[Driven]]:
    """So many more clients of the replica."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(driven(gate.ready, gate.weights)) for _ in range(count)]


async def test_an_abort_finds_a_request_wherever_it_is(weights: Weights) -> None:
    """R14, R21: at the door, before it came, while it runs; and a settled one is left as it is."""
    async with served(weights) as (gate, _):
        await gate.update(1)
        await gate.seal()
        held = asyncio.create_task(gate.generate(request_id="held", hold=60.0))
        await shows(gate, lambda shown: shown.waiting)

        async def abort(lease: str) -> bool:
            answer = await gate.data.Abort(rollout_pb2.AbortRequest(request_id=lease), timeout=10)
            return answer.running

        assert await abort("held")
        with pytest.raises(Refused) as refused:
            await held
        assert (refused.value.reason, refused.value.retry) == ("aborted", False)
        assert not await abort("late")
        await command(gate, "resume")
        await gate.close()
        with pytest.raises(Refused, match="ABORTED"):
            await gate.generate(request_id="late")
        stream = gate.stream(max_tokens=3000, request_id="runs")
        await first_tokens(stream)
        assert await abort("runs")
        assert (await last(stream)).reason == "aborted"
        assert not await abort("runs")
        assert dict((await standing(gate)).refused) == {"aborted": 2}


async def test_limits_are_settings_and_their_refusals_are_counted(weights: Weights) -> None:
    with acting_as(Access(message_bytes=2000)):
        async with served(weights, per_client=2, longest_prompt=6, hold_limit=1) as (gate, _):
            await limited(gate)


async def limited(gate: Driven) -> None:
    await gate.update(1)
    await gate.seal(Mode.KEEP)
    with pytest.raises(Refused, match="MALFORMED"):
        await gate.generate(prompt=[1] * 7)
    with pytest.raises(aio.AioRpcError) as large:
        await gate.generate(labels={"x": "y" * 4000})
    assert large.value.code() is StatusCode.RESOURCE_EXHAUSTED
    held = asyncio.create_task(gate.generate(hold=60.0))
    await shows(gate, lambda shown: shown.waiting)
    with pytest.raises(Refused, match="HOLD_FULL"):
        await gate.generate(hold=60.0)
    await command(gate, "resume")
    await gate.close()
    await held
    streams = [gate.stream(max_tokens=3500, request_id=f"runs-{n}") for n in range(2)]
    for stream in streams:
        await first_tokens(stream)
    with pytest.raises(Refused) as full:
        await gate.generate()
    assert (full.value.reason, full.value.retry) == ("client_full", True)
    shown = await standing(gate, leases=5)
    assert [(lease.lease, lease.state, lease.version) for lease in shown.leases] == [
        ("runs-0", "FORWARDED", 1), ("runs-1", "FORWARDED", 1),
    ]  # fmt: skip
    assert len({lease.client for lease in shown.leases}) == 1
    assert (shown.admitted, shown.held, shown.open, shown.engine_running) == (3, 1, 2, 2)
    assert dict(shown.refused) == {"malformed": 1, "hold_full": 1, "client_full": 1}
    for stream in streams:
        await stream.aclose()
    await gate.until(lambda g: not g.active)
    assert (await gate.generate()).reason == "length"


async def test_calls_of_one_client_and_one_connection_are_bounded_by_settings(weights: Weights) -> None:
    """What is beyond `streams` waits within its deadline; what is beyond `calls_per_client` is refused."""
    with acting_as(Access(streams=2, calls_per_client=3)):
        async with served(weights) as (gate, _), served_clients(gate, 1) as others:
            await gate.update(1)
            streams = [gate.stream(max_tokens=3500) for _ in range(2)]
            for stream in streams:
                await first_tokens(stream)
            with pytest.raises(aio.AioRpcError) as late:
                await gate.generate(within=0.3, request_id="never-came")
            assert late.value.code() is StatusCode.DEADLINE_EXCEEDED
            waiting = asyncio.create_task(gate.generate(within=60.0))
            await asyncio.sleep(0.1)
            assert not waiting.done()
            assert (await standing(gate)).admitted == 2
            assert (await others[0].generate()).reason == "length", "another connection has its own"
            await streams[0].aclose()
            assert (await waiting).reason == "length"
            await streams[1].aclose()
            assert (await gate.generate(request_id="never-came")).reason == "length"
    # A call counts until its server has left it, which a client may be too fast for: so one more than calls at once.
    with acting_as(Access(calls_per_client=3)):
        async with served(weights, replica="r1") as (gate, _):
            await gate.update(2)
            streams = [gate.stream(max_tokens=3500) for _ in range(3)]
            for stream in streams:
                await first_tokens(stream)
            with pytest.raises(Refused) as full:
                await gate.generate()
            assert (full.value.reason, full.value.retry) == ("calls", True)
            for stream in streams:
                await stream.aclose()
            await gate.until(lambda g: not g.active)
            assert dict((await standing(gate)).refused) == {}


async def test_every_client_of_a_replica_is_closed_once_the_seal_is_answered(weights: Weights) -> None:
    """R07, R02: what was on its way behind the seal is held, counted, and runs on the weights that it is told of."""
    async with served(weights) as (gate, _), served_clients(gate, 3) as fronts:
        await gate.update(1)
        stop, versions = asyncio.Event(), list[tuple[int | None, set[int]]]()

        async def client(front: Driven) -> None:
            while not stop.is_set():
                answer = await front.generate(max_tokens=4, hold=60.0)
                versions.append((answer.version, set(answer.versions)))

        clients = [asyncio.create_task(client(front)) for front in fronts]
        for version in (2, 3, 4):
            await asyncio.sleep(0.3)
            await gate.seal()
            before = (await standing(gate)).admitted
            await gate.drain()
            await asyncio.sleep(0.2)
            assert (await standing(gate)).admitted == before
            await gate.install(version)
            await gate.reopen()
            await gate.close()
        await asyncio.sleep(0.3)
        stop.set()
        await asyncio.gather(*clients)
        assert all(made == {told} for told, made in versions)
        assert {told for told, _ in versions} == {1, 2, 3, 4}
        shown = await standing(gate)
        assert shown.held >= 3
        assert shown.admitted == len(versions)
