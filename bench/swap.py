"""From seal to reopened, by phase: one rollout worker, idle and with clients whose requests are drained in each mode.

A worker in a process of its own is driven by the commands of its gate, as a controller does: seal, drain,
install, reopen. The weights are published before, so that the trainer's part is not in it. The load is one
request after the other by as many clients as one batch of the engine takes, in a third process. A figure is
the median over the swaps, in milliseconds, and the ratio that of the wholes, loaded to idle.

    python -m bench.swap [swaps of each kind]
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
import sys
import time
from typing import TYPE_CHECKING

from sluicegate.statemachines.sorts import Mode

from .busy import busy, worker

if TYPE_CHECKING:
    from rollout_kit import Driven

PHASES = ("seal", "drain", "install", "reopen")
CLIENTS, TOKENS = 32, 128
BETWEEN_S = 0.5
_versions = itertools.count(2)


async def swap(gate: Driven, mode: Mode) -> list[float]:
    """Milliseconds of each phase of one update of the weights."""
    version = next(_versions)
    gate.weights.publish(version)
    at = [time.perf_counter()]
    for phase in (gate.seal(mode), gate.drain(), gate.install(version), gate.reopen()):
        await phase
        at.append(time.perf_counter())
    await gate.close()
    return [1000 * (after - before) for before, after in itertools.pairwise(at)]


async def swaps(gate: Driven, mode: Mode, count: int) -> list[float]:
    """Medians of each phase, and of the whole."""
    found = []
    for _ in range(count):
        await asyncio.sleep(BETWEEN_S)
        found.append(await swap(gate, mode))
    return [*(statistics.median(column) for column in zip(*found, strict=True)), statistics.median(map(sum, found))]


async def compare(count: int) -> list[tuple[str, str, list[float]]]:
    """For each mode: idle, then loaded."""
    found = []
    async with worker(max_batch=CLIENTS) as gate:
        await swaps(gate, Mode.WAIT, 2)
        for mode in Mode:
            found.append((str(mode), "idle", await swaps(gate, mode, count)))
            async with busy(gate, CLIENTS, TOKENS):
                found.append((str(mode), "loaded", await swaps(gate, mode, count)))
    return found


def main(count: int = 15) -> None:
    print(f"{'mode':6} {'worker':7}" + "".join(f" {phase:>8}" for phase in (*PHASES, "whole", "/ idle")))
    whole = 0.0
    for mode, load, found in asyncio.run(compare(count)):
        whole = found[-1] if load == "idle" else whole
        print(f"{mode:6} {load:7}" + "".join(f" {ms:8.1f}" for ms in found) + f" {found[-1] / whole:8.1f}")
    print(f"milliseconds; loaded: {CLIENTS} requests of {TOKENS} tokens at any time")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
