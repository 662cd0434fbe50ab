"""Events of a run per second: read, replayed on the tables, and judged with the rules between machines.

The run is made by the scripted world of the tests, in the proportions of a real one: nine events a
request, and a sync of the weights now and then. Reading is apart. Seconds are those of the one core that works, so
that what else runs on the machine is not counted. Each figure is the median over rounds.

    python -m bench.traces [FILE] [rounds]
"""

from __future__ import annotations

import gc
import statistics
import sys
import tempfile
import time
from pathlib import Path

from sluicegate.spec.traces.judging import Findings
from sluicegate.spec.traces.reading import Trace, read
from sluicegate.spec.traces.replay import replay
from sluicegate.spec.traces.validate import between, uncollected
from sluicegate.statemachines.machines import MACHINES

SUPPORT = Path(__file__).resolve().parent.parent / "tests" / "support"
AIM_REPLAY, AIM_JUDGED = 200_000, 100_000
UPDATES, SESSIONS, TURNS, AT_ONCE = 12, 400, 4, 8


def scripted(folder: Path) -> Path:
    """The trace of a run of two replicas: sessions of some turns, several at once, and updates between them."""
    sys.path.insert(0, str(SUPPORT))
    from traced_run import World

    world = World(folder)
    for replica in ("r0", "r1"):
        world.start(replica)
    world.update(0)
    sessions = [f"s{number}" for number in range(SESSIONS)]
    version = 0
    for start in range(0, SESSIONS, AT_ONCE):
        if start * UPDATES // SESSIONS > version:
            version += 1
            world.update(version)
        chosen = sessions[start : start + AT_ONCE]
        for session in chosen:
            world.open(session)
        for number in range(TURNS):
            placed = [(session, f"r{i % 2}") for i, session in enumerate(chosen)]
            leases = [world.turn(session, number, replica) for session, replica in placed]
            for (session, replica), lease in zip(placed, leases, strict=True):
                world.finish_turn(session, replica, lease)
    return world.merge()


def measure(path: Path) -> tuple[int, float, float, float]:
    """Events, and the seconds of reading, of replay, and of the rules after it. Raises RuntimeError if refused."""
    with uncollected():
        begun = time.process_time()
        trace: Trace = read(path, MACHINES)
        parsed = time.process_time()
        refusal = replay(trace)
        replayed = time.process_time()
        refusal = refusal or between(trace, Findings())
        judged = time.process_time()
    if refusal is not None:
        raise RuntimeError(f"{path} is refused: {refusal}")
    events = sum(len(track.entries) for track in trace.tracks.values())
    return events, parsed - begun, replayed - parsed, judged - replayed


def main(path: Path | None = None, rounds: int = 9) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = path or scripted(Path(folder))
        measure(made)
        found = []
        for _ in range(rounds):
            gc.collect()  # the trace of the round before
            found.append(measure(made))
    events = found[0][0]
    parse, replayed, both = (
        statistics.median(events / seconds for seconds in column)
        for column in zip(*((p, r, r + b) for _, p, r, b in found), strict=True)
    )
    print(f"{'events':>9} {'read/s':>10} {'replay/s':>10} {'with rules/s':>13}")
    print(f"{events:9,} {parse:10,.0f} {replayed:10,.0f} {both:13,.0f}")
    print(f"aims, reading apart: {AIM_REPLAY:,} replayed, {AIM_JUDGED:,} with the rules between machines")


if __name__ == "__main__":
    given = sys.argv[1:]
    main(Path(given[0]) if given else None, int(given[1]) if len(given) > 1 else 9)
