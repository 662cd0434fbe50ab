"""Two hundred updates of a run with a trainer, two replicas and agents: nothing grows with the number of updates."""

from __future__ import annotations

from pathlib import Path

import pytest
from resumed_kit import grown, judged, playing

MIB = 1024 * 1024
ROOM = {"controller": 2 * MIB, "rollout": 6 * MIB, "trainer": 4 * MIB, "agents": 6 * MIB}
"""How much more resident memory the late updates may have: less than 50 KiB an update, over 140 updates.

What is kept for a time and not for ever comes and goes with the load: requests of the last seconds in replicas,
conversations in the agents' process; the trainer's and the controller's allocators settle by a megabyte or two.
"""


@pytest.mark.soak
@pytest.mark.timeout(3000)
def test_two_hundred_updates_leave_memory_files_segments_and_threads_as_they_were(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with playing(folder, "--save", "5") as run:
        medians = grown(run, range(20, 61), range(160, 201))
        run.end()
    for (name, what), (before, after) in medians.items():
        if what == "bytes":
            room = ROOM["rollout" if name.startswith("r") else name]
            assert after - before < room, (name, before, after)
        else:
            assert abs(after - before) <= 1, (name, what, before, after)
    verdict = judged(folder)
    assert verdict.valid, verdict.refusal
