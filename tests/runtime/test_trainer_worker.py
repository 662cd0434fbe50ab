"""A trainer worker's process over gRPC: batches, steps, versions, checkpoints, and what it refuses."""

from __future__ import annotations

import asyncio
import random
import signal
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf import descriptor_pool
from grpc import aio
from messages import answered, garbage

from sluicegate.protocol.client import Refused, dial
from sluicegate.protocol.generated import training_pb2, training_pb2_grpc
from sluicegate.protocol.generated.trainer_service import TRAINER, TrainerClient
from sluicegate.protocol.refusals import Detail, detail
from sluicegate.runtime.training.samples import Sample
from sluicegate.runtime.weights import Manifest, ManifestStore, ShmReader, canonical_tensors, digest_of, stage_from
from sluicegate.runtime.weights.calling import read_source
from sluicegate.runtime.weights.layout import Layout, Split, shard
from sluicegate.runtime.workers.batches import arrays_of, to_messages
from sluicegate.runtime.workers.config import TrainerConfig

from ..support.rollout_kit import VOCABULARY, make_weights, worker_process
from ..support.trainer_kit import make_config, make_samples

LAYOUT = Layout("two", ("0", "1"), (Split(r".*\.(q|k|v)_proj\.weight"), Split(r".*\.o_proj\.weight", dim=1)))
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


class Trained:
    """A trainer that serves: its controller and its data client."""

    def __init__(self, ready: dict[str, Any], control: aio.Channel, data: aio.Channel) -> None:
        self.ready = ready
        self.client = TrainerClient(control, "trainer", incarnation=ready["incarnation"])
        self.data: Any = training_pb2_grpc.TrainerDataStub(data)

    async def until(self, holds: Any, within: float = 60.0) -> Any:
        async with asyncio.timeout(within):
            async for seen in self.client.watch():
                if holds(seen.snapshot):
                    return seen.snapshot
        raise AssertionError("the watch ended")

    async def submit(self, batch: str, samples: list[Sample]) -> int:
        arrays = to_messages(arrays_of(samples))
        return (
            await self.data.Submit(training_pb2.SubmitRequest(batch=batch, arrays=arrays), timeout=20)
        ).waiting_bytes

    async def result(self, batch: str) -> Any:
        return await self.data.Result(training_pb2.ResultRequest(batch=batch), timeout=20)

    async def train(self, batch: str, samples: list[Sample]) -> Any:
        await self.submit(batch, samples)
        await self.client.train(term=1, batch=batch)
        await self.until(lambda t: t.state == "IDLE")
        return await self.result(batch)

    async def publish(self, version: int) -> None:
        await self.client.publish(term=1, version=version)
        await self.until(lambda t: t.state == "IDLE" and t.version == version)


@asynccontextmanager
async def driven(ready: dict[str, Any]) -> AsyncIterator[Trained]:
    control, data = dial(ready["control"]), dial(ready["data"])
    try:
        made = Trained(ready, control, data)
        await made.client.claim(term=1)
        yield made
    finally:
        await data.close()
        await control.close()


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> TrainerConfig:
    return make_config(tmp_path_factory.mktemp("trainer"), layouts=(LAYOUT,))


@pytest.fixture(scope="module")
def process(config: TrainerConfig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    with worker_process("trainer", config, tmp_path_factory.mktemp("process")) as (_, ready):
        yield ready


@pytest.fixture
async def trainer(process: dict[str, Any]) -> AsyncIterator[Trained]:
    async with driven(process) as made:
        yield made


@pytest.fixture
async def newest(trainer: Trained, config: TrainerConfig) -> int:
    """What the trainer has published last, whichever of these tests came before: version 2 or a later one."""
    store = ManifestStore(config.manifests)
    if not store.versions():
        await trainer.publish(2)
    return store.versions()[-1]


async def refusal(call: Any) -> Detail:
    with pytest.raises(aio.AioRpcError) as error:
        await call
    found = detail(error.value, TRAINER.reply)
    assert found is not None
    return found


def shard_digests(config: TrainerConfig, manifest: Manifest) -> dict[str, str]:
    """The digest of what each of two tensor-parallel ranks would hold of it."""
    source = ShmReader(config.run, root=config.shm_root)
    whole = stage_from(manifest, source, canonical_tensors(make_weights(0)))
    return {
        rank: digest_of({name: shard(name, tensor, LAYOUT, rank) for name, tensor in whole.items()})
        for rank in LAYOUT.ranks
    }


def held_digest(config: TrainerConfig, manifest: Manifest) -> str:
    """The digest of what a replica would hold after it took every bucket."""
    source = ShmReader(config.run, root=config.shm_root)
    return digest_of(stage_from(manifest, source, canonical_tensors(make_weights(0))))


def last_line(path: str) -> str:
    return Path(path).read_text().splitlines()[-1]


async def test_two_steps_and_three_versions_of_which_the_last_two_stay_in_memory(
    trainer: Trained, config: TrainerConfig
) -> None:
    store = ManifestStore(config.manifests)
    await trainer.publish(0)
    for step in (1, 2):
        answer = await trainer.train(f"batch-{step}", make_samples(step, version=step - 1))
        assert answer.step == step
        assert answer.metrics["samples"] == 8
        assert answer.metrics["reward"] == pytest.approx(0.5)
        await trainer.publish(step)
        manifest = store.get(step)
        assert (manifest.step, manifest.run, len(manifest.buckets) > 1) == (step, config.run, True)
        assert held_digest(config, manifest) == manifest.digest
        assert shard_digests(config, manifest) == manifest.rank_digests(LAYOUT.ranks)
    assert store.versions() == [0, 1, 2]
    assert len({store.get(version).digest for version in (0, 1, 2)}) == 3, "each step changed the weights"
    assert config.shm_root is not None
    assert sorted(p.name for p in (config.shm_root / "sluicegate-trainer-test").iterdir()) == ["v1", "v2"]


async def test_a_batch_is_submitted_before_it_is_trained_on_and_only_once(trainer: Trained, newest: int) -> None:
    with pytest.raises(Refused, match="was not submitted"):
        await trainer.client.train(term=1, batch="never seen")
    assert (await trainer.client.get()).snapshot.state == "IDLE"
    samples = make_samples(7, version=newest)
    waiting = await trainer.submit("once", samples)
    assert await trainer.submit("once", samples) == waiting
    other = to_messages(arrays_of(make_samples(8, version=newest)))
    found = await refusal(trainer.data.Submit(training_pb2.SubmitRequest(batch="once", arrays=other)))
    assert found.reason == "PAYLOAD"
    found = await refusal(trainer.result("once"))
    assert (found.reason, found.retry) == ("NOT_TRAINED", True)
    first = await trainer.client.train(term=1, batch="once", operation_id="train-once")
    again = await trainer.client.train(term=1, batch="once", operation_id="train-once")
    assert (first.kind, again.kind, again.replayed) == ("go", "go", True)
    await trainer.until(lambda t: t.state == "IDLE")
    answer = await trainer.result("once")
    repeat = await trainer.client.train(term=1, batch="once", operation_id="train-once")
    assert repeat.replayed
    with pytest.raises(Refused, match="was trained on before"):
        await trainer.client.train(term=1, batch="once")
    assert (await trainer.result("once")).step == answer.step


async def test_bad_batches_are_refused_where_they_come_in(trainer: Trained, newest: int) -> None:
    good = make_samples(9, version=newest)
    arrays = arrays_of(good)
    cut = {**arrays, "token_ids": arrays["token_ids"][:-1]}
    lacking = {name: array for name, array in arrays.items() if name != "turns"}
    foreign = {**arrays, "token_ids": np.full_like(arrays["token_ids"], VOCABULARY)}
    newer = arrays_of(make_samples(9, version=40))
    stale = arrays_of(make_samples(9, version=0))
    alone = arrays_of(good[:1])
    for bad, said in (
        (cut, "token_ids has"), (lacking, "send exactly"), (foreign, "outside 0"), (newer, "the newest published"),
        (stale, "max_staleness"), (alone, "has one sample"),
    ):  # fmt: skip
        request = training_pb2.SubmitRequest(batch="bad", arrays=to_messages(bad))
        with pytest.raises(aio.AioRpcError, match=said):
            await trainer.data.Submit(request, timeout=20)
    assert (await trainer.client.get()).snapshot.state == "IDLE"
    await trainer.submit("bad", good)
    for version in (newest + 1, newest + 2):
        await trainer.publish(version)
    with pytest.raises(Refused, match="max_staleness"):
        await trainer.client.train(term=1, batch="bad")
    assert (await trainer.client.get()).snapshot.state == "IDLE", "it has become too old, which fails nobody"


async def test_what_comes_meanwhile_is_refused_busy(trainer: Trained, newest: int) -> None:
    await trainer.submit("long", make_samples(11, version=newest))
    await trainer.client.train(term=1, batch="long")
    with pytest.raises(Refused, match="one thing at a time") as busy:
        await trainer.client.publish(term=1, version=30)
    assert busy.value.retry
    await trainer.until(lambda t: t.state == "IDLE")


async def test_a_checkpoint_comes_back_and_one_that_is_none_changes_nothing(
    trainer: Trained, config: TrainerConfig
) -> None:
    store = ManifestStore(config.manifests)
    await trainer.publish(10)
    await trainer.client.save(term=1, path="kept")
    await trainer.until(lambda t: t.state == "IDLE")
    assert (config.state / "kept" / "checkpoint.json").exists()
    await trainer.train("after", make_samples(12, version=10))
    await trainer.publish(11)
    await trainer.client.load(term=1, path="nothing there")
    await trainer.until(lambda t: t.state == "IDLE")
    await trainer.client.save(term=1, path="kept")
    await trainer.until(lambda t: t.state == "IDLE")
    await trainer.publish(12)
    await trainer.client.load(term=1, path="kept")
    await trainer.until(lambda t: t.state == "IDLE")
    await trainer.publish(13)
    ten, eleven, twelve, thirteen = (store.get(version) for version in (10, 11, 12, 13))
    assert ten.digest == thirteen.digest
    assert eleven.digest == twelve.digest
    assert ten.digest != eleven.digest
    assert thirteen.step == ten.step


async def test_a_trainer_stays_as_it_was_whatever_comes(trainer: Trained) -> None:
    before = (await trainer.client.get()).number
    draw, met = random.Random(5), Counter[str]()
    async with dial(trainer.ready["control"]) as control, dial(trainer.ready["data"]) as data:
        for channel, service in ((control, "sluicegate.v1.Trainer"), (data, "sluicegate.v1.TrainerData")):
            for method in descriptor_pool.Default().FindServiceByName(service).methods:
                for _ in range(15):
                    code = await answered(channel, service, method, garbage(draw), 10.0)
                    assert code not in ("INTERNAL", "UNKNOWN"), (service, method.name)
                    met[code] += 1
    arrays = to_messages(arrays_of(make_samples(9)))
    deep = [training_pb2.Array(name=a.name, dtype=a.dtype, shape=a.shape, content=a.content) for a in arrays]
    deep[-1].content, deep[-1].shape[:] = b"[" * 100_000, [100_000]
    endless = [*arrays[:-1], training_pb2.Array(name="names", dtype="uint8", shape=[0, 2**64 - 1])]
    for wrong in (deep, endless, [training_pb2.Array(name="x", dtype="(1,")], []):
        found = await refusal(trainer.data.Submit(training_pb2.SubmitRequest(batch="wrong", arrays=wrong), timeout=20))
        assert (found.reason, found.retry) == ("BATCH", False)
    found = await refusal(trainer.data.Result(training_pb2.ResultRequest(batch="y" * 1_000_000), timeout=20))
    assert found.reason == "UNKNOWN_INSTANCE"
    assert met["INVALID_ARGUMENT"] > 50, met
    assert (await trainer.client.get()).number == before


async def test_a_trainer_that_was_killed_is_followed_by_one_that_numbers_on(tmp_path: Path) -> None:
    config = make_config(tmp_path)
    with worker_process("trainer", config, tmp_path) as (process, ready):
        async with driven(ready) as first:
            assert read_source(config.manifests) == ready["data"]
            await first.publish(0)
            await first.submit("lost", make_samples(1))
            await first.client.train(term=1, batch="lost")
            process.send_signal(signal.SIGKILL)
            process.wait(10)
    # What a publisher that is killed between its buckets and its manifest leaves behind.
    assert config.shm_root is not None
    (config.shm_root / "sluicegate-trainer-test" / "v1").mkdir()
    with worker_process("trainer", config, tmp_path) as (process, again):
        assert again["incarnation"] != ready["incarnation"]
        assert read_source(config.manifests) == again["data"]
        async with driven(again) as second:
            with pytest.raises(Refused, match="was not submitted"):
                await second.client.train(term=1, batch="lost")
            await second.publish(1)
            store = ManifestStore(config.manifests)
            assert store.get(1).digest == store.get(0).digest, "the step that was killed left nothing"
            await second.client.publish(term=1, version=1)
            failing = second.client.publish(term=1, version=0)
            with pytest.raises(Refused, match="not newer"):
                await failing
        process.terminate()
        assert await asyncio.to_thread(process.wait, 20) == 0
    assert not (config.shm_root / "sluicegate-trainer-test").exists()
    assert last_line(again["trace"]).startswith('{"line":"closed"')
