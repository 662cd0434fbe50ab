"""The door of a replica: requests enter one after another, and may wait in line while the gate is closed.

Rules of this file:

- Whether a request enters is the gate's answer to Admit, nothing else.
- While somebody waits, nobody goes past: a newcomer tries for those in front first.
- The line is bounded, and so is the time in it; a client that leaves is taken out of it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ..engines import Request
from .leases import Run


@dataclass(frozen=True, slots=True)
class Call:
    """A request at the door. `hold`: seconds that it may wait there."""

    request: Request
    session: str
    pin: int | None
    hold: float
    labels: Mapping[str, str] = field(default_factory=dict)
    chosen: bool = True
    """Whether the caller chose its id."""

    @property
    def lease(self) -> str:
        return self.request.request_id


class Refusal(Exception):
    """A request was not admitted, and has reached nothing; with `retry` it may come again."""

    def __init__(self, reason: str, text: str, *, retry: bool) -> None:
        super().__init__(text)
        self.reason, self.text, self.retry = reason, text, retry

    @property
    def is_closed(self) -> bool:
        """Whether waiting at the door can help."""
        return self.reason == "closed"


_SHUT = Refusal("ending", "this life of the replica ends", retry=True)


class Door:
    """Lets requests in by `admit`, which gives the lease's run or a refusal.

    `limit` is the most requests that wait, `longest` the most seconds that one waits.
    """

    def __init__(self, admit: Callable[[Call], Run | Refusal], *, limit: int, longest: float) -> None:
        self._admit, self._limit, self._longest = admit, limit, longest
        self._is_shut = False
        self._line: deque[tuple[Call, asyncio.Future[Run | Refusal]]] = deque()

    def __len__(self) -> int:
        """How many wait."""
        return len(self._line)

    async def enter(self, call: Call) -> Run:
        """Admit, at once or after waiting. Raises Refusal."""
        if self._is_shut:
            raise _SHUT
        closed = Refusal("closed", "the gate is closed, and others wait", retry=True)
        found = closed if self.let_in() else self._admit(call)
        if isinstance(found, Run):
            return found
        hold = min(call.hold, self._longest)
        if not found.is_closed or hold <= 0:
            raise found
        if len(self._line) >= self._limit:
            raise Refusal("hold_full", f"the gate is closed and {self._limit} requests wait", retry=True)
        return await self._wait(call, hold)

    def let_in(self) -> int:
        """Try for those who wait, first come first; how many still wait."""
        while self._line:
            call, answer = self._line[0]
            found = self._admit(call)
            if isinstance(found, Refusal) and found.is_closed:
                break
            self._line.popleft()
            answer.set_result(found)
        return len(self._line)

    def shut(self) -> None:
        """The process ends: who waits or comes is refused."""
        self._is_shut = True
        while self._line:
            self._line.popleft()[1].set_result(_SHUT)

    async def _wait(self, call: Call, hold: float) -> Run:
        answer: asyncio.Future[Run | Refusal] = asyncio.get_running_loop().create_future()
        place = (call, answer)
        self._line.append(place)
        try:
            # `wait` neither raises when the time is over nor loses an answer that comes at that moment.
            await asyncio.wait([answer], timeout=hold)
        except asyncio.CancelledError:
            if answer.done() and isinstance(found := answer.result(), Run):
                found.cancel()
            raise
        finally:
            if not answer.done():
                self._line.remove(place)
        if not answer.done():
            raise Refusal("hold_expired", f"the gate did not reopen within {hold:g} s", retry=True)
        found = answer.result()
        if isinstance(found, Refusal):
            raise found
        return found
