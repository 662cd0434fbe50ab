"""Steps in one process: whole, in order, each sender with the outcome of its own event."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from pathlib import Path
from typing import Any

import pytest

from sluicegate.protocol.host import MachineHost, PayloadMismatch, UnknownInstance, current_cause
from sluicegate.protocol.sqlite import SqliteStore
from sluicegate.protocol.store import Put


async def turns() -> None:
    """Whoever is ready gets its turn."""
    for _ in range(5):
        await asyncio.sleep(0)


class Quiet:
    async def told(self, instance: str, what: str) -> None:
        pass


async def test_events_that_an_output_causes_step_whole_and_their_outputs_queue_behind(kinds: Any, made: Any) -> None:
    """M01, M02."""
    kettle, told, inner = kinds.Kettle, [], []

    class Shell:
        async def told(self, instance: str, what: str) -> None:
            told.append((what, host.live(instance).state))
            if what == "boils":
                inner.append(await host.apply(instance, kettle.Cool()))
                assert host.live(instance).state == "EMPTY"

    async with MachineHost(made.kettle.KETTLE, Shell(), incarnation="1") as host:
        host.create("k")
        host.step("k", kettle.Fill())
        outcome = host.step("k", kettle.Boil())
        assert (outcome.kind, host.live("k").state) == ("go", "BOILING")
    assert inner[0].kind == "go"
    # Each handler saw a state between whole steps; "cooled" came after the outputs that stood before it.
    assert told == [("filled", "BOILING"), ("boils", "BOILING"), ("whistles", "EMPTY"), ("cooled", "EMPTY")]


async def test_a_refused_event_leaves_those_around_it(kinds: Any, made: Any) -> None:
    """M03."""
    kettle = kinds.Kettle
    async with MachineHost(made.kettle.KETTLE, Quiet(), incarnation="1") as host:
        host.create("k")
        events = [kettle.Fill(), kettle.Cool(), kettle.Fill(), kettle.Boil(), kettle.Fill(), kettle.Cool()]
        outcomes = await asyncio.gather(*(host.apply("k", e) for e in events))
    assert [o.kind for o in outcomes] == ["go", "refuse", "stay", "go", "refuse", "go"]
    assert [o.reason for o in outcomes if o.refused] == ["empty", "hot"]


async def test_each_of_a_hundred_senders_gets_its_own_verdict(kinds: Any, made: Any) -> None:
    """M05, M06: one legal sender, ninety-nine that come too late."""
    kettle = kinds.Kettle
    async with MachineHost(made.kettle.KETTLE, Quiet(), incarnation="1") as host:
        host.create("k")
        host.step("k", kettle.Fill())
        outcomes = await asyncio.gather(*(host.apply("k", kettle.Boil(), operation_id=f"o{i}") for i in range(100)))
    assert [o.kind for o in outcomes] == ["go"] + ["refuse"] * 99
    assert {o.reason for o in outcomes[1:]} == {"hot"}


async def test_a_cancelled_sender_leaves_a_whole_step_and_a_usable_machine(
    kinds: Any, made: Any, tmp_path: Path
) -> None:
    """M07: cancelled while its step is on the way to the disk."""
    kettle, store = kinds.Kettle, SqliteStore(tmp_path / "s")
    async with MachineHost(made.kettle.KETTLE, Quiet(), incarnation="1", store=store) as host:
        host.create("k")
        task = asyncio.create_task(host.apply("k", kettle.Fill(), operation_id="a"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert host.live("k").state == "FILLED"
        again = await host.apply("k", kettle.Fill(), operation_id="a")
        assert (again.kind, host.live("k").fills) == ("go", 1)
        assert (await host.apply("k", kettle.Boil(), operation_id="b")).kind == "go"
    store.close()


async def test_an_operation_id_with_another_event_is_refused(kinds: Any, made: Any) -> None:
    async with MachineHost(made.kettle.KETTLE, Quiet(), incarnation="1") as host:
        host.create("k")
        await host.apply("k", kinds.Kettle.Fill(), operation_id="a")
        with pytest.raises(PayloadMismatch, match="operation a was another request"):
            await host.apply("k", kinds.Kettle.Boil(), operation_id="a")
        assert host.live("k").state == "FILLED"


async def test_a_refusal_is_replayed_too(kinds: Any, made: Any) -> None:
    """A delayed repeat of a refused event must not be obeyed later."""
    kettle = kinds.Kettle
    async with MachineHost(made.kettle.KETTLE, Quiet(), incarnation="1") as host:
        host.create("k")
        assert (await host.apply("k", kettle.Boil(), operation_id="a")).reason == "empty"
        host.step("k", kettle.Fill())
        assert (await host.apply("k", kettle.Boil(), operation_id="a")).reason == "empty"
        assert host.live("k").state == "FILLED"


async def test_nothing_follows_a_step_before_it_is_on_the_disk(kinds: Any, made: Any, tmp_path: Path) -> None:
    kettle, happened = kinds.Kettle, []

    class Watched(SqliteStore):
        def write(self, changes: Any) -> None:
            super().write(changes)
            happened.append("stored")

    class Shell:
        async def told(self, instance: str, what: str) -> None:
            happened.append(what)

    store = Watched(tmp_path / "s")
    async with MachineHost(made.kettle.KETTLE, Shell(), incarnation="1", store=store) as host:
        host.create("k")
        first = asyncio.create_task(host.apply("k", kettle.Fill(), operation_id="a"))
        await asyncio.sleep(0)
        # A step that is not stored waits with its outputs behind the one that is.
        host.step("k", kettle.Fill())
        assert happened == []
        await first
        happened.append("answered")
    store.close()
    assert happened[0] == "stored"
    assert sorted(happened[1:]) == ["answered", "filled", "topped"]
    assert happened.index("filled") < happened.index("topped")


async def test_a_store_that_is_full_holds_answers_and_loses_none(kinds: Any, made: Any, tmp_path: Path) -> None:
    kettle, store = kinds.Kettle, SqliteStore(tmp_path / "s")
    pages = store._writer.execute("PRAGMA page_count").fetchone()[0]
    store._writer.execute(f"PRAGMA max_page_count = {pages}")
    async with MachineHost(made.kettle.KETTLE, Quiet(), incarnation="1", store=store) as host:
        host.create("k")
        tasks = [asyncio.create_task(host.apply("k", kettle.Fill(), operation_id=f"{i:060}")) for i in range(200)]
        _, waiting = await asyncio.wait(tasks, timeout=1.0)
        assert waiting
        assert host.journal.failure is not None
        store._writer.execute("PRAGMA max_page_count = 1000000")
        outcomes = await asyncio.wait_for(asyncio.gather(*tasks), 5.0)
        assert host.journal.failure is None
        assert [o.kind for o in outcomes] == ["go"] + ["stay"] * 199
    store.write([Put("others", "x", "", b"y")])
    store.close()


async def test_a_restored_instance_goes_on_with_its_number(kinds: Any, made: Any, tmp_path: Path) -> None:
    kettle, store = kinds.Kettle, SqliteStore(tmp_path / "s")
    async with MachineHost(made.kettle.KETTLE, Quiet(), incarnation="1", store=store) as host:
        host.create("k")
        await host.apply("k", kettle.Fill(), durable=True)
        await host.apply("k", kettle.Fill(), durable=True)
        last = host.snapshot("k")
    async with MachineHost(made.kettle.KETTLE, Quiet(), incarnation="2", store=store) as host:
        assert not host.restore("other")
        assert host.restore("k")
        assert host.snapshot("k") == last
        assert last[0] == 2
    store.close()


async def test_a_watcher_sees_each_change_once_and_in_order(kinds: Any, made: Any) -> None:
    kettle, seen = kinds.Kettle, []
    async with MachineHost(made.kettle.KETTLE, Quiet(), incarnation="1") as host:
        host.create("k")

        async def watch() -> None:
            async for t in host.watch("k"):
                seen.append((t.number, t.fresh, t.event, t.cause))

        async with asyncio.TaskGroup() as group:
            group.create_task(watch())
            await turns()
            host.step("k", kettle.Fill(), cause="c1")
            await turns()
            host.step("k", kettle.Cool())
            await host.apply("k", kettle.Boil(), operation_id="o")
            host.drop("k")
    assert seen == [(0, True, "", ""), (1, False, "Fill", "c1"), (2, False, "Boil", "o")]


async def test_what_changes_between_two_reads_is_one_fresh_snapshot_that_is_on_the_disk(
    kinds: Any, made: Any, tmp_path: Path
) -> None:
    kettle, stored = kinds.Kettle, []

    class Watched(SqliteStore):
        def write(self, changes: Any) -> None:
            super().write(changes)
            stored.append(len(changes))

    store = Watched(tmp_path / "s")
    async with MachineHost(made.kettle.KETTLE, Quiet(), incarnation="1", store=store) as host, asyncio.timeout(20):
        host.create("k")
        watch = host.watch("k")
        assert (await anext(watch)).number == 0
        host.step("k", kettle.Fill())
        last = asyncio.create_task(host.apply("k", kettle.Boil(), durable=True))
        await asyncio.sleep(0)
        # The first is told already; what is seen has the second too, so it waits for that.
        seen = await anext(watch)
        assert (seen.number, seen.fresh, seen.event, bool(stored)) == (2, True, "", True)
        await last
        host.drop("k")
        assert [t async for t in watch] == []
    store.close()


async def test_what_a_watcher_costs_is_bound_by_what_it_reads_not_by_what_changes(kinds: Any, made: Any) -> None:
    kettle, built, seen, wire = kinds.Kettle, [], [], made.kettle.KETTLE

    def to_message(live: Any) -> Any:
        built.append(live.fills)
        return wire.to_message(live)

    host = MachineHost(dataclasses.replace(wire, to_message=to_message), Quiet(), incarnation="1")
    async with host, asyncio.timeout(20):
        host.create("k")

        async def watch() -> None:
            async for t in host.watch("k"):
                seen.append((t.number, t.fresh, t.event, t.snapshot.fills))

        async with asyncio.TaskGroup() as group:
            group.create_task(watch())
            group.create_task(watch())
            await turns()
            for _ in range(5):
                for _ in range(100):
                    host.step("k", kettle.Fill())
                await turns()
            host.step("k", kettle.Boil())
            host.drop("k")
    assert built == [0, 100, 200, 300, 400, 500, 500], "once for each turn, for both"
    expected = [(0, True, "", 0), *((n, True, "", n) for n in (100, 200, 300, 400, 500)), (501, False, "Boil", 500)]
    assert seen == [read for read in expected for _ in range(2)]


async def test_a_slow_watcher_gets_the_present_instead_of_a_backlog(kinds: Any, made: Any) -> None:
    kettle, steps = kinds.Kettle, 200
    async with MachineHost(made.kettle.KETTLE, Quiet(), incarnation="1") as host:
        host.create("k")
        watch = host.watch("k")
        assert (await anext(watch)).number == 0
        for _ in range(steps):
            host.step("k", kettle.Fill())
        late = await anext(watch)
        assert (late.number, late.fresh, late.snapshot.fills) == (steps, True, steps)
        host.step("k", kettle.Boil())
        following = await anext(watch)
        assert (following.number, following.fresh) == (steps + 1, False)
        await watch.aclose()


async def test_a_handler_that_raises_ends_the_host_unless_the_failure_is_taken(kinds: Any, made: Any) -> None:
    class Broken:
        async def told(self, instance: str, what: str) -> None:
            raise OSError(f"cannot say {what}")

    async def run() -> None:
        async with MachineHost(made.kettle.KETTLE, Broken(), incarnation="1") as host:
            host.create("k")
            host.step("k", kinds.Kettle.Fill())
            await asyncio.sleep(5)

    with pytest.raises(ExceptionGroup) as raised:
        await run()
    assert [str(e) for e in raised.value.exceptions] == ["cannot say filled"]

    taken = []
    async with MachineHost(
        made.kettle.KETTLE, Broken(), incarnation="1", on_failure=lambda i, o, e: taken.append((i, str(e)))
    ) as host:
        host.create("k")
        host.step("k", kinds.Kettle.Fill())
        host.step("k", kinds.Kettle.Boil())
    assert taken == [("k", "cannot say filled"), ("k", "cannot say boils"), ("k", "cannot say whistles")]


async def test_what_is_raised_inside_leaves_the_host_as_it_is_unless_a_handler_failed_too(
    kinds: Any, made: Any
) -> None:
    class Shell:
        async def told(self, instance: str, what: str) -> None:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                if what == "filled":
                    raise
                raise OSError(f"cannot say {what}") from None

    raised = KeyError("x")

    async def run(state: str, event: Any) -> None:
        async with MachineHost(made.kettle.KETTLE, Shell(), incarnation="1") as host:
            host.adopt("k", kinds.Kettle.initial().replace(state=state))
            host.step("k", event)
            await asyncio.sleep(0)
            raise raised

    with pytest.raises(KeyError) as found:
        await run("EMPTY", kinds.Kettle.Fill())
    assert found.value is raised
    with pytest.raises(ExceptionGroup) as both:
        await run("FILLED", kinds.Kettle.Boil())
    assert [str(e) for e in both.value.exceptions] == ["cannot say boils", "'x'"]

    async with asyncio.timeout(20):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05), MachineHost(made.kettle.KETTLE, Shell(), incarnation="1"):
                await asyncio.sleep(60)


async def test_leaving_stops_a_handler_that_does_not_end(kinds: Any, made: Any) -> None:
    class Stuck:
        async def told(self, instance: str, what: str) -> None:
            await asyncio.sleep(60)

    began = asyncio.get_running_loop().time()
    async with MachineHost(made.kettle.KETTLE, Stuck(), incarnation="1", grace=0.1) as host:
        host.create("k")
        host.step("k", kinds.Kettle.Fill())
        host.step("k", kinds.Kettle.Boil())
    assert asyncio.get_running_loop().time() - began < 5.0


async def test_a_handler_knows_what_caused_its_output_and_passes_it_on(kinds: Any, made: Any) -> None:
    causes, seen = [], []

    class Shell:
        async def told(self, instance: str, what: str) -> None:
            causes.append((what, current_cause()))
            if what == "boils":
                host.step(instance, kinds.Kettle.Cool())

    def observe(instance: str, number: int, event: Any, before: str, after: str, outcome: Any, cause: str) -> None:
        seen.append((type(event).__name__, number, before, after, outcome.kind, cause))

    async with MachineHost(made.kettle.KETTLE, Shell(), incarnation="1", observer=observe) as host:
        host.create("k")
        host.step("k", kinds.Kettle.Fill(), cause="lease-1")
        await host.apply("k", kinds.Kettle.Boil(), operation_id="op-1")
        host.step("k", kinds.Kettle.Fill())
    assert causes == [("filled", "lease-1"), ("boils", "op-1"), ("whistles", "op-1"), ("cooled", "op-1")]
    assert seen == [
        ("Fill", 1, "EMPTY", "FILLED", "go", "lease-1"),
        ("Boil", 2, "FILLED", "BOILING", "go", "op-1"),
        ("Fill", 2, "BOILING", "BOILING", "refuse", ""),
        ("Cool", 3, "BOILING", "EMPTY", "go", "op-1"),
    ]


async def test_an_observer_that_raises_keeps_no_output_and_no_other_observer_from_a_step(
    kinds: Any, made: Any, caplog: pytest.LogCaptureFixture
) -> None:
    told, seen, lives = [], [], []

    class Shell:
        async def told(self, instance: str, what: str) -> None:
            told.append(what)

    def breaks(*step: Any) -> None:
        raise OSError("no space is left")

    def see(instance: str, number: int, event: Any, *rest: Any) -> None:
        seen.append((number, type(event).__name__))

    async with MachineHost(made.kettle.KETTLE, Shell(), incarnation="1", observer=breaks, lives=breaks) as host:
        host.observe(see, lambda instance, live, goes_on: lives.append(live is not None))
        host.create("k")
        assert host.step("k", kinds.Kettle.Fill()).kind == "go"
        assert (await host.apply("k", kinds.Kettle.Boil(), operation_id="a")).kind == "go"
        host.drop("k")
    assert told == ["filled", "boils", "whistles"]
    assert (seen, lives) == ([(1, "Fill"), (2, "Boil")], [True, False])
    said = [record for record in caplog.records if "an observer failed" in record.message]
    assert [record.levelname for record in said] == ["ERROR"], "the same trouble is said once"
    assert said[0].exc_info is not None
    assert "no space is left" in str(said[0].exc_info[1])


async def test_answers_take_a_bounded_room_and_the_newest_are_replayed(
    kinds: Any, made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kettle = kinds.Kettle
    monkeypatch.setattr("sluicegate.protocol.host.ROOM", 100_000)
    async with MachineHost(made.kettle.KETTLE, Quiet(), incarnation="1") as host:
        host.create("k")
        wait = [kettle.Fill(), kettle.Boil(), kettle.Cool()]
        for n in range(600):
            await host.apply("k", wait[n % 3], operation_id=f"op-{n}")
        number = host.snapshot("k")[0]
        kept = [n for n in range(600) if host.steps.answer(made.kettle.KETTLE.name, "k", f"op-{n}")]
        assert kept == list(range(kept[0], 600))
        assert 100 <= len(kept) < 200
        for n in kept:
            await host.apply("k", wait[n % 3], operation_id=f"op-{n}")
        assert host.snapshot("k")[0] == number, "a repeat steps nothing"


async def test_an_unknown_instance_and_a_second_one_are_refused(kinds: Any, made: Any) -> None:
    async with MachineHost(made.kettle.KETTLE, Quiet(), incarnation="1") as host:
        host.create("k")
        with pytest.raises(ValueError, match="Kettle k is there already"):
            host.create("k")
        with pytest.raises(UnknownInstance, match="no Kettle is named 'x'"):
            host.step("x", kinds.Kettle.Fill())
        host.drop("k")
        with contextlib.suppress(UnknownInstance):
            host.step("k", kinds.Kettle.Fill())
            pytest.fail("a dropped instance stepped")
