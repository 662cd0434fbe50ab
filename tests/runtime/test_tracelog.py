"""The trace log of a process, and the merge of all logs of a run."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from full_disk import full_disk
from trace_lines import parsed
from traced_run import World, small_run

from sluicegate.cli import main
from sluicegate.runtime.tracelog import FLUSH_LINES, KEPT_BYTES, TraceLog, merge
from sluicegate.spec.traces import TraceError, validate
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.lease import Lease
from sluicegate.statemachines.sorts import Ending


def log(path: Path, incarnation: str = "r0.1") -> TraceLog:
    return TraceLog(path, run="test", process="rollout", incarnation=incarnation)


def admit(log: TraceLog, live: Any, lease: str) -> None:
    before = live.state
    outcome = live.admit(lease, None)
    log.of("Gate")("r0", 0, Gate.Admit(lease=lease, pin=None), before, live.state, outcome, lease)


def open_gate(log: TraceLog) -> Any:
    live = Gate.initial(ranks={"0"}).replace(state="OPEN", version=0).live()
    log.of("Gate").lives("r0", live, True)
    return live


def test_a_step_is_one_line_with_what_it_changed(tmp_path: Path) -> None:
    with log(tmp_path / "log") as trace:
        live = open_gate(trace)
        admit(trace, live, "a")
        admit(trace, live, "b")
        admit(trace, live, "b")
    header, began, born, first, second, third, closed = parsed(tmp_path / "log")
    assert (header["line"], began["incarnation"], born["fields"]["active"]) == ("header", "r0.1", [])
    assert [line["n"] for line in (born, first, second, third)] == [0, 1, 2, 3]
    assert [line["set"] for line in (first, second, third)] == [{"active": ["a"]}, {"active": ["a", "b"]}, {}]
    assert third["verdict"] == {"kind": "refuse", "rule": "admits_reused", "reason": "reused"}
    assert closed == {"line": "closed", "incarnation": "r0.1", "lines": 4}


def test_lines_gather_and_are_written_when_many_wait(tmp_path: Path) -> None:
    trace = log(tmp_path / "log")
    live = open_gate(trace)
    trace.flush()
    written = len(parsed(tmp_path / "log"))
    for number in range(FLUSH_LINES - 1):
        trace._written = time.monotonic()
        admit(trace, live, f"l{number}")
    assert len(parsed(tmp_path / "log")) == written
    admit(trace, live, "last")
    assert len(parsed(tmp_path / "log")) == written + FLUSH_LINES
    trace.close()


def test_a_line_that_comes_late_takes_the_earlier_ones_along(tmp_path: Path) -> None:
    trace = log(tmp_path / "log")
    live = open_gate(trace)
    admit(trace, live, "a")
    trace._written -= 1.0
    admit(trace, live, "b")
    assert [line["event"] for line in parsed(tmp_path / "log")[3:]] == ["Admit", "Admit"]
    trace.close()


def test_a_full_disk_fails_no_step_and_leaves_no_hole(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with log(tmp_path / "log") as trace:
        live = open_gate(trace)
        with full_disk(tmp_path / "log"):
            for number in range(2 * FLUSH_LINES):
                admit(trace, live, f"l{number}")
            trace.flush()
            trace.flush()
        admit(trace, live, "last")
        # As much as there is room for: the last line of it is cut in the middle.
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (os.fstat(trace._file).st_size + 1000, limit[1]))
        try:
            trace.flush()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        assert not (tmp_path / "log").read_bytes().endswith(b"\n")
    *_, last, closed = lines = parsed(tmp_path / "log")
    assert [line["n"] for line in lines[2:-1]] == list(range(2 * FLUSH_LINES + 2))
    assert (last["cause"], closed["line"]) == ("last", "closed")
    told = [r.message for r in caplog.records if "cannot be written" in r.message or "written again" in r.message]
    assert ["No space" in told[0], "File too large" in told[1], "nothing is missing" in told[2]] == [True] * 3
    assert len(told) == 3


def test_a_log_that_cannot_be_written_for_too_long_ends_as_that_of_a_killed_process(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with log(tmp_path / "log") as trace:
        live = Gate.Live(ranks={"0"})
        trace.of("Gate").lives("r0", live, False)
        trace.flush()
        with full_disk(tmp_path / "log"):
            for number in range(10):
                admit(trace, live, f"{number}".ljust(KEPT_BYTES // 8, "x"))
                trace.flush()
        admit(trace, live, "last")
        trace.flush()
        assert not trace._rest
    assert [line["line"] for line in parsed(tmp_path / "log")] == ["header", "began", "new"]
    assert "ends here" in caplog.text
    verdict = validate(merge([tmp_path / "log"], {"r0.1": "its log could not be written"}, tmp_path / "trace"))
    assert verdict.valid, verdict.refusal
    assert verdict.killed == ("r0.1",)


def test_what_no_utf_8_has_is_written_as_the_escape_of_json(tmp_path: Path) -> None:
    with log(tmp_path / "log") as trace:
        trace.of("Lease").lives("a", Lease.Live(session="s\udcff"), False)
    assert [line.get("fields") for line in parsed(tmp_path / "log")][2] == {"session": "s\udcff"}


def test_what_is_logged_without_a_birth_or_twice_born_is_told(tmp_path: Path) -> None:
    with log(tmp_path / "log") as trace:
        live = Gate.Live(ranks={"0"})
        with pytest.raises(LookupError, match="log it first"):
            admit(trace, live, "a")
        trace.of("Gate").lives("r0", live, False)
        with pytest.raises(ValueError, match="already"):
            trace.of("Gate").lives("r0", live, False)
        trace.of("Gate").lives("r0", None, False)
        with pytest.raises(ValueError, match="already"):
            trace.of("Gate").lives("r0", live, False)


def test_an_unknown_fact_or_one_with_other_values_is_told(tmp_path: Path) -> None:
    with log(tmp_path / "log") as trace:
        trace.of("Lease").lives("a", Lease.Live(session="s"), False)
        with pytest.raises(TypeError, match="no fact"):
            trace.fact("Lease", "a", "rumour")
        with pytest.raises(TypeError, match="no fact"):
            trace.fact("Lease", "a", "receipt", ending=Ending.COMPLETED)


def test_a_life_has_one_log(tmp_path: Path) -> None:
    log(tmp_path / "log").close()
    with pytest.raises(FileExistsError):
        log(tmp_path / "log")


KILLED = """
import os, signal, sys
from pathlib import Path
from typing import Any
from traced_run import World
world = World(Path(sys.argv[1]))
worker = world.start("r0")
world.update(0)
for process in world.processes:
    process.log.flush()
os.write(worker.log._file, b'{"line":"step","machine":"Ga')
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_leaves_a_log_that_is_judged_as_far_as_it_goes(tmp_path: Path) -> None:
    support = Path(__file__).parents[1] / "support"
    environment = {**os.environ, "PYTHONPATH": str(support)}
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], env=environment, timeout=60)
    assert killed.returncode == -9
    logs = sorted(tmp_path.glob("*.ndjson"))
    ended = {path.stem: "signal 9" for path in logs}
    with pytest.raises(TraceError, match=r"r0\.1\.ndjson: ends in the middle of a line"):
        merge(logs, {k: v for k, v in ended.items() if k != "r0.1"}, tmp_path / "trace")
    assert not (tmp_path / "trace").exists(), "nothing half-written"
    verdict = validate(merge(logs, ended, tmp_path / "trace"))
    assert verdict.valid
    assert verdict.killed == tuple(sorted(ended))
    assert verdict.steps["Gate"] > 5


def test_a_log_that_lacks_its_end_is_told_where_nobody_recorded_it(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.start("r0")
    world.kill("r0")
    trace = world.merge()
    assert validate(trace).valid
    world.ended.clear()
    with pytest.raises(TraceError, match="nobody recorded its end"):
        validate(world.merge())


def test_logs_of_two_runs_or_of_none_are_not_merged(tmp_path: Path) -> None:
    log(tmp_path / "a").close()
    TraceLog(tmp_path / "b", run="other", process="x", incarnation="x").close()
    with pytest.raises(TraceError, match="of another run"):
        merge([tmp_path / "a", tmp_path / "b"], {}, tmp_path / "trace")
    with pytest.raises(TraceError, match="no logs"):
        merge([], {}, tmp_path / "trace")
    (tmp_path / "c").write_text("hello\n")
    with pytest.raises(TraceError, match="no log of a process"):
        merge([tmp_path / "c"], {}, tmp_path / "trace")


def test_the_log_of_one_process_alone_is_not_judged(tmp_path: Path) -> None:
    log(tmp_path / "a").close()
    with pytest.raises(TraceError, match="merge the logs"):
        validate(tmp_path / "a")


def test_a_merge_keeps_every_line(tmp_path: Path) -> None:
    trace = small_run(tmp_path)
    logged = [line for path in tmp_path.glob("*.*.ndjson") for line in path.read_text().splitlines()[1:]]
    assert sorted(trace.read_text().splitlines()[1:]) == sorted(logged)
    assert json.loads(trace.read_text().splitlines()[0])["lines"] == len(logged)


def test_the_logs_of_a_run_that_was_stopped_make_a_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A process that was stopped before it closed its log is taken to have ended early; others are whole."""
    folder = tmp_path / "trace"
    folder.mkdir()
    world = World(folder)
    world.start("r0")
    world.update(0)
    for process in world.processes[:-1]:
        process.log.close()
    world.processes[-1].log.flush()
    assert main(["trace", "merge", str(folder)]) == 0
    assert "may end early: r0.1" in capsys.readouterr().out
    verdict = validate(tmp_path / "trace.ndjson")
    assert verdict.valid, verdict.refusal
    assert verdict.killed == ("r0.1",)


def test_a_folder_without_logs_makes_no_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "merge", str(tmp_path)]) == 2
    assert "has no logs" in capsys.readouterr().err
    (tmp_path / "x.ndjson").write_text("hello\n")
    assert main(["trace", "merge", str(tmp_path), "--out", str(tmp_path / "trace")]) == 2
    assert "no log of a process" in capsys.readouterr().err
    assert not (tmp_path / "trace").exists()
