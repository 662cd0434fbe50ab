"""What keeps processes alive: lives on the roster, orders, the crash budget, what earlier supervisors left."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from sluicegate.protocol.sqlite import SqliteStore
from sluicegate.protocol.store import StoreError
from sluicegate.runtime.config import as_json
from sluicegate.runtime.controller.config import ControllerConfig
from sluicegate.runtime.controller.register import Register
from sluicegate.runtime.controller.roster import Roster
from sluicegate.runtime.launcher import Launcher
from sluicegate.runtime.supervisor import Budget, Charge, Supervisor

START_S = 120.0


@asynccontextmanager
async def supervised(folder: Path, budget: Budget | None = None) -> AsyncIterator[Supervisor]:
    (folder / "processes").mkdir(exist_ok=True)
    with Roster(folder / "r.db") as roster:
        async with Launcher(folder / "processes") as launcher, Supervisor(roster, launcher, budget) as supervisor:
            yield supervisor


def unusable(incarnation: str) -> dict[str, Any]:
    """A config that no worker takes: its process ends before it is ready."""
    return {"replica": incarnation}


def controller(folder: Path) -> Charge:
    """A process that is kept: the lightest one there is."""

    def config(incarnation: str) -> Any:
        return as_json(
            ControllerConfig(run="test", register=folder / "r.db", manifests=folder, incarnation=incarnation)
        )

    return Charge("c", "controller", config, START_S)


KEEPS = """
import asyncio, sys
from pathlib import Path
from sluicegate.runtime.controller.roster import Roster
from sluicegate.runtime.launcher import Launcher
from sluicegate.runtime.supervisor import Supervisor
async def keep(folder):
    with Roster(folder / "r.db") as roster:
        cleared = lambda: print("cleared", flush=True)
        async with Launcher(folder) as launcher, Supervisor(roster, launcher, clear=cleared):
            print("keeps", flush=True)
            await asyncio.sleep(600)
asyncio.run(keep(Path(sys.argv[1])))
"""


@contextmanager
def process(*words: str) -> Iterator[subprocess.Popen[str]]:
    """A process of Python, which ends with the context."""
    with subprocess.Popen([sys.executable, "-c", *words], stdout=subprocess.PIPE, text=True) as started:
        try:
            yield started
        finally:
            started.kill()


@pytest.mark.timeout(120)
async def test_while_one_process_keeps_a_roster_another_is_refused_before_it_ends_or_clears_anything(
    tmp_path: Path,
) -> None:
    cleared: list[str] = []

    def supervisor(roster: Roster, launcher: Launcher) -> Supervisor:
        return Supervisor(roster, launcher, clear=lambda: cleared.append("cleared"))

    # What is kept has its config among its words, as a worker has.
    sleeps = ("import time; time.sleep(600)", str(tmp_path / "a.1.json"))
    with process(KEEPS, str(tmp_path)) as keeping, process(*sleeps) as kept:
        assert keeping.stdout is not None
        assert [keeping.stdout.readline() for _ in range(2)] == ["cleared\n", "keeps\n"]
        with Roster(tmp_path / "r.db") as roster:
            assert roster.begin("a", "rollout") == "a.1"
            roster.enlist("a.1", "", "", kept.pid)
            async with Launcher(tmp_path) as launcher:
                with pytest.raises(StoreError, match=rf"r\.db\.supervisor: process {keeping.pid} "):
                    await supervisor(roster, launcher).__aenter__()
                assert kept.poll() is None
                assert (cleared, len(roster.living())) == ([], 1)
                keeping.kill()
                keeping.wait()
                async with supervisor(roster, launcher):
                    assert (cleared, roster.living()) == (["cleared"], [])
                    assert kept.wait(20) == -9
                    with pytest.raises(StoreError, match="kept already"):
                        await supervisor(roster, launcher).__aenter__()
                assert cleared == ["cleared"] * 2


@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_what_dies_too_often_is_held_with_its_reason_until_it_is_released(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with supervised(tmp_path, Budget(lives=2)) as supervisor:
        supervisor.keep(Charge("a", "rollout", unusable, START_S))
        roster = supervisor.roster
        assert await supervisor.changed.until(lambda: "a" in roster.holds(), START_S)
        assert [life.incarnation for life in roster.lives()] == ["a.1", "a.2", "a.3"]
        assert "3 lives of a ended within 600 s" in roster.holds()["a"]
        assert "did not start" in roster.holds()["a"]
        assert any("is held" in record.message for record in caplog.records if record.levelno == logging.ERROR)
        await asyncio.sleep(1)
        assert len(roster.lives()) == 3
        assert roster.release("a")
        assert await supervisor.changed.until(lambda: len(roster.lives()) > 3, START_S)


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_orders_end_lives_and_only_those_that_retire_are_not_replaced(tmp_path: Path) -> None:
    async with supervised(tmp_path) as supervisor:
        roster = supervisor.roster
        supervisor.keep(controller(tmp_path))

        async def life(incarnation: str) -> None:
            def is_ready() -> bool:
                worker = supervisor.workers.get(incarnation)
                return worker is not None and bool(worker.ready)

            assert await supervisor.changed.until(is_ready, START_S)
            found = roster.life(incarnation)
            assert found is not None
            assert found.control == supervisor.workers[incarnation].ready["control"]

        await life("c.1")
        # It is ended whoever rules by now: the order stood when it was given.
        assert roster.order_end("c.1", roster.ruling(), "it is dead")
        await life("c.2")
        first = roster.life("c.1")
        assert first is not None
        assert first.ended == "signal 9"
        term = roster.ruling()
        assert term == 2
        assert roster.order_retirement("c.2", term, "it leaves")
        assert roster.order_end("c.2", term, "it has left")
        assert await supervisor.changed.until(lambda: roster.living() == [], 60)
        second = roster.life("c.2")
        assert second is not None
        assert second.ended == "status 0"
        await asyncio.sleep(1)
        assert len(roster.lives()) == 2


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_a_controller_that_is_overruled_says_so_and_is_not_replaced(tmp_path: Path) -> None:
    async with supervised(tmp_path) as supervisor:
        supervisor.keep(controller(tmp_path))
        assert await supervisor.changed.until(lambda: supervisor.present("c") is not None, START_S)
        with Register(tmp_path / "r.db") as register:
            register.new_term()
        assert await supervisor.changed.until(lambda: supervisor.roster.living() == [], 60)
        [life] = supervisor.roster.lives()
        assert life.ended == "status 3"
        assert "the controller of term 1 is overruled: term 2 rules" in supervisor.workers["c.1"].said_last()
        await asyncio.sleep(1)
        assert len(supervisor.roster.lives()) == 1


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_a_roster_that_cannot_be_written_ends_nothing_and_is_written_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with supervised(tmp_path) as supervisor:
        supervisor.keep(controller(tmp_path))
        assert await supervisor.changed.until(lambda: supervisor.present("c") is not None, START_S)
        other = sqlite3.connect(tmp_path / "r.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        supervisor.workers["c.1"].kill()
        await supervisor.workers["c.1"].wait()
        async with asyncio.timeout(60):
            while "cannot be written" not in caplog.text:  # noqa: ASYNC110 - a log tells nobody
                await asyncio.sleep(0.1)
        assert [life.incarnation for life in supervisor.roster.living()] == ["c.1"]
        other.execute("ROLLBACK")
        other.close()
        assert await supervisor.changed.until(lambda: supervisor.present("c") is not None, START_S)
        assert [life.incarnation for life in supervisor.roster.living()] == ["c.2"]


@pytest.mark.timeout(60)
async def test_a_life_that_the_host_has_no_room_for_ends_nothing_else_and_counts_as_no_death(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sluicegate.runtime.supervisor.AGAIN_S", 0.1)
    async with supervised(tmp_path, Budget(lives=0, all_lives=0)) as supervisor:
        for life in range(1, 50):
            (tmp_path / "processes" / f"c.{life}.json").symlink_to("/dev/full")
        supervisor.keep(controller(tmp_path))
        assert await supervisor.changed.until(lambda: len(supervisor.roster.lives()) >= 4, 30.0)
        assert "No space left" in str(supervisor.roster.lives()[0].ended)
        assert supervisor.roster.holds() == {}


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_a_roster_that_cannot_be_read_ends_nothing_and_is_read_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with supervised(tmp_path) as supervisor:
        supervisor.keep(controller(tmp_path))
        assert await supervisor.changed.until(lambda: supervisor.present("c") is not None, START_S)
        first, store = supervisor.workers["c.1"], supervisor.roster._store
        assert isinstance(store, SqliteStore)
        # SQLite gives up each read in its middle, as where the disk does not give a page.
        store._reader.set_progress_handler(lambda: 1, 1)
        async with asyncio.timeout(60):
            while "cannot be read" not in caplog.text:  # noqa: ASYNC110 - a log tells nobody
                await asyncio.sleep(0.1)
        assert first.is_running
        first.kill()
        await first.wait()
        await asyncio.sleep(1)
        assert list(supervisor.workers) == ["c.1"]
        store._reader.set_progress_handler(None, 1)
        assert await supervisor.changed.until(lambda: supervisor.present("c") is not None, START_S)
        assert [life.incarnation for life in supervisor.roster.living()] == ["c.2"]


async def test_what_an_earlier_supervisor_left_is_gone_before_anything_is_started(tmp_path: Path) -> None:
    words = ("bash", "-c", "sleep 60; exit", "of")
    left = await asyncio.create_subprocess_exec("sleep", "60")
    other = await asyncio.create_subprocess_exec(*words, str(tmp_path / "processes" / "a.1.json"))
    # The same life of a run whose folder this one was copied from.
    copied = await asyncio.create_subprocess_exec(*words, str(tmp_path / "copied" / "processes" / "a.3.json"))
    try:
        with Roster(tmp_path / "r.db") as roster:
            lost, reused, elsewhere = (roster.begin("a", "rollout") for _ in range(3))
            roster.enlist(lost, "127.0.0.1:1", "127.0.0.1:2", other.pid)
            # Another process has the number of this one by now.
            roster.enlist(reused, "127.0.0.1:1", "127.0.0.1:2", left.pid)
            roster.enlist(elsewhere, "127.0.0.1:1", "127.0.0.1:2", copied.pid)
        async with supervised(tmp_path) as supervisor:
            assert supervisor.roster.living() == []
            async with asyncio.timeout(10):
                assert await other.wait() == -9
            for each in (left, copied):
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(each.wait(), 0.3)
    finally:
        for each in (left, copied):
            each.kill()
            await each.wait()
