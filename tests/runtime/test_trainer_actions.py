"""What a rank does: a version is published whole or not at all, and batches that nobody trains on give way."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from grpc import aio

from sluicegate.protocol.client import dial
from sluicegate.protocol.generated import training_pb2 as pb
from sluicegate.protocol.generated import training_pb2_grpc as rpc
from sluicegate.protocol.generated.trainer_service import TRAINER
from sluicegate.protocol.host import MachineHost
from sluicegate.protocol.refusals import detail
from sluicegate.protocol.server import Server
from sluicegate.runtime.training.agreement import Agreements
from sluicegate.runtime.weights import ManifestStore, ShmPublisher, WeightStore
from sluicegate.runtime.weights.files import FilesStore
from sluicegate.runtime.workers.batches import arrays_of, to_messages
from sluicegate.runtime.workers.trainer_actions import GROUP, Batch, Publishing, RankActions
from sluicegate.runtime.workers.trainer_data import TrainerControl, TrainerDataServicer
from sluicegate.runtime.workers.trainer_group import TERM, GroupActions, OtherRank, OwnRank, RankLost
from sluicegate.runtime.workers.trainer_jobs import Job, Jobs
from sluicegate.statemachines.trainer import Trainer

from ..support.trainer_kit import make_samples

WITHIN_S = 5.0


class Core:
    """Weights that are given away; a step on them waits until it may end."""

    step, frozen = 1, ()

    def __init__(self, fill: float) -> None:
        self.tensors = {"a": torch.full((8, 4), fill), "b": torch.full((3,), fill)}
        self.may_end = threading.Event()

    def check(self, samples: Any, newest: int) -> None: ...

    def train(self, samples: Any, newest: int) -> Any:
        assert self.may_end.wait(30)
        return "figures"

    def named_parameters_bucketwise(self, bucket_bytes: int) -> Iterator[tuple[str, torch.Tensor]]:
        yield from self.tensors.items()


class Agreeing:
    """Ranks of one process that agree by the store of a process group."""

    def __init__(self, store: Any, rank: int, world: int) -> None:
        self._of = Agreements(store, rank, world)

    def agree(self, what: str) -> None:
        self._of.agree(what, WITHIN_S)

    def outcome(self, problem: str) -> str:
        return self._of.agree_outcome(problem, WITHIN_S)


class Playing:
    """A rank with its machine, jobs and thread."""

    def __init__(self, actions: RankActions, core: Core, host: MachineHost, jobs: Jobs) -> None:
        self.actions, self.core, self.host, self.jobs = actions, core, host, jobs
        self.name = actions.name

    @property
    def state(self) -> str:
        return self.host.live(self.name).state

    def begin(self, event: Any) -> Job:
        outcome = self.host.step(self.name, event)
        assert not outcome.refused, outcome.text
        job = self.jobs.get(self.name, self.host.live(self.name).job)
        assert job is not None
        return job

    async def publish(self, version: int) -> Job:
        job = self.begin(Trainer.Publish(term=TERM, version=version))
        await asyncio.wait_for(job.over.wait(), 30)
        return job


@asynccontextmanager
async def playing(folder: Path, *stores: WeightStore | None, fills: tuple[float, ...] = (1, 1)) -> AsyncIterator[Any]:
    """One rank for each store, or for None where it writes none."""
    between = dist.HashStore()  # pyright: ignore[reportPrivateImportUsage]
    async with AsyncExitStack() as stack:
        made: list[Playing] = []
        for rank, store in enumerate(stores):
            thread = ThreadPoolExecutor(1)
            stack.callback(thread.shutdown)
            core, jobs = Core(fills[rank]), Jobs()
            stack.callback(core.may_end.set)
            publishing = Publishing(ManifestStore(folder / "manifests"), store, 64, torch.float32, 2)
            actions = RankActions(
                f"rank-{rank}", core, thread, publishing, None,  # pyright: ignore[reportArgumentType]
                together=Agreeing(between, rank, len(stores)), folder=folder,
            )  # fmt: skip
            host = MachineHost(TRAINER, actions, incarnation=f"t.rank-{rank}", grace=1.0)
            jobs.watch(host)
            actions.host, actions.failed = host, nothing
            await stack.enter_async_context(host)
            host.create(actions.name, ranks={actions.name})
            host.step(actions.name, Trainer.Claim(term=TERM))
            made.append(Playing(actions, core, host, jobs))
        yield made


async def nothing() -> None: ...


@pytest.fixture
def store(tmp_path: Path) -> ShmPublisher:
    return ShmPublisher("actions", root=tmp_path / "shm", bucket_bytes=64)


async def test_weights_that_differ_between_ranks_leave_no_manifest_and_no_bytes(
    store: ShmPublisher, tmp_path: Path
) -> None:
    async with playing(tmp_path, store, None, fills=(1, 2)) as (first, second):
        jobs = await asyncio.gather(first.publish(1), second.publish(1))
        assert {job.became for job in jobs} == {"failed"}
        assert ManifestStore(tmp_path / "manifests").versions() == []
        assert store.published() == []


async def test_a_manifest_that_cannot_be_written_is_undone_everywhere_and_its_bytes_go(
    store: ShmPublisher, tmp_path: Path
) -> None:
    (tmp_path / "manifests").write_text("no folder")
    async with playing(tmp_path, store, None) as ranks:
        jobs = await asyncio.gather(*(rank.publish(1) for rank in ranks))
        assert {job.became for job in jobs} == {"undone"}
        assert store.published() == []
        (tmp_path / "manifests").unlink()
        jobs = await asyncio.gather(*(rank.publish(1) for rank in ranks))
        assert {job.became for job in jobs} == {"done"}
        manifest = ManifestStore(tmp_path / "manifests").get(1)
        assert {job.digest for job in jobs} == {manifest.digest}


async def test_bytes_that_a_killed_trainer_left_without_a_manifest_are_in_nobodys_way(
    store: ShmPublisher, tmp_path: Path
) -> None:
    (store.folder / "v1").mkdir()
    (store.folder / "v1" / "left").touch()
    async with playing(tmp_path, store) as (rank,):
        assert (await rank.publish(1)).became == "done"
    assert not (store.folder / "v1" / "left").exists()


async def test_a_version_that_has_a_manifest_is_never_written_again(store: ShmPublisher, tmp_path: Path) -> None:
    async with playing(tmp_path, store) as (rank,):
        assert (await rank.publish(1)).became == "done"
    async with playing(tmp_path, store, fills=(2,)) as (rank,):
        job = await rank.publish(1)
        assert (job.became, rank.state) == ("undone", "IDLE")
        assert "published before: number above" in job.why[0]
        assert store.published() == [1], "what was published stays"
        assert b"".join(bytes(content) for _, content in store.buckets(ManifestStore(tmp_path / "manifests").get(1)))


async def test_a_version_is_published_also_where_an_old_one_cannot_be_removed(tmp_path: Path) -> None:
    store = FilesStore(tmp_path / "files", "actions", bucket_bytes=64)
    async with playing(tmp_path, store) as (rank,):
        for version in (1, 2):
            assert (await rank.publish(version)).became == "done"
        # Nothing can be moved to where it is taken from here.
        (store.folder / "v1.partial").write_text("no folder")
        assert (await rank.publish(3)).became == "done"
        assert store.published() == [1, 2, 3]
        (store.folder / "v1.partial").unlink()
        assert (await rank.publish(4)).became == "done"
        assert store.published() == [3, 4], "it goes later"
    assert ManifestStore(tmp_path / "manifests").versions() == [1, 2, 3, 4]


@asynccontextmanager
async def serving(rank: Playing, limit: int) -> AsyncIterator[tuple[Any, str, str]]:
    """The data service of a rank over gRPC, and where its control and its data answer."""
    control = Server([TrainerControl(rank.host, rank.actions)], grace=0.1)
    data = Server([TrainerDataServicer(rank.actions, None, rank.jobs, limit=limit)], grace=0.1)
    async with control, data, dial(data.target) as channel:
        yield rpc.TrainerDataStub(channel), control.target, data.target


def request(batch: str, seed: int = 1) -> pb.SubmitRequest:
    return pb.SubmitRequest(batch=batch, arrays=to_messages(arrays_of(make_samples(seed))))


async def test_what_waits_is_bounded_and_the_oldest_gives_way_but_for_what_is_trained_on(
    store: ShmPublisher, tmp_path: Path
) -> None:
    size = request("b0").ByteSize()
    async with playing(tmp_path, store) as (rank,), serving(rank, size) as (data, _, _):
        assert (await data.Submit(request("b0"))).waiting_bytes == size
        assert (await data.Submit(request("b9"))).waiting_bytes == 2 * size
        running = rank.begin(Trainer.Train(term=TERM, batch="b0"))
        for number in range(1, 6):
            answer = await data.Submit(request(f"b{number}"))
            assert answer.waiting_bytes == 2 * size
            assert list(rank.actions.batches) == ["b0", f"b{number}"]
        with pytest.raises(aio.AioRpcError, match="send less at a time"):
            await data.Submit(pb.SubmitRequest(batch="b" * 20, arrays=request("b0").arrays))
        rank.core.may_end.set()
        await asyncio.wait_for(running.over.wait(), 10)
        assert running.became == "done"
        # A batch that gave way between its acceptance and its step.
        gone = rank.begin(Trainer.Train(term=TERM, batch="b1"))
        await asyncio.wait_for(gone.over.wait(), 10)
        assert (gone.became, gone.why) == ("undone", ["batch 'b1' gave way to newer ones: submit it again"])


async def test_an_id_is_of_one_batch(store: ShmPublisher, tmp_path: Path) -> None:
    async with playing(tmp_path, store) as (rank,), serving(rank, 1 << 20) as (data, _, _):
        first = await data.Submit(request("same"))
        assert await data.Submit(request("same")) == first
        with pytest.raises(aio.AioRpcError, match="take a new id") as refused:
            await data.Submit(request("same", seed=2))
        found = detail(refused.value, TRAINER.reply)
        assert found is not None
        assert found.reason == "PAYLOAD"
        assert rank.actions.take("same", Batch(b"other", 1, ()), 1 << 20).digest != b"other"


async def led(rank: Playing, control: str, data: str, within: float, do: Callable[[OtherRank], Any]) -> Any:
    other = OtherRank(rank.name, rank.host.incarnation, control, data, within=within)
    try:
        await other.claim()
        return await asyncio.wait_for(do(other), 20)
    finally:
        await other.close()


async def test_a_rank_that_is_without_the_batch_has_undone_it(store: ShmPublisher, tmp_path: Path) -> None:
    async with playing(tmp_path, store) as (rank,), serving(rank, 1 << 20) as (_, control, data):
        train = Trainer.Train(term=TERM, batch="none")
        told = await led(rank, control, data, 5.0, lambda other: other.do(train, 1))
        assert told.became == "undone"
        assert "was not submitted" in told.why
        assert rank.state == "IDLE"


async def test_a_rank_is_lost_once_it_has_not_answered_for_its_bound(store: ShmPublisher, tmp_path: Path) -> None:
    within = 1.5
    async with playing(tmp_path, store) as (rank,), AsyncExitStack() as servers:
        data, control, address = await servers.enter_async_context(serving(rank, 1 << 20))
        await data.Submit(request("long"))

        async def lost(other: OtherRank) -> float:
            doing = asyncio.create_task(other.do(Trainer.Train(term=TERM, batch="long"), 1))
            while rank.state != "TRAINING":  # noqa: ASYNC110 - told to nobody
                await asyncio.sleep(0.01)
            await servers.aclose()
            clock = asyncio.get_running_loop().time
            began = clock()
            with pytest.raises(RankLost, match="it has not answered for"):
                await doing
            return clock() - began

        assert await led(rank, control, address, within, lost) > within / 2


async def test_a_job_that_takes_longer_than_one_may_is_a_failure_of_the_group(
    store: ShmPublisher, tmp_path: Path
) -> None:
    async with playing(tmp_path, store) as (rank,):
        rank.actions.take("long", Batch(b"", 1, make_samples(1)), 1 << 20)
        group, jobs = GroupActions(longest=0.3), Jobs()
        host = MachineHost(TRAINER, group, incarnation="t", grace=1.0)
        jobs.watch(host)
        group.host, group.failed = host, nothing
        group.ranks = [OwnRank(rank.name, rank.host, rank.jobs)]
        async with host:
            host.create(GROUP, ranks={rank.name})
            host.step(GROUP, Trainer.Claim(term=TERM))
            host.step(GROUP, Trainer.Train(term=TERM, batch="long"))
            job = jobs.get(GROUP, 1)
            assert job is not None
            await asyncio.wait_for(job.over.wait(), 10)
            assert (job.became, job.why) == ("failed", ["rank-0: its job took longer than 0.3 s"])
            rank.core.may_end.set()
