"""A supervisor that is killed: its workers end, and what they shared is removed, by the last one that knows of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from sluicegate.runtime.caretaker import workers_in
from sluicegate.runtime.controller.roster import claim_keeping

SOON_S = 20.0
KEEPS = """
import sys, time
from pathlib import Path
from sluicegate.runtime.caretaker import cared_for
from sluicegate.runtime.controller.roster import Roster
folder = Path(sys.argv[1])
with Roster(folder / "r.db") as roster, roster.alone():
    with cared_for(folder / "r.db", folder / "processes", [folder / "shared"], float(sys.argv[2])):
        print("keeps", flush=True)
        sys.stdin.read()
"""
HANGS = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("hangs", flush=True)
time.sleep(600)
"""


@contextmanager
def process(*words: str) -> Iterator[subprocess.Popen[str]]:
    """A process of Python that has said its first line; it ends with the context."""
    with subprocess.Popen(
        [sys.executable, "-c", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as started:
        try:
            assert started.stdout is not None
            assert started.stdout.readline()
            yield started
        finally:
            started.kill()


@contextmanager
def kept(folder: Path, grace: float) -> Iterator[tuple[subprocess.Popen[str], subprocess.Popen[str]]]:
    """A supervisor with its caretaker, and a worker of it that ends for nobody."""
    for name in ("processes", "shared"):
        (folder / name).mkdir()
    (folder / "shared" / "v1").mkdir()
    with ExitStack() as stack:
        # What is kept has its config among its words, as a worker has.
        worker = stack.enter_context(process(HANGS, "worker", "rollout", str(folder / "processes" / "a.1.json")))
        # Somebody who reads the config, and the worker of another run.
        others = [
            stack.enter_context(process(HANGS, "less", str(folder / "processes" / "a.1.json"))),
            stack.enter_context(process(HANGS, "worker", "rollout", str(folder / "other" / "a.1.json"))),
        ]
        keeper = stack.enter_context(process(KEEPS, str(folder), str(grace)))
        yield keeper, worker
        assert [other.poll() for other in others] == [None, None]


def until(holds: Callable[[], bool]) -> None:
    by = time.monotonic() + SOON_S
    while not holds():
        assert time.monotonic() < by
        time.sleep(0.05)


def caretakers(folder: Path) -> list[int]:
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"sluicegate.runtime.caretaker" in words and str(folder / "r.db").encode() in words:
            found.append(int(entry.name))
    return found


def test_what_a_killed_supervisor_left_is_ended_by_force_after_its_time_and_removed_only_then(tmp_path: Path) -> None:
    with kept(tmp_path, grace=2.0) as (keeper, worker):
        assert workers_in(tmp_path / "processes") == [worker.pid]
        assert len(caretakers(tmp_path)) == 1
        keeper.kill()
        time.sleep(1)
        assert worker.poll() is None
        assert (tmp_path / "shared" / "v1").exists()
        assert worker.wait(SOON_S) == -signal.SIGKILL
        until(lambda: not (tmp_path / "shared").exists())
        until(lambda: not caretakers(tmp_path))
        with closing(claim_keeping(tmp_path / "r.db")):
            assert "has not ended by itself" in (tmp_path / "processes" / "caretaker.log").read_text()


def test_after_a_supervisor_that_ended_in_order_nothing_is_touched(tmp_path: Path) -> None:
    with kept(tmp_path, grace=0.0) as (keeper, worker):
        assert keeper.stdin is not None
        keeper.stdin.close()
        assert keeper.wait(SOON_S) == 0
        assert caretakers(tmp_path) == []
        assert worker.poll() is None
        assert (tmp_path / "shared" / "v1").exists()


def test_where_another_supervisor_has_begun_the_caretaker_leaves_all_to_it(tmp_path: Path) -> None:
    with kept(tmp_path, grace=600.0) as (keeper, worker):
        os.kill(caretakers(tmp_path)[0], signal.SIGSTOP)
        keeper.kill()
        keeper.wait()
        with closing(claim_keeping(tmp_path / "r.db")):
            os.kill(caretakers(tmp_path)[0], signal.SIGCONT)
            until(lambda: not caretakers(tmp_path))
        assert worker.poll() is None
        assert (tmp_path / "shared" / "v1").exists()


@pytest.mark.timeout(60)
def test_what_workers_shared_goes_at_once_where_all_have_ended_by_themselves(tmp_path: Path) -> None:
    with kept(tmp_path, grace=600.0) as (keeper, worker):
        keeper.kill()
        worker.kill()
        worker.wait()
        until(lambda: not (tmp_path / "shared").exists())
        until(lambda: not caretakers(tmp_path))
