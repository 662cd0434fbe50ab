"""A trainer of two ranks, as processes: what it does, and that one rank's trouble is all of its end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from grpc import aio

from sluicegate.protocol.client import dial
from sluicegate.protocol.generated import training_pb2 as pb
from sluicegate.protocol.generated import training_pb2_grpc as rpc
from sluicegate.runtime.config import write_config
from sluicegate.runtime.controller.trainer import TrainerError, TrainerFailed, TrainerHandle, TrainerUndone
from sluicegate.runtime.tracelog import merge
from sluicegate.runtime.weights import ManifestStore
from sluicegate.runtime.workers.batches import arrays_of, to_messages
from sluicegate.runtime.workers.config import TrainerConfig

from ..support.trainer_kit import group_process, handled, is_gone, make_config, make_samples, ranks_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
TOLD_S = 20.0
"""How soon whoever waits for a group must know that it is over, here with bounds of a few seconds."""


def bounded(folder: Path, **changes: Any) -> TrainerConfig:
    """Two ranks that wait for each other for three seconds."""
    return make_config(folder, ranks=2, answer_ms=3000, training={"collective_ms": 3000}, **changes)


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> TrainerConfig:
    return bounded(tmp_path_factory.mktemp("group"))


@pytest.fixture(scope="module")
def group(config: TrainerConfig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """A group that ends as it is asked to: it leaves nothing, and a trace that its tables and rules explain."""
    with group_process(config, tmp_path_factory.mktemp("process")) as (process, ready, ranks):
        assert len(ranks) == 2
        yield ready
        process.terminate()
        assert process.wait(20) == 0
        assert all(map(is_gone, ranks))
        assert config.shm_root is not None
        assert not any(config.shm_root.iterdir())
        assert not listens(ready["control"])
        assert not listens(ready["data"])
    assert explained(config, {}) == ""


@pytest.fixture
async def trainer(group: dict[str, Any]) -> AsyncIterator[TrainerHandle]:
    async with handled(group) as made:
        yield made


def listens(address: str) -> bool:
    host, _, port = address.rpartition(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


def explained(config: TrainerConfig, ended: dict[str, str]) -> str:
    """What is wrong with the trace of all ranks, beside that no controller's log is with it."""
    from sluicegate.spec.traces import validate

    assert config.trace is not None
    trace = merge(sorted(config.trace.glob("*.ndjson")), ended, config.trace.parent / "merged.ndjson")
    refusal = validate(trace).refusal
    return "" if refusal is None or refusal.rule == "term_has_controller" else str(refusal)


async def over(process: subprocess.Popen[bytes], ranks: list[int]) -> int:
    """The exit status of torchrun, once it and its ranks are gone; within the bound."""
    status = await asyncio.to_thread(process.wait, TOLD_S)
    until = time.monotonic() + 2.0
    while not all(map(is_gone, ranks)):
        assert time.monotonic() < until, "a rank outlives its group"
        await asyncio.sleep(0.02)
    return status


async def test_two_ranks_train_publish_save_and_load_as_one(trainer: TrainerHandle, config: TrainerConfig) -> None:
    store, kept = ManifestStore(config.manifests), config.state.parent / "kept"
    await trainer.publish(1)
    figures = await trainer.train("b1", make_samples(1))
    assert figures["step"] == 1
    assert figures["samples"] == 8
    await trainer.publish(2)
    await trainer.save(str(kept))
    await trainer.train("b2", make_samples(2, version=2))
    await trainer.publish(3)
    await trainer.load(str(kept))
    await trainer.publish(4)
    digests = [store.get(version).digest for version in (1, 2, 3, 4)]
    assert digests[1] == digests[3]
    assert len(set(digests)) == 3
    assert store.get(4).step == store.get(2).step == 1


async def test_what_cannot_be_done_is_undone_with_the_reason_of_each_rank(
    trainer: TrainerHandle, config: TrainerConfig
) -> None:
    (config.state / "there").mkdir()
    with pytest.raises(TrainerUndone, match="exists: a checkpoint is never overwritten"):
        await trainer.save("there")
    with pytest.raises(TrainerUndone, match="holds no checkpoint"):
        await trainer.load("there")
    version = max(ManifestStore(config.manifests).versions(), default=0) + 1
    await trainer.publish(version)
    await trainer.publish(version)
    with pytest.raises(TrainerError, match="not newer"):
        await trainer.publish(version - 1)


async def test_a_batch_is_every_ranks_or_none(
    trainer: TrainerHandle, group: dict[str, Any], config: TrainerConfig
) -> None:
    """The other rank holds another batch of that name."""
    newest = max(ManifestStore(config.manifests).versions(), default=0)
    channel = dial(group["ranks"][1]["data"])
    try:
        data: Any = rpc.TrainerDataStub(channel)
        held = pb.SubmitRequest(batch="same", arrays=to_messages(arrays_of(make_samples(7, newest))))
        await data.Submit(held, timeout=10)
        with pytest.raises(TrainerError, match="took no batch: batch 'same' was another one"):
            await trainer.train("same", make_samples(8, newest))
        async with dial(group["data"]) as head:
            asked: Any = rpc.TrainerDataStub(head)
            with pytest.raises(aio.AioRpcError, match="batch 'same' is not known here"):
                await asked.Result(pb.ResultRequest(batch="same"), timeout=5)
        with pytest.raises(aio.AioRpcError) as unknown:
            await data.Outcome(pb.OutcomeRequest(instance="rank-1", job=999), timeout=5)
        assert unknown.value.details() == "no job 999 of 'rank-1' is known here: it never began, or long ago"
    finally:
        await channel.close()


async def test_ranks_that_differ_do_nothing_and_publish_nothing(tmp_path: Path) -> None:
    """A rank that was told another batch; then one whose weights are others."""
    config = bounded(tmp_path)
    with odd_group(config, tmp_path) as (process, ready, ranks):
        async with handled(ready) as trainer:
            with pytest.raises(TrainerUndone, match="about to do different things"):
                await trainer.train("another", make_samples(1))
            await trainer.publish(1)
            (tmp_path / "drift").touch()
            with pytest.raises(TrainerFailed, match="different things"):
                await trainer.publish(2)
            with pytest.raises(TrainerFailed, match="replace it"):
                await trainer.publish(3)
            assert ManifestStore(config.manifests).versions() == [1]
            assert config.shm_root is not None
            assert [path.name for path in config.shm_root.glob("*/v*")] == ["v1"]
        assert await over(process, ranks) != 0, "a rank that has failed ends the group"
    assert explained(config, {}) == ""


@pytest.mark.parametrize("victim", ["rank", "head", "launcher"])
async def test_whoever_is_killed_in_the_middle_of_something_all_end_with_him(victim: str, tmp_path: Path) -> None:
    config = bounded(tmp_path)
    with odd_group(config, tmp_path) as (process, ready, ranks):
        async with handled(ready) as trainer:
            await trainer.publish(1)
            (tmp_path / "hold").touch()
            doing = {
                "rank": lambda: trainer.train("b", make_samples(1)),
                "head": lambda: trainer.publish(2),
                "launcher": lambda: trainer.save("kept"),
            }[victim]
            pid = {"rank": ranks[1], "head": ranks[0], "launcher": process.pid}[victim]
            running = asyncio.create_task(doing())
            await held(tmp_path)
            os.kill(pid, signal.SIGKILL)
            began = time.monotonic()
            with pytest.raises(TrainerError):
                await running
            assert await over(process, ranks) != 0
            assert time.monotonic() - began < TOLD_S
    assert ManifestStore(config.manifests).versions() == [1]
    assert config.shm_root is not None
    assert any(config.shm_root.glob("*/v1/*")), "replicas may still need what is published"
    assert not (config.state / "kept").exists()
    assert not listens(ready["control"])
    assert not listens(ready["data"])
    assert explained(config, {rank["incarnation"]: "signal 9" for rank in ready["ranks"]}) == ""


async def test_a_rank_that_does_not_answer_is_a_failure_of_all(tmp_path: Path) -> None:
    config = bounded(tmp_path)
    with odd_group(config, tmp_path) as (process, ready, ranks):
        async with handled(ready) as trainer:
            os.kill(ranks[1], signal.SIGSTOP)
            began = time.monotonic()
            with pytest.raises(TrainerFailed, match=r"rank-1: .*(no answer|not answered)"):
                await trainer.publish(1)
            assert time.monotonic() - began < TOLD_S
        process.terminate()
        await over(process, ranks)


async def held(folder: Path) -> None:
    """Until every rank has come to where it is held up."""
    until = time.monotonic() + TOLD_S
    while not are_held(folder):
        assert time.monotonic() < until
        await asyncio.sleep(0.02)


def are_held(folder: Path) -> bool:
    return all((folder / f"held.{rank}").exists() for rank in (0, 1))


@contextmanager
def odd_group(config: TrainerConfig, folder: Path) -> Iterator[tuple[Any, dict[str, Any], list[int]]]:
    """A group of the ranks of `odd_rank.py`, under a torchrun that the test starts."""
    path = folder / "odd.json"
    write_config(path, config)
    command = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "--shutdown-timeout=4"]
    process = subprocess.Popen(
        [sys.executable, *command, str(Path(__file__).with_name("odd_rank.py")), str(path), str(folder)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stdin is not None
        line = process.stdout.readline()
        assert line, f"the group said nothing; its exit status is {process.wait(20)}"
        yield process, json.loads(line), ranks_of(process.pid)
    finally:
        process.kill()
        process.wait(10)
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()
