"""A block that waits after its admission, before it runs: whoever began it decides, or the gate ends it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from gate_kit import TokenServer, commanded, judge, made_for, until

from sluicegate import Bounds, LeaseEnded
from sluicegate.statemachines.sorts import Mode

pytestmark = pytest.mark.timeout(60)


async def test_a_block_runs_once_what_it_waits_for_has_returned(tmp_path: Path) -> None:
    gate = made_for(TokenServer(), tmp_path)
    seen: list[int | None] = []

    async def begins(version: int | None) -> None:
        seen.append(version)
        assert (gate.counts["open"], gate.counts["running"]) == (1, 0)

    async with commanded(gate) as controller:
        await controller.update(1)
        async with gate.admit("s", lease="one", begins=begins) as lease:
            assert (seen, lease.version, gate.counts["running"]) == ([1], 1, 1)
        assert gate.is_over("one")
    judge(tmp_path)


@pytest.mark.parametrize("how", ["raises", "cancelled", "gate", "late"])
async def test_a_block_that_does_not_begin_is_settled_and_never_ran(tmp_path: Path, how: str) -> None:
    gate = made_for(TokenServer(), tmp_path, bounds=Bounds(proceed=0.2 if how == "late" else 30))
    waiting = asyncio.Event()

    async def begins(version: int | None) -> None:
        waiting.set()
        if how == "raises":
            raise KeyError("x")
        await asyncio.sleep(60)

    async def block() -> None:
        async with gate.admit(lease="one", begins=begins):
            raise AssertionError("it ran")

    async with commanded(gate) as controller:
        await controller.update(1)
        task = asyncio.create_task(block())
        await waiting.wait()
        match how:
            case "raises":
                with pytest.raises(KeyError):
                    await task
            case "cancelled":
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            case "gate":
                await controller.update(2, Mode.ABORT)
            case _:
                pass
        if how in ("gate", "late"):
            with pytest.raises(LeaseEnded, match="not_sent"):
                await task
        await until(lambda: gate.is_over("one"))
        answer = gate.records.answer("one")
        assert (answer.closure, list(answer.tokens)) == ("not_sent", [])
        await controller.update(3)
    judge(tmp_path)
