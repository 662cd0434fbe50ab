"""Turns of sessions over replicas with a scripted data plane on real gRPC: who ends a turn, and who is bound."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from session_kit import Host, Served, host, prompt, until

from sluicegate.protocol.store import StoreError
from sluicegate.runtime.sessions import SessionClosed, StorageDown, Told, TurnLost, TurnRefused
from sluicegate.runtime.sessions.backend import Made
from sluicegate.runtime.sessions.loads import Loads
from sluicegate.runtime.sessions.traces import branches
from sluicegate.statemachines.lease import Lease
from sluicegate.statemachines.session import Rebinding


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with host(tmp_path) as on, on.server() as made:
        await made.sessions.open("s")
        yield made
        made.replica.go.set()
        made.replica.settle.set()


@pytest.fixture
async def two(tmp_path: Path) -> AsyncIterator[tuple[Host, Served]]:
    async with host(tmp_path, "a.1", "b.1") as on, on.server() as made:
        for replica in on.cohort.lives:
            replica.go.set()
            replica.settle.set()
        yield on, made


async def test_a_turn_gives_its_tokens_binds_the_session_and_is_stored(served: Served) -> None:
    served.replica.go.set()
    turn = await served.turn()
    assert (turn.ids, turn.versions, turn.ending, turn.version) == ([1, 2], [0, 0], "length", 0)
    assert (turn.replica, turn.incarnation, turn.binding, turn.segment) == ("a", "a.1", 1, 1)
    assert (served.state(), served.sessions.live("s").incarnation) == ("BOUND", "a.1")
    (branch,) = branches("s", served.sessions.kept.tree("s"))
    assert (list(branch.token_ids), branch.bindings) == ([5, 1, 2], [(1, "a.1")])


async def test_a_binding_is_durable_before_anything_of_its_request_runs(served: Served) -> None:
    call = asyncio.create_task(served.turn())
    await until(lambda: served.replica.forwarded)
    (lease,) = served.replica.forwarded
    saved = served.sessions.host.steps.saved("Session", "s")
    assert saved is not None
    stored: Any = served.sessions.host.wire.value(served.sessions.host.wire.snapshot.FromString(saved.snapshot))
    assert (stored.state, stored.incarnation, stored.leases) == ("TURN", "a.1", {lease})
    assert served.replica.asked[0].waits
    served.replica.go.set()
    await call
    await served.turn()
    assert not served.replica.asked[1].waits


async def test_who_stops_waiting_does_not_end_the_turn_but_the_lease_does(served: Served) -> None:
    call = asyncio.create_task(served.turn())
    await until(lambda: served.replica.forwarded)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await until(lambda: served.replica.aborted == served.replica.forwarded)
    assert served.state() == "TURN"
    with pytest.raises(SessionClosed, match="a turn is active"):
        await served.sessions.finish("s")
    served.replica.settle.set()
    await until(lambda: served.state() == "BOUND")


async def test_a_session_that_retires_while_it_waits_to_be_bound_sends_nothing(served: Served) -> None:
    served.cohort.is_idle = False
    call = asyncio.create_task(served.turn())
    await until(lambda: served.state() == "BINDING")
    await served.sessions.retire("s")
    served.cohort.is_idle = True
    served.cohort.changed.notify()
    with pytest.raises(TurnLost):
        await call
    assert served.replica.asked == []
    await until(lambda: "s" not in served.sessions)
    with pytest.raises(SessionClosed, match="is retired"):
        await served.turn()


async def test_a_replica_that_ends_before_its_admission_is_heard_loses_the_session(served: Served) -> None:
    served.replica.before_admission = asyncio.Event()
    call = asyncio.create_task(served.turn())
    await until(lambda: served.replica.asked)
    served.cohort.dead.add("a.1")
    assert served.sessions.lose("a.1") == []
    served.replica.before_admission.set()
    await until(lambda: served.state() == "LOST")
    served.replica.go.set()
    await asyncio.wait([call])
    await until(lambda: served.sessions.live("s").leases == set())


async def test_a_broken_stream_keeps_the_turn_until_its_replica_is_known_to_have_ended(served: Served) -> None:
    call = asyncio.create_task(served.turn())
    await until(lambda: served.replica.forwarded)
    (lease,) = served.replica.forwarded
    served.replica.leases.drop(lease)
    served.replica.leases.create(lease, session="s")
    served.replica.leases.step(lease, Lease.Forward())
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.sleep(0.3)
    assert served.state() == "TURN"
    served.cohort.dead.add("a.1")
    served.replica.settle.set()
    await until(lambda: served.state() in ("BOUND", "LOST"))


async def test_turns_that_begin_together_wait_for_the_one_that_binds(served: Served) -> None:
    served.replica.go.set()
    turns = await asyncio.gather(*(served.turn("s", 5, number) for number in range(3)))
    assert {turn.binding for turn in turns} == {1}
    assert [request.waits for request in served.replica.asked].count(True) == 1
    assert len(served.sessions.kept.tree("s")) == 3


async def test_who_needs_no_more_ends_the_turn_there_and_its_lease_is_aborted(served: Served) -> None:
    served.replica.go.set()
    served.replica.settle.set()
    work = prompt(5)
    told = Told(word=lambda turn, word: isinstance(word, Made), used=lambda: 1)
    turn = await served.router.turn("s", work, told, prompt_ids=work.ids)
    assert (turn.ids, turn.ending) == ([1], "stop")
    await until(lambda: served.state() == "BOUND")
    assert list(served.sessions.kept.tree("s").segments[0].made) == [1]


# -- moving ----------------------------------------------------------------------------------------


async def test_r62_a_session_whose_replica_is_updating_is_held_and_never_moved(two: tuple[Host, Served]) -> None:
    on, served = two
    await served.sessions.open("s")
    first = await served.turn()
    on.cohort.is_idle = False
    # A bound session needs no binding: its gate holds the request, and nobody else is asked.
    turns = [await served.turn() for _ in range(3)]
    assert {turn.incarnation for turn in turns} == {first.incarnation}
    asked = [len(replica.asked) for replica in on.cohort.lives]
    assert sorted(asked) == [0, 4]


async def test_r66_a_late_turn_of_a_deleted_session_is_bound_nowhere(two: tuple[Host, Served]) -> None:
    on, served = two
    await served.sessions.open("s")
    await served.turn()
    await served.sessions.retire("s")
    for _ in range(2):
        with pytest.raises(SessionClosed) as refused:
            await served.turn()
        assert refused.value.reason == "gone"
    with pytest.raises(SessionClosed, match="is retired"):
        await served.sessions.open("s")
    assert sum(len(replica.asked) for replica in on.cohort.lives) == 1


@pytest.mark.parametrize("policy", Rebinding)
async def test_a_lost_session_is_bound_anew_only_by_its_policy(two: tuple[Host, Served], policy: Rebinding) -> None:
    on, served = two
    await served.sessions.open("s", policy=policy)
    first = await served.turn()
    on.cohort.dead.add(first.incarnation)
    assert served.sessions.lose(first.incarnation) == ["s"]
    if policy == Rebinding.NEVER:
        with pytest.raises(SessionClosed, match="the replica of the session is lost"):
            await served.turn()
        return
    second = await served.turn()
    assert (second.binding, second.incarnation != first.incarnation) == (2, True)
    (branch, _) = branches("s", served.sessions.kept.tree("s"))
    assert branch.bindings == [(1, first.incarnation)]


@pytest.mark.parametrize("policy", Rebinding)
async def test_a_session_leaves_a_replica_that_leaves_only_by_its_policy(
    two: tuple[Host, Served], policy: Rebinding
) -> None:
    on, served = two
    await served.sessions.open("s", policy=policy)
    first = await served.turn()
    on.cohort.leaving.add(first.incarnation)
    second = await served.turn()
    moves = policy == Rebinding.ON_EVACUATION
    assert (second.incarnation != first.incarnation, second.binding) == (moves, 1 + moves)


async def test_sessions_are_bound_evenly(two: tuple[Host, Served]) -> None:
    on, served = two

    async def one(number: int) -> None:
        await served.sessions.open(f"s{number}")
        await served.turn(f"s{number}")

    await asyncio.gather(*map(one, range(8)))
    assert [len(replica.asked) for replica in on.cohort.lives] == [4, 4]


def test_an_empty_replica_gets_no_avalanche_of_sessions(tmp_path: Path) -> None:
    class Life:
        control = data = ""

        def __init__(self, replica: str) -> None:
            self.replica = self.incarnation = replica

    loads, places = Loads(), [Life("a"), Life("b"), Life("c"), Life("new")]
    for number, place in enumerate(places[:3] * 100):
        loads.place(f"s{number}", place.incarnation, None)
    chosen = []
    for number in range(64):
        place = loads.choose(places)
        loads.binds(place.incarnation)
        chosen.append(place.incarnation)
        loads.bound(place.incarnation)
        loads.place(f"t{number}", place.incarnation, None)
    assert chosen[-32:].count("new") <= 13, "of 32, even is 8"
    assert chosen[-32:].count("new") > 8


async def test_a_lost_session_of_which_two_turns_wait_for_a_replica_is_bound_anew_once(
    two: tuple[Host, Served],
) -> None:
    on, served = two
    await served.sessions.open("s", policy=Rebinding.ON_LOSS)
    first = await served.turn()
    on.cohort.dead.add(first.incarnation)
    served.sessions.lose(first.incarnation)
    on.cohort.is_idle = False
    turns = [asyncio.create_task(served.turn()) for _ in range(2)]
    await asyncio.sleep(0.1)
    on.cohort.is_idle = True
    on.cohort.changed.notify()
    again = await asyncio.gather(*turns)
    assert {(turn.binding, turn.ending) for turn in again} == {(2, "length")}


async def test_a_lost_session_that_may_move_waits_for_its_leases_to_be_over(two: tuple[Host, Served]) -> None:
    on, served = two
    await served.sessions.open("s", policy=Rebinding.ON_LOSS)
    first = await served.turn()
    place = on.cohort.place(first.incarnation)
    assert place is not None
    place.go.clear()
    running = asyncio.create_task(served.turn("s", 5, 1, 2, 6))
    await until(lambda: len(place.forwarded) == 2)
    on.cohort.dead.add(first.incarnation)
    served.sessions.lose(first.incarnation)
    moved = asyncio.create_task(served.turn("s", 5, 1, 2, 7))
    await asyncio.sleep(0.3)
    assert not moved.done()
    running.cancel()
    await asyncio.wait([running])
    assert (await moved).binding == 2


async def test_a_server_that_ends_does_not_wait_for_leases_without_an_end(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("sluicegate.runtime.sessions.router.END_S", 0.5)
    async with host(tmp_path) as on:
        async with on.server() as served:
            await served.sessions.open("s")
            call = asyncio.create_task(served.turn())
            await until(lambda: served.replica.forwarded)
            call.cancel()
            await asyncio.wait([call])
        async with on.server() as served:
            assert served.state() == "TURN"
            served.replica.settle.set()
            await until(lambda: served.state() == "BOUND")


async def test_what_a_dead_consumer_read_is_given_back_once_it_can_be_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with host(tmp_path, store=0.5) as on, on.server() as served:
        on.cohort.lives[0].go.set()
        for session in ("s", "t"):
            await served.sessions.open(session)
            await served.turn(session)
            await served.sessions.finish(session)
            await served.sessions.take(session, "trainer.1")

        def full(changes: Any) -> None:
            raise StoreError("the disk is full")

        with monkeypatch.context() as disk:
            disk.setattr(served.sessions.kept._store, "write", full)
            with pytest.raises(StorageDown):
                await served.sessions.consumer_lost("trainer.1")
        await served.sessions.consumer_lost("trainer.1")
        assert [served.state(session) for session in ("s", "t")] == ["FINISHED", "FINISHED"]


@pytest.mark.parametrize("policy", [Rebinding.NEVER, Rebinding.ON_LOSS])
async def test_a_session_that_may_move_waits_for_the_end_of_a_poisoned_life(
    two: tuple[Host, Served], policy: Rebinding
) -> None:
    on, served = two
    await served.sessions.open("s", policy=policy)
    first = await served.turn()
    backend: Any = served.router.backend
    run = backend.run

    async def poisoned(place: Any, request: Any) -> Any:
        if place.incarnation == first.incarnation:
            raise TurnRefused(request.session, "poisoned", "its weights are in doubt")
        async for word in run(place, request):
            yield word

    backend.run = poisoned
    if policy == Rebinding.NEVER:
        with pytest.raises(TurnRefused, match="in doubt"):
            await served.turn()
        return
    second = asyncio.create_task(served.turn())
    await asyncio.sleep(0.5)
    assert not second.done()
    on.cohort.dead.add(first.incarnation)
    served.sessions.lose(first.incarnation)
    assert (await second).binding == 2
