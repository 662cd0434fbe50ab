"""Admit and settle one lease after another in process, over each durability of the journal.

What is measured is a lease's way through the real machines and stores without an engine: the gate admits
it, its admission is recorded, its closure is recorded, the gate lets it go. Beside it: `asyncio.Semaphore`
acquired and released, which keeps nothing, and what the disk itself takes to make a block durable for each
of the two records. Rounds measure all of them one after another, so that what else runs
on the machine falls on all; each ratio is the median of the rounds' ratios.

    python -m bench.journal [seconds per measurement]
"""

from __future__ import annotations

import asyncio
import itertools
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from sluicegate.protocol.generated.gate_service import GATE
from sluicegate.protocol.host import MachineHost
from sluicegate.protocol.journal import Journal
from sluicegate.protocol.store import Add, Durability
from sluicegate.runtime.workers.records import Admission, Closure, LeaseRecord, LeaseStore, encode
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.sorts import Ending, Mode

ROUNDS = 7
CALLERS = (1, 64)
PROMPT = list(range(256))
_numbers = itertools.count()
Lease = Callable[[], Awaitable[object]]


class Idle:
    """Handlers that do nothing."""

    def __getattr__(self, name: str) -> Callable[..., Awaitable[None]]:
        async def nothing(*_: object) -> None:
            pass

        return nothing


async def rate(lease: Lease, callers: int, seconds: float) -> float:
    """Leases per second of `callers` that have one after another."""
    until = time.perf_counter() + seconds
    counts = [0] * callers

    async def caller(i: int) -> None:
        while time.perf_counter() < until:
            await lease()
            counts[i] += 1
            # A semaphore that is free lets nobody else run.
            await asyncio.sleep(0)

    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for i in range(callers):
            group.create_task(caller(i))
    return sum(counts) / (time.perf_counter() - began)


def flush_pairs(file: int, seconds: float) -> float:
    """Pairs of blocks per second that the disk makes durable, one after another, at the end of a file."""
    count, began = 0, time.perf_counter()
    while time.perf_counter() < began + seconds:
        for _ in range(2):
            os.write(file, bytes(4096))
            os.fdatasync(file)
        count += 1
    return count / (time.perf_counter() - began)


def gated(host: MachineHost, journal: Journal[Add]) -> Lease:
    """What one lease takes."""

    async def stored(record: LeaseRecord) -> None:
        ticket = journal.add(encode(record))
        if ticket is not None:
            await ticket.wait()

    async def lease() -> None:
        name = f"l{next(_numbers)}"
        if host.step("g", Gate.Admit(lease=name, pin=None), name).refused:
            raise RuntimeError("the gate is not open")
        await stored(Admission(name, "session", "life", 1, 1, PROMPT, {}))
        await stored(Closure(name, Ending.COMPLETED))
        host.step("g", Gate.Settle(lease=name), name)

    return lease


def open_gate(host: MachineHost) -> None:
    host.create("g", ranks=frozenset({"0"}))
    fence: dict[str, Any] = {"term": 0, "epoch": 1}
    for event in (
        Gate.Seal(**fence, mode=Mode.WAIT, window=60_000), Gate.Drain(**fence), Gate.Quiesced(epoch=1, rank="0"),
        Gate.Install(**fence, version=1, digests={"0": "d"}), Gate.Installed(epoch=1, rank="0", digest="d"),
        Gate.Reopen(**fence), Gate.Close(**fence),
    ):  # fmt: skip
        host.step("g", event)


async def compare(folder: Path, callers: int, seconds: float) -> tuple[list[dict[str, float]], dict[str, float]]:
    """Rates of each round, of the semaphore, the disk, and each durability; and how many records one write had."""
    idle: Any = Idle()
    file = os.open(folder / "blocks", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    stores = {d: LeaseStore(folder / f"{d}-{callers}", d) for d in Durability}
    journals: dict[Durability, Journal[Add]] = {d: Journal(store) for d, store in stores.items()}
    semaphore = asyncio.Semaphore(callers)

    async def bare() -> None:
        async with semaphore:
            pass

    rounds: list[dict[str, float]] = []
    async with MachineHost(GATE, idle, incarnation="bench") as host:
        open_gate(host)
        for _ in range(ROUNDS + 1):
            found = {"semaphore": await rate(bare, callers, seconds / 4), "disk": flush_pairs(file, seconds)}
            for durability, journal in journals.items():
                found[durability] = await rate(gated(host, journal), callers, seconds)
            rounds.append(found)
    for durability, store in stores.items():
        with closing(store):
            await journals[durability].close()
    os.close(file)
    batches = {str(d): journal.figures.records / journal.figures.batches for d, journal in journals.items()}
    # The first round warms caches and the disk up.
    return rounds[1:], batches


def main(seconds: float = 0.5) -> None:
    print(
        f"{'callers':>7} {'durability':10} {'leases/s':>9} {'us each':>8}"
        f" {'/ semaphore':>12} {'/ disk':>7} {'a write':>8}"
    )
    with tempfile.TemporaryDirectory() as folder:
        for callers in CALLERS:
            rounds, batches = asyncio.run(compare(Path(folder), callers, seconds))
            for name in ("semaphore", Durability.OFF, Durability.PROCESS, Durability.STRICT, "disk"):
                each = statistics.median(r[name] for r in rounds)
                to_bare = statistics.median(r[name] / r["semaphore"] for r in rounds)
                to_disk = statistics.median(r[name] / r["disk"] for r in rounds)
                batch = f"{batches[name]:.1f}" if name in batches else ""
                print(
                    f"{callers:7} {name:10} {each:9,.0f} {1e6 / each:8,.0f} {to_bare:12.4f} {to_disk:7.2f} {batch:>8}"
                )
    print("a write: how many records one write of the store had, over all callers")
    print("disk: two flushes of one block, one after another, for each lease; aim, for one strict caller: 0.60 of it")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 0.5)
