"""Somebody's own machine, generated into their own package, is served and called as ours are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sluicegate.protocol.client import Refused, Retry, Unreachable, dial
from sluicegate.protocol.host import MachineHost
from sluicegate.protocol.server import Server
from sluicegate.protocol.sqlite import SqliteStore
from sluicegate.protocol.store import StoreError


async def test_two_instances_of_an_own_machine_live_behind_one_server(kinds: Any, made: Any, handlers: Any) -> None:
    own = made.kettle
    async with MachineHost(own.KETTLE, handlers, incarnation="1") as host:
        host.create("a")
        host.create("b")
        async with Server([own.KettleServicer(host)]) as server, dial(server.target) as channel:
            a, b = own.KettleClient(channel, "a"), own.KettleClient(channel, "b")
            assert (await a.fill()).snapshot == kinds.Kettle.initial().replace(state="FILLED", fills=1)
            with pytest.raises(Refused, match="Kettle in EMPTY refused Boil: empty \\(there is no water in it\\)"):
                await b.boil()
            assert (await a.boil()).snapshot.state == "BOILING"
            with pytest.raises(Refused, match="may be retried") as raised:
                await a.fill()
            assert raised.value.retry
            # Events of the inside are not on the wire.
            assert not hasattr(a, "cool")
    assert handlers.done == [("told", "a", "filled"), ("told", "a", "boils"), ("told", "a", "whistles")]


async def test_while_the_store_is_full_new_operations_are_refused_undone(
    made: Any, handlers: Any, tmp_path: Path
) -> None:
    store = SqliteStore(tmp_path / "s")
    pages = store._writer.execute("PRAGMA page_count").fetchone()[0]
    async with MachineHost(made.kettle.KETTLE, handlers, incarnation="1", store=store) as host:
        host.create("k")
        async with Server([made.kettle.KettleServicer(host)]) as server, dial(server.target) as channel:
            client = made.kettle.KettleClient(channel, "k", incarnation="1", retry=Retry(tries=1))
            store._writer.execute(f"PRAGMA max_page_count = {pages}")
            # Answers fill the last free pages, until one cannot be stored: its outcome is not told.
            filled, stuck = 0, ""
            while not stuck:
                try:
                    await client.fill(operation_id=f"{filled:0128}", deadline=0.5)
                    filled += 1
                except Unreachable as unknown:
                    stuck = unknown.operation_id
            with pytest.raises(Unreachable, match="nothing was done"):
                await client.fill(operation_id="next", deadline=0.5)
            assert host.live("k").fills == filled + 1
            store._writer.execute("PRAGMA max_page_count = 1000000")
            patient = made.kettle.KettleClient(channel, "k", incarnation="1")
            assert (await patient.fill(operation_id=stuck)).replayed
            reply = await patient.fill(operation_id="next")
            assert (reply.replayed, reply.snapshot.fills) == (False, filled + 2)
    store.close()


class Unreadable(SqliteStore):
    """Answers no question while `is_broken`."""

    is_broken = False

    def get(self, space: str, key: str) -> dict[str, bytes]:
        if self.is_broken:
            raise StoreError("s: the disk cannot be read")
        return super().get(space, key)


async def test_while_the_store_cannot_be_read_new_operations_are_refused_undone(
    made: Any, handlers: Any, tmp_path: Path
) -> None:
    store = Unreadable(tmp_path / "s")
    async with MachineHost(made.kettle.KETTLE, handlers, incarnation="1", store=store) as host:
        host.create("k")
        async with Server([made.kettle.KettleServicer(host)]) as server, dial(server.target) as channel:
            client = made.kettle.KettleClient(channel, "k", incarnation="1", retry=Retry(tries=1))
            store.is_broken = True
            with pytest.raises(Unreachable, match="the disk cannot be read; nothing was done"):
                await client.fill(operation_id="a", deadline=5)
            assert host.live("k").fills == 0
            store.is_broken = False
            assert (await client.fill(operation_id="a", deadline=20)).snapshot.fills == 1
    store.close()
