"""Production: groups begun, made, kept and claimed, while training takes its steps.

Rules of this file:

- A finished group is held here alone, until it was trained on or dropped. It is claimed once, and kept across
  windows in which nothing is made.
- Where a group stands is in the Production machine; this begins what that allows, and holds what came of it.
- The first failure ends production, and is what everybody is told who asks for groups.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Literal, Protocol

from .finished import FinishedGroup
from .groups import Groups, GroupsClosed, NotAtRest
from .staleness import Staleness

_log = logging.getLogger(__name__)
WAIT_S = 3600.0
"""How long one wait for groups lasts, before the next."""


class Makes(Protocol):
    """Who makes a group: `Attempts`."""

    async def __call__(self, number: int) -> FinishedGroup: ...

    async def drain(self, within: float) -> None: ...


class Production:
    """Keeps `in_flight` groups going, and at most so many more finished ones as `waiting`; in one loop.

    `published` gives the version that is served. In the order `number` a batch has the lowest numbers there are, so
    that it does not hang on who was fastest; in the order `finished`, what was done first. `staleness` drops groups
    that are too old. Raises ValueError for counts that cannot be.
    """

    def __init__(
        self, groups: Groups, make: Makes, *, in_flight: int, waiting: int, published: Callable[[], int],
        order: Literal["number", "finished"] = "number", staleness: Staleness | None = None,
    ) -> None:  # fmt: skip
        if in_flight < 1 or waiting < 0:
            raise ValueError(f"in_flight {in_flight} must be at least 1, waiting {waiting} at least 0")
        self.groups, self._make, self._published = groups, make, published
        self._in_flight, self._room, self._order = in_flight, in_flight + waiting, order
        self._staleness = staleness
        self._finished: dict[int, FinishedGroup] = {}
        """Those that are ready or claimed, as they finished."""
        self._wanted = 0
        self._workers: set[asyncio.Task[None]] = set()
        self._failure: BaseException | None = None
        self.dropped = 0
        """How many groups were too old to be trained on."""

    @property
    def pending(self) -> int:
        """How many finished groups wait to be claimed."""
        return len(self.groups.ready)

    async def run(self) -> None:
        """Make groups until `close`. Raises the first failure."""
        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(self._in_flight):
                    worker = tasks.create_task(self._work())
                    self._workers.add(worker)
                    worker.add_done_callback(self._workers.discard)
        except BaseExceptionGroup as failures:
            first = self._failure or failures.exceptions[0]
            for other in failures.exceptions:
                if other is not first:
                    _log.error("behind the first failure of production: %r", other)
            raise first from first.__cause__
        finally:
            self.groups.close()

    def start(self) -> None:
        """New groups begin."""
        self.groups.start()

    def stop(self) -> None:
        """No new group begins; those that run go on, and what is to be begun again still is."""
        self.groups.stop()

    async def gather(
        self, count: int, *, published: int, within: float | None = None, stop: bool = False
    ) -> list[FinishedGroup]:
        """Claim `count` finished groups to be trained on by the weights after `published`, once they are there.

        With `stop` no new group begins after that. Raises what ended production, GroupsClosed, and TimeoutError after
        `within` seconds; then nothing is claimed.
        """
        self._wanted = count
        self.groups.notify()
        try:
            async with asyncio.timeout(within):
                chosen = await self._chosen(count, published)
        finally:
            self._wanted = 0
        if stop:
            self.groups.stop()
        for number in chosen:
            self.groups.claim(number)
        return [self._finished[number] for number in chosen]

    def trained(self) -> None:
        """The step with what was claimed is done."""
        claimed = self.groups.claimed
        self.groups.trained()
        for number in claimed:
            self._finished.pop(number, None)

    def give_back(self) -> None:
        """The step was not done: what was claimed is there for the next."""
        self.groups.give_back()

    async def quiesce(self, within: float) -> None:
        """Stop, and return once no group runs. Raises NotAtRest after `within` seconds; it stays stopped."""
        self.stop()
        if not await self.groups.until(lambda: not self.groups.running or self._has_ended, within):
            running = ", ".join(map(str, self.groups.running))
            raise NotAtRest(f"groups {running} still run after {within:g} s: wait longer, or go on without rest")
        self._require_going()

    async def close(self, within: float) -> None:
        """Cancel what runs, and end its sessions; what did not finish is to be begun again.

        Raises TimeoutError where that takes more than `within` seconds.
        """
        self.groups.close()
        until = asyncio.get_running_loop().time() + within
        for worker in self._workers:
            worker.cancel()
        if self._workers:
            await asyncio.wait(self._workers, timeout=within)
        if self._workers:
            raise TimeoutError(f"{len(self._workers)} groups have not ended within {within:g} s of their cancellation")
        await self._make.drain(max(0.0, until - asyncio.get_running_loop().time()))

    # -- inside ----------------------------------------------------------------------------------

    async def _work(self) -> None:
        while True:
            number = self.groups.begin_now(self._published()) if self._may_begin else None
            if number is None:
                await self.groups.until(lambda: self._may_begin or self.groups.state == "CLOSED", WAIT_S)
                if self.groups.state == "CLOSED":
                    return
                continue
            try:
                group = await self._make(number)
            except BaseException as error:
                self.groups.failed(number)
                if not isinstance(error, asyncio.CancelledError):
                    self._failure = self._failure or error
                    # Before another worker can begin it.
                    self.groups.close()
                raise
            self._finished[number] = group
            self.groups.completed(number)

    @property
    def _may_begin(self) -> bool:
        """Whether there is room; what is to be begun again always has it, since others wait for it."""
        groups = self.groups
        if not groups.may_begin or groups.has_again:
            return groups.may_begin
        return len(groups.running) + len(groups.ready) < max(self._room, self._wanted)

    async def _chosen(self, count: int, published: int) -> list[int]:
        while True:
            known = self._known()
            self._require_going()
            if chosen := self._choose(count, published):
                return chosen
            await self.groups.until(partial(self._has_news, known), WAIT_S)

    def _has_news(self, known: tuple[tuple[int, ...], ...]) -> bool:
        return self._has_ended or self._known() != known

    def _choose(self, count: int, published: int) -> list[int]:
        """The groups of the batch, or none while they are not there. What is too old is dropped."""
        ready = set(self.groups.ready)
        if self._staleness is not None:
            for number in sorted(ready):
                if self._staleness.refuses(self._finished[number].samples, published):
                    _log.debug("group %d is too old to be trained on", number)
                    self.dropped += 1
                    ready.discard(number)
                    del self._finished[number]
                    self.groups.done(number)
        if self._order == "finished":
            chosen = [number for number in self._finished if number in ready][:count]
        else:
            chosen = sorted(ready.union(self.groups.running))[:count]
        return chosen if len(chosen) == count and ready.issuperset(chosen) else []

    def _known(self) -> tuple[tuple[int, ...], ...]:
        return self.groups.running, self.groups.ready

    @property
    def _has_ended(self) -> bool:
        return self._failure is not None or self.groups.state == "CLOSED"

    def _require_going(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self.groups.state == "CLOSED":
            raise GroupsClosed("production is closed: it makes no more groups")
