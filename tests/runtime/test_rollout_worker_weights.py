"""Weights behind a gate: what does not arrive whole, or changes afterwards, closes its replica and no other."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from grpc import StatusCode, aio
from sharded_engine import LAYOUT, Damage, ShardedEngine, canonical

from sluicegate.protocol.generated import front_pb2, front_pb2_grpc
from sluicegate.runtime.controller.digests import differing, held_by
from sluicegate.runtime.engines import TorchEngine
from sluicegate.runtime.engines.torch_model import TorchModel
from sluicegate.runtime.weights import BucketSource, Manifest, ManifestStore, ShmPublisher
from sluicegate.runtime.workers.config import RolloutConfig
from sluicegate.runtime.workers.rollout import replica as serve

from ..support.rollout_kit import Driven, Refused, Weights, driven, first_tokens, served

pytestmark = pytest.mark.timeout(120)
Buckets = Iterator[tuple[int, memoryview]]


@pytest.fixture
def weights(tmp_path: Path) -> Weights:
    return Weights("weights-test", tmp_path)


async def digests(gate: Driven) -> front_pb2.HeldDigests:
    stub: Any = front_pb2_grpc.FrontStub(gate.control)
    return await stub.Digests(front_pb2.DigestsRequest(), timeout=20)


def flip(engine: TorchEngine) -> None:
    """One bit of one resident parameter."""
    held = list(engine._model.tensors.values())[-1]
    held.detach().view(-1).view(torch.uint8)[3] ^= 1


# -- in place ------------------------------------------------------------------------------------------


class InPlace(TorchEngine):
    """It installs in place, on a road that corrupts bucket 3 of version 2."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more, in_place=True)

    async def stage(self, manifest: Manifest, source: BucketSource) -> None:
        await super().stage(manifest, Corrupting(source) if manifest.version == 2 else source)


class Corrupting:
    def __init__(self, source: BucketSource) -> None:
        self._source = source

    def buckets(self, manifest: Manifest) -> Iterator[tuple[int, Any]]:
        for number, content in self._source.buckets(manifest):
            yield number, bytes_with_a_flip(content) if number == 3 else content


def bytes_with_a_flip(content: Any) -> memoryview:
    damaged = bytearray(content)
    damaged[len(damaged) // 2] ^= 1
    return memoryview(damaged)


async def test_a_corrupted_bucket_in_place_poisons_that_replica_and_only_it(weights: Weights) -> None:
    async with (
        served(weights, InPlace, replica="r0") as (damaged, engine),
        served(weights, replica="r1") as (whole, _),
    ):
        for gate in (damaged, whole):
            await gate.update(1)
            assert (await gate.generate()).versions == [1] * 8
        weights.publish(2)
        for gate in (damaged, whole):
            await gate.stage(2)
            assert (await gate.now()).state == "OPEN"
            await gate.seal()
            await gate.drain()
            await gate.install(2)
        assert (await damaged.now()).state == "POISONED"
        assert not engine.health().resident
        with pytest.raises(Refused) as refused:
            await damaged.generate()
        assert refused.value.reason == "poisoned"
        await whole.reopen()
        await whole.close()
        assert (await whole.generate()).versions == [2] * 8


# -- what is resident changes --------------------------------------------------------------------------


class Slips(TorchModel):
    """A device that loses a bit between the load and the answer."""

    def replace(self, staged: dict[str, torch.Tensor]) -> None:
        super().replace(staged)
        next(iter(self.tensors.values())).view(-1).view(torch.uint8)[9] ^= 4


async def test_a_bit_that_is_lost_between_load_and_answer_is_seen_by_the_gate(weights: Weights) -> None:
    async with served(weights) as (gate, engine):
        await gate.update(1)
        engine._model.__class__ = Slips
        await gate.seal()
        await gate.drain()
        await gate.install(2)
        assert (await gate.now()).state == "POISONED"
        with pytest.raises(Refused):
            await gate.generate()


async def test_a_bit_that_is_lost_later_is_found_under_load_and_nothing_more_is_served(weights: Weights) -> None:
    async with served(weights, verify_ms=50) as (gate, engine):
        await gate.update(1)
        stream = gate.stream(max_tokens=4000)
        await first_tokens(stream)
        held = await digests(gate)
        assert (held.version, dict(held.digests)) == (1, weights.publish(1).rank_digests(["0"]))
        assert (await gate.now()).state == "OPEN"
        flip(engine)
        after = await digests(gate)
        assert (after.version, after.digests["0"] == held.digests["0"]) == (1, False)
        seen = await gate.until(lambda g: g.state == "POISONED")
        assert seen.version == 1
        stub: Any = front_pb2_grpc.FrontStub(gate.control)
        assert "not what was installed any more on ranks 0" in (await stub.Show(front_pb2.ShowRequest())).why
        ended = [answer async for answer in stream][-1]
        assert (ended.reason, len(ended.ids) < 4000) == ("aborted", True)
        with pytest.raises(Refused) as refused:
            await gate.generate()
        assert refused.value.reason == "poisoned"


async def test_checks_go_on_through_updates_and_find_nothing_where_nothing_is_wrong(weights: Weights) -> None:
    class Counting(TorchEngine):
        read = 0

        async def resident_digest(self) -> Any:
            found = await super().resident_digest()
            type(self).read += 1
            return found

    async with served(weights, Counting, verify_ms=5) as (gate, _):
        for version in (1, 2, 3):
            await gate.update(version)
            before = Counting.read
            while Counting.read < before + 5:
                assert (await gate.generate(max_tokens=30)).versions == [version] * 30
        assert (await gate.now()).state == "OPEN"


async def test_digests_of_an_engine_without_weights_or_memory_say_so(weights: Weights) -> None:
    async with served(weights) as (gate, engine):
        assert not (await digests(gate)).HasField("version")
        await engine.release_memory()
        assert "memory is released" in (await digests(gate)).why
        await engine.restore_memory()


async def test_replicas_that_hold_different_weights_under_one_version_are_told_apart(weights: Weights) -> None:
    async with served(weights, replica="r0") as (first, _), served(weights, replica="r1") as (second, engine):
        for gate in (first, second):
            await gate.update(1)
        controls = {gate.ready["incarnation"]: gate.ready["control"] for gate in (first, second)}
        held = await held_by(controls, 20.0)
        assert differing(held.values()) == []
        assert {said.version for said in held.values()} == {1}
        flip(engine)
        (told,) = differing((await held_by({**controls, "gone": "127.0.0.1:1"}, 20.0)).values())
        assert "hold different weights under version 1, on ranks 0" in told
        assert all(life in told for life in controls)


# -- two ranks that hold shards ------------------------------------------------------------------------


def corrupted(found: Buckets) -> Buckets:
    for number, content in found:
        yield number, bytes_with_a_flip(content) if number == 2 else content


def cut(found: Buckets) -> Buckets:
    for number, content in found:
        yield number, content[:-1] if number == 2 else content


def missing(found: Buckets) -> Buckets:
    yield from ((number, content) for number, content in found if number != 2)


def repeated(found: Buckets) -> Buckets:
    for number, content in found:
        yield number, content
        if number == 2:
            yield number, content


DAMAGES: dict[Damage, str] = {
    corrupted: "is corrupt", cut: "bytes, 64 expected", missing: "did not come", repeated: "came twice"
}


class Sharded:
    """Versions of canonical tensors, whose manifests name what each of two ranks must hold."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.store = folder, ManifestStore(folder / "manifests")
        self._publisher = ShmPublisher("sharded", root=folder / "shm", bucket_bytes=64)

    def publish(self, version: int) -> Manifest:
        if not self._publisher.has(version):
            tensors = canonical(version).items()
            self.store.put(self._publisher.publish(version, version, tensors, torch.float32, layouts=(LAYOUT,)))
        return self.store.get(version)

    @asynccontextmanager
    async def served(self, name: str, engine: ShardedEngine) -> AsyncIterator[Driven]:
        config = RolloutConfig(
            replica=name, run="sharded", model=self.folder, state=self.folder / name, stop_ms=500,
            manifests=self.folder / "manifests", shm_root=self.folder / "shm",
        )  # fmt: skip
        async with serve(config, cast(Any, engine)) as ready, driven(ready, self) as gate:
            yield gate


async def test_ranks_that_hold_shards_prove_each_its_own_digest(tmp_path: Path) -> None:
    versions, engine = Sharded(tmp_path), ShardedEngine(tmp_path)
    async with versions.served("r0", engine) as gate:
        for version in (1, 2):
            held = await gate.update(version)
            assert (held.state, held.version) == ("OPEN", version)
            tensors = canonical(version)
            for at, rank in enumerate(engine.ranks):
                rows = [tensors[f"a.{p}.weight"].chunk(2)[at] for p in "qkv"]
                assert torch.equal(engine.holdings[rank].resident["a.qkv.weight"], torch.cat(rows))
                assert torch.equal(engine.holdings[rank].resident["out.weight"], tensors["out.weight"].chunk(2, 1)[at])
            told = dict((await digests(gate)).digests)
            assert told == versions.publish(version).layouts["two"]
            assert len({*told.values(), versions.publish(version).digest}) == 3


@pytest.mark.parametrize("in_place", [False, True], ids=["beside", "in place"])
@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_bucket_that_one_rank_gets_wrong_costs_its_replica_and_only_it(
    damage: Damage, in_place: bool, tmp_path: Path
) -> None:
    versions = Sharded(tmp_path)
    engine, other = ShardedEngine(tmp_path, in_place=in_place), ShardedEngine(tmp_path)
    async with versions.served("r0", engine) as damaged, versions.served("r1", other) as whole:
        for gate in (damaged, whole):
            await gate.update(1)
        engine.damage = {"1": damage}
        versions.publish(2)
        if not in_place:
            with pytest.raises(aio.AioRpcError, match=DAMAGES[damage]) as refused:
                await damaged.stage(2)
            assert refused.value.code() == StatusCode.FAILED_PRECONDITION
            assert (await damaged.now()).state == "OPEN"
            assert dict((await digests(damaged)).digests) == versions.publish(1).layouts["two"]
            assert (await damaged.generate()).reason == "length"
        for gate in (damaged, whole):
            await gate.seal()
            await gate.drain()
            await gate.install(2)
        assert (await damaged.now()).state == "POISONED"
        with pytest.raises(Refused):
            await damaged.generate()
        await whole.reopen()
        await whole.close()
        assert (await whole.generate()).versions == [2] * 8
