"""A pause between turns: those that run end, the next one waits, and whoever needs quiet is told when it is there."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from production_kit import turns as go_on

from sluicegate.runtime.production.turns import NotQuiet, Turns, TurnsClosed
from sluicegate.runtime.tracelog import TraceLog, merge
from sluicegate.spec.traces import validate


class Talking:
    """An agent that takes turns; each ends when it is let go."""

    def __init__(self, turns: Turns, name: str) -> None:
        self._turns, self._name = turns, name
        self.said = 0
        self.go = asyncio.Event()

    async def talk(self) -> None:
        while True:
            async with self._turns.turn(self._name):
                await self.go.wait()
                self.go.clear()
                self.said += 1


async def test_a_turn_that_runs_ends_and_the_next_call_waits_until_turns_flow_again(tmp_path: Path) -> None:
    with TraceLog(tmp_path / "a.ndjson", run="r", process="agents", incarnation="a.1") as log:
        turns = Turns(log)
        one, two = Talking(turns, "one"), Talking(turns, "two")
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(each.talk()) for each in (one, two)]
            await go_on()
            assert len(turns.running) == 2
            turns.pause()
            one.go.set()
            await go_on()
            assert (turns.state, one.said, two.said) == ("PAUSING", 1, 0)
            one.go.set()
            quiet = tasks.create_task(turns.quiesce(5.0))
            await go_on()
            assert not quiet.done()
            two.go.set()
            await quiet
            assert (turns.state, one.said, two.said, turns.running) == ("QUIET", 1, 1, ())
            turns.resume()
            await go_on()
            assert (one.said, len(turns.running)) == (2, 2), "the call that waited goes on"
            for each in running:
                each.cancel()
        assert turns.running == (), "a turn that is cancelled has ended"
    assert validate(merge([tmp_path / "a.ndjson"], {}, tmp_path / "trace.ndjson")).refusal is None


async def test_quiet_that_does_not_come_names_the_turns_and_lets_them_flow_again() -> None:
    turns = Turns()
    async with turns.turn("slow"):
        with pytest.raises(NotQuiet, match=r"turns slow\.1 still run after 0\.02 s"):
            await turns.quiesce(0.02)
        assert turns.state == "FLOWING"
        turns.pause()
        with pytest.raises(NotQuiet):
            await turns.quiesce(0.02)
        assert turns.state == "PAUSING", "whoever had paused them resumes them"


async def test_once_closed_no_turn_begins_and_those_that_wait_are_told() -> None:
    turns = Turns()
    turns.pause()

    async def call() -> None:
        async with turns.turn("late"):
            raise AssertionError

    waiting = asyncio.ensure_future(call())
    await go_on()
    turns.close()
    with pytest.raises(TurnsClosed, match="late: the agents are closed"):
        await waiting
    with pytest.raises(TurnsClosed):
        turns.pause()
