"""What a rollout worker does when things fail: its process, its engine, its weights, its clients."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from sluicegate.runtime.engines import AbortOutcome, TorchEngine
from sluicegate.runtime.workers.records import LeaseStore
from sluicegate.statemachines.sorts import Mode

from ..support.rollout_kit import (
    Driven,
    Refused,
    Weights,
    driven,
    first_tokens,
    judged,
    served,
    slow_down,
    worker_process,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def weights(tmp_path: Path) -> Weights:
    return Weights("fault-test", tmp_path)


async def is_serving(replica: Driven, service: str) -> bool:
    stub: Any = health_pb2_grpc.HealthStub(replica.control)
    answer = await stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=5)
    return answer.status == health_pb2.HealthCheckResponse.SERVING


def corrupt(weights: Weights, version: int) -> None:
    bucket = sorted((weights.publisher.folder / f"v{version}").iterdir())[0]
    content = bytearray(bucket.read_bytes())
    content[5] ^= 1
    bucket.write_bytes(content)


def lines(path: str | Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


async def test_the_next_life_accounts_for_every_lease_of_one_that_was_killed(weights: Weights, tmp_path: Path) -> None:
    config = weights.config("r0")
    with worker_process("rollout", config, tmp_path) as (process, ready):
        async with driven(ready, weights) as first:
            await first.update(1)
            done = await first.generate(request_id="done")
            streams = [first.stream(max_tokens=3000, request_id=f"cut-{n}") for n in range(3)]
            for stream in streams:
                await first_tokens(stream)
            process.send_signal(signal.SIGKILL)
            process.wait(10)
            for stream in streams:
                with pytest.raises(Exception, match="UNAVAILABLE"):
                    [a async for a in stream]
    store = LeaseStore(config.state / "leases.sqlite")
    try:
        assert {lease.lease for lease in store.open_leases()} == {"cut-0", "cut-1", "cut-2"}
        with worker_process("rollout", config, tmp_path) as (process, again):
            assert again["incarnation"] != ready["incarnation"]
            assert store.open_leases() == []
            assert store.counts() == {"completed": 1, "lost": 3}
            answer = store.answer("done")
            assert answer is not None
            assert (answer.tokens, answer.spans, answer.session) == (done.ids, [(1, 8)], "")
            async with driven(again, weights) as second:
                assert (await second.now()).state == "SEALED"
                assert (await second.lease_state("cut-1")).state == "LOST"
                await second.update(2)
                with pytest.raises(Refused, match="REUSED"):
                    await second.generate(request_id="cut-1")
                assert (await second.generate()).versions == [2] * 8
            assert process.stdin is not None
            process.stdin.close()
            assert await asyncio.to_thread(process.wait, 20) == 0, "it ends with its standard input"
    finally:
        store.close()
    verdict = judged(weights, [ready["trace"], again["trace"]], {ready["incarnation"]: "killed"}, tmp_path)
    assert verdict.valid, verdict.refusal
    restored = [line for line in lines(again["trace"]) if line["line"] == "new" and line["restored"]]
    assert {line["instance"] for line in restored} == {"cut-0", "cut-1", "cut-2"}


async def test_a_worker_that_is_told_to_end_settles_what_runs_and_closes_its_log(
    weights: Weights, tmp_path: Path
) -> None:
    config = weights.config("r0", stop_ms=500)
    with worker_process("rollout", config, tmp_path) as (process, ready):
        async with driven(ready, weights) as served:
            await served.update(1)
            stream = served.stream(max_tokens=3500, request_id="long")
            await first_tokens(stream)
            await served.seal(Mode.WAIT)
            held = asyncio.create_task(served.generate(request_id="held", hold=30.0))
            await asyncio.sleep(0.2)
            process.terminate()
            with pytest.raises(Refused, match="ENDING"):
                await held
            assert await asyncio.to_thread(process.wait, 20) == 0
    store = LeaseStore(config.state / "leases.sqlite")
    assert store.counts() == {"aborted": 1}
    store.close()
    assert lines(ready["trace"])[-1]["line"] == "closed"


def test_a_config_with_a_mistyped_key_is_named_with_its_mend(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text(
        json.dumps({"replica": "r0", "run": "x", "model": "m", "state": "s", "manifests": "f", "hold_mss": 1})
    )
    command = [sys.executable, "-m", "sluicegate", "worker", "rollout", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert "'hold_mss'" in done.stderr
    assert "did you mean 'hold_ms'?" in done.stderr


async def test_a_corrupt_bucket_poisons_the_gate_that_installs_it_and_nothing_else(
    weights: Weights, tmp_path: Path
) -> None:
    async with served(weights) as (sick, _), served(weights, replica="r1") as (well, _):
        for one in (sick, well):
            await one.update(1)
        weights.publish(2)
        await well.stage(2)
        corrupt(weights, 2)
        with pytest.raises(Exception, match="corrupt"):
            await sick.stage(2)
        assert (await sick.now()).state == "OPEN"
        assert (await sick.generate()).versions == [1] * 8
        await sick.seal()
        await sick.drain()
        gate = await sick.install(2)
        assert (gate.state, gate.version) == ("POISONED", 1)
        with pytest.raises(Refused) as refused:
            await sick.generate(hold=30.0)
        assert (refused.value.reason, refused.value.retry) == ("poisoned", False)
        assert not await is_serving(sick, "sluicegate.v1.Gate")
        assert await is_serving(sick, "")
        await well.update(2)
        assert (await well.generate()).versions == [2] * 8


async def test_who_waits_at_the_door_of_a_gate_that_is_poisoned_hears_of_it(weights: Weights) -> None:
    async with served(weights) as (gate, _):
        held = asyncio.create_task(gate.generate(hold=30.0))
        await asyncio.sleep(0.2)
        await gate.gate.poison(term=gate.term, why="a test", operation_id=gate.operation("poison", 0))
        with pytest.raises(Refused, match="POISONED"):
            await held


async def test_a_lease_that_does_not_end_in_time_is_discarded_and_the_gate_goes_on(
    weights: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(weights, lease_ms=1500) as (gate, engine):
        await gate.update(1)
        slow_down(engine, monkeypatch)
        answer = await gate.generate(max_tokens=4000, request_id="long")
        assert answer.reason == "discarded"
        assert "not settled within" in answer.text
        lease = await gate.lease_state("long")
        assert (lease.state, lease.ending) == ("SETTLED", "discarded")
        assert (await gate.now()).state == "OPEN"
        await gate.update(2)
        assert (await gate.generate(max_tokens=4)).versions == [2] * 4


class DeafEngine(TorchEngine):
    """An engine that never answers an abort."""

    async def abort(self, request_id: str) -> AbortOutcome:
        await asyncio.sleep(60)
        return await super().abort(request_id)


async def test_a_lease_that_cannot_be_reconciled_is_lost_and_poisons_the_gate(
    weights: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(weights, DeafEngine, lease_ms=300, reconcile_ms=200) as (gate, engine):
        await gate.update(1)
        slow_down(engine, monkeypatch)
        answer = await gate.generate(max_tokens=4000, request_id="long")
        assert answer.reason == "lost"
        assert (await gate.lease_state("long")).state == "LOST"
        assert (await gate.now()).state == "POISONED"


async def test_an_engine_whose_step_fails_poisons_its_gate_and_settles_its_requests(
    weights: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(weights) as (gate, engine):
        await gate.update(1)
        stream = gate.stream(max_tokens=3000, request_id="hit")
        await first_tokens(stream)

        def fail(*_: object) -> None:
            raise RuntimeError("the device fell off the bus")

        monkeypatch.setattr(engine._model, "forward", fail)
        answer = [a async for a in stream][-1]
        assert answer.reason == "failed"
        assert "fell off the bus" in answer.text
        assert (await gate.lease_state("hit")).ending == "failed"
        assert (await gate.until(lambda g: g.state == "POISONED")).active == frozenset()


async def test_a_worker_may_refuse_instead_of_holding(weights: Weights) -> None:
    async with served(weights, closed="refuse") as (gate, engine):
        await gate.update(1)
        await gate.seal()
        before = engine.health().tokens
        with pytest.raises(Refused) as refused:
            await gate.generate(hold=30.0)
        assert (refused.value.reason, refused.value.retry) == ("closed", True)
        await gate.drain()
        assert (await engine.running(), engine.health().tokens) == ([], before)


async def test_suspended_leases_that_are_not_continued_in_time_are_orphaned_and_discarded(weights: Weights) -> None:
    async with served(weights) as (gate, engine):
        await gate.update(1)
        stream = gate.stream(max_tokens=4000, request_id="frozen")
        await first_tokens(stream)
        await gate.seal(Mode.KEEP, window=1500)
        await gate.drain()

        async def never(epoch: int) -> bool:
            return False

        engine.continue_ = never
        answer = [a async for a in stream][-1]
        assert answer.reason == "discarded"
        gate_now = await gate.now()
        assert (gate_now.state, gate_now.suspended, gate_now.orphaned) == ("REOPENED", frozenset(), frozenset())
