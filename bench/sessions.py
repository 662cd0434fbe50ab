"""What bound sessions and used-up ids cost a session server: memory, its start, look-ups, and the sealing of a gate.

A store is made with the sessions bound by their real steps, and with the marks that burials leave (half of them of
issued ids). A fresh process then restores it and measures; the same with 1,000 of each, and with none. Memory is what
the process takes more once it has started. A look-up is what each call begins with, the median over rounds. Sealing is
from the seal to at rest of a gate with one rank and no lease in the same process and event loop.

    python -m bench.sessions [--full]
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sluicegate.protocol.generated.gate_service import GATE
from sluicegate.protocol.host import MachineHost
from sluicegate.protocol.sqlite import SqliteStore
from sluicegate.protocol.store import Durability
from sluicegate.runtime.sessions import SessionError, Sessions, SessionSettings
from sluicegate.runtime.sessions.ids import BUCKET_S, Ids, keep, key_of
from sluicegate.runtime.sessions.store import mark
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.session import Session
from sluicegate.statemachines.sorts import Mode

SMALL, REDUCED, FULL = (1000, 1000), (10_000, 100_000), (100_000, 1_000_000)
"""Bound sessions, and used-up ids."""
SETTINGS = SessionSettings(ttl=1e9, sessions=1_000_000, chosen_ids=10_000_000)
LOOKED_AT, ROUNDS, SEALS, AT_ONCE, BATCH = 1000, 9, 200, 1000, 1024
AIM = 2.0


@dataclass
class Found:
    """Seconds, and bytes; `look_ups` in seconds each, by what the id is of."""

    bound: int
    buried: int
    start: float
    memory: int
    look_ups: dict[str, float]
    seal: float


def opened(path: Path) -> SqliteStore:
    return SqliteStore(path, Durability.PROCESS, keep=keep(SETTINGS.id_life))


def gone(number: int, ids: Ids) -> tuple[str, bool]:
    """An id that is used up, and whether it was issued."""
    return (ids.issue(), True) if number % 2 else (f"gone-{number}", False)


async def build(path: Path, bound: int, buried: int) -> list[str]:
    """Make the store; some of the ids that are used up."""
    with closing(opened(path)) as store:
        async with Sessions(store, server="bench", incarnation="bench.1", settings=SETTINGS) as sessions:
            numbers = iter(range(bound))

            async def bind() -> None:
                for number in numbers:
                    name, where = f"session-{number}", f"rollout-{number % 8}"
                    await sessions.open(name, owner=f"agent-{number % 100}")
                    await sessions.durably(name, Session.BeginTurn(lease=f"{name}.1"))
                    await sessions.durably(name, Session.Bound(replica=where, incarnation=f"{where}.1"))
                    sessions.host.step(name, Session.EndTurn(lease=f"{name}.1"), noted=True)

            async with asyncio.TaskGroup() as group:
                for _ in range(AT_ONCE):
                    group.create_task(bind())
            names: list[str] = []
            for start in range(0, buried, BATCH):
                marks = [gone(number, sessions.ids) for number in range(start, min(buried, start + BATCH))]
                store.write([mark(*each) for each in marks])
                names += [name for name, _ in marks] if not names else []
    return names


def memory() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def look_up(sessions: Sessions, names: Sequence[str]) -> float:
    """Seconds of one look-up, of these in turn."""
    rounds = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        for name in names:
            with contextlib.suppress(SessionError):
                sessions.live(name)
        rounds.append((time.perf_counter() - begun) / len(names))
    return statistics.median(rounds)


class Idle:
    """Handlers that do nothing: the rank says itself that it is at rest."""

    def __getattr__(self, name: str) -> Callable[..., Awaitable[None]]:
        async def nothing(*_: object) -> None: ...

        return nothing


async def sealing(folder: Path) -> float:
    """Seconds from the seal of a gate without leases until it is drained, all of it on the disk."""
    idle: Any = Idle()
    found = []
    with closing(opened(folder / "gate")) as store:
        async with MachineHost(GATE, idle, incarnation="bench", store=store) as host:
            for number in range(SEALS):
                name = f"g{number}"
                host.create(name, ranks=frozenset({"0"}))
                begun = time.perf_counter()
                for event in (
                    Gate.Seal(term=0, epoch=1, mode=Mode.WAIT, window=60_000), Gate.Drain(term=0, epoch=1),
                    Gate.Quiesced(epoch=1, rank="0"),
                ):  # fmt: skip
                    if (await host.apply(name, event, durable=True)).refused:
                        raise RuntimeError("the gate did not drain")
                found.append(time.perf_counter() - begun)
    return statistics.median(found)


async def look(path: Path, bound: int, buried: int, names: list[str]) -> Found:
    """Start a server over the store and measure it."""
    before, begun = memory(), time.perf_counter()
    with closing(opened(path)) as store:
        async with Sessions(store, server="bench", incarnation="bench.2", settings=SETTINGS) as sessions:
            start = time.perf_counter() - begun
            taken = memory() - before
            late = Ids(key_of(store), SETTINGS.id_life, lambda: time.time() - SETTINGS.id_life - 2 * BUCKET_S)
            live = random.Random(0).sample(list(sessions.facts), min(LOOKED_AT, bound))
            asked = {
                "live": live,
                "buried, issued": names[1::2],
                "buried, chosen": names[::2],
                "unknown": [f"nobody-{number}" for number in range(LOOKED_AT)],
                "expired": [late.issue() for _ in range(LOOKED_AT)],
            }
            found = {what: look_up(sessions, each) for what, each in asked.items() if each}
            with tempfile.TemporaryDirectory(dir=path.parent) as folder:
                seal = await sealing(Path(folder))
    return Found(bound, buried, start, taken, found, seal)


def measured(path: Path, bound: int, buried: int) -> Found:
    """Made here, and looked at in a process of its own."""
    names = asyncio.run(build(path, bound, buried))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_look, (path, bound, buried, names))


def _look(*given: Any) -> Found:
    # What the first use of each part brings in is not the sessions'.
    path = given[0].parent / "first"
    asyncio.run(build(path, 1, 2))
    asyncio.run(look(path, 1, 2, []))
    for file in path.parent.glob("first*"):
        file.unlink()
    return asyncio.run(look(*given))


def main(full: bool = False) -> None:
    large = FULL if full else REDUCED
    with tempfile.TemporaryDirectory() as folder:
        none, small, big = (measured(Path(folder, f"{size[0]}"), *size) for size in ((0, 0), SMALL, large))
    print(f"{'':24} {small.bound:>11,} {big.bound:>11,} {'ratio':>7}   bound sessions")
    print(f"{'':24} {small.buried:>11,} {big.buried:>11,} {'':7}   used-up ids")
    print(f"{'start, s':24} {small.start:11.3f} {big.start:11.3f}")
    print(f"{'memory, MiB':24} {small.memory / 2**20:11.1f} {big.memory / 2**20:11.1f}")
    print(f"{'memory a session, bytes':24} {'':11} {big.memory / big.bound:11,.0f}")
    for what, seconds in big.look_ups.items():
        base = small.look_ups[what]
        print(f"{f'look-up, {what}, us':24} {1e6 * base:11.2f} {1e6 * seconds:11.2f} {seconds / base:7.2f}")
    seals = f"{1e3 * small.seal:11.3f} {1e3 * big.seal:11.3f} {big.seal / small.seal:7.2f}"
    print(f"{'seal to drained, ms':24} {seals}   without sessions {1e3 * none.seal:.3f}")
    print(f"aim: look-ups at most {AIM:g} times as slow as with {small.bound:,}; sealing the same")


if __name__ == "__main__":
    main("--full" in sys.argv[1:])
