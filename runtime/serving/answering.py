"""Calls that are being answered, and who listens to them: a repeat joins the call that it repeats.

Rules of this file:

- A call is answered once, however many listen. Whoever comes later hears it from the beginning.
- A call that nobody listens to goes on for a grace, in which a repeat can join, and is then given up.
- A call that is answered is remembered for a while: a client that did not hear its end may ask again.
- A call repeats another if it has its idempotency key, or says that it is a retry and asks the same in the session.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from ...protocol.store import StoreError
from ...protocol.tasks import Tasks
from ..chat.form import Ask, Labels, Usage
from ..sessions.traces import Segment, Tree
from ..signals import Signal
from .errors import HttpError, refusal

_log = logging.getLogger(__name__)
Told = Any
"""A piece of an answer: a `Delta`, or what else the stream encoder of a tier reads."""
LONGEST_S = 24 * 3600.0
"""A bound for waits that end with what they wait for."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """What a call is known by. `digest` stands for what it asks; `key` is its idempotency key, empty without one."""

    session: str
    digest: str
    key: str = ""
    is_retry: bool = False

    @classmethod
    def of(cls, session: str, api: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> Repeat:
        """Of a request. Raises HttpError."""
        asked = json.dumps([api, body], sort_keys=True, separators=(",", ":")).encode()
        retries = headers.get("x-stainless-retry-count", "0")
        key = headers.get("idempotency-key", "")
        if len(key) > 256:
            raise refusal("malformed", "header Idempotency-Key: at most 256 characters")
        digest = hashlib.blake2b(asked, digest_size=16).hexdigest()
        return cls(session, digest, key, retries.isdecimal() and retries.strip("0") != "")

    @property
    def repeats(self) -> bool:
        """Whether it may repeat another."""
        return bool(self.key) or self.is_retry

    @property
    def name(self) -> tuple[str, str]:
        return (self.session, f"key {self.key}" if self.key else self.digest)


class Answering:
    """One call while it is answered, and after. `created` is in seconds of Unix time."""

    def __init__(self, repeat: Repeat, ask: Ask, created: int | None = None) -> None:
        self.repeat, self.ask = repeat, ask
        self.created = int(time.time()) if created is None else created
        self.began = time.monotonic()
        self.first_at: float | None = None
        """When it began, and when the first of the answer was told, in seconds of the monotonic clock."""
        self.deltas: list[Told] = []
        self.labels: Labels | None = None
        """Known once the call was admitted; they are more complete at the end."""
        self.first_labels: Labels | None = None
        self.usage: Usage | None = None
        """Counts of the prompt when the call was admitted, of all at the end."""
        self.is_done = False
        self.error: HttpError | None = None
        self.raw: Any = None
        """What an upstream answered, where that is passed on as it is."""
        self._changed = Signal()
        self._listeners = 0
        self.listened = 0
        """How often somebody began to listen."""
        self._leave: Callable[[], None] = lambda: None

    @property
    def is_over(self) -> bool:
        return self.is_done or self.error is not None

    def begin(self, labels: Labels, usage: Usage) -> None:
        """The call was admitted."""
        self.labels, self.usage = labels, usage
        self.first_labels = self.first_labels or labels
        self._changed.notify()

    def tell(self, deltas: Iterable[Told]) -> None:
        self.deltas += deltas
        if self.first_at is None and self.deltas:
            self.first_at = time.monotonic()
        self._changed.notify()

    def done(self, labels: Labels, usage: Usage) -> None:
        """Everything was told, and is stored."""
        self.labels, self.usage, self.is_done = labels, usage, True
        self.first_labels = self.first_labels or labels
        self._changed.notify()

    def fail(self, error: HttpError) -> None:
        if not self.is_over:
            self.error = error
            self._changed.notify()

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Somebody listens, for as long as this is entered."""
        self._listeners += 1
        self.listened += 1
        try:
            yield
        finally:
            self._listeners -= 1
            if not self._listeners:
                self._leave()

    @property
    def has_listeners(self) -> bool:
        return self._listeners > 0

    def when_left(self, call: Callable[[], None]) -> None:
        """`call` is called when nobody listens any more."""
        self._leave = call

    async def begun(self) -> None:
        """Return once it was admitted. Raises HttpError where it was not."""
        await self._until(lambda: self.first_labels is not None or self.is_over)
        if self.first_labels is None and self.error is not None:
            raise self.error

    async def follow(self) -> AsyncIterator[Told]:
        """All deltas. Raises HttpError where it failed, after what was told before."""
        at = 0
        while at < len(self.deltas) or not self.is_over:
            await self._until(lambda at=at: len(self.deltas) > at or self.is_over)
            while at < len(self.deltas):
                yield self.deltas[at]
                at += 1
        if self.error is not None:
            raise self.error

    async def over(self) -> None:
        """Return once all is told. Raises HttpError where it failed."""
        await self._until(lambda: self.is_over)
        if self.error is not None:
            raise self.error

    async def _until(self, holds: Callable[[], bool]) -> None:
        while not await self._changed.until(holds, LONGEST_S):
            pass


Answer = Callable[[Answering], Coroutine[Any, Any, None]]
LOOKED_AT = 512
"""How many of the last generations of a session may be the answer to a call with an idempotency key."""


def may_be_told_again(tree: Tree, repeat: Repeat, choices: int, since: int | None) -> Iterator[Segment]:
    """The generations that may be the answer to the call that this one repeats, the newest first.

    `since`: how many there were when that began, None where this life of the server does not know of it: a retry is
    then of the last call. An older call that asked the same is another one.
    """
    if not repeat.repeats:
        return iter(())
    if repeat.key:
        return reversed(tree.segments[-LOOKED_AT:])
    return reversed(tree.segments[max(0, len(tree) - choices) if since is None else since :])


class Exchanges:
    """The calls of a server. Use as `async with`: leaving gives up what still runs, and waits for what follows
    from answers.

    `grace`: seconds that a call goes on for which nobody listens; `remember`: seconds that one that is over is
    remembered, at most `most` of them.
    """

    def __init__(self, *, grace: float, remember: float, most: int = 4096) -> None:
        self._grace, self._remember, self._most = grace, remember, most
        self._calls: OrderedDict[tuple[str, str], Answering] = OrderedDict()
        self._began: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._group = Tasks()
        self._running: dict[asyncio.Task[None], Answering] = {}
        self.joined = 0
        """How many repeats were joined to the call that they repeat."""
        self.over: list[Callable[[Answering], None]] = []
        """Called with each call that is over, once."""

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._running:
            task.cancel()
        await self._group.__aexit__(kind, error, trace)

    @property
    def running(self) -> int:
        """How many calls are being answered."""
        return len(self._running)

    def knows(self, repeat: Repeat) -> bool:
        """Whether there is a call of this name: one that is answered, or was just before."""
        return repeat.name in self._calls

    def join(self, repeat: Repeat) -> Answering | None:
        """The call that this one repeats, none if it repeats none. Raises HttpError for a key of another call."""
        known = self._calls.get(repeat.name) if repeat.repeats else None
        if known is None:
            return None
        if known.repeat.digest != repeat.digest:
            raise refusal("malformed", "header Idempotency-Key: it was used for another request, take a new one")
        self.joined += 1
        return known

    def since(self, repeat: Repeat) -> int | None:
        """How many generations its session had when the last call of this name began, None where that is not known."""
        return self._began.get(repeat.name)

    def begin(self, repeat: Repeat, ask: Ask, answer: Answer, *, generations: int = 0) -> Answering:
        """Answer a call that repeats none. `answer` tells what comes; it is cancelled when the call is given up.

        `generations`: how many its session has.
        """
        answering = Answering(repeat, ask)
        self._began[repeat.name] = generations
        self._began.move_to_end(repeat.name)
        while len(self._began) > self._most:
            self._began.popitem(last=False)
        task = self._group.create_task(self._run(answering, answer))
        self._running[task] = answering
        task.add_done_callback(self._running.pop)
        self._calls[repeat.name] = answering
        self._calls.move_to_end(repeat.name)
        while len(self._calls) > self._most and next(iter(self._calls.values())).is_over:
            self._calls.popitem(last=False)
        loop = asyncio.get_running_loop()

        def give_up(listened: int) -> None:
            # Whoever came and left meanwhile has a grace of its own.
            if answering.listened == listened and not answering.has_listeners:
                task.cancel()

        def left() -> None:
            if not task.done():
                loop.call_later(self._grace, give_up, answering.listened)

        answering.when_left(left)
        return answering

    def afterwards(self, work: Coroutine[Any, Any, None]) -> None:
        """Do what follows from an answer, which nobody gives up. It ends in time, and raises nothing."""
        self._group.create_task(work)

    async def _run(self, answering: Answering, answer: Answer) -> None:
        try:
            await answer(answering)
        except HttpError as error:
            answering.fail(error)
        except asyncio.CancelledError:
            answering.fail(refusal("given_up", "the call was given up: nobody listened, or the server ends"))
            task = asyncio.current_task()
            if not (task is not None and task.cancelling()):
                raise
        except StoreError as error:
            answering.fail(refusal("storage", f"what is kept cannot be read now ({error}): come again"))
        except Exception:
            # One call that fails as nobody foresaw is not the end of all others.
            _log.exception("a call failed")
            answering.fail(refusal("turn_lost", "the call failed in this server, whose log says how: send it again"))
        finally:
            loop = asyncio.get_running_loop()
            # One that failed is not repeated but done again.
            after = self._remember if answering.is_done else 0
            loop.call_later(after, self._forget, answering)
            for tell in self.over:
                tell(answering)

    def _forget(self, answering: Answering) -> None:
        if self._calls.get(answering.repeat.name) is answering:
            del self._calls[answering.repeat.name]
