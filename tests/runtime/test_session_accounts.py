"""What a server counts of sessions, whatever cannot be stored meanwhile: loads, readers, deaths, what was retired."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from session_kit import host, until

from sluicegate.protocol.store import StoreError
from sluicegate.runtime.sessions import StorageDown


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
