"""Ends of a road that are killed: the other end is told within its bound, goes on with others, and keeps nothing."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from weights_kit import RUN, Trainer, nothing_left, resident, serving
from weights_process import LARGE

from sluicegate.runtime.weights import WeightsConfig, WeightsError, digest_of, remove_run, stage_from

PROCESS = Path(__file__).resolve().parents[1] / "support" / "weights_process.py"
pytestmark = pytest.mark.slow


@contextmanager
def process(*words: str) -> Iterator[subprocess.Popen[str]]:
    started = subprocess.Popen(
        [sys.executable, str(PROCESS), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(PROCESS.parent)},
    )  # fmt: skip
    try:
        yield started
    finally:
        started.kill()
        started.communicate()


def settings_of(road: str) -> dict[str, Any]:
    return {"road": road, "within_ms": 2_000, "receivers": 1, "gather_ms": 20_000}


async def test_a_trainer_that_is_killed_is_an_error_within_the_bound_on_every_road_and_leaves_no_thread(
    tmp_path: Path,
) -> None:
    def fetch(road: str) -> tuple[int, float]:
        folder = tmp_path / road
        with process("serve", str(folder), json.dumps(settings_of(road))) as served:
            assert served.stdout is not None
            assert served.stdout.readline() == "ready\n"
            trainer = Trainer(folder, WeightsConfig(**settings_of(road)))
            buckets = iter(trainer.source().buckets(trainer.manifests.get(1)))
            next(buckets)
            served.kill()
            began, got = time.monotonic(), list[int]()
            with pytest.raises(WeightsError, match=r"bucket \d+ did not come in .* lost"):
                got.extend(number for number, _ in buckets)
            took = time.monotonic() - began
        assert remove_run(RUN, folder)
        return len(got), took

    for road in ("stream", "broadcast", "ipc"):
        async with nothing_left():
            got, took = await asyncio.to_thread(fetch, road)
        assert took < 8, road
        # What was on its way may still have come, on a stream a good deal of it.
        assert got < len(LARGE["ballast"]) * 4 / 1000, road


async def test_a_replica_that_is_killed_costs_the_next_one_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    for road in ("stream", "broadcast", "ipc"):
        folder = tmp_path / road
        async with nothing_left(), serving(folder, **settings_of(road)) as trainer:
            manifest = await asyncio.to_thread(trainer.publish, 1, torch.float32, LARGE)

            def die(folder: Path = folder, road: str = road) -> None:
                with process("fetch", str(folder), json.dumps(settings_of(road)), "3", "kill") as reader:
                    assert reader.stdout is not None
                    assert reader.stdout.read().split() == ["0", "1", "2", "3"]
                    assert reader.wait(timeout=30) == -9

            await asyncio.to_thread(die)
            began = time.monotonic()
            got = await asyncio.to_thread(stage_from, manifest, trainer.source(), resident(manifest))
            assert digest_of(got) == manifest.digest
            assert time.monotonic() - began < 10, road


async def test_a_replica_that_stops_taking_lent_slots_is_given_up_and_may_go_on_later(tmp_path: Path) -> None:
    async with nothing_left(), serving(tmp_path, road="ipc", within_ms=800) as trainer:
        manifest = trainer.publish()
        buckets = iter(trainer.source().buckets(manifest))
        assert (await asyncio.to_thread(next, buckets))[0] == 0
        await asyncio.sleep(2)
        assert sum(trainer.server.calls.values()) == 0
        rest = await asyncio.to_thread(lambda: [number for number, _ in buckets])
        assert rest == list(range(1, len(manifest.buckets)))
