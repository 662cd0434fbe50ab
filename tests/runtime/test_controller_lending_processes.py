"""Devices of real replicas that are lent by a real controller: their memory, and what is served when all goes wrong."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from controller_kit import WITHIN_S, Run, running
from grpc import aio
from idle_trainer import idle_trainer

from sluicegate.protocol.generated import front_pb2, front_pb2_grpc, rollout_pb2, rollout_pb2_grpc
from sluicegate.protocol.refusals import detail
from sluicegate.runtime.controller.client import OperationFailed
from sluicegate.runtime.launcher import Worker
from sluicegate.statemachines.session import Rebinding, Session

pytestmark = pytest.mark.slow
VOCABULARY = 200_000
"""So many that the weights are most of what a replica's memory grows and shrinks by."""


def memory(worker: Worker) -> int:
    """Bytes of its own that a process holds in memory."""
    found = re.search(r"RssAnon:\s+(\d+) kB", Path(f"/proc/{worker.pid}/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


async def versions(run: Run, worker: Worker, lease: str, hold: float) -> set[int]:
    """The versions that made the tokens of one request. Raises AioRpcError."""
    data: Any = rollout_pb2_grpc.RolloutStub(run.channel(worker.ready["data"]))
    sampling = rollout_pb2.SamplingParams(max_tokens=8, temperature=1.0, top_p=1.0)
    request = rollout_pb2.GenerateRequest(
        request_id=lease, session=f"of {lease}", prompt_token_ids=(3, 1, 4), sampling=sampling, hold=hold
    )
    found = set[int]()
    run.agents.born(Session, request.session, policy=Rebinding.NEVER)
    run.agents.step(request.session, Session.BeginTurn(lease=lease), lease)
    try:
        async for chunk in data.Generate(request, timeout=WITHIN_S):
            if chunk.lease:
                bound = Session.Bound(replica=worker.name, incarnation=worker.incarnation)
                run.agents.step(request.session, bound, lease)
            found |= {span.version for span in chunk.spans}
    finally:
        run.agents.step(request.session, Session.EndTurn(lease=lease), lease)
    return found


async def refusal(run: Run, worker: Worker, lease: str) -> str:
    """Why a request is not let in."""
    with pytest.raises(aio.AioRpcError) as refused:
        await versions(run, worker, lease, hold=0.0)
    found = detail(refused.value, None)
    assert found is not None
    return found.reason


async def proved(run: Run, worker: Worker) -> dict[str, str]:
    """What the ranks of a replica hold, read from their memory."""
    stub: Any = front_pb2_grpc.FrontStub(run.channel(worker.ready["control"]))
    return dict((await stub.Digests(front_pb2.DigestsRequest(), timeout=WITHIN_S)).digests)


@pytest.mark.timeout(600)
async def test_lent_memory_is_free_and_nothing_is_served_again_before_weights_are_verified(tmp_path: Path) -> None:
    async with (
        running(tmp_path, "r0", "r1", vocabulary=VOCABULARY, deadline_ms=12_000, takeover_ms=3_000) as run,
        idle_trainer(run.roster, "0"),
    ):
        workers = [await run.replica(name) for name in ("r0", "r1")]
        controller = await run.start_controller()
        run.publish(0)
        await run.status_until(lambda s: [r.state for r in s.replicas] == ["SYNCING", "SYNCING"])
        await run.client.sync(0)
        weights = sum(bucket.length for bucket in run.weights.store.get(0).buckets)
        before = [memory(worker) for worker in workers]

        lend = await run.client.lend(1)
        assert (lend.result, lend.left_behind) == ("lent", {})
        freed = [was - memory(worker) for was, worker in zip(before, workers, strict=True)]
        assert min(freed) > 0.8 * weights, f"{freed} of {weights} bytes are free"
        assert {await refusal(run, w, f"closed-{w.name}") for w in workers} == {"CLOSED"}
        held = [asyncio.create_task(versions(run, w, f"held-{w.name}", hold=60.0)) for w in workers]
        run.publish(1)
        assert (await run.client.returned(lend.operation_id, 1)).version == 1
        assert [await answer for answer in held] == [{1}, {1}]
        manifest = run.weights.store.get(1)
        assert [await proved(run, worker) for worker in workers] == [manifest.rank_digests(["0"])] * 2

        # They come back without new weights: those that were served are put back, and proved.
        lend = await run.client.lend(2)
        back = await run.client.returned(lend.operation_id, 1)
        assert (back.result, back.version, back.left_behind) == ("published", 1, {})
        assert [await proved(run, worker) for worker in workers] == [manifest.rank_digests(["0"])] * 2

        # The windows of the gates end while their memory is lent: no controller renews them.
        lend = await run.client.lend(2)
        with run.stopped(controller):
            for worker in workers:
                await run.gate_until(worker, lambda g: g.state == "POISONED")
            assert {await refusal(run, w, f"poisoned-{w.name}") for w in workers} == {"POISONED"}
            assert [await proved(run, worker) for worker in workers] == [{}, {}]
        later = [await run.replica(name, 2) for name in ("r0", "r1")]
        for worker in later:
            await run.gate_until(worker, lambda g: g.state == "OPEN")
        assert [await proved(run, worker) for worker in later] == [manifest.rank_digests(["0"])] * 2
        assert [await versions(run, w, f"later-{w.name}", hold=0.0) for w in later] == [{1}, {1}]
        with pytest.raises(OperationFailed, match="no device is lent") as failed:
            await run.client.returned(lend.operation_id, 1)
        assert failed.value.reason == "not_lent"
    verdict = run.judged()
    assert verdict.valid, verdict.refusal
