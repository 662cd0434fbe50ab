"""Control has a lane of its own: over real gRPC, since what was full was a connection."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from grpc import StatusCode, aio

from sluicegate.protocol.access import ACCESS, Access
from sluicegate.protocol.client import dial
from sluicegate.protocol.generated import rollout_pb2, rollout_pb2_grpc
from sluicegate.protocol.generated.gate_service import GATE, GateClient
from sluicegate.protocol.refusals import detail
from sluicegate.runtime.simulation.engine import ScriptedEngine
from sluicegate.runtime.weights import ManifestStore, ShmPublisher
from sluicegate.runtime.workers.config import RolloutConfig
from sluicegate.runtime.workers.rollout import replica
from sluicegate.statemachines.sorts import Mode

OUTSTANDING, STREAMS = 2048, 1024
"""Requests, and how many of them their connection carries at once."""


@pytest.mark.slow
async def test_r23_control_does_not_queue_behind_generation(tmp_path: Path) -> None:
    """More requests are outstanding than their connection carries at once; a drain ends them, and nothing else does."""
    publisher = ShmPublisher("r23", root=tmp_path)
    manifest = publisher.publish(0, 0, [("w", torch.ones(4))], torch.float32)
    ManifestStore(tmp_path / "manifests").put(manifest)
    config = RolloutConfig(
        replica="a", run="r23", model=tmp_path, state=tmp_path / "state", manifests=tmp_path / "manifests",
        incarnation="a.1", shm_root=tmp_path,
    )  # fmt: skip
    engine = ScriptedEngine(pace=0)
    # Of this test's task alone.
    ACCESS.set(Access(streams=STREAMS))
    async with asyncio.timeout(100), replica(config, cast(Any, engine)) as facts:
        control, data = dial(facts["control"]), dial(facts["data"])
        gate = GateClient(control, "a", incarnation="a.1", deadline=60.0)
        stub: Any = rollout_pb2_grpc.RolloutStub(data)
        await gate.claim(term=1)

        async def until(holds: Any) -> Any:
            async for seen in gate.watch():
                if holds(seen.snapshot):
                    return seen.snapshot

        async def outcome(number: int) -> str:
            sampling = rollout_pb2.SamplingParams(max_tokens=10, top_p=1.0)
            request = rollout_pb2.GenerateRequest(request_id=f"r{number}", prompt_token_ids=(1,), sampling=sampling)
            try:
                reason = [chunk.finish_reason async for chunk in stub.Generate(request, timeout=100)][-1]
            except aio.AioRpcError as error:
                found = detail(error, GATE.reply)
                return found.reason if found else error.code().name
            return rollout_pb2.FinishReason.Name(reason)

        async def takes_more() -> bool:
            """Whether their connection takes another call, or most of them are still on their way."""
            if len(engine.held) <= STREAMS / 2:
                await asyncio.sleep(0.1)
                return True
            try:
                await stub.Abort(rollout_pb2.AbortRequest(request_id="another"), timeout=3.0)
            except aio.AioRpcError as error:
                return error.code() is not StatusCode.DEADLINE_EXCEEDED
            return True

        await gate.seal(term=1, epoch=1, mode=Mode.WAIT, window=60_000)
        await gate.drain(term=1, epoch=1)
        await until(lambda g: g.quiet == g.ranks)
        await gate.install(term=1, epoch=1, version=0, digests=manifest.rank_digests("0"))
        await until(lambda g: g.verified == g.ranks)
        await gate.reopen(term=1, epoch=1)
        await gate.close(term=1, epoch=1)
        outstanding = [asyncio.create_task(outcome(n)) for n in range(OUTSTANDING)]
        while await takes_more():
            pass
        sealed = await gate.seal(term=1, epoch=2, mode=Mode.ABORT, window=60_000)
        running = len(sealed.snapshot.active)
        assert STREAMS / 2 < running <= STREAMS
        assert not any(task.done() for task in outstanding)
        await gate.drain(term=1, epoch=2)
        drained = await until(lambda g: g.quiet == g.ranks)
        assert not drained.active
        outcomes = Counter(await asyncio.gather(*outstanding))
        assert outcomes["FINISH_REASON_ABORTED"] == running
        assert outcomes.keys() <= {"FINISH_REASON_ABORTED", "CLOSED", "UNAVAILABLE"}, "others were never let in"
        assert engine.held == {}
        await data.close()
        await control.close()
