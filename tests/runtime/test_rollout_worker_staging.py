"""Staging behind a gate: it obeys the controller that rules, gives way to an install, and never costs a gate."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from grpc import aio

from sluicegate.protocol.generated.gate_service import GATE
from sluicegate.protocol.refusals import Detail, detail
from sluicegate.protocol.server import Server
from sluicegate.runtime.controller.member import Member, Overruled
from sluicegate.runtime.engines import TorchEngine
from sluicegate.runtime.weights import BucketSource, Manifest, WeightsConfig
from sluicegate.runtime.weights.service import WeightsServicer

from ..support.rollout_kit import Driven, Weights, served

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def weights(tmp_path: Path) -> Weights:
    return Weights("staging-test", tmp_path)


async def refusal(gate: Driven, version: int, **given: Any) -> tuple[Detail, str]:
    with pytest.raises(aio.AioRpcError) as refused:
        await gate.stage(version, **given)
    found = detail(refused.value, GATE.reply)
    assert found is not None, refused.value
    return found, str(refused.value.details())


class Held(TorchEngine):
    """Its road rests before the first bucket of version 3 for as long as `goes` is not set."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.goes, self.rests = asyncio.Event(), asyncio.Event()

    async def stage(self, manifest: Manifest, source: BucketSource) -> None:
        if manifest.version == 3:
            self.rests.set()
            await self.goes.wait()
        await super().stage(manifest, source)


class InPlace(TorchEngine):
    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more, in_place=True)


class Odd(TorchEngine):
    async def stage(self, manifest: Manifest, source: BucketSource) -> None:
        if manifest.version == 5:
            raise LookupError("nobody foresaw it")
        await super().stage(manifest, source)


async def test_only_the_controller_that_rules_the_gate_stages(weights: Weights) -> None:
    weights.publish(1)
    async with served(weights) as (gate, _):
        gate.term = 7
        await gate.claim()
        for term in (0, 6):
            found, text = await refusal(gate, 1, term=term)
            assert (found.reason, found.retry, found.fence) == ("STALE_TERM", False, True)
            assert "term 7 rules r0" in text
        ready = gate.ready
        member = Member("r0", ready["incarnation"], ready["control"], ready["data"], term=6, call=5.0)
        try:
            with pytest.raises(Overruled, match="term 7 rules"):
                await member.stage(1, 10.0)
        finally:
            await member.close()
        for term in (7, 8):
            assert (await gate.stage(1, term=term)).version == 1


async def test_an_install_ends_the_staging_of_another_version_and_refuses_more(weights: Weights) -> None:
    async with served(weights, Held) as (gate, engine):
        assert isinstance(engine, Held)
        await gate.update(1)
        weights.publish(2)
        weights.publish(3)
        await gate.seal()
        await gate.drain()
        other = asyncio.create_task(refusal(gate, 3))
        await engine.rests.wait()
        assert (await gate.install(2)).state == "INSTALLING"
        found, text = await other
        assert (found.reason, found.retry) == ("WEIGHTS", True)
        assert "an install began before version 3 was staged" in text
        found, text = await refusal(gate, 3)
        assert (found.state, found.retry) == ("INSTALLING", True)
        await gate.reopen()
        await gate.close()
        engine.goes.set()
        assert (await gate.stage(3)).version == 3
        assert (await gate.generate()).versions == [2] * 8


async def test_what_is_staged_by_others_until_an_install_begins_never_poisons_it(weights: Weights) -> None:
    async with served(weights) as (gate, _):
        await gate.update(1)
        for version in (2, 3, 4, 5):
            weights.publish(version)
        is_over = asyncio.Event()

        async def storm(version: int) -> None:
            while not is_over.is_set():
                with suppress(aio.AioRpcError):
                    await gate.stage(version)

        for version in (2, 5):
            await gate.stage(version)
            await gate.seal()
            await gate.drain()
            async with asyncio.TaskGroup() as group:
                for other in (3, 4):
                    group.create_task(storm(other))
                await asyncio.sleep(0.2)
                installed = await gate.install(version)
                is_over.set()
            assert (installed.state, installed.verified) == ("INSTALLING", installed.ranks)
            is_over.clear()
            await gate.reopen()
            await gate.close()
            assert (await gate.generate()).versions == [version] * 8


@asynccontextmanager
async def trainer(weights: Weights, road: WeightsConfig) -> AsyncIterator[None]:
    """The run's trainer answers those who fetch."""
    service = WeightsServicer(road, weights.publisher, weights.store, life="trainer")
    async with service, Server([service], grace=0.1) as server:
        await service.announce(server.target)
        yield


@pytest.mark.parametrize("engine", [TorchEngine, InPlace], ids=["beside", "in place"])
async def test_a_road_that_is_out_of_reach_within_a_window_is_tried_until_it_is_back(
    weights: Weights, engine: type[TorchEngine]
) -> None:
    road = WeightsConfig(road="stream", within_ms=300)
    async with served(weights, engine, weights=road) as (gate, made):
        async with trainer(weights, road):
            await gate.update(1)
            weights.publish(2)
            if engine is InPlace:
                await gate.stage(2)
        await gate.seal()
        await gate.drain()
        installing = asyncio.create_task(gate.install(2))
        await asyncio.sleep(2)
        assert (await gate.now()).state == "INSTALLING"
        assert not installing.done()
        assert (made.health().ok, made.health().version) == (True, 1)
        async with trainer(weights, road):
            assert (await installing).state == "INSTALLING"
        await gate.reopen()
        await gate.close()
        assert (await gate.generate()).versions == [2] * 8


async def test_a_road_that_stays_out_of_reach_costs_the_gate_when_its_window_ends(weights: Weights) -> None:
    road = WeightsConfig(road="stream", within_ms=300)
    async with served(weights, weights=road) as (gate, _):
        await gate.seal(window=1500)
        await gate.drain()
        weights.publish(1)
        assert (await gate.install(1)).state == "POISONED"


def spoiled(folder: Path) -> Iterator[tuple[int, str]]:
    """Versions that cannot be staged, each for another reason, and what is said of it."""
    bucket = folder / "shm" / "sluicegate-staging-test" / "v2" / "b00000"
    bucket.unlink()
    bucket.mkdir()
    yield 2, f"bucket 0 of version 2 cannot be read: {bucket}"
    manifest = folder / "manifests" / "v000003.json"
    manifest.unlink()
    manifest.mkdir()
    yield 3, str(manifest)
    manifest = folder / "manifests" / "v000004.json"
    manifest.write_text("[" * 100_000)
    yield 4, f"{manifest} is cut or not JSON"
    yield 5, "version 5 could not be staged: LookupError('nobody foresaw it')"


async def test_what_cannot_be_staged_is_refused_for_its_weights_whatever_the_reason(
    weights: Weights, tmp_path: Path
) -> None:
    async with served(weights, Odd) as (gate, _):
        await gate.update(1)
        for version in (2, 3, 4, 5):
            weights.publish(version)
        for version, complaint in spoiled(tmp_path):
            found, text = await refusal(gate, version)
            assert found.reason == "WEIGHTS"
            assert complaint in text
        assert (await gate.generate()).versions == [1] * 8
