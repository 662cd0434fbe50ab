"""Whole runs by what they made: killed beside undisturbed ones, a stage alone, steps without new weights.

Rules of this file:

- Batches are of the lowest numbers, so that a run's steps follow from its seed; `steps.ndjson` is what is compared.
- A killed run loses its own process alone, by SIGKILL; whatever else it started has to end by itself.
- The moments of the kills are drawn anew each time, and printed.
"""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import pytest
from resumed_kit import SMALL, WITHIN_S, Playing, playing

from sluicegate.runtime.caretaker import workers_in
from sluicegate.runtime.runs.stages import BatchFiles
from sluicegate.runtime.runs.steps import read_steps

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

BEGUN = r"begun: version \d+ is published|resumed from \S+: step (\d+)"
RUN: dict[str, Any] = {
    **SMALL, "seed": 5, "replicas": 1, "agents": {"in_flight": 3, "waiting": 1, "order": "number"},
    "training": {**SMALL["training"], "groups": 2, "group_size": 2, "max_staleness": 16},
    "checkpoints": {"every": 2},
}  # fmt: skip
"""Small, and of a staleness that no resume reaches: what a resume publishes anew counts as a version."""


def made(folder: Path) -> dict[int, tuple[list[int], list[list[int]]]]:
    """What each step was made of: its groups in the batch's order, and the pass and index of their prompts."""
    return {step: (line["groups"], line["prompts"]) for step, line in read_steps(folder / "steps.ndjson").items()}


def finish(run: Playing) -> dict[str, Any]:
    """Have it make every update; its report."""
    said = run.rest()
    assert run.process.wait(60) == 0, f"{said}\n{run.logs()}"
    return json.loads((run.folder / "report" / "report.json").read_text())


def killed_at(run: Playing, moment: float, step_s: float) -> None:
    """Kill the run's own process, once it has made as many steps as the moment says, and the part of one more."""
    resumed = run.until(BEGUN)[1] or 0
    if int(moment) > int(resumed):
        run.step(int(moment))
    time.sleep(moment % 1 * step_s)
    assert run.process.poll() is None, f"it ended before it could be killed:\n{run.rest()}"
    run.process.kill()
    run.process.wait(30)
    until = time.monotonic() + WITHIN_S
    while left := workers_in(run.folder / "processes"):
        assert time.monotonic() < until, f"they go on without the run: {left}"
        time.sleep(0.05)


def require_same_steps(tmp_path: Path, *, kills: int, updates: int, **changed: Any) -> None:
    """A run killed so often, at random moments, makes the steps of one that nothing disturbed."""
    words = {**RUN, "updates": updates, **changed}
    with playing(tmp_path / "undisturbed", **words) as run:
        run.until(BEGUN)
        begun = time.monotonic()
        run.step(updates - 1)
        step_s = (time.monotonic() - begun) / (updates - 1)
        finish(run)
    # The last step is left out: the run may end within it.
    moments = sorted(random.uniform(0, updates - 2) for _ in range(kills))
    print("killed after so many steps:", *(f"{moment:.2f}" for moment in moments))
    folder = tmp_path / "killed"
    for moment in moments:
        with playing(folder, **words) as run:
            killed_at(run, moment, step_s)
    with playing(folder, **words) as run:
        report = finish(run)
    assert made(folder) == made(tmp_path / "undisturbed")
    assert list(made(folder)) == list(range(1, updates + 1))
    assert (report["lives"], report["steps"], report["passed"]) == (kills + 1, updates, True), report["checks"]


def test_a_run_killed_at_three_random_moments_makes_the_steps_of_an_undisturbed_one(tmp_path: Path) -> None:
    require_same_steps(tmp_path, kills=3, updates=6)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("placement", ["disaggregated", "colocated"])
def test_a_run_killed_at_ten_random_moments_makes_the_steps_of_an_undisturbed_one(
    placement: str, tmp_path: Path
) -> None:
    require_same_steps(tmp_path, kills=10, updates=20, placement=placement)


def test_what_rollouts_alone_wrote_is_trained_on_alone_step_by_step(tmp_path: Path) -> None:
    words = {**RUN, "checkpoints": {"every": 0}, "updates": 3, "batches": str(tmp_path / "batches")}
    with playing(tmp_path / "rollout", stage="rollout_only", **words) as run:
        run.rest()
        assert run.process.wait(60) == 0, f"{''.join(run.said)}\n{run.logs()}"
    files = BatchFiles(tmp_path / "batches")
    assert files.count() == 3
    written = {step: files.read(step) for step in (1, 2, 3)}
    assert {step: [group.number for group in groups] for step, groups in written.items()} == {
        1: [0, 1], 2: [2, 3], 3: [4, 5],
    }  # fmt: skip
    with playing(tmp_path / "training", stage="train_only", **{**words, "updates": None}) as run:
        said = run.rest()
        assert run.process.wait(60) == 0, f"{said}\n{run.logs()}"
    steps = read_steps(tmp_path / "training" / "steps.ndjson")
    assert {step: line["sessions"] for step, line in steps.items()} == {
        step: [session for group in groups for session in group.sessions] for step, groups in written.items()
    }


def test_a_colocated_run_opens_again_on_the_same_version_after_steps_without_new_weights(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with playing(folder, **RUN, placement="colocated", sync={"every": 2}, updates=4) as run:
        report = finish(run)
    first, second, third, last = [line["version"] for line in read_steps(folder / "steps.ndjson").values()]
    assert first == 0 < second == third < last
    assert report["trace"] is not None, "it was judged"
    assert report["passed"], report["checks"]
