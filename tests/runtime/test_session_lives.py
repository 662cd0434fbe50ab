"""Sessions over the lives of their servers: restored, read, retired, expired; whose each is; which ids are used up."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from session_kit import Host, Served, host, prompt, until

from sluicegate.protocol.store import StoreError
from sluicegate.runtime.sessions import SessionClosed, SessionSettings, StorageDown
from sluicegate.runtime.sessions.errors import Elsewhere, NotYours
from sluicegate.runtime.sessions.ids import BUCKET_S, ForgedId, Ids
from sluicegate.statemachines.session import Rebinding


def released(on: Host) -> None:
    for replica in on.cohort.lives:
        replica.go.set()
        replica.settle.set()


async def test_a_next_life_goes_on_with_every_session_and_its_trace(tmp_path: Path) -> None:
    async with host(tmp_path) as on:
        released(on)
        async with on.server() as first:
            for session in ("new", "bound", "finished", "read", "retired"):
                await first.sessions.open(session, policy=Rebinding.ON_LOSS, owner="me", task="t")
            for session in ("bound", "finished", "read", "retired"):
                await first.turn(session)
            for session in ("finished", "read"):
                await first.sessions.finish(session)
            await first.sessions.take("read", "c.1")
            await first.sessions.retire("retired")
            facts = dict(first.sessions.facts)
        async with on.server() as second:
            # The end of a turn goes with the next write: where that did not come, it is found out again.
            await until(lambda: second.state("bound") == "BOUND")
            states = {s: second.state(s) for s in ("new", "bound", "finished", "read")}
            assert states == {"new": "NEW", "bound": "BOUND", "finished": "FINISHED", "read": "TRAINING"}
            assert {s: f for s, f in facts.items() if s != "retired"} == second.sessions.facts
            assert [list(s.made) for s in second.sessions.read("read", "c.1").segments] == [[1, 2]]
            turn = await second.turn("bound", 5, 1, 2, 6)
            assert (turn.binding, turn.segment) == (1, 2)
            segments = second.sessions.kept.tree("bound").segments
            assert [(list(s.given), list(s.made)) for s in segments] == [([5], [1, 2]), ([6], [1, 2])]
            with pytest.raises(SessionClosed, match="is retired"):
                second.sessions.live("retired")


async def test_a_next_life_ends_the_turns_of_the_last_once_their_leases_are_over(tmp_path: Path) -> None:
    async with host(tmp_path) as on:
        async with on.server() as first:
            await first.sessions.open("s")
            await first.sessions.open("t")
            call = asyncio.create_task(first.turn("s"))
            await until(lambda: on.cohort.lives[0].forwarded)
            # A process that is killed ends no turn, and its calls break off.
            first.router._end_turn = lambda session, lease: None  # pyright: ignore[reportAttributeAccessIssue]
            call.cancel()
            await asyncio.wait([call])
            released(on)
        lease = on.cohort.lives[0].forwarded[0]
        on.cohort.lives[0].settle.clear()
        async with on.server() as second:
            assert second.sessions.live("s").leases == {lease}
            await second.sessions.retire("s")
            await until(lambda: lease in on.cohort.lives[0].aborted)
            assert second.state("s") == "RETIRING"
            on.cohort.lives[0].settle.set()
            await until(lambda: "s" not in second.sessions)


async def test_a_next_life_loses_what_was_bound_to_a_replica_that_ended_meanwhile(tmp_path: Path) -> None:
    async with host(tmp_path) as on:
        released(on)
        async with on.server() as first:
            await first.sessions.open("s")
            await first.turn()
        on.cohort.dead.add("a.1")
        async with on.server() as second:
            assert second.state() == "LOST"


async def test_a_retirement_that_was_not_buried_is_buried_by_the_next_life(tmp_path: Path) -> None:
    async with host(tmp_path) as on:
        released(on)

        async def never(instance: str) -> None: ...

        async with on.server() as first:
            await first.sessions.open("s")
            await first.turn()
            first.sessions.host._handlers = dict.fromkeys(first.sessions.host._handlers, never)
            await first.sessions.retire("s")
            assert first.sessions.kept.tree("s").segments
        async with on.server() as second:
            await until(lambda: "s" not in second.sessions)
            assert second.sessions.kept.is_buried("s")
            assert second.sessions.kept.tree("s").segments == []


# -- several servers -------------------------------------------------------------------------------


async def test_a_session_belongs_to_the_server_that_was_first_to_write_it_down(tmp_path: Path) -> None:
    async with host(tmp_path) as on, on.server("a") as one, on.server("b") as other:
        released(on)
        begun = await asyncio.gather(
            one.sessions.open("s"), other.sessions.open("s"), return_exceptions=True
        )
        (refused,) = [found for found in begun if isinstance(found, Exception)]
        assert isinstance(refused, Elsewhere)
        mine, theirs = (one, other) if refused.server == "a" else (other, one)
        await mine.turn()
        for ask in (theirs.turn(), theirs.sessions.finish("s"), theirs.sessions.open("s")):
            with pytest.raises(Elsewhere):
                await ask
        await mine.sessions.retire("s")
        await until(lambda: "s" not in mine.sessions)
        with pytest.raises(SessionClosed, match="is retired"):
            await theirs.sessions.open("s")


async def test_servers_restore_their_own_sessions_alone(tmp_path: Path) -> None:
    async with host(tmp_path) as on:
        async with on.server("a") as one, on.server("b") as other:
            await one.sessions.open("s")
            await other.sessions.open("t")
        async with on.server("a") as again:
            assert list(again.sessions.facts) == ["s"]


# -- consumers and time ----------------------------------------------------------------------------


async def finished(served: Served, session: str = "s") -> None:
    await served.sessions.open(session)
    await served.turn(session)
    await served.sessions.finish(session)


async def test_a_trace_is_read_by_its_consumer_alone_and_freed_by_release(tmp_path: Path) -> None:
    async with host(tmp_path) as on, on.server() as served:
        released(on)
        await finished(served)
        with pytest.raises(SessionClosed):
            served.sessions.read("s", "c.1")
        assert len(await served.sessions.take("s", "c.1")) == 1
        assert len(await served.sessions.take("s", "c.1")) == 1
        for wrong in (served.sessions.take("s", "c.2"), served.sessions.release("s", "c.2")):
            with pytest.raises(SessionClosed):
                await wrong
        with pytest.raises(SessionClosed, match="a consumer is reading"):
            await served.sessions.retire("s")
        assert served.sessions.kept.tree("s").segments
        await served.sessions.release("s", "c.1")
        await until(lambda: "s" not in served.sessions)
        await served.sessions.release("s", "c.1")


async def test_what_a_dead_consumer_read_can_be_taken_again(tmp_path: Path) -> None:
    async with host(tmp_path, consumer=1.2) as on, on.server() as served:
        released(on)
        await finished(served)
        await served.sessions.take("s", "c.1")
        await until(lambda: served.state() == "FINISHED")
        with pytest.raises(SessionClosed):
            served.sessions.read("s", "c.1")
        await served.sessions.take("s", "c.2")
        for _ in range(4):
            await asyncio.sleep(0.6)
            served.sessions.read("s", "c.2")
        assert served.state() == "TRAINING"


async def test_a_session_that_nobody_calls_expires_but_never_in_a_turn(tmp_path: Path) -> None:
    async with host(tmp_path, ttl=1.5) as on, on.server() as served:
        await served.sessions.open("idle")
        await served.sessions.open("called")
        await served.sessions.open("s")
        call = asyncio.create_task(served.turn())
        for _ in range(8):
            await asyncio.sleep(0.4)
            served.sessions.touch("called")
        assert (set(served.sessions.facts), served.state()) == ({"called", "s"}, "TURN")
        with pytest.raises(SessionClosed, match="is retired"):
            await served.sessions.open("idle")
        released(on)
        await call


async def test_many_sessions_are_retired_at_once_and_those_that_are_not_are_named(tmp_path: Path) -> None:
    async with host(tmp_path) as on, on.server() as served:
        released(on)
        for number in range(20):
            await served.sessions.open(f"s{number}")
        await finished(served, "read")
        await served.sessions.take("read", "c.1")
        refused = await served.sessions.retire_all([*served.sessions.facts, "never"])
        assert refused == {"read": "being_read", "never": "unknown"}
        await until(lambda: set(served.sessions.facts) == {"read"})


# -- ids -------------------------------------------------------------------------------------------


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_an_issued_id_is_known_as_ours_and_as_expired_without_being_stored() -> None:
    clock = Clock()
    ids, others = Ids(b"k" * 32, 7200.0, clock), Ids(b"o" * 32, 7200.0, clock)
    session = ids.issue()
    assert session != ids.issue()
    bucket = ids.bucket(session)
    assert bucket is not None
    assert bucket == int(clock.now) // BUCKET_S
    assert ids.bucket("a-client's own") is None
    with pytest.raises(ForgedId):
        others.bucket(session)
    for forged in ("sg-", "sg-1-2-3", session[:-1], session + "0", "sg-é"):
        with pytest.raises(ForgedId):
            ids.bucket(forged)
    assert not ids.is_expired(bucket)
    clock.now += 7200 + BUCKET_S
    assert ids.is_expired(bucket)


async def test_an_expired_id_is_gone_though_nothing_of_it_is_stored_unless_its_session_lives(tmp_path: Path) -> None:
    async with host(tmp_path) as on, on.server() as served:
        clock = Clock()
        served.sessions.ids._clock = clock
        unused, lives = served.sessions.ids.issue(), served.sessions.ids.issue()
        await served.sessions.open(lives)
        clock.now += served.sessions.settings.id_life + 2 * BUCKET_S
        with pytest.raises(SessionClosed, match="is retired"):
            await served.sessions.open(unused)
        assert served.state(lives) == "NEW"
        released(on)
        await served.turn(lives)
        await served.sessions.retire(lives)
        await until(lambda: lives not in served.sessions)


async def test_past_the_bound_new_ids_that_clients_choose_are_refused_and_none_is_forgotten(tmp_path: Path) -> None:
    async with host(tmp_path, chosen_ids=2) as on:
        async with on.server() as served:
            for session in ("x", "y"):
                await served.sessions.open(session)
                await served.sessions.retire(session)
            await until(lambda: not served.sessions.facts)
        async with on.server() as served:
            with pytest.raises(SessionClosed) as refused:
                await served.sessions.open("z")
            assert (refused.value.reason, refused.value.retry) == ("too_many_ids", True)
            await served.sessions.open(served.sessions.ids.issue())
            for session in ("x", "y"):
                with pytest.raises(SessionClosed, match="is retired"):
                    await served.sessions.open(session)


async def test_an_id_is_its_owners(tmp_path: Path) -> None:
    async with host(tmp_path) as on, on.server() as served:
        await served.sessions.open("s", owner="me")
        await served.sessions.open("s", owner="me")
        with pytest.raises(NotYours):
            await served.sessions.open("s", owner="you")
        with pytest.raises(SessionClosed, match="take a new id"):
            await served.sessions.open("s", owner="me", anew=True)


async def test_a_task_under_which_replicas_keep_dying_is_not_tried_again(tmp_path: Path) -> None:
    async with host(tmp_path, "a.1", "b.1", "c.1", deaths=2) as on, on.server() as served:
        for attempt in range(2):
            session = f"try{attempt}"
            await served.sessions.open(session, task="deadly")
            call = asyncio.create_task(served.turn(session))
            await until(lambda session=session: served.state(session) == "TURN")
            incarnation = served.sessions.live(session).incarnation
            on.cohort.dead.add(incarnation)
            served.sessions.lose(incarnation)
            call.cancel()
            await asyncio.wait([call])
        with pytest.raises(SessionClosed) as refused:
            await served.sessions.open("try2", task="deadly")
        assert (refused.value.reason, refused.value.retry) == ("quarantined", False)
        await served.sessions.open("other", task="harmless")
        released(on)


# -- storage ---------------------------------------------------------------------------------------


async def test_what_cannot_be_stored_is_not_answered_for_and_nothing_is_lost(tmp_path: Path, monkeypatch: Any) -> None:
    async with host(tmp_path, store=0.5) as on, on.server() as served:
        released(on)
        await served.sessions.open("s")
        await served.turn()
        store: Any = served.sessions.kept._store
        write = store.write

        def full(changes: Any) -> None:
            raise StoreError("the disk is full")

        monkeypatch.setattr(store, "write", full)
        with pytest.raises(StorageDown, match="the disk is full"):
            await served.turn("s", 5, 1, 2, 7)
        assert len(on.cohort.lives[0].asked) == 1, "nothing leaves before its turn is on the disk"
        with pytest.raises(StorageDown):
            await served.sessions.open("t")
        monkeypatch.setattr(store, "write", write)
        await until(lambda: served.state() == "BOUND")
        await served.turn("s", 5, 1, 2, 7)
        await served.sessions.finish("s")
        assert len(served.sessions.kept.tree("s")) == 2


async def test_traces_that_are_not_in_use_are_read_again_from_the_disk(tmp_path: Path) -> None:
    async with host(tmp_path, trees=3) as on, on.server() as served:
        released(on)
        for number in range(9):
            await served.sessions.open(f"s{number}")
            await served.turn(f"s{number}", 5, number)
        assert len(served.sessions.kept._trees) <= 4
        for number in range(9):
            (segment,) = served.sessions.kept.tree(f"s{number}").segments
            assert list(segment.given) == [5, number]
            await served.router.turn(f"s{number}", prompt(9), prompt_ids=(9,))
            assert len(served.sessions.kept.tree(f"s{number}")) == 2


def test_settings_that_cannot_be_are_refused() -> None:
    wrongs: list[dict[str, Any]] = [{"ttl": 0}, {"trees": 0}, {"deaths": 0}, {"call": -1}]
    for wrong in wrongs:
        with pytest.raises(ValueError, match="times are above 0"):
            SessionSettings(**wrong)


async def test_an_id_that_another_server_begins_and_buries_meanwhile_begins_no_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with host(tmp_path) as on:
        released(on)
        async with on.server("a") as one, on.server("b") as other:
            store: Any = other.sessions.kept._store
            write, go_on = store.write, threading.Event()

            def slow(changes: Any) -> None:
                go_on.wait(5)
                write(changes)

            monkeypatch.setattr(store, "write", slow)
            late = asyncio.create_task(other.sessions.open("s"))
            await asyncio.sleep(0.1)
            await one.sessions.open("s")
            await one.turn("s")
            await one.sessions.retire("s")
            await until(lambda: "s" not in one.sessions)
            go_on.set()
            with pytest.raises(SessionClosed, match="is retired"):
                await late
            assert other.sessions.facts == {}
        async with on.server("b") as again:
            assert again.sessions.facts == {}


async def test_a_session_that_begins_late_for_a_slow_disk_is_known_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with host(tmp_path, store=0.3, ttl=1.5) as on, on.server() as served:
        store: Any = served.sessions.kept._store
        with monkeypatch.context() as disk:
            disk.setattr(store, "write", _full)
            with pytest.raises(StorageDown):
                await served.sessions.open("s")
            assert served.sessions.owned[""] == 1, "it counts while it begins"
        await until(lambda: "s" in served.sessions)
        assert (served.state(), served.sessions.owned[""]) == ("NEW", 1)
        # So it expires as any other.
        await until(lambda: "s" not in served.sessions)
        assert served.sessions.owned[""] == 0


def _full(changes: Any) -> None:
    raise StoreError("the disk is full")
