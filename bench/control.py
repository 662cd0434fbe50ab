"""How long a call of the control lane takes, with 2,000 generations outstanding and with none.

One rollout worker in a process of its own, its clients in another, and the calls from this one, each
after the answer to the one before: what the gate is (`get`), and a command that is a step of its machine and
is written down (`claim`). Where there are fewer cores than busy processes, calls wait for a core as well. Rounds
measure without and with the load; a figure is the median, the 99th percentile, or the longest of all calls.

    python -m bench.control [calls of each kind]
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from .busy import busy, worker

if TYPE_CHECKING:
    from rollout_kit import Driven

GENERATIONS, TOKENS = 2000, 4000
WARM_UP = 20


async def claim(gate: Driven) -> None:
    """Take the gate over from oneself."""
    gate.term += 1
    await gate.claim()


async def latencies(call: Callable[[], Awaitable[object]], count: int) -> list[float]:
    """Milliseconds of each of `count` calls."""
    found = []
    for number in range(count + WARM_UP):
        began = time.perf_counter()
        await call()
        if number >= WARM_UP:
            found.append(1000 * (time.perf_counter() - began))
    return found


async def compare(count: int) -> dict[str, tuple[list[float], list[float]]]:
    """For each kind of call: without, and with the load."""

    async def both(gate: Driven) -> dict[str, list[float]]:
        return {
            "get": await latencies(gate.now, count),
            "claim": await latencies(lambda: claim(gate), count),
        }

    async with worker(max_batch=64) as gate:
        idle = await both(gate)
        async with busy(gate, GENERATIONS, TOKENS):
            loaded = await both(gate)
            assert len((await gate.now()).active) == GENERATIONS
    return {name: (idle[name], loaded[name]) for name in idle}


def main(count: int = 300) -> None:
    print(f"{'call':6} {'outstanding':>11} {'median':>8} {'99 %':>8} {'longest':>8} {'/ none':>8}")
    for name, measured in asyncio.run(compare(count)).items():
        bare = statistics.median(measured[0])
        for outstanding, found in zip((0, GENERATIONS), measured, strict=True):
            median, high = statistics.median(found), statistics.quantiles(found, n=100)[98]
            print(f"{name:6} {outstanding:11,} {median:8.2f} {high:8.2f} {max(found):8.2f} {median / bare:8.1f}")
    print("milliseconds; the ratio is that of the medians")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
