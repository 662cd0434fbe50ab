"""Requests that wait to go on until their client lets them, over a real worker's servers.

One worker serves most tests; when it ends its log is judged by the tables and the rules between them.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from grpc import StatusCode, aio

from sluicegate.protocol.generated import rollout_pb2
from sluicegate.runtime.engines import TorchEngine
from sluicegate.statemachines.sorts import Mode

from ..support.rollout_kit import Disk, Driven, Weights, command, first_tokens, last, served

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]
BOUND = 30.0
LEAVES = """
import os, signal, sys, grpc
from sluicegate.protocol.generated import rollout_pb2 as pb, rollout_pb2_grpc as rpc
sampling = pb.SamplingParams(max_tokens=8, temperature=1.0, top_p=1.0)
asked = pb.GenerateRequest(request_id="killed", prompt_token_ids=(3, 1, 4), sampling=sampling, waits=True)
next(rpc.RolloutStub(grpc.insecure_channel(sys.argv[1])).Generate(asked, timeout=60))
os.kill(os.getpid(), signal.SIGKILL)
"""
"""A client that is killed once it has read the first chunk."""

Served = tuple[Driven, TorchEngine]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    """One worker for all; a task of its own holds it, since a fixture ends in another task than it began in."""
    weights = Weights("waits-test", tmp_path_factory.mktemp("waits"))
    ready: asyncio.Future[Served] = asyncio.get_running_loop().create_future()
    over = asyncio.Event()

    async def hold() -> None:
        async with served(weights) as made:
            await made[0].update(1)
            ready.set_result(made)
            await over.wait()

    held = asyncio.create_task(hold())
    await asyncio.wait((held, ready), return_when=asyncio.FIRST_COMPLETED)
    if held.done():
        await held
    yield await ready
    over.set()
    await held


@pytest_asyncio.fixture(loop_scope="module")
async def gate(shared: Served) -> AsyncIterator[Driven]:
    """Its clients and controller; after each test no lease is left, whatever the test did."""
    yield shared[0]
    await shared[0].until(lambda g: g.state == "OPEN" and not g.active, BOUND)


async def begun(gate: Driven, lease: str, **given: Any) -> Any:
    """The stream of a request that waits, once its first chunk was read."""
    stream = gate.stream(request_id=lease, waits=True, **given)
    assert (await anext(stream)).lease == lease
    return stream


async def proceed(gate: Driven, lease: str) -> bool:
    return (await gate.data.Proceed(rollout_pb2.ProceedRequest(request_id=lease), timeout=BOUND)).running


async def ends_unsent(gate: Driven, lease: str) -> None:
    await gate.until(lambda g: lease not in g.active, BOUND)
    state = await gate.lease_state(lease)
    assert (state.state, state.ending, state.spans) == ("SETTLED", "not_sent", {})
    assert not await proceed(gate, lease)


# -- a request that waits ----------------------------------------------------------------------------


async def test_nothing_reaches_the_engine_before_the_request_may_go_on(shared: Served, gate: Driven) -> None:
    plain, made = await gate.generate(seed=3), shared[1].health().tokens
    stream = await begun(gate, "waits", seed=3)
    assert (await gate.lease_state("waits")).state == "ADMITTED"
    assert (await gate.now()).active == {"waits"}
    await asyncio.sleep(0.2)
    assert (await shared[1].running(), shared[1].health().tokens) == ([], made)
    assert await proceed(gate, "waits")
    answer = await last(stream)
    assert (answer.reason, answer.ids) == ("length", plain.ids)
    assert not await proceed(gate, "waits"), "it is over"


async def test_a_repeat_of_proceed_changes_nothing_and_answers_the_same(gate: Driven) -> None:
    stream = await begun(gate, "twice", max_tokens=3000)
    assert [await proceed(gate, "twice"), await proceed(gate, "twice")] == [True, True]
    await first_tokens(stream)
    assert await proceed(gate, "twice")
    assert (await gate.lease_state("twice")).state == "FORWARDED"
    await stream.aclose()


async def test_one_that_does_not_wait_and_one_that_nobody_knows_are_told_as_they_are(gate: Driven) -> None:
    assert not await proceed(gate, "nobody")
    stream = gate.stream(request_id="plain", max_tokens=3000)
    await first_tokens(stream)
    assert await proceed(gate, "plain")
    await stream.aclose()
    with pytest.raises(aio.AioRpcError) as wrong:
        await proceed(gate, "x" * 257)
    assert wrong.value.code() is StatusCode.INVALID_ARGUMENT


async def test_a_proceed_before_the_first_chunk_is_remembered(gate: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(monkeypatch)
    disk.is_full = True
    task = asyncio.create_task(gate.generate(request_id="early", waits=True))
    await gate.until(lambda g: "early" in g.active, BOUND)
    assert await proceed(gate, "early")
    assert (await gate.lease_state("early")).state == "ADMITTED", "its admission is not stored yet"
    disk.is_full = False
    assert (await task).reason == "length"


async def test_a_client_that_is_killed_before_proceed_has_sent_nothing(shared: Served, gate: Driven) -> None:
    made = shared[1].health().tokens
    client = await asyncio.create_subprocess_exec(sys.executable, "-c", LEAVES, gate.ready["data"])
    try:
        async with asyncio.timeout(60):
            assert await client.wait() == -9
    finally:
        if client.returncode is None:
            client.kill()
            await client.wait()
    await ends_unsent(gate, "killed")
    assert shared[1].health().tokens == made


async def test_hang_up_deadline_abort_and_cancel_end_one_that_waits_as_not_sent(gate: Driven) -> None:
    await (await begun(gate, "hangs-up")).aclose()
    await ends_unsent(gate, "hangs-up")
    late = await begun(gate, "late", within=0.5)
    with pytest.raises(aio.AioRpcError) as over:
        await anext(late)
    assert over.value.code() is StatusCode.DEADLINE_EXCEEDED
    await ends_unsent(gate, "late")
    aborted = await begun(gate, "aborted")
    assert (await gate.data.Abort(rollout_pb2.AbortRequest(request_id="aborted"), timeout=BOUND)).running
    assert (await last(aborted)).reason == "not_sent"
    cancelled = await begun(gate, "cancelled")
    await gate.lease("cancelled").cancel()
    assert not await proceed(gate, "cancelled"), "though its receipt may not be stored yet"
    assert (await last(cancelled)).reason == "not_sent"


async def test_one_that_nobody_lets_go_on_is_cancelled_and_never_unknown(tmp_path: Path) -> None:
    """Though the time within which a lease is to be settled is over long before."""
    async with served(Weights("tires", tmp_path), proceed_ms=1500, lease_ms=300) as (gate, engine):
        await gate.update(1)
        made = engine.health().tokens
        stream = await begun(gate, "tires")
        answer = await last(stream)
        assert (answer.reason, answer.ids) == ("not_sent", [])
        assert "not told to proceed" in answer.text
        await ends_unsent(gate, "tires")
        assert engine.health().tokens == made
        log = gate.ready["trace"]
    assert "Orphan" not in await asyncio.to_thread(Path(log).read_text)


# -- drains meanwhile --------------------------------------------------------------------------------


async def test_a_drain_that_waits_for_the_end_waits_for_it_too(gate: Driven) -> None:
    stream, version = await begun(gate, "before-wait"), (await gate.now()).version
    await gate.seal(Mode.WAIT)
    await command(gate, "drain")
    await asyncio.sleep(0.2)
    held = await gate.now()
    assert (held.state, held.active, held.quiet) == ("DRAINING", {"before-wait"}, frozenset())
    assert await proceed(gate, "before-wait")
    assert (await last(stream)).versions == [version] * 8
    await gate.until(lambda g: g.quiet == g.ranks, BOUND)
    await command(gate, "resume")
    await gate.close()


async def test_one_that_goes_on_under_a_freeze_is_frozen_before_its_first_token(gate: Driven) -> None:
    stream, version = await begun(gate, "before-keep"), (await gate.now()).version + 1
    left = await begun(gate, "leaves-keep")
    await gate.seal(Mode.KEEP)
    await command(gate, "drain")
    await asyncio.sleep(0.2)
    assert (await gate.now()).active == {"before-keep", "leaves-keep"}
    await left.aclose()
    assert await proceed(gate, "before-keep")
    drained = await gate.until(lambda g: g.quiet == g.ranks, BOUND)
    assert (drained.active, drained.suspended) == (frozenset(), {"before-keep"})
    await ends_unsent(gate, "leaves-keep")
    await gate.install(version)
    await gate.reopen()
    await gate.close()
    answer = await last(stream)
    assert (answer.reason, answer.version, answer.versions) == ("length", version - 1, [version] * 8)


@pytest.mark.parametrize("escalated", [False, True])
async def test_a_drain_that_aborts_ends_it_at_once_and_it_was_not_sent(
    shared: Served, gate: Driven, escalated: bool
) -> None:
    lease, made = f"before-abort-{escalated}", shared[1].health().tokens
    stream = await begun(gate, lease)
    await gate.seal(Mode.WAIT if escalated else Mode.ABORT)
    await command(gate, "drain")
    if escalated:
        await command(gate, "escalate", mode=Mode.ABORT)
    await gate.until(lambda g: g.quiet == g.ranks, BOUND / 2)
    assert (await last(stream)).reason == "not_sent"
    await ends_unsent(gate, lease)
    assert shared[1].health().tokens == made
    await command(gate, "resume")
    await gate.close()
