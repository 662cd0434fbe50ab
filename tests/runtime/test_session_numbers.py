"""Many sessions: what a next life of a server does not have to ask for, and how much at once of what it has to."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from session_kit import host, until

from sluicegate.protocol.sqlite import SqliteStore
from sluicegate.runtime.sessions import router
from sluicegate.runtime.sessions.store import INSTANCES


async def test_a_turn_that_has_ended_is_not_asked_for_by_the_next_life(tmp_path: Path) -> None:
    async with host(tmp_path) as on:
        on.cohort.lives[0].go.set()
        async with on.server() as first:
            for session in ("s", "t"):
                await first.sessions.open(session)
                await first.turn(session)
                await until(lambda session=session: first.state(session) == "BOUND")
        async with on.server() as second:
            assert (second.state("s"), second.state("t")) == ("BOUND", "BOUND")
            assert on.cohort.lives[0].aborted == []


async def test_nothing_is_noted_of_a_session_that_is_forgotten(tmp_path: Path) -> None:
    async with host(tmp_path) as on:
        replica = on.cohort.lives[0]
        async with on.server() as served:
            await served.sessions.open("s")
            turns = [asyncio.create_task(served.turn())]
            await until(lambda: served.state() == "TURN")
            turns.append(asyncio.create_task(served.turn()))
            await until(lambda: len(replica.forwarded) == 2)
            await served.sessions.retire("s")
            replica.go.set()
            await asyncio.gather(*turns)
            await until(lambda: "s" not in served.sessions)
    store = SqliteStore(tmp_path / "sessions.db")
    try:
        assert store.keys(INSTANCES) == []
    finally:
        store.close()


async def test_leases_of_an_earlier_life_are_asked_for_a_few_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(router, "RECOVERS", 2)
    sessions = [f"s{number}" for number in range(5)]
    async with host(tmp_path) as on:
        replica = on.cohort.lives[0]
        async with on.server() as first:
            turns = []
            for session in sessions:
                await first.sessions.open(session)
                turns.append(asyncio.create_task(first.turn(session)))
            await until(lambda: len(replica.forwarded) == len(sessions))
            # A process that is killed ends no turn.
            monkeypatch.setattr(first.router, "_end_turn", lambda session, lease: None)
            for turn in turns:
                turn.cancel()
            await asyncio.gather(*turns, return_exceptions=True)
            replica.aborted.clear()
            replica.settle.set()
        replica.aborted.clear()
        replica.settle.clear()
        async with on.server() as second:
            await until(lambda: len(set(replica.aborted)) == 2)
            await asyncio.sleep(0.1)
            assert len(set(replica.aborted)) == 2
            replica.settle.set()
            await until(lambda: all(second.state(session) == "BOUND" for session in sessions))
            assert len(set(replica.aborted)) == len(sessions)
