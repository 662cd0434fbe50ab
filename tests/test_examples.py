"""The verdicts of the examples, as somebody sees them who runs the command of each page."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sluicegate.cli import main
from sluicegate.runtime.controller.roster import Roster
from sluicegate.runtime.weights.shm import run_folder

ROOT = Path(__file__).resolve().parent.parent
Check = Callable[..., tuple[int, str]]


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Check:
    """`sluicegate check` in the project's folder: the exit status and what was printed."""
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(ROOT)

    def run(*words: str) -> tuple[int, str]:
        status = main(["check", *words])
        return status, capsys.readouterr().out

    return run


def test_the_turnstile_holds(check: Check) -> None:
    status, said = check("examples.turnstile")
    assert status == 0
    for verdict in ("paid holds", "never_free holds", "opens reached", "closes_again holds"):
        assert f"  {verdict}: " in said


@pytest.mark.slow
def test_the_turnstile_that_is_broken_as_its_page_says_fails_as_its_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = (ROOT / "examples" / "turnstile.py").read_text()
    broken = code.replace("passes = go(LOCKED)", "passes = stay()").replace("    row,\n", "    row,\n    stay,\n")
    (tmp_path / "turnstile.py").write_text(broken)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "turnstile", raising=False)
    assert main(["check", "turnstile"]) == 1
    del sys.modules["turnstile"]
    said = capsys.readouterr().out
    (page,) = re.findall(
        r"^```\n( +FAILED.*?)^```", (ROOT / "examples" / "README.md").read_text(), re.MULTILINE | re.DOTALL
    )
    told = [line for line in page.splitlines() if " s; " not in line]
    assert len(told) > 4
    assert [line for line in told if line not in said.splitlines()] == []
    assert "FAILED: never_free fails: never UNLOCKED and (coins = people)" in said
    assert "FAILED: closes_again not proven: UNLOCKED leads to LOCKED, if Push can be relied on" in said
    assert "here the scope ends, and what Push would lead to beyond it is not known" in said


def test_the_workflow_has_each_fault_and_none_when_mended(check: Check) -> None:
    status, said = check("examples.documents:APPROVAL")
    assert status == 1
    faults = re.findall(r"^  FAILED: (.*?): (.*)$", said, re.MULTILINE)
    assert [kind for kind, _ in faults] == ["nondeterminism", "unreachable state", "dead state", "deadlock"]
    texts = dict(faults)
    assert "if is_complete, go to APPROVED; and" in texts["nondeterminism"]
    assert texts["unreachable state"] == "WITHDRAWN is never reached: nothing goes there"
    assert texts["dead state"] == "no final state (PUBLISHED) can be reached from PARKED any more"
    assert texts["deadlock"].startswith("no event does anything in ESCALATED")
    status, said = check("examples.documents:MENDED_APPROVAL")
    assert (status, "FAILED" in said) == (0, False)


@pytest.mark.slow
def test_two_phase_commit_is_atomic_and_blocks_when_its_coordinator_crashes(check: Check) -> None:
    status, said = check("examples.commit")
    assert status == 0
    assert "Atomic holds: No member commits where another aborts." in said
    assert "Decides holds" in said
    assert "Decides fails, as it must: A member that has prepared learns in the end what was decided." in said
    run = said.split("blocks: Decides fails")[1]
    assert re.search(r'members\.m\d\.state: "WORKING" -> "PREPARED"', run)
    assert re.search(r'coordinator\.state: "\w+" -> "CRASHED"', run)
    assert "nothing happens any more" in run


@pytest.mark.slow
def test_a_lock_overwrites_without_fencing_and_never_with_it(check: Check) -> None:
    status, said = check("examples.lock")
    assert status == 0
    fenced, plain = said.split("not-fenced: NoneOverwritten fails")
    assert "NoneOverwritten holds" in fenced
    assert "last.token: 2 -> 1" in plain


def test_a_plain_store_behind_a_fence_that_is_claimed_fails_the_check(check: Check) -> None:
    """A claim that something fails is a claim too: where it holds, the check fails."""
    from dataclasses import replace

    from examples import lock
    from sluicegate.spec.judge import judge_system

    fenced = next(model for model in lock.MODELS if model.name == "fenced")
    row = judge_system(replace(fenced, violates="NoneOverwritten"))
    assert "NoneOverwritten should fail and does not" in row.trouble


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_the_operated_run_publishes_is_seen_and_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    words = [sys.executable, "-m", "examples.operated", str(folder), "--every", "0.5"]
    running = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert running.stdout is not None
        first = next(line for line in running.stdout if "published in" in line)
        assert "version 0 published in" in first
        assert "without" not in first
        looked = [sys.executable, "-m", "sluicegate", "status", str(folder), "--within", "30", "--format", "json"]
        seen = subprocess.run(looked, capture_output=True, text=True, timeout=120, check=False)
        assert seen.returncode == 0, seen.stdout + seen.stderr
        assert [r["state"] for r in json.loads(seen.stdout)["replicas"]] == ["SERVING", "SERVING"]
        assert any(" of r0 by " in line for line in running.stdout)
        running.send_signal(signal.SIGINT)
        said = running.stdout.read()
        assert running.wait(120) == 130, said
        assert "Traceback" not in said
    finally:
        running.kill()
        running.wait()
    with Roster(folder / "register.db") as roster:
        lives = roster.lives()
    assert len(lives) == 3
    assert [life.pid for life in lives if Path(f"/proc/{life.pid}").exists()] == []
    assert not run_folder(f"operated-{running.pid}").exists()
