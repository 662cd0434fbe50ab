"""Production: groups begun as there is room, claimed once and in order, kept while nothing is made, and closed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from production_kit import Maker, finished, turns

from sluicegate.runtime.checkpoints import RunState
from sluicegate.runtime.production.finished import FinishedGroup
from sluicegate.runtime.production.groups import Groups, GroupsClosed, NotAtRest
from sluicegate.runtime.production.production import Production
from sluicegate.runtime.production.staleness import Staleness
from sluicegate.runtime.weights import ManifestStore, ShmPublisher


@asynccontextmanager
async def producing(make: Maker, groups: Groups | None = None, **settings: Any) -> AsyncIterator[Production]:
    wanted = {"in_flight": 2, "waiting": 1, "published": lambda: 0, **settings}
    production = Production(groups or Groups(), make, **wanted)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(production.run())
        try:
            await turns()
            yield production
        finally:
            await production.close(5.0)


def numbers(groups: list[FinishedGroup]) -> list[int]:
    return [group.number for group in groups]


async def test_a_batch_has_the_lowest_numbers_however_long_they_took() -> None:
    make = Maker()
    make.hold(0)
    async with producing(make) as production:
        gathering = asyncio.ensure_future(production.gather(2, published=0, within=5.0))
        await turns()
        assert not gathering.done(), "1 and 2 are there, and 0 is not"
        make.let_go(0)
        assert numbers(await gathering) == [0, 1]
        assert production.groups.claimed == (0, 1)


async def test_in_the_order_of_their_ends_a_batch_waits_for_nobody() -> None:
    make = Maker()
    make.hold(0)
    async with producing(make, order="finished") as production:
        assert numbers(await production.gather(2, published=0, within=5.0)) == [1, 2]
        make.let_go(0)


async def test_no_more_is_begun_than_there_is_room_for_but_as_much_as_is_wanted() -> None:
    make = Maker()
    async with producing(make) as production:
        assert make.begun == [0, 1, 2]
        assert numbers(await production.gather(5, published=0, within=5.0)) == [0, 1, 2, 3, 4]
        await turns()
        assert make.begun == [0, 1, 2, 3, 4, 5, 6, 7]
        assert production.pending == 3


async def test_what_is_stopped_makes_nothing_new_and_keeps_what_is_there() -> None:
    make = Maker()
    async with producing(make, in_flight=2, waiting=0) as production:
        assert numbers(await production.gather(2, published=0, within=5.0, stop=True)) == [0, 1]
        await turns()
        assert make.begun == [0, 1], "it stops before anything can begin in the room that the claim makes"
        production.trained()
        make.hold(3)
        production.start()
        await turns()
        production.stop()
        assert (production.groups.ready, production.groups.running) == ((2,), (3,))
        make.let_go(3)
        assert numbers(await production.gather(2, published=1, within=5.0)) == [2, 3]
        with pytest.raises(TimeoutError):
            await production.gather(1, published=1, within=0.02)
        assert production.groups.claimed == (2, 3)


async def test_what_was_not_trained_on_is_claimed_again_and_what_was_is_gone() -> None:
    make = Maker()
    async with producing(make) as production:
        first = await production.gather(2, published=0, within=5.0)
        production.give_back()
        assert await production.gather(2, published=0, within=5.0) == first, "the same samples, made once"
        production.trained()
        assert numbers(await production.gather(2, published=1, within=5.0)) == [2, 3]
        assert (make.begun[:4], production.groups.oldest) == ([0, 1, 2, 3], 0)
        assert set(production._finished) == {2, 3, *production.groups.ready}


async def test_what_a_trainer_lacks_is_made_again_though_all_room_is_taken() -> None:
    make = Maker()
    async with producing(make) as production:
        await production.gather(2, published=0, within=5.0)
        production.trained()
        await turns()
        assert production.groups.ready == (2, 3, 4)
        production.groups.rewind(RunState(run="r", step=0, published=0, newest=0, next_group=0))
        assert numbers(await production.gather(3, published=1, within=5.0)) == [0, 1, 2]
        assert make.begun[:7] == [0, 1, 2, 3, 4, 0, 1]


async def test_the_first_failure_ends_production_and_is_what_everybody_is_told() -> None:
    async def fails(number: int) -> FinishedGroup:
        if number == 1:
            raise OSError("the first") from KeyError("its cause")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            raise RuntimeError("behind it") from None
        return finished(number)

    groups = Groups()
    production = Production(groups, Maker(fails), in_flight=3, waiting=0, published=lambda: 0)
    running = asyncio.ensure_future(production.run())
    with pytest.raises(OSError, match="the first"):
        await production.gather(1, published=0, within=5.0)
    with pytest.raises(OSError, match="the first") as told:
        await running
    assert isinstance(told.value.__cause__, KeyError)
    with pytest.raises(OSError, match="the first"):
        await production.quiesce(1.0)
    assert (groups.state, groups.in_flight) == ("CLOSED", (0, 1)), "a next life begins them again"


async def test_closing_cancels_and_drains_and_what_did_not_finish_is_to_be_begun_again() -> None:
    make = Maker()
    make.hold(1)
    async with producing(make) as production:
        gathering = asyncio.ensure_future(production.gather(9, published=0, within=5.0))
        await turns()
        await production.close(5.0)
        with pytest.raises(GroupsClosed):
            await gathering
        assert (make.cancelled, make.drained) == ([1], 1)
        assert production.groups.has_again
        assert 1 in production.groups.in_flight


async def test_a_group_that_does_not_end_when_it_is_cancelled_is_told() -> None:
    go_on = asyncio.Event()

    async def clings(number: int) -> FinishedGroup:
        while not go_on.is_set():
            try:
                await go_on.wait()
            except asyncio.CancelledError:
                continue
        return finished(number)

    async with producing(Maker(clings), in_flight=1, waiting=0) as production:
        with pytest.raises(TimeoutError, match=r"1 groups have not ended within 0\.02 s"):
            await production.close(0.02)
        go_on.set()


async def test_full_rest_comes_when_nothing_runs_or_is_told_not_to() -> None:
    make = Maker()
    make.hold(1)
    async with producing(make) as production:
        with pytest.raises(NotAtRest, match="groups 1 still run"):
            await production.quiesce(0.02)
        assert production.groups.state == "STOPPED"
        asyncio.get_running_loop().call_later(0.02, make.let_go, 1)
        await production.quiesce(5.0)
        assert production.groups.running == ()


async def test_groups_that_are_too_old_are_dropped_for_good_and_the_next_take_their_place(tmp_path: Path) -> None:
    store, publisher = ManifestStore(tmp_path / "manifests"), ShmPublisher("r", root=tmp_path)
    for version in range(4):
        store.put(publisher.publish(version, version, [("w", torch.zeros(1))], torch.float32))

    async def made(number: int) -> FinishedGroup:
        return finished(number, (3, 0) if number in (0, 2) else (3, 2))

    staleness = Staleness(store, 2)
    async with producing(Maker(made), staleness=staleness) as production:
        assert numbers(await production.gather(2, published=2, within=5.0)) == [0, 1]
        production.give_back()
        assert numbers(await production.gather(3, published=3, within=5.0)) == [1, 3, 4]
        assert (production.dropped, {0, 2} & set(production.groups.in_flight)) == (2, set())
    staleness.beyond = "correct"
    async with producing(Maker(made), staleness=staleness) as production:
        assert numbers(await production.gather(2, published=3, within=5.0)) == [0, 1]


def test_counts_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="in_flight 0"):
        Production(Groups(), Maker(), in_flight=0, waiting=1, published=lambda: 0)
