"""Groups by number: held until they are trained on or dropped, begun again under their numbers, from any thread."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sluicegate.runtime.checkpoints import RunState
from sluicegate.runtime.production.groups import Groups, GroupsClosed, NotAtRest, Refused
from sluicegate.runtime.production.sampler import Sampler
from sluicegate.runtime.tracelog import TraceLog, merge
from sluicegate.spec.traces import validate


def stood(next_group: int | None, *in_flight: int, step: int = 1) -> RunState:
    return RunState(run="r", step=step, published=0, newest=0, next_group=next_group, in_flight=in_flight)


async def test_a_group_is_claimed_once_and_is_held_until_its_step_is_done() -> None:
    groups = Groups()
    for _ in range(3):
        await groups.begin(4)
    groups.completed(0)
    groups.completed(1)
    groups.claim(1)
    with pytest.raises(Refused, match=r"group 1: Claim is refused, since the group is not ready"):
        groups.claim(1)
    assert (groups.ready, groups.claimed, groups.running, groups.in_flight) == ((0,), (1,), (2,), (0, 1, 2))
    groups.give_back()
    assert groups.ready == (0, 1)
    groups.claim(0)
    groups.trained()
    assert (groups.in_flight, groups.oldest) == ((1, 2), 4)
    groups.done(1)
    groups.done(2)
    assert (groups.in_flight, groups.oldest) == ((), None)


async def test_a_group_that_came_to_nothing_is_begun_again_under_its_number_before_anything_new() -> None:
    groups = Groups()
    assert [await groups.begin(0), await groups.begin(1)] == [0, 1]
    groups.failed(0)
    assert (groups.in_flight, groups.oldest) == ((0, 1), 1), "nothing of its first time is trained on"
    assert [await groups.begin(7), await groups.begin(7)] == [0, 2]


async def test_while_stopped_only_what_is_to_be_begun_again_begins() -> None:
    groups = Groups(stopped=True)
    groups.restore(stood(9, 3, 8))
    assert [await groups.begin(0), await groups.begin(0)] == [3, 8]
    waiting = asyncio.ensure_future(groups.begin(0))
    await asyncio.sleep(0.02)
    assert not waiting.done()
    groups.start()
    async with asyncio.timeout(5):
        assert await waiting == 9
    groups.stop()
    waiting = asyncio.ensure_future(groups.begin(0))
    await asyncio.sleep(0.02)
    groups.close()
    with pytest.raises(GroupsClosed):
        await waiting


async def test_a_run_goes_on_before_anything_begins_or_is_told_that_it_cannot() -> None:
    groups = Groups()
    await groups.begin(0)
    with pytest.raises(Refused, match="groups are in use"):
        groups.restore(stood(9))
    assert (groups.next_group, groups.state) == (1, "RUNNING")


async def test_rest_does_not_wait_for_what_is_ready_and_a_start_meanwhile_comes_after_it() -> None:
    groups = Groups(stopped=True)
    groups.start()
    for _ in range(2):
        await groups.begin(0)
    groups.completed(0)
    with pytest.raises(NotAtRest, match=r"groups 1 were in flight"):
        async with groups.at_rest(0.02):
            raise AssertionError
    assert groups.state == "RUNNING"
    groups.completed(1)
    groups.stop()
    async with groups.at_rest(1.0):
        groups.start()
        assert (groups.state, groups.in_flight) == ("STOPPED", (0, 1))
    assert groups.state == "RUNNING"
    groups.stop()
    async with groups.at_rest(1.0):
        pass
    assert groups.state == "STOPPED", "who had stopped it stays the one who starts it"


async def test_the_next_number_of_a_state_without_one_follows_from_its_step_and_the_epoch_from_the_number() -> None:
    groups = Groups(per_step=4, epoch_of=Sampler(0, 6).epoch)
    groups.restore(stood(None, step=3))
    assert (groups.next_group, groups.data_epoch) == (12, 2)
    for _ in range(3):
        await groups.begin(0)
    groups.rewind(stood(None, step=3))
    assert groups.in_flight == (12, 13, 14)


async def test_whoever_waits_is_woken_in_a_loop_of_its_own_whichever_thread_made_the_change() -> None:
    groups = Groups(stopped=True)
    begun: list[int] = []
    thread = threading.Thread(target=lambda: asyncio.run(asyncio.wait_for(begins(), 10)))

    async def begins() -> None:
        begun.append(await groups.begin(0))
        groups.completed(begun[0])

    thread.start()
    await asyncio.sleep(0.05)
    assert not begun
    groups.start()
    assert await groups.until(lambda: groups.ready == (0,), 10.0)
    await asyncio.to_thread(thread.join, 10)
    assert begun == [0]


def test_threads_that_begin_at_the_same_time_never_get_the_same_number(tmp_path: Path) -> None:
    with TraceLog(tmp_path / "a.ndjson", run="r", process="agents", incarnation="a.1") as log:
        groups, numbers = Groups(log=log), list[int]()

        def begins() -> None:
            for _ in range(200):
                number = groups.begin_now(0)
                assert number is not None
                numbers.append(number)
                groups.completed(number)

        threads = [threading.Thread(target=begins) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join(30)
    assert sorted(numbers) == list(range(800))
    assert validate(merge([tmp_path / "a.ndjson"], {}, tmp_path / "trace.ndjson")).refusal is None


class Numbers(RuleBasedStateMachine):
    """A run that is begun, trained, saved, taken back and resumed: which groups its weights and its sets have."""

    def __init__(self) -> None:
        super().__init__()
        self.groups = Groups()
        self.trained: list[int] = []
        self.dropped: set[int] = set()
        self.saved: list[tuple[RunState, list[int], set[int]]] = []

    @rule()
    def begin(self) -> None:
        held = set(self.groups.in_flight)
        again = [n for n in self.groups.running if n in self.groups._machine.live.again]
        number = self.groups.begin_now(0)
        if number is None:
            assert self.groups.state == "STOPPED"
            assert not again
        else:
            assert number == (again[0] if again else max({*held, *self.trained, *self.dropped}, default=-1) + 1)

    @precondition(lambda self: self.in_flight())
    @rule(data=st.data(), how=st.sampled_from(["completed", "completed", "failed", "done"]))
    def ends(self, data: st.DataObject, how: str) -> None:
        number = data.draw(st.sampled_from(self.in_flight()))
        getattr(self.groups, how)(number)
        if how == "done":
            self.dropped.add(number)

    @precondition(lambda self: self.groups.ready)
    @rule(data=st.data())
    def claim(self, data: st.DataObject) -> None:
        self.groups.claim(data.draw(st.sampled_from(self.groups.ready)))

    @rule()
    def train(self) -> None:
        self.trained += self.groups.claimed
        self.groups.trained()

    @rule()
    def give_back(self) -> None:
        self.groups.give_back()

    @rule()
    def stop(self) -> None:
        self.groups.stop()

    @rule()
    def start(self) -> None:
        self.groups.start()

    @rule()
    def save(self) -> None:
        state = stood(self.groups.next_group, *self.groups.in_flight)
        self.saved.append((state, list(self.trained), set(self.dropped)))

    @precondition(lambda self: self.saved)
    @rule(whole=st.booleans())
    def goes_back(self, whole: bool) -> None:
        """The trainer is lost, or all is: it goes on from the last checkpoint."""
        state, self.trained, dropped = self.saved[-1]
        self.trained = list(self.trained)
        if whole:
            self.groups, self.dropped = Groups(), set(dropped)
            self.groups.restore(state)
        else:
            self.groups.rewind(state)
            self.dropped -= set(self.groups.in_flight)

    def in_flight(self) -> list[int]:
        return sorted(self.groups._machine.live.in_flight)

    @invariant()
    def every_number_is_in_one_place_and_none_is_lost(self) -> None:
        live = self.groups._machine.live
        sets = [live.again, live.in_flight, live.ready, live.claimed, self.trained, self.dropped]
        assert sum(map(len, sets)) == len(set().union(*sets)) == self.groups.next_group

    @invariant()
    def nothing_is_trained_on_twice_in_one_line_of_weights(self) -> None:
        assert len(self.trained) == len(set(self.trained))


TestNumbers = Numbers.TestCase
