"""Group commit: records are stored in the order they were given, many with one wait for the disk.

Rules of this file:

- A ticket is done when its record is stored; tickets are done in the order they were given.
- The thread that writes takes what there is and waits for no more to come; what comes meanwhile is its
  next batch.
- A store that fails is tried again until it works or the journal is closed: a step that was made is
  neither lost nor undone, and nobody is answered before it is stored.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Generic, Protocol, TypeVar

from .store import StoreError

R = TypeVar("R")
C = TypeVar("C", contravariant=True)

RETRY = 0.2
"""Seconds between two tries of a store that fails."""
BATCH = 1024
"""The most records of one write: those behind do not hold up those in front."""


class Ticket:
    """A record on its way to the store. `then` are called, in order, when it is there."""

    __slots__ = ("done", "then", "waiters")

    def __init__(self) -> None:
        self.done = False
        self.then: list[Callable[[], None]] = []
        self.waiters: list[asyncio.Future[None]] = []

    def finish(self) -> None:
        self.done = True
        for call in self.then:
            call()
        for waiter in self.waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def wait(self) -> None:
        """Return when the record is stored; one who stops waiting takes nothing along."""
        if not self.done:
            waiter = asyncio.get_running_loop().create_future()
            self.waiters.append(waiter)
            await waiter


class Sink(Protocol[C]):
    """Where records end up; see `Store`."""

    immediate: bool

    def write(self, records: Sequence[C]) -> None: ...


@dataclass(slots=True)
class Figures:
    """What a journal has done: records and batches stored, writes that failed, seconds spent in the store."""

    records: int = 0
    batches: int = 0
    failures: int = 0
    seconds: float = 0.0
    longest: float = 0.0


class Journal(Generic[R]):
    """Writes records to a store without blocking the event loop."""

    def __init__(self, store: Sink[R]) -> None:
        self.store = store
        self.failure: StoreError | None = None
        """Why the last write failed; None while the store works."""
        self.figures = Figures()
        self._given: SimpleQueue[tuple[R, Ticket] | None] = SimpleQueue()
        self._last: Ticket | None = None
        self._thread: Thread | None = None
        self._give_up = Event()

    def add(self, record: R) -> Ticket | None:
        """Give a record to the journal; None if it is stored already."""
        if self.store.immediate:
            self.store.write((record,))
            self.figures.records += 1
            self.figures.batches += 1
            return None
        if self._thread is None:
            loop = asyncio.get_running_loop()
            # It may be stuck in a disk that never answers: the process's end does not wait for it.
            self._thread = Thread(target=self._run, args=(loop,), name="journal", daemon=True)
            self._thread.start()
        self._last = ticket = Ticket()
        self._given.put((record, ticket))
        return ticket

    async def flush(self, within: float) -> None:
        """Wait until what was given is stored, at most `within` seconds."""
        if self._last is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(within):
                    await self._last.wait()

    async def close(self, within: float = 5.0) -> None:
        """Store what was given, within `within` seconds. Raises StoreError if that failed."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        self._given.put(None)
        await self.flush(within)
        self._give_up.set()
        if self._last is not None and not self._last.done:
            raise self.failure or StoreError(f"the store did not answer within {within} s: look at its disk")
        await asyncio.to_thread(thread.join, within)

    # -- in the journal's thread -----------------------------------------------------------------

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        while (batch := self._take()) and self._write([record for record, _ in batch]):
            try:
                loop.call_soon_threadsafe(_finish, [ticket for _, ticket in batch])
            except RuntimeError:
                # The loop has been closed: nobody waits any more.
                return

    def _take(self) -> list[tuple[R, Ticket]]:
        """What was given, at least one record; none when the journal is closed."""
        batch: list[tuple[R, Ticket]] = []
        given = self._given.get()
        while given is not None:
            batch.append(given)
            if len(batch) == BATCH:
                return batch
            try:
                given = self._given.get_nowait()
            except Empty:
                return batch
        if batch:
            # The end is the next thing to be found.
            self._given.put(None)
        return batch

    def _write(self, records: list[R]) -> bool:
        """Store them, however often that takes; False if the journal gave up before."""
        while not self._give_up.is_set():
            began = time.perf_counter()
            try:
                self.store.write(records)
            except Exception as error:
                self.figures.failures += 1
                self.failure = error if isinstance(error, StoreError) else StoreError(f"the store failed: {error!r}")
                self._give_up.wait(RETRY)
            else:
                self._count(len(records), time.perf_counter() - began)
                self.failure = None
                return True
        return False

    def _count(self, records: int, seconds: float) -> None:
        figures = self.figures
        figures.records += records
        figures.batches += 1
        figures.seconds += seconds
        figures.longest = max(figures.longest, seconds)


def _finish(tickets: Sequence[Ticket]) -> None:
    for ticket in tickets:
        ticket.finish()
