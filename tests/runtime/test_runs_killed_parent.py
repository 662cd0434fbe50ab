"""A whole run whose own process is killed: every other process ends, and nothing stays in memory or on the disk."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sluicegate.runtime.caretaker import workers_in
from sluicegate.runtime.weights.shm import run_folder

pytestmark = pytest.mark.slow
START_S, END_S = 240.0, 60.0
CONFIG = """
seed: 1
updates: 1000
placement: disaggregated
replicas: 1
ranks: 2
model: {hidden: 32}
task: {kind: recall}
agents: {in_flight: 3, waiting: 1}
training: {zero_stage: 3, groups: 2, group_size: 2, epochs: 1, minibatches: 1, max_staleness: 4}
checkpoints: {every: 2, keep: 2}
"""


class Run:
    """A run below `folder`, and the folder for temporary files of all its processes."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.temporary = folder / "run", folder / "temporary"
        self.config = folder / "run.yaml"
        self.config.write_text(CONFIG)
        self.temporary.mkdir()

    @contextmanager
    def life(self) -> Iterator[subprocess.Popen[bytes]]:
        """One life of it, which has made steps; the run's own process is gone when the context is left."""
        made = self.steps
        words = [sys.executable, "-m", "sluicegate", "train", str(self.config), "--folder", str(self.folder)]
        environment = {
            **os.environ, "OMP_NUM_THREADS": "1", "TMPDIR": str(self.temporary),
            # What torch keeps for later processes of its user is no run's.
            "TORCHINDUCTOR_CACHE_DIR": str(self.folder.parent / "kept"),
        }  # fmt: skip
        with (self.folder.parent / "said").open("ab") as said:
            parent = subprocess.Popen(words, env=environment, stdout=said, stderr=said, start_new_session=True)
        try:
            self.until(lambda: self.steps >= made + 3 or parent.poll() is not None, START_S)
            assert parent.poll() is None, (self.folder.parent / "said").read_text()[-4000:]
            yield parent
        finally:
            parent.kill()
            parent.wait()

    @property
    def steps(self) -> int:
        path = self.folder / "steps.ndjson"
        return len(path.read_text().splitlines()) if path.exists() else 0

    @property
    def workers(self) -> list[int]:
        return workers_in(self.folder / "processes")

    @property
    def shared(self) -> Path:
        return run_folder((self.folder / "name").read_text())

    def of_role(self, role: str) -> list[int]:
        """The processes of a role: a launcher of ranks, and the ranks."""
        return [pid for pid in self.workers if role.encode() in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")]

    def until(self, holds: Callable[[], bool], within: float = END_S) -> None:
        by = time.monotonic() + within
        while not holds():
            assert time.monotonic() < by, (self.workers, (self.folder.parent / "said").read_text()[-4000:])
            time.sleep(0.1)

    def require_nothing_left(self) -> None:
        self.until(lambda: not self.workers)
        self.until(lambda: not self.shared.exists())
        assert list(self.temporary.iterdir()) == []
        assert [path for path in self.folder.rglob(".*") if path.name != ".lock"] == []


@pytest.mark.timeout(900)
def test_of_a_run_whose_parent_is_killed_no_process_segment_or_temporary_file_stays_and_it_goes_on(
    tmp_path: Path,
) -> None:
    run = Run(tmp_path)
    with run.life() as parent:
        assert len(run.of_role("trainer")) == 3, "two ranks and who launched them"
        assert len(run.workers) == 5
        assert run.shared.exists()
        parent.kill()
        parent.wait()
        run.require_nothing_left()
    with run.life() as parent:
        # Nobody is left who published, and it cannot remove anything.
        for pid in run.of_role("trainer"):
            os.kill(pid, signal.SIGKILL)
        parent.kill()
        parent.wait()
        run.require_nothing_left()
