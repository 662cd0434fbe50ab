"""Group commit: steps are stored in the order they were made, many with one wait for the disk.

Rules of this file:

- A ticket is done when its record is on the disk; tickets are done in the order they were given.
- While a batch is being written the next one gathers.
- A store that fails is tried again until it works or the journal is closed: a step that was made is
  neither lost nor undone, and nobody is answered before it is stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, Protocol, TypeVar

from .store import StoreError

R = TypeVar("R", contravariant=True)

RETRY = 0.2
"""Seconds between two tries of a store that fails."""


class Ticket:
    """A record on its way to the disk. `then` are called, in order, when it is there."""

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


class Sink(Protocol[R]):
    """Where records end up; see `Store`."""

    immediate: bool

    def write(self, records: Sequence[R]) -> None: ...


class Journal(Generic[R]):
    """Writes records to a store without blocking the event loop."""

    def __init__(self, store: Sink[R]) -> None:
        self.store = store
        self.failure: StoreError | None = None
        """Why the last write failed; None while the store works."""
        self._batch: list[tuple[R, Ticket]] = []
        self._writing: asyncio.Future[None] | None = None
        self._thread = None if store.immediate else ThreadPoolExecutor(1, "journal")

    def add(self, record: R) -> Ticket | None:
        """Give a record to the journal; None if it is stored already."""
        if self._thread is None:
            self.store.write((record,))
            return None
        ticket = Ticket()
        self._batch.append((record, ticket))
        if self._writing is None:
            self._writing = asyncio.ensure_future(self._write(self._thread))
        return ticket

    async def flush(self, within: float) -> None:
        """Wait until what was given is stored, at most `within` seconds."""
        if self._writing is not None:
            await asyncio.wait([self._writing], timeout=within)

    async def close(self, within: float = 5.0) -> None:
        """Store what was given, within `within` seconds. Raises StoreError if that failed."""
        await self.flush(within)
        if self._thread is not None:
            self._thread.shutdown(wait=self._writing is None, cancel_futures=True)
        if self._writing is not None:
            self._writing.cancel()
            raise self.failure or StoreError(f"the store did not answer within {within} s: look at its disk")

    async def _write(self, thread: ThreadPoolExecutor) -> None:
        loop = asyncio.get_running_loop()
        while self._batch:
            batch, self._batch = self._batch, []
            records = [record for record, _ in batch]
            while True:
                try:
                    await loop.run_in_executor(thread, self.store.write, records)
                    break
                except StoreError as error:
                    self.failure = error
                    await asyncio.sleep(RETRY)
            self.failure = None
            for _, ticket in batch:
                ticket.finish()
        self._writing = None
