"""Agents on a loop of their own: they live on while the asker's loop is busy, and their end is told with its cause."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from typing import Any

import pytest

from sluicegate.runtime.production.thread import AgentsDied, AgentThread

WHO = ContextVar("WHO", default="nobody")


class Inside:
    """Something that runs in the thread; what happened to it is noted."""

    def __init__(self) -> None:
        self.noted: list[str] = []
        self.beats = 0
        self.breaks = asyncio.Event()

    async def work(self) -> None:
        while not self.breaks.is_set():
            self.beats += 1
            await asyncio.sleep(0.001)
        raise OSError("the disk is gone")

    async def say(self, what: str) -> str:
        return f"{what} by {WHO.get()} on {threading.current_thread().name}"

    async def fail(self) -> None:
        raise KeyError("no such group")

    async def wait(self) -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.noted.append("cancelled")
            raise

    async def block(self, seconds: float, times: int = 1) -> None:
        for _ in range(times):
            time.sleep(seconds)  # noqa: ASYNC251 - what one's own task may do
            await asyncio.sleep(0)

    async def break_(self) -> None:
        self.breaks.set()


def made(notes: list[Inside], leaving: float = 0.0) -> Callable[[], AbstractAsyncContextManager[Inside]]:
    @asynccontextmanager
    async def make() -> AsyncIterator[Inside]:
        inside = Inside()
        notes.append(inside)
        async with asyncio.TaskGroup() as tasks:
            working = tasks.create_task(inside.work())
            yield inside
            await asyncio.sleep(leaving)
            inside.noted.append("left")
            working.cancel()

    return make


def threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name == "agents"]


async def test_what_is_asked_runs_in_the_thread_as_whoever_entered_it() -> None:
    WHO.set("the run")
    notes: list[Inside] = []
    async with AgentThread(made(notes)) as agents:
        assert await agents.ask(lambda inside: inside.say("done"), 5) == "done by the run on agents"
        with pytest.raises(KeyError, match="no such group"):
            await agents.ask(lambda inside: inside.fail(), 5)
    assert (notes[0].noted, threads()) == (["left"], [])
    with pytest.raises(AgentsDied, match="was left"):
        await agents.ask(lambda inside: inside.say("late"), 5)
    await agents.ended()


async def test_agents_live_through_a_time_in_which_the_askers_loop_does_nothing_else() -> None:
    notes: list[Inside] = []
    async with AgentThread(made(notes)):
        before = notes[0].beats
        time.sleep(0.3)  # noqa: ASYNC251 - as a synchronous training step would
        assert notes[0].beats > before + 20


async def test_the_end_of_the_thread_is_told_with_its_cause_to_who_asks_and_to_who_waits() -> None:
    async with AgentThread(made([])) as agents:
        waiting = asyncio.ensure_future(agents.ended())
        asking = asyncio.ensure_future(agents.ask(lambda inside: inside.wait(), 30))
        await asyncio.sleep(0.02)
        await agents.ask(lambda inside: inside.break_(), 5)
        late = agents.ask(lambda inside: inside.say("late"), 5)
        for each in (waiting, asking, late):
            with pytest.raises(AgentsDied, match=r"OSError\('the disk is gone'\)") as told:
                await each
            assert isinstance(told.value.__cause__, OSError)
    assert threads() == []


async def test_an_end_that_nobody_was_told_of_is_told_when_it_is_left_and_hides_no_error() -> None:
    async def ends(error: Exception | None) -> None:
        async with AgentThread(made([])) as agents:
            agents.loop.call_soon_threadsafe(asyncio.ensure_future, agents._inside.break_())
            await asyncio.sleep(0.1)
            if error is not None:
                raise error

    with pytest.raises(AgentsDied, match="the disk is gone"):
        await ends(None)
    with pytest.raises(ValueError, match="first"):
        await ends(ValueError("first"))


async def test_a_loop_that_something_blocks_is_told_with_the_place_that_blocks_it() -> None:
    async with AgentThread(made([]), within=10.0, silent=0.4) as agents:
        waits = asyncio.create_task(agents.ask(lambda inside: inside.wait(), 60))
        await asyncio.sleep(0.1)
        with pytest.raises(AgentsDied, match=r"has stood for 0.4 s(.|\n)*time\.sleep\(seconds\)"):
            await agents.ask(lambda inside: inside.block(2.0), 60)
        with pytest.raises(AgentsDied, match="has stood"):
            await waits


async def test_a_loop_that_is_slow_and_gives_signs_of_life_is_waited_for() -> None:
    async with AgentThread(made([]), silent=0.4) as agents:
        await agents.ask(lambda inside: inside.block(0.1, times=12), 60)


async def test_what_cannot_be_entered_raises_as_it_is() -> None:
    @asynccontextmanager
    async def broken() -> AsyncIterator[None]:
        raise PermissionError("no port")
        yield

    with pytest.raises(PermissionError, match="no port"):
        async with AgentThread(broken):
            raise AssertionError
    assert threads() == []


async def test_whoever_stops_waiting_cancels_what_was_asked() -> None:
    notes: list[Inside] = []
    async with AgentThread(made(notes)) as agents:
        with pytest.raises(TimeoutError):
            await agents.ask(lambda inside: inside.wait(), 0.05)
        asked = asyncio.ensure_future(agents.ask(lambda inside: inside.wait(), 30))
        await asyncio.sleep(0.02)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        assert await agents.ask(lambda inside: inside.say("on"), 5)
        assert notes[0].noted == ["cancelled", "cancelled"]


async def test_leaving_is_bounded_by_cancelling_what_takes_too_long() -> None:
    notes: list[Inside] = []
    began = time.monotonic()
    async with AgentThread(made(notes, leaving=60.0), within=0.4):
        pass
    assert time.monotonic() - began < 5
    assert (notes[0].noted, threads()) == ([], [])


async def test_a_thread_that_does_not_end_is_told_and_left_behind() -> None:
    go_on = threading.Event()

    @asynccontextmanager
    async def blocks() -> AsyncIterator[None]:
        yield
        go_on.wait(30)

    try:
        with pytest.raises(TimeoutError, match=r"has not ended within 0\.2 s"):
            async with AgentThread(blocks, within=0.2):
                pass
    finally:
        go_on.set()


async def test_whoever_is_cancelled_while_it_is_entered_leaves_no_thread() -> None:
    entered = threading.Event()

    @asynccontextmanager
    async def slow() -> AsyncIterator[Any]:
        entered.set()
        await asyncio.sleep(60)
        yield

    async def enters() -> None:
        async with AgentThread(slow):
            raise AssertionError

    entering = asyncio.ensure_future(enters())
    await asyncio.to_thread(entered.wait, 10)
    entering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await entering
    assert threads() == []
