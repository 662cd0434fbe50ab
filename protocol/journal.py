"""Group commit: records are stored in the order they were given, many with one wait for the disk.

Rules of this file:

- A ticket is done when its record is stored; tickets are done in the order they were given.
- A write begins as soon as there is a record and no other write runs: it waits for no more to come. What
  comes meanwhile is the next one. A record that rides begins none, and goes with the next.
- A store that fails is tried again until it works or the journal is closed: a step that was made is
  neither lost nor undone, and nobody is answered before it is stored.
- Writes are work given to a thread by the loop, which may be one that does such work itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import Any, Generic, Protocol, TypeVar

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
        self._given: list[tuple[R, Ticket]] = []
        self._last: Ticket | None = None
        self._is_writing = self._is_closed = False
        self._is_wanted = False
        """Whether one of those that were given does not ride."""
        self._thread: _OneThread | None = None

    def add(self, record: R, *, rides: bool = False) -> Ticket | None:
        """Give a record to the journal; None if it is stored already. One that `rides` is stored with the next that
        does not, or by `flush`."""
        if self.store.immediate:
            self.store.write((record,))
            self.figures.records += 1
            self.figures.batches += 1
            return None
        self._last = ticket = Ticket()
        self._given.append((record, ticket))
        self._is_wanted = self._is_wanted or not rides
        if self._is_wanted and not self._is_writing:
            self._begin()
        return ticket

    async def flush(self, within: float) -> None:
        """Wait until what was given is stored, at most `within` seconds."""
        if self._last is not None:
            self._is_wanted = bool(self._given)
            if self._is_wanted and not self._is_writing:
                self._begin()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(within):
                    await self._last.wait()

    async def close(self, within: float = 5.0) -> None:
        """Store what was given, within `within` seconds. Raises StoreError if that failed."""
        await self.flush(within)
        self._is_closed = True
        if self._thread is not None:
            self._thread.shutdown()
        if self._last is not None and not self._last.done:
            raise self.failure or StoreError(f"the store did not answer within {within} s: look at its disk")

    # -- inside ----------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Write what there is."""
        self._is_writing = True
        batch, self._given = self._given[:BATCH], self._given[BATCH:]
        self._is_wanted = self._is_wanted and bool(self._given)
        if self._thread is None:
            self._thread = _OneThread("journal")
        self._try(batch)

    def _try(self, batch: list[tuple[R, Ticket]]) -> None:
        if self._is_closed or self._thread is None:
            return
        records = [record for record, _ in batch]
        writing = asyncio.get_running_loop().run_in_executor(self._thread, self._write, records)
        writing.add_done_callback(lambda written: self._wrote(batch, written))

    def _write(self, records: list[R]) -> float:
        """In the thread: store them; the seconds that it took."""
        began = time.perf_counter()
        self.store.write(records)
        return time.perf_counter() - began

    def _wrote(self, batch: list[tuple[R, Ticket]], written: asyncio.Future[float]) -> None:
        if written.cancelled():
            return
        figures, error = self.figures, written.exception()
        if error is not None:
            figures.failures += 1
            self.failure = error if isinstance(error, StoreError) else StoreError(f"the store failed: {error!r}")
            asyncio.get_running_loop().call_later(RETRY, self._try, batch)
            return
        self.failure, seconds = None, written.result()
        figures.records += len(batch)
        figures.batches += 1
        figures.seconds += seconds
        figures.longest = max(figures.longest, seconds)
        self._is_writing = False
        if self._is_wanted:
            # While these are told, the next are written.
            self._begin()
        for _, ticket in batch:
            ticket.finish()


class _OneThread(Executor):
    """A thread that begins with its first work. What never ends in it does not hold up the end of the process."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._works: SimpleQueue[tuple[Future[Any], Callable[..., Any], tuple[Any, ...]] | None] = SimpleQueue()
        self._thread: Thread | None = None

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self._thread is None:
            self._thread = Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        future: Future[Any] = Future()
        self._works.put((future, fn, args))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._works.put(None)

    def _run(self) -> None:
        while (work := self._works.get()) is not None:
            future, call, args = work
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = call(*args)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)
