"""A rollout worker in a process of its own, and another process whose clients keep it busy.

The clients have a process to themselves, so that what they take is not waited for by who measures.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

SUPPORT = Path(__file__).resolve().parent.parent / "tests" / "support"
WAIT_S = 120.0

if TYPE_CHECKING:
    from rollout_kit import Driven


def _kit() -> Any:
    if str(SUPPORT) not in sys.path:
        sys.path.insert(0, str(SUPPORT))
    import rollout_kit

    return rollout_kit


@asynccontextmanager
async def worker(**settings: Any) -> AsyncIterator[Driven]:
    """A worker that serves version 1, driven by its gate's commands; it has ended on leaving."""
    kit = _kit()
    with tempfile.TemporaryDirectory() as folder:
        weights = kit.Weights("bench", Path(folder))
        config = weights.config("r0", **{"lease_ms": 3_600_000, **settings})
        with kit.worker_process("rollout", config, Path(folder)) as (_, ready):
            async with kit.driven(ready, weights) as gate:
                await gate.update(1)
                yield gate


@asynccontextmanager
async def busy(gate: Driven, clients: int, tokens: int) -> AsyncIterator[None]:
    """So many clients, each with a request of `tokens` tokens after the other; all have one open by now."""
    load = multiprocessing.get_context("spawn").Process(target=_load, args=(gate.ready, clients, tokens))
    load.start()
    try:
        await gate.until(lambda g: len(g.active) >= clients, WAIT_S)
        yield
        if not load.is_alive():
            raise RuntimeError("the load ended before it was measured: its error stands above")
    finally:
        load.kill()
        load.join(10)
        await gate.until(lambda g: not g.active, WAIT_S)


def _load(ready: dict[str, Any], clients: int, tokens: int) -> None:
    asyncio.run(_requests(ready, clients, tokens))


async def _requests(ready: dict[str, Any], clients: int, tokens: int) -> None:
    kit = _kit()
    control, data = kit.dial(ready["control"]), kit.dial(ready["data"])
    gate = kit.Driven(ready, None, control, data)

    async def client(number: int) -> None:
        while True:
            await gate.generate(max_tokens=tokens, seed=number, hold=60.0, within=3600.0)

    async with control, data, asyncio.TaskGroup() as group:
        for number in range(clients):
            group.create_task(client(number))
