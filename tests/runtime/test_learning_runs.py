"""Whole runs learn, in both placements and on two tasks, and from the rewards alone.

The results are kept in `runs/learning` (or the folder that LEARNING names), one line a run: a soak that was ended goes
on where it was, and runs that went through are not made again.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
import yaml

from sluicegate.runtime.tasks import TaskChoice, make_task

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("LEARNING", ROOT / "runs" / "learning"))
SEEDS = (0, 1, 2)
PLACEMENTS = ("disaggregated", "colocated")
MARGIN = 0.1
"""How far the two placements may end apart, in mean reward on the held-out prompts."""

RECALL: dict[str, Any] = {"updates": 20, "task": {"kind": "recall"}, "evaluate": {"every": 20, "prompts": 256}}
SPELLING: dict[str, Any] = {
    "updates": 120,
    "task": {
        "kind": "reasoning",
        "settings": {
            "dataset": "spell_backward", "settings": {"min_word_len": 4, "max_word_len": 4}, "shown": "{word}>",
            "alphabet": "aeilnorst>", "reply_tokens": 4,
        },
    },
    "evaluate": {"every": 120, "prompts": 128},
}  # fmt: skip
TASKS = {"recall": RECALL, "spell_backward": SPELLING}
ON_POLICY = {"agents": {"in_flight": 8, "waiting": 0}, "training": {"max_staleness": 0}}
"""Every token is made by the very weights that it trains."""
TO_THE_END = {"updates": 60, "evaluate": {"every": 60, "prompts": 256}}
"""Until the task is learnt: on the way there seeds differ by more than placements."""


def config(task: str, placement: str, seed: int, **changes: Mapping[str, Any]) -> dict[str, Any]:
    """A run of minutes on two cores."""
    made = {
        "seed": seed, "placement": placement, "replicas": 1, "checkpoints": {"every": 10},
        "agents": {"in_flight": 12, "waiting": 4}, "training": {"max_staleness": 4}, **TASKS[task],
    }  # fmt: skip
    return made | {key: {**made.get(key, {}), **value} for key, value in changes.items()}


def rewards(wanted: Mapping[str, Any]) -> tuple[list[float], list[float]]:
    """Those of the held-out prompts before and after a run of this config, made where it was not made yet."""
    name = blake2b(json.dumps(wanted, sort_keys=True).encode(), digest_size=6).hexdigest()
    folder = FOLDER / f"{wanted['placement']}-{name}"
    if not (folder / "report" / "report.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "run.yaml").write_text(yaml.safe_dump(dict(wanted)))
        command = [sys.executable, "-m", "sluicegate", "train", str(folder / "run.yaml"), "--folder", str(folder)]
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=1500, check=False,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads((folder / "report" / "report.json").read_text())
    assert told["passed"], told["checks"]
    asked = sorted((int(step), found) for step, found in told["held_out"].items())
    assert [step for step, _ in asked] == [0, wanted["updates"]]
    return asked[0][1], asked[-1][1]


def blind(task: str) -> float:
    """The most that a policy earns on the held-out prompts which says the same to every one, letter by letter."""
    if task == "recall":
        return 0.25
    made = make_task(TaskChoice(**TASKS[task]["task"]), seed=0)
    wanted = [made.prompt(index, "held_out").wanted for index in range(made.held_out())]  # pyright: ignore[reportAttributeAccessIssue]
    places = [Counter(place).most_common(1)[0][1] for place in zip(*wanted, strict=True)]
    return sum(places) / sum(map(len, wanted))


def z(values: Sequence[float]) -> float:
    """The mean in standard errors."""
    error = statistics.stdev(values) / math.sqrt(len(values))
    return statistics.fmean(values) / error if error else math.inf * statistics.fmean(values)


def row(*cells: object) -> None:
    """A row of the results table, printed and kept."""
    text = "| " + " | ".join(f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in cells) + " |"
    print(text, flush=True)
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "results.md").open("a") as file:
        file.write(text + "\n")


def gains(task: str, placement: str, kind: str, **changes: Mapping[str, Any]) -> list[float]:
    """What each held-out prompt gained, over all seeds; the last column is what was earned beyond any habit."""
    most = blind(task)
    gained: list[float] = []
    earned: list[float] = []
    for seed in SEEDS:
        before, after = rewards(config(task, placement, seed, **changes))
        found = [b - a for a, b in zip(before, after, strict=True)]
        row(task, placement, kind, seed, statistics.fmean(before), statistics.fmean(after), z(found),
            z([each - most for each in after]))  # fmt: skip
        gained += found
        earned += after
    row(task, placement, kind, "all", "", statistics.fmean(gained), z(gained),
        z([each - most for each in earned]))  # fmt: skip
    return gained


@pytest.mark.soak
@pytest.mark.timeout(9000)
@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("task", TASKS)
def test_rewards_rise_by_more_than_three_standard_errors_and_shuffled_ones_teach_nothing(
    task: str, placement: str
) -> None:
    row("task", "placement", "rewards", "seed", "before", "after (of all: gain)", "gain / s.e.", "beyond blind / s.e.")
    row(*["---"] * 8)
    assert z(gains(task, placement, "real")) > 3
    assert z(gains(task, placement, "shuffled", training={"shuffle_rewards": True})) < 3


@pytest.mark.soak
@pytest.mark.timeout(9000)
def test_both_placements_end_within_the_margin_when_nothing_is_stale() -> None:
    ends = {
        placement: [
            statistics.fmean(rewards({**config("recall", placement, seed, **ON_POLICY), **TO_THE_END})[1])
            for seed in SEEDS
        ]
        for placement in PLACEMENTS
    }
    apart = [a - b for a, b in zip(ends["colocated"], ends["disaggregated"], strict=True)]
    row("recall", "colocated against disaggregated", "no staleness", "all", *map(statistics.fmean, ends.values()),
        statistics.fmean(apart))  # fmt: skip
    error = statistics.stdev(apart) / math.sqrt(len(apart))
    # Equivalence: the interval around the difference lies within the margin.
    assert abs(statistics.fmean(apart)) + error < MARGIN
