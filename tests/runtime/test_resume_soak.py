"""Two hundred updates of a run with a trainer of two ranks, two replicas and agents: nothing grows with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from resumed_kit import grown, judged, playing

MIB = 1024 * 1024
ROOM = {"controller": 2 * MIB, "rollout": 10 * MIB, "trainer": 4 * MIB, "run": 6 * MIB}
"""How much more resident memory the late updates may have, 140 updates after the early ones.

What is kept within bounds is still filling then. A replica keeps the answers to its controller's operations for ten
minutes, and the caches of its stores grow to 2 MB each: 6 MB were measured here, a kilobyte a request, and nothing more
after some hundred updates. In the agents' process conversations come and go, and allocators settle.

So does the one of a trainer's rank, by 2 MB as measured: after some 350 updates malloc has the same in use, but for
answers that are kept, 16 MB at most. The interpreter's table of interned names has 150 000 in a rank. Where names are
interned and let go again at each update, it is copied at some point, and twice as large: 4 MB at once, beyond the room.
"""


@pytest.mark.soak
@pytest.mark.timeout(3000)
def test_two_hundred_updates_leave_memory_files_segments_and_threads_as_they_were(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with playing(folder, ranks=2) as run:
        medians = grown(run, range(20, 61), range(160, 201))
        run.end()
    for (name, what), (before, after) in medians.items():
        if what == "bytes":
            room = ROOM["rollout" if name in ("r0", "r1") else name.partition(".")[0]]
            assert after - before < room, (name, before, after)
        else:
            assert abs(after - before) <= 1, (name, what, before, after)
    verdict = judged(folder)
    assert verdict.valid, verdict.refusal
