"""Two hundred updates of a run with a trainer, two replicas and agents: nothing grows with the number of updates."""

from __future__ import annotations

import re
import statistics
from collections import defaultdict
from pathlib import Path

import pytest
from resumed_kit import Playing, judged, playing

from sluicegate.runtime.weights.shm import run_folder

MIB = 1024 * 1024
ROOM = {"controller": 2 * MIB, "rollout": 6 * MIB, "trainer": 4 * MIB, "agents": 6 * MIB}
"""How much more resident memory the late updates may have: less than 50 KiB an update, over 140 updates.

What is kept for a time and not for ever comes and goes with the load: requests of the last seconds in replicas,
conversations in the agents' process; the trainer's and the controller's allocators settle by a megabyte or two.
"""


def looked_at(run: Playing) -> dict[str, dict[str, int]]:
    """Resident bytes, open files and threads of every process, and what lies in shared memory, by name."""
    found: dict[str, dict[str, int]] = {}
    pids = {life.name: life.pid for life in run.living()} | {"agents": run.process.pid}
    for name, pid in pids.items():
        proc = Path(f"/proc/{pid}")
        status = dict(re.findall(r"^(\w+):\s+(\d+)", (proc / "status").read_text(), re.MULTILINE))
        found[name] = {
            "bytes": int(status["VmRSS"]) * 1024, "files": len(list((proc / "fd").iterdir())),
            "threads": int(status["Threads"]),
        }  # fmt: skip
    segments = run_folder((run.folder / "name").read_text())
    found["shared memory"] = {"files": sum(path.is_file() for path in segments.rglob("*"))}
    return found


def grown(run: Playing, updates: int, early: range, late: range) -> dict[tuple[str, str], tuple[float, float]]:
    """The medians over the early and the late updates of whatever is counted, of each process."""
    seen: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)
    for number in range(1, updates + 1):
        run.until(rf"step {number}, version \d+: ")
        if number in early or number in late:
            for name, counts in looked_at(run).items():
                for what, count in counts.items():
                    seen[name, what][number] = count
    medians = {
        key: tuple(statistics.median(counts[n] for n in part if n in counts) for part in (early, late))
        for key, counts in seen.items()
    }
    for (name, what), (before, after) in sorted(medians.items()):
        print(f"{name:14} {what:8} {before:14.1f} {after:14.1f} {after - before:+14.1f}")
    return medians  # pyright: ignore[reportReturnType]


@pytest.mark.soak
@pytest.mark.timeout(3000)
def test_two_hundred_updates_leave_memory_files_segments_and_threads_as_they_were(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with playing(folder, "--save", "5") as run:
        medians = grown(run, 200, range(20, 61), range(160, 201))
        run.end()
    for (name, what), (before, after) in medians.items():
        if what == "bytes":
            room = ROOM["rollout" if name.startswith("r") else name]
            assert after - before < room, (name, before, after)
        else:
            assert abs(after - before) <= 1, (name, what, before, after)
    verdict = judged(folder)
    assert verdict.valid, verdict.refusal
