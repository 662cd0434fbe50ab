"""Broadcasts of weights whose members are refused, leave, hang or die: the trainer is never caught with a ghost."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from grpc import aio
from weights_kit import Trainer, nothing_left, resident, serving

from sluicegate.protocol.client import dial
from sluicegate.protocol.generated import weights_pb2 as pb
from sluicegate.protocol.generated import weights_pb2_grpc as rpc
from sluicegate.runtime.weights import Manifest, WeightsError, digest_of, stage_from

WITHIN_S = 3.0
PROCESS = Path(__file__).resolve().parents[1] / "support" / "weights_process.py"


@asynccontextmanager
async def broadcasting(folder: Path, receivers: int) -> AsyncIterator[tuple[Trainer, Manifest]]:
    async with serving(
        folder, road="broadcast", receivers=receivers, gather_ms=20_000, within_ms=int(1000 * WITHIN_S)
    ) as trainer:
        yield trainer, trainer.publish()


async def received(trainer: Trainer, manifest: Manifest) -> str:
    staged = await asyncio.to_thread(stage_from, manifest, trainer.source("whole"), resident(manifest))
    return digest_of(staged)


@asynccontextmanager
async def asking(trainer: Trainer, manifest: Manifest) -> AsyncIterator[aio.StreamStreamCall]:
    """A replica's call by hand: it has begun, and nothing else."""
    async with dial(trainer.server.target) as channel:
        call = rpc.WeightsStub(channel).Join()
        wanted = pb.Wanted(version=manifest.version, digest=manifest.digest, receiver="ghost")
        await call.write(pb.JoinRequest(begin=pb.JoinBegin(wanted=wanted)))
        yield call


async def told(call: aio.StreamStreamCall) -> pb.JoinAnswer:
    """The next answer that says something."""
    async with asyncio.timeout(30):
        while isinstance(answer := await call.read(), pb.JoinAnswer) and answer.WhichOneof("said") == "wait":
            pass
    assert isinstance(answer, pb.JoinAnswer), "the call ended"
    return answer


@asynccontextmanager
async def ghost(trainer: Trainer, at: int, how: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A replica in a process of its own, that dies or stops."""
    settings = {"road": "broadcast", "within_ms": int(1000 * WITHIN_S)}
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(PROCESS), "fetch", str(trainer.folder), json.dumps(settings), str(at), how,
        stdout=asyncio.subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(PROCESS.parent)},
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_r34_a_replica_that_leaves_after_it_was_asked_is_not_in_the_group(tmp_path: Path) -> None:
    async def leave(trainer: Trainer, manifest: Manifest) -> int:
        async with asking(trainer, manifest) as call:
            world = (await told(call)).proposal.world
            call.cancel()
            return world

    async with broadcasting(tmp_path, 2) as (trainer, manifest), nothing_left():
        whole = asyncio.create_task(received(trainer, manifest))
        assert await leave(trainer, manifest) == 3
        began = time.monotonic()
        assert await whole == manifest.digest
        assert time.monotonic() - began < WITHIN_S, "that it left is told, not waited for"


async def test_r34_a_replica_that_never_confirms_is_told_so_and_nobody_waits_longer_than_the_bound(
    tmp_path: Path,
) -> None:
    async def refuse(trainer: Trainer, manifest: Manifest) -> tuple[pb.JoinAnswer, pb.JoinAnswer]:
        async with asking(trainer, manifest) as call:
            asked = await told(call)
            await call.write(pb.JoinRequest(confirmed=pb.JoinConfirmed(group="of another broadcast")))
            return asked, await told(call)

    async with broadcasting(tmp_path, 2) as (trainer, manifest), nothing_left():
        whole, began = asyncio.create_task(received(trainer, manifest)), time.monotonic()
        asked, answer = await refuse(trainer, manifest)
        assert asked.proposal.world == 3
        assert answer.WhichOneof("said") == "failed", "it was not told to enter"
        assert "ghost did not confirm" in answer.failed.text
        assert await whole == manifest.digest
        assert time.monotonic() - began < 2 * WITHIN_S


async def test_r34_a_replica_with_another_manifest_is_refused_before_there_is_a_group(tmp_path: Path) -> None:
    async with broadcasting(tmp_path, 1) as (trainer, manifest):
        other = replace(manifest.tensors[0], digest="0" * 64)
        with pytest.raises(WeightsError, match="manifests of another run"):
            await received(trainer, replace(manifest, tensors=(other, *manifest.tensors[1:])))
        assert await received(trainer, manifest) == manifest.digest


@pytest.mark.slow
@pytest.mark.parametrize(("at", "how"), [(0, "enter"), (3, "kill"), (3, "stop")])
async def test_r34_a_replica_that_dies_or_hangs_after_it_confirmed_costs_one_bounded_wait(
    tmp_path: Path, at: int, how: str
) -> None:
    async with broadcasting(tmp_path, 2) as (trainer, manifest), nothing_left(), ghost(trainer, at, how) as process:
        whole = asyncio.create_task(received(trainer, manifest))
        async with asyncio.timeout(60):
            await gone(process)
            began = time.monotonic()
            assert await whole == manifest.digest
        # Once it is met with, and once it is waited for what it says of the broadcast that it broke.
        assert time.monotonic() - began < 2 * WITHIN_S + 2
        began = time.monotonic()
        both = await asyncio.gather(received(trainer, manifest), received(trainer, manifest))
        assert both == [manifest.digest] * 2
        assert time.monotonic() - began < 3 * WITHIN_S, "the trainer is free again"


async def gone(process: asyncio.subprocess.Process) -> None:
    """Until the process was killed, or has stopped itself."""
    while process.returncode is None:
        try:
            stat = await asyncio.to_thread(Path(f"/proc/{process.pid}/stat").read_text)
        except FileNotFoundError:
            return
        if stat.rpartition(")")[2].split()[0] in "TZ":
            return
        await asyncio.sleep(0.05)
