"""Group commit: one write at a time, in order, none that waits for more; and what happens when the store fails."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence

import pytest

from sluicegate.protocol.journal import BATCH, Journal, Ticket
from sluicegate.protocol.store import StoreError


class Slow:
    """Keeps what it is given; writes only while it is `open`, and fails with `error` if there is one."""

    immediate = False

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.open = threading.Event()
        self.open.set()
        self.error: Exception | None = None

    def write(self, records: Sequence[int]) -> None:
        assert self.open.wait(60)
        if self.error is not None:
            raise self.error
        self.batches.append(list(records))


class AtOnce(Slow):
    immediate = True


def give(journal: Journal[int], *records: int) -> list[Ticket]:
    tickets = [journal.add(record) for record in records]
    assert all(ticket is not None for ticket in tickets)
    return [ticket for ticket in tickets if ticket is not None]


async def stored(*tickets: Ticket) -> None:
    async with asyncio.timeout(60):
        for ticket in tickets:
            await ticket.wait()


async def test_a_write_waits_for_no_more_to_come_and_what_comes_meanwhile_is_the_next() -> None:
    store = Slow()
    journal: Journal[int] = Journal(store)
    store.open.clear()
    tickets = give(journal, 0)
    await asyncio.sleep(0.05)
    tickets += give(journal, *range(1, 10))
    assert not any(ticket.done for ticket in tickets)
    store.open.set()
    await stored(*tickets)
    assert store.batches == [[0], list(range(1, 10))]
    figures = journal.figures
    assert (figures.records, figures.batches, figures.failures) == (10, 2, 0)
    assert figures.seconds >= figures.longest >= 0.05
    await journal.close()


async def test_a_record_that_rides_is_stored_with_the_next_that_does_not() -> None:
    store = Slow()
    journal: Journal[int] = Journal(store)
    assert journal.add(0, rides=True) is not None
    await asyncio.sleep(0.05)
    assert store.batches == []
    store.open.clear()
    tickets = give(journal, 1)
    journal.add(2, rides=True)
    store.open.set()
    await stored(*tickets)
    await asyncio.sleep(0.05)
    assert store.batches == [[0, 1]]
    await journal.flush(60)
    assert store.batches == [[0, 1], [2]]
    journal.add(3, rides=True)
    await journal.close()
    assert store.batches == [[0, 1], [2], [3]]


async def test_tickets_are_done_in_their_order_and_those_behind_do_not_hold_up_those_in_front() -> None:
    store, done = Slow(), list[int]()
    journal: Journal[int] = Journal(store)
    store.open.clear()
    tickets = give(journal, *range(3 * BATCH))
    for number, ticket in enumerate(tickets):
        ticket.then.append(lambda number=number: done.append(number))
    store.open.set()
    await stored(tickets[-1])
    assert done == list(range(3 * BATCH))
    assert [n for batch in store.batches for n in batch] == done
    assert max(len(batch) for batch in store.batches) == BATCH
    await journal.close()


@pytest.mark.parametrize("error", [StoreError("the disk is full"), RuntimeError("the disk is full")])
async def test_a_store_that_fails_is_tried_until_it_works_and_nothing_is_lost(error: Exception) -> None:
    store = Slow()
    journal: Journal[int] = Journal(store)
    store.error = error
    tickets = give(journal, 1, 2)
    for _ in range(6000):
        if journal.failure is None:
            await asyncio.sleep(0.01)
    assert "the disk is full" in str(journal.failure)
    tickets += give(journal, 3)
    assert not any(ticket.done for ticket in tickets)
    store.error = None
    await stored(*tickets)
    assert journal.failure is None
    assert sorted(n for batch in store.batches for n in batch) == [1, 2, 3]
    assert journal.figures.failures >= 1
    await journal.close()


async def test_one_who_stops_waiting_takes_nothing_along() -> None:
    store = Slow()
    journal: Journal[int] = Journal(store)
    store.open.clear()
    tickets = give(journal, 1)
    waits = asyncio.create_task(tickets[0].wait())
    await asyncio.sleep(0)
    waits.cancel()
    store.open.set()
    await stored(*tickets)
    assert store.batches == [[1]]
    await journal.close()


async def test_closing_stores_what_was_given() -> None:
    store = Slow()
    journal: Journal[int] = Journal(store)
    give(journal, *range(5))
    await journal.close(60)
    assert sorted(n for batch in store.batches for n in batch) == list(range(5))


async def test_closing_over_a_store_that_fails_says_so() -> None:
    store = Slow()
    store.error = StoreError("the disk is full")
    journal: Journal[int] = Journal(store)
    give(journal, 1)
    with pytest.raises(StoreError, match="the disk is full"):
        await journal.close(0.5)


async def test_closing_over_a_disk_that_never_answers_ends_within_its_time() -> None:
    store = Slow()
    journal: Journal[int] = Journal(store)
    store.open.clear()
    give(journal, 1)
    began = time.monotonic()
    with pytest.raises(StoreError, match="did not answer within"):
        await journal.close(0.2)
    assert time.monotonic() - began < 30
    store.open.set()


async def test_a_store_that_costs_nothing_is_written_at_once() -> None:
    store = AtOnce()
    journal: Journal[int] = Journal(store)
    assert journal.add(1) is None
    assert store.batches == [[1]]
    assert journal.figures.records == 1
    await journal.close()
