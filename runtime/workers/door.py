"""The door of a replica: requests enter one after another, and may wait in line while they cannot.

Rules of this file:

- Whether a request enters is the answer of `admit`, which asks the gate; nothing else lets one in.
- While somebody waits, nobody goes past: a newcomer tries for those in front first.
- The line is bounded, the time in it, and what one client may have in the line and behind the door; a
  client that leaves, or whose request is aborted, is taken out of it.
- Every refusal is counted under its reason, and every admission.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...protocol.refusals import STORAGE
from ..engines import Request
from ..watching.context import parent
from .records import require_text
from .run import Run

CLOSED = "closed"
_REMEMBERED = 100_000
"""Ids of requests that were aborted before they came; the oldest are forgotten."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request at the door. `hold`: seconds that it may wait there; `client`: whose limit it counts for, if any.

    Raises TypeError and ValueError for what could not be recorded of it.
    """

    request: Request
    session: str
    pin: int | None
    hold: float
    labels: Mapping[str, str] = field(default_factory=dict)
    chosen: bool = True
    """Whether the caller chose its id."""
    client: str = ""
    waits: bool = False
    """Whether it goes to the engine only once its client says so."""
    parent: Any = field(default_factory=parent)
    """What it is a part of, for who watches."""

    def __post_init__(self) -> None:
        require_text(lease=self.lease, session=self.session, client=self.client)
        for name, value in self.labels.items():
            require_text(**{"the name of a label": name, "a label": value})

    @property
    def lease(self) -> str:
        return self.request.request_id


class Refusal(Exception):
    """A request was not admitted, and has reached nothing; with `retry` it may come again.

    `reason` is one word for programs, `text` is for people.
    """

    def __init__(self, reason: str, text: str, *, retry: bool) -> None:
        super().__init__(text)
        self.reason, self.text, self.retry = reason, text, retry

    @property
    def may_pass(self) -> bool:
        """Whether waiting at the door can help."""
        return self.reason in (CLOSED, STORAGE)


class Door:
    """Lets requests in by `admit`, which gives the lease's run or a refusal.

    `limit` is the most requests that wait, `longest` the most seconds that one waits. A client has at most
    `per_client` requests in the line and behind the door; `open_of` counts those behind it.
    """

    def __init__(
        self, admit: Callable[[Call], Run | Refusal], *, limit: int, longest: float,
        per_client: int = 0, open_of: Callable[[str], int] = lambda client: 0,
    ) -> None:  # fmt: skip
        self._admit, self._limit, self._longest = admit, limit, longest
        self._per_client, self._open_of = per_client, open_of
        self._is_shut = False
        self._line: deque[tuple[Call, asyncio.Future[Run | Refusal]]] = deque()
        self._waiting_of: Counter[str] = Counter()
        self._aborted: OrderedDict[str, None] = OrderedDict()
        self.admitted = self.held = self.left = 0
        """Requests so far that were let in, that had to wait, and whose client left while they did."""
        self.refused: Counter[str] = Counter()
        """Refusals so far, by reason."""
        self.waited: Callable[[float], None] | None = None
        """Told how many seconds a request has waited, however that ended."""

    def __len__(self) -> int:
        """How many wait."""
        return len(self._line)

    async def enter(self, call: Call) -> Run:
        """Admit, at once or after waiting. Raises Refusal."""
        try:
            run = await self._enter(call)
        except Refusal as refusal:
            self.refused[refusal.reason] += 1
            raise
        except asyncio.CancelledError:
            self.left += 1
            raise
        self.admitted += 1
        return run

    def refuse(self, reason: str, text: str, *, retry: bool = False) -> Refusal:
        """The refusal of a request that is not shown to the gate, counted like the others."""
        self.refused[reason] += 1
        return Refusal(reason, text, retry=retry)

    def let_in(self) -> Refusal | None:
        """Try for those who wait, first come first; why the first of them still waits."""
        while self._line:
            call, answer = self._line[0]
            found = self._admit(call)
            if isinstance(found, Refusal) and found.may_pass:
                return found
            self._line.popleft()
            answer.set_result(found)
        return None

    def abort(self, lease: str) -> bool:
        """A request of this id is no longer wanted: whether it waited. One that still comes is refused."""
        for place in self._line:
            if place[0].lease == lease:
                self._line.remove(place)
                place[1].set_result(_aborted(lease))
                return True
        self._aborted[lease] = None
        if len(self._aborted) > _REMEMBERED:
            self._aborted.popitem(last=False)
        return False

    def shut(self) -> None:
        """The process ends: who waits or comes is refused."""
        self._is_shut = True
        while self._line:
            self._line.popleft()[1].set_result(_shut())

    # -- inside ----------------------------------------------------------------------------------

    async def _enter(self, call: Call) -> Run:
        if self._is_shut:
            raise _shut()
        if call.lease in self._aborted:
            raise _aborted(call.lease)
        if self._per_client and call.client:
            of_client = self._waiting_of[call.client] + self._open_of(call.client)
            if of_client >= self._per_client:
                raise Refusal("client_full", f"this client has {of_client} requests here: let some end", retry=True)
        found = self.let_in() or self._admit(call)
        if isinstance(found, Run):
            return found
        hold = min(call.hold, self._longest)
        if not found.may_pass or hold <= 0:
            raise found
        if len(self._line) >= self._limit:
            raise Refusal("hold_full", f"{found.text}, and {self._limit} requests wait", retry=True)
        return await self._wait(call, hold, found)

    async def _wait(self, call: Call, hold: float, why: Refusal) -> Run:
        answer: asyncio.Future[Run | Refusal] = asyncio.get_running_loop().create_future()
        place = (call, answer)
        self._line.append(place)
        self._waiting_of[call.client] += 1
        self.held += 1
        clock = asyncio.get_running_loop().time
        began = clock()
        try:
            # `wait` neither raises when the time is over nor loses an answer that comes at that moment.
            await asyncio.wait([answer], timeout=hold)
        except asyncio.CancelledError:
            if answer.done() and isinstance(found := answer.result(), Run):
                found.cancel()
            raise
        finally:
            self._waiting_of[call.client] -= 1
            if not self._waiting_of[call.client]:
                del self._waiting_of[call.client]
            if not answer.done():
                self._line.remove(place)
            if self.waited is not None:
                self.waited(clock() - began)
        if not answer.done():
            raise Refusal("hold_expired", f"{why.text}, and this did not pass within {hold:g} s", retry=True)
        found = answer.result()
        if isinstance(found, Refusal):
            raise found
        return found


# An exception that was raised keeps what it went through: each request gets its own.
def _shut() -> Refusal:
    return Refusal("ending", "this life of the replica ends", retry=True)


def _aborted(lease: str) -> Refusal:
    return Refusal("aborted", f"request {lease!r} was aborted before it was admitted", retry=False)
