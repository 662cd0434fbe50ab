"""Runs of checkers that several threads wait for are ended all at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from sluicegate.spec.checkers.ending import Ended, endable, side_by_side


def waits(begun: threading.Event, over: threading.Event) -> bool:
    """A run of 20 seconds, whose result is whether it was ended."""
    with endable(over.set):
        begun.set()
        return over.wait(20)


def test_results_come_in_the_order_of_the_jobs() -> None:
    jobs = [lambda: time.sleep(0.05) or "first", lambda: "second", lambda: "third"]
    assert list(side_by_side(jobs, 2)) == ["first", "second", "third"]


def test_left_early_it_ends_what_runs_and_begins_nothing_more() -> None:
    begun, over, more = threading.Event(), threading.Event(), threading.Event()
    jobs = [lambda: True, lambda: waits(begun, over), lambda: waits(threading.Event(), threading.Event()), more.set]
    with closing(side_by_side(jobs, 2)) as rows:
        assert next(rows)
        assert begun.wait(20)
    assert over.is_set()
    assert not more.is_set()


def test_what_one_job_raises_ends_the_others() -> None:
    begun, over = threading.Event(), threading.Event()

    def fails() -> bool:
        begun.wait(20)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), closing(side_by_side([fails, lambda: waits(begun, over)], 2)) as rows:
        next(rows)
    assert over.is_set()


def test_while_all_are_being_ended_none_begins_and_later_ones_do() -> None:
    begun, over, refused = threading.Event(), threading.Event(), threading.Event()

    def again() -> None:
        waits(begun, over)
        try:
            waits(threading.Event(), threading.Event())
        except Ended:
            refused.set()

    with closing(side_by_side([lambda: None, again], 2)) as rows:
        next(rows)
        assert begun.wait(20)
    assert refused.is_set()
    with endable(over.set):
        pass


@pytest.mark.slow
def test_a_check_that_is_interrupted_leaves_nothing_behind(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "sluicegate", "check"]
    env = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as check:
        assert check.stdout is not None
        # The machines that are explored first take longer than the time that is waited here.
        assert check.stdout.readline().startswith("model")
        with pytest.raises(subprocess.TimeoutExpired):
            check.wait(2)
        check.send_signal(signal.SIGINT)
        _, said = check.communicate(timeout=60)
    assert check.returncode == 130, said
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, timeout=20, check=True).stdout
    assert str(tmp_path) not in listed
