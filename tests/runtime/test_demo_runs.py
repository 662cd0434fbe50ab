"""The main job as a whole, with real processes: what it shows, and what it says when a process is killed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
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
from sluicegate.runtime.weights.shm import run_folder

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


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("how", [pytest.param(signal.SIGTERM, marks=pytest.mark.soak), signal.SIGINT])
def test_a_demo_that_is_told_to_end_takes_its_workers_and_shared_memory_along(
    how: signal.Signals, tmp_path: Path
) -> None:
    folder = tmp_path / f"told-{os.getpid()}-{how.name}"
    shared = run_folder(folder.name)  # the run adds something of its own to this name

    def kept() -> list[Path]:
        return list(shared.parent.glob(f"{shared.name}*"))

    # A shell that runs the tests in the background has SIGINT ignored, and children inherit it.
    command = ["env", "--default-signal=INT", sys.executable, "-m", "sluicegate", "demo", "--out", str(folder)]
    with (tmp_path / "said").open("wb") as said:
        demo = subprocess.Popen(command, stdout=said, stderr=said)
    try:
        until = time.monotonic() + 120
        while not (kept() and len(leftovers(folder)) > 2):
            assert demo.poll() is None, (tmp_path / "said").read_text()
            assert time.monotonic() < until, leftovers(folder)
            time.sleep(0.1)
        demo.send_signal(how)
        assert demo.wait(60) == 130, (tmp_path / "said").read_text()
        assert leftovers(folder) == []
        assert kept() == []
    finally:
        demo.kill()
        demo.wait()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("updats: 3", "updats"),
        ("replicas: 0", "replicas"),
        ("sync: {minimum: 5}", "sync.minimum"),
        ("agents: {in_flight: 1}", "agents.in_flight"),
        ("training: {zero_stage: 9}", "zero_stage"),
        ("training: {seed: 7}", "training.seed"),
        ("model: {hidden: 7, heads: 3}", "hidden"),
        ("task: {held_out_prompts: 5}", "held_out_prompts"),
        ("sync: {mode: sometimes}", "mode"),
        ("- a list", "keys and values"),
        ("seed: [", "YAML"),
        ("seed: 2026-99-99", "YAML"),
        ("[" * 10_000, "nested too deeply"),
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


def test_a_config_that_is_no_text_is_told_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "demo.yaml"
    path.write_bytes(bytes(range(256)))
    assert main(["demo", "--config", str(path), "--out", str(tmp_path / "run")]) == 2
    assert capsys.readouterr().err == f"sluicegate: {path}: is not UTF-8 text: give the path of a YAML file\n"
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("file", "exists"),
        ("file/run", "cannot be made (Not a directory)"),
        ("file/below/run", "cannot be made (Not a directory)"),
        ("x" * 300, "cannot be made (File name too long)"),
    ],
)
def test_a_folder_that_cannot_be_made_is_told_in_one_line(
    out: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("kept")
    assert main(["demo", "--out", str(tmp_path / out)]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"sluicegate: {tmp_path / out} ")
    assert said in line
    assert (tmp_path / "file").read_text() == "kept"
