"""A trainer killed at any moment of a save: every checkpoint that is there is whole, and the last one loads."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..support.training_kit import make_model

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SCRIPT = Path(__file__).with_name("crash_trainer.py")


class Lives:
    """The process of `crash_trainer.py`."""

    def __init__(self, model: Path, folder: Path) -> None:
        path = os.pathsep.join([str(Path(__file__).parents[1] / "support"), os.environ.get("PYTHONPATH", "")])
        self.process = subprocess.Popen(
            [sys.executable, str(SCRIPT), str(model), str(folder)],
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert "ready" in self.read()
        self.digests: dict[int, str] = {}

    def read(self) -> dict[str, Any]:
        """The next thing that it tells; other lines are a library's."""
        assert self.process.stdout is not None
        while not (line := self.process.stdout.readline()).startswith("{"):
            assert line, "it ended"
        return json.loads(line)

    def live(self, number: int, kill_after: float | None) -> tuple[float | None, list[int]]:
        """One life, killed so many seconds after it began to save: how long the save took if it ended, and
        the steps of all checkpoints, each of which it loaded."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{number}\n")
        self.process.stdin.flush()
        took, steps = None, []
        while "ended" not in (said := self.read()):
            assert "error" not in said, said
            if "loaded" in said:
                steps.append(said["step"])
                # A step is repeatable, so that a checkpoint of a step has one content.
                assert self.digests.setdefault(said["step"], said["digest"]) == said["digest"]
            elif "saving" in said and kill_after is not None:
                time.sleep(kill_after)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(said["saving"], signal.SIGKILL)
            took = said.get("saved", took)
        return took, steps


@pytest.fixture
def lives(tmp_path: Path) -> Iterator[Lives]:
    folder = tmp_path / "kept"
    folder.mkdir()
    made = Lives(make_model(tmp_path / "model", hidden=128), folder)
    try:
        yield made
    finally:
        made.process.kill()
        made.process.communicate()


@pytest.mark.parametrize("moments", [3, pytest.param(20, marks=pytest.mark.soak)])
def test_every_checkpoint_is_whole_and_the_last_one_loads(lives: Lives, tmp_path: Path, moments: int) -> None:
    kept = tmp_path / "kept"
    # The first save warms up what the others find warm.
    took, _ = min(lives.live(number, None) for number in (0, 1))
    assert took is not None
    draw = random.Random(moments)
    cut = 0
    for number in range(2, moments + 2):
        # One moment in each part of the duration, so that all of it is covered.
        _, steps = lives.live(number, took * (number - 1 - draw.random()) / moments)
        assert steps == list(range(steps[0], steps[0] + len(steps)))
        cut += (kept / f".kept-{number:03d}.partial").exists()
        whole = sorted(kept.glob("kept-*"))
        for old in whole[:-2]:
            # A load of each takes time.
            shutil.rmtree(old)
        assert whole
    took, steps = lives.live(moments + 2, None)
    assert took is not None
    assert steps
    assert cut >= moments / 3, f"only {cut} of {moments} moments fell into a save"
