"""What a server counts of sessions, whatever cannot be stored meanwhile: loads, readers, deaths, what was retired."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from session_kit import host, until

from sluicegate.protocol.store import StoreError
from sluicegate.runtime.sessions import SessionClosed, StorageDown


def fail(*_: Any) -> Any:
    raise StoreError("the disk is full")


async def test_a_binding_that_is_stored_late_counts_once_for_its_replica(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with host(tmp_path, store=0.3) as on, on.server() as served:
        on.cohort.lives[0].go.set()
        on.cohort.lives[0].settle.set()
        admits = on.cohort.lives[0].before_admission = asyncio.Event()
        await served.sessions.open("s")
        call = asyncio.create_task(served.turn())
        await until(lambda: on.cohort.lives[0].asked)
        with monkeypatch.context() as disk:
            disk.setattr(served.sessions.kept._store, "write", fail)
            admits.set()
            with pytest.raises(StorageDown):
                await call
        assert served.sessions.live("s").incarnation == "a.1"
        assert served.sessions.loads["a.1"] == 1


async def test_a_consumer_whose_take_is_stored_late_can_die_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with host(tmp_path, store=0.3) as on, on.server() as served:
        on.cohort.lives[0].go.set()
        await served.sessions.open("s")
        await served.turn()
        await served.sessions.finish("s")
        with monkeypatch.context() as disk:
            disk.setattr(served.sessions.kept._store, "write", fail)
            with pytest.raises(StorageDown):
                await served.sessions.take("s", "c.1")
        assert served.state() == "TRAINING"
        assert await served.sessions.consumer_lost("c.1") == ["s"]
        assert served.state() == "FINISHED"


async def test_a_replica_dies_once_for_a_task_however_many_of_its_turns_it_had(tmp_path: Path) -> None:
    async with host(tmp_path, deaths=2) as on, on.server() as served:
        for session in ("s", "t"):
            await served.sessions.open(session, task="same")
        calls = [asyncio.create_task(served.turn(session)) for session in ("s", "t")]
        await until(lambda: served.state("s") == served.state("t") == "TURN")
        on.cohort.dead.add("a.1")
        served.sessions.lose("a.1")
        await served.sessions.open("u", task="same")
        for call in calls:
            call.cancel()
        await asyncio.wait(calls)


async def test_of_many_that_are_retired_those_that_cannot_be_looked_up_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with host(tmp_path) as on, on.server() as served:
        await served.sessions.open("here")
        with monkeypatch.context() as disk:
            disk.setattr(served.sessions.kept._store, "get", fail)
            assert await served.sessions.retire_all(["here", "unknown"]) == {"unknown": "storage"}


async def test_a_trace_that_is_read_is_told_to_no_other_consumer(tmp_path: Path) -> None:
    async with host(tmp_path) as on, on.server() as served:
        on.cohort.lives[0].go.set()
        await served.sessions.open("s")
        await served.turn()
        await served.sessions.finish("s")
        await served.sessions.take("s", "c.1")
        with pytest.raises(SessionClosed, match=r"not read by 'c\.2'"):
            served.sessions.read("s", "c.2")


async def test_a_next_life_gives_up_a_consumer_that_is_silent_since(tmp_path: Path) -> None:
    async with host(tmp_path) as on:
        on.cohort.lives[0].go.set()
        async with on.server() as served:
            await served.sessions.open("s")
            await served.turn()
            await served.sessions.finish("s")
            await served.sessions.take("s", "c.1")
        async with on.server(consumer=0.1) as served:
            assert served.state() == "TRAINING"
            await until(lambda: served.state() == "FINISHED")


async def test_a_replica_that_dies_under_no_turn_of_a_task_is_not_held_against_it(tmp_path: Path) -> None:
    async with host(tmp_path, deaths=1) as on, on.server() as served:
        on.cohort.lives[0].go.set()
        on.cohort.lives[0].settle.set()
        await served.sessions.open("s", task="same")
        await served.turn()
        await until(lambda: served.state() == "BOUND")
        on.cohort.dead.add("a.1")
        assert served.sessions.lose("a.1") == ["s"]
        await served.sessions.open("t", task="same")


async def test_a_session_is_bound_at_the_published_version_alone(tmp_path: Path) -> None:
    async with host(tmp_path) as on, on.server() as served:
        on.cohort.lives[0].go.set()
        on.cohort.published = 7
        await served.sessions.open("s")
        await served.turn()
        await served.turn("s", 5, 1, 2, 6)
        binds, goes_on = on.cohort.lives[0].asked
        assert (binds.version, binds.waits) == (7, True)
        assert (goes_on.HasField("version"), goes_on.waits) == (False, False)
        assert {asked.incarnation for asked in (binds, goes_on)} == {"a.1"}


async def test_a_next_life_asks_every_replica_for_a_lease_that_was_not_bound(tmp_path: Path) -> None:
    async with host(tmp_path, "a.1", "b.1") as on:
        for replica in on.cohort.lives:
            replica.before_admission = asyncio.Event()
        async with on.server() as first:
            await first.sessions.open("s")
            call = asyncio.create_task(first.turn())
            await until(lambda: [asked for replica in on.cohort.lives for asked in replica.asked])
            # A process that is killed ends no turn.
            first.router._end_turn = lambda session, lease: None  # pyright: ignore[reportAttributeAccessIssue]
            call.cancel()
            await asyncio.wait([call])
            for replica in on.cohort.lives:
                replica.settle.set()
        for replica in on.cohort.lives:
            replica.aborted.clear()
        async with on.server() as second:
            (lease,) = second.sessions.live("s").leases
            await until(lambda: second.state() == "NEW")
            assert [replica.aborted for replica in on.cohort.lives] == [[lease], [lease]]


async def test_every_call_renews_the_life_of_a_session(tmp_path: Path) -> None:
    async with host(tmp_path, ttl=100) as on, on.server() as served:
        on.cohort.lives[0].go.set()
        for session in ("s", "t"):
            await served.sessions.open(session)
        await served.turn("s")
        await served.sessions.finish("s")
        assert list(served.sessions._called) == ["t", "s"], "those that were called the longest time ago are first"
