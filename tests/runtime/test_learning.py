"""It learns, and it learns from the rewards: held-out prompts before and after, over seeds and controls."""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

SEEDS = (0, 1, 2)


def differences(folder: Path, seed: int, *words: str) -> list[float]:
    """What each held-out prompt gained in a whole run of the demo."""
    out = folder / f"{seed}{''.join(words)}"
    command = [sys.executable, "-m", "sluicegate", "demo", "--seed", str(seed), "--out", str(out), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((out / "report.json").read_text())
    before, after = report["rewards_before"], report["rewards_after"]
    assert len(before) == len(after) == 256
    gain = [a - b for a, b in zip(after, before, strict=True)]
    row = [str(seed), "shuffled" if words else "real", *(f"{statistics.fmean(v):.3f}" for v in (before, after))]
    print(" | ".join([*row, f"{z(gain):+.1f} s.e.", f"{len(report['versions']) - 1} updates"]), flush=True)
    return gain


def z(values: list[float]) -> float:
    """The mean in standard errors."""
    error = statistics.stdev(values) / math.sqrt(len(values))
    return statistics.fmean(values) / error if error else math.inf * statistics.fmean(values)


@pytest.mark.soak
@pytest.mark.timeout(6000)
def test_rewards_rise_by_more_than_three_standard_errors_and_shuffled_ones_teach_nothing(tmp_path: Path) -> None:
    print("\nseed | rewards | before | after | gain | updates", flush=True)
    real = [g for seed in SEEDS for g in differences(tmp_path, seed)]
    control = [g for seed in SEEDS for g in differences(tmp_path, seed, "--shuffle-rewards")]
    print(f"all  | real     | gain {statistics.fmean(real):+.3f} = {z(real):+.1f} s.e.")
    print(f"all  | shuffled | gain {statistics.fmean(control):+.3f} = {z(control):+.1f} s.e.", flush=True)
    assert z(real) > 3
    assert z(control) < 3
