"""The main job as a whole, with real processes: what it shows, and what it says when a process is killed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sluicegate.cli import main
from sluicegate.runtime.demo.cluster import Cluster
from sluicegate.runtime.demo.config import AgentsConfig, DemoConfig, TaskConfig
from sluicegate.runtime.demo.loop import run
from sluicegate.runtime.demo.record import Update
from sluicegate.runtime.demo.report import Report
from sluicegate.runtime.training.config import TrainingConfig

SMALL = DemoConfig(
    updates=8,
    task=TaskConfig(held_out_prompts=16),
    agents=AgentsConfig(in_flight=6, slow_share=0.3, slow_s=2.0),
    training=TrainingConfig(groups=2, group_size=4),
)


class Silent:
    def __init__(self) -> None:
        self.incidents: list[str] = []

    def phase(self, text: str) -> None: ...

    def update(self, update: Update, of: int) -> None: ...

    def incident(self, text: str) -> None:
        self.incidents.append(text)


def play(config: DemoConfig, folder: Path, during: Any = None) -> Report:
    return asyncio.run(run(config, folder, Silent(), during=during))


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "trace.ndjson").read_text().splitlines()]


def leftovers(folder: Path) -> list[str]:
    """Processes whose command line names the run's folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                said = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if str(folder) in said:
                found.append(said)
    return found


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_run_loses_nothing_and_its_trace_is_explained(tmp_path: Path) -> None:
    report = play(SMALL, tmp_path / "run")
    shown = {check.name: check for check in report.checks()}
    assert [c for c in report.checks() if not c.passed] == []
    assert report.status() == 0
    written = json.loads((tmp_path / "run" / "report.json").read_text())
    assert written["versions"] == list(range(9))
    assert written["admissions"] == written["receipts"] > 0
    assert (written["lost"], written["digest_mismatches"], written["trace_valid"]) == (0, 0, True)
    assert written["installs"] == 2 * 9
    assert shown["sessions that crossed 2 updates"].passed
    assert main(["trace", "validate", str(tmp_path / "run" / "trace.ndjson")]) == 0
    assert leftovers(tmp_path) == []
    assert not list(Path("/dev/shm").glob("*run*") if Path("/dev/shm").exists() else [])


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_worker_killed_while_it_installs_is_replaced_and_no_token_is_mislabelled(tmp_path: Path) -> None:
    killed: list[str] = []

    def during(cluster: Cluster) -> None:
        async def kill() -> None:
            await cluster.controller.changed.until(lambda: (cluster.controller.published or 0) >= 2, 120)
            member = cluster.controller.members["rollout-1"]
            await member.until(lambda gate, n: gate.state == "INSTALLING", 120)
            os.kill(cluster.workers[member.incarnation].pid, signal.SIGKILL)
            killed.append(member.incarnation)

        cluster.spawn(kill())

    config = replace(SMALL, updates=14)
    report = play(config, tmp_path / "run", during)
    assert killed == ["rollout-1.1"]
    assert [c for c in report.checks() if not c.passed] == []
    assert report.status() == 3
    assert [i.incarnation for i in report.incidents] == killed
    assert "rollout-1.1" in (tmp_path / "run" / "report.md").read_text()
    trace = lines(tmp_path / "run")
    gates = [t for t in trace if t.get("machine") == "Gate" and t["line"] == "step"]
    assert {t["incarnation"] for t in gates if t["instance"] == "rollout-1"} == {"rollout-1.1", "rollout-1.2"}
    second = [t["after"] for t in gates if t["incarnation"] == "rollout-1.2"]
    assert "OPEN" in second
    assert report.figures.published == sorted(report.figures.published)
    assert len(report.figures.published) == 15
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("updats: 3", "updats"),
        ("replicas: 0", "replicas"),
        ("sync: {minimum: 5}", "sync.minimum"),
        ("agents: {in_flight: 1}", "agents.in_flight"),
        ("training: {zero_stage: 9}", "zero_stage"),
        ("sync: {mode: sometimes}", "mode"),
        ("- a list", "keys and values"),
        ("seed: [", "YAML"),
    ],
)
def test_a_config_that_cannot_be_used_is_named_by_file_and_key(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "demo.yaml"
    path.write_text(text)
    assert main(["demo", "--config", str(path), "--out", str(tmp_path / "run")]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert str(path) in error or "demo.yaml" in error
    assert not (tmp_path / "run").exists()
