"""A rollout worker's process that is killed under requests: what its lives counted, logged and recorded agree."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from sluicegate.runtime.watching.settings import Watching
from sluicegate.runtime.workers.records import LeaseStore

from ..support.rollout_kit import Refused, Weights, driven, first_tokens, worker_process

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


async def scrape(ready: dict[str, Any]) -> Any:
    def read() -> str:
        with urllib.request.urlopen(f"http://{ready['metrics']}/metrics", timeout=30) as answer:
            return answer.read().decode()

    families = text_string_to_metric_families(await asyncio.to_thread(read))
    samples = [sample for family in families for sample in family.samples]

    def by(name: str, *labels: str, **having: str) -> dict[Any, float]:
        chosen = [s for s in samples if s.name == f"sluicegate_{name}" and having.items() <= s.labels.items()]
        return {tuple(s.labels[label] for label in labels): s.value for s in chosen if s.value}

    return by


async def test_two_lives_count_what_their_records_say(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    weights = Weights("watched", tmp_path)
    shown = Watching(log="json", metrics_port=0)
    tokens = 0
    config = weights.config("r0", incarnation="r0.1", watching=shown)
    with worker_process("rollout", config, tmp_path) as (process, ready):
        async with driven(ready, weights) as replica:
            with pytest.raises(Refused):
                await replica.generate()
            await replica.update(1)
            for count in (4, 5, 6):
                tokens += len((await replica.generate(max_tokens=count)).ids)
            with pytest.raises(Refused):
                await replica.generate(version=9)
            streams = [replica.stream(max_tokens=3000, seed=seed) for seed in range(2)]
            for stream in streams:
                await first_tokens(stream)
            first = await scrape(ready)
            assert first("admissions_total") == {(): 5}
            assert first("leases_ended_total", "ending", "life") == {("completed", "this"): 3}
            assert first("leases", "state") == {("FORWARDED",): 2}
            assert first("refusals_total", "reason") == {("closed",): 1, ("other_version",): 1}
            assert first("gate_version") == {(): 1}
            assert first("tokens_total")[()] >= tokens + 2
            assert first("process_info", "run", "process", "incarnation") == {("watched", "rollout", "r0.1"): 1}
            process.send_signal(signal.SIGKILL)
            await asyncio.to_thread(process.wait, 30)
            for stream in streams:
                await stream.aclose()
    config = weights.config("r0", incarnation="r0.2", watching=shown)
    with worker_process("rollout", config, tmp_path) as (process, ready):
        async with driven(ready, weights) as replica:
            await replica.update(2)
            await replica.generate(max_tokens=3)
            second = await scrape(ready)
            ended = second("leases_ended_total", "ending", "life")
            assert ended == {("lost", "earlier"): 2, ("completed", "this"): 1}
            assert (second("admissions_total"), second("leases", "state"), second("tokens_total")) == (
                {(): 1}, {}, {(): 3},
            )  # fmt: skip
        process.send_signal(signal.SIGTERM)
        await asyncio.to_thread(process.wait, 60)
    with contextlib.closing(LeaseStore(config.state / "leases.sqlite")) as records:
        both = Counter({ending: int(n) for (ending, _), n in ended.items()})
        both += Counter({ending: int(n) for (ending, _), n in first("leases_ended_total", "ending", "life").items()})
        assert records.counts() == both == {"completed": 4, "lost": 2}
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{")]
    assert all((line["run"], line["process"]) == ("watched", "rollout") for line in lines)
    lost = [line for line in lines if line.get("event") == "lease"]
    assert [(line["incarnation"], line["outcome"], line["level"]) for line in lost] == [("r0.2", "lost", "WARNING")] * 2
    changes = [(line["incarnation"], line["after"]) for line in lines if line.get("event") == "gate"]
    one_update = ["DRAINING", "INSTALLING", "REOPENED", "OPEN"]
    assert changes == [(life, state) for life in ("r0.1", "r0.2") for state in one_update]
