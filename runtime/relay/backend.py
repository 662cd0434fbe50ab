"""Requests of turns, run on upstreams: each a block behind the upstream's gate.

Rules of this file:

- A request is one task, which holds the lease from admission to the end; whoever leaves the request has it cancelled.
- What an upstream refused, and what broke, is told once the lease has settled as failed.
- Where token ids were asked for, an answer without them is refused: what is exact is so in every token.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import httpx

from ...protocol.tasks import Tasks
from ..chat.form import Ask, Delta
from ..gate import EmbeddedGate, GateLease, LeaseEnded, Refusal
from ..serving.errors import HttpError, of_upstream, refusal
from ..serving.openai_upstream import OpenAIAnswers
from ..serving.reading import parse
from ..serving.sse import Parser, TooLarge
from ..sessions.backend import ENDS_S, Admitted, Made, Over, Request, Word
from ..sessions.cohort import Place
from ..sessions.errors import TurnLost, TurnRefused
from .answers import Assembled
from .upstream import Upstream

LOOK_S = 0.05
"""How often it is looked whether a lease is over."""


@dataclass(frozen=True, slots=True)
class Job:
    """What an upstream is asked: `body` in its API. `reads`: its deltas are wanted too; `exact`: its token ids."""

    body: Mapping[str, Any]
    ask: Ask
    reads: bool
    exact: bool


class Responded:
    """A word: the upstream begins to answer, and does not refuse."""


@dataclass(frozen=True, slots=True)
class Said:
    """A word: the upstream's body, or one event of its stream; with its deltas, where they are read."""

    body: Mapping[str, Any]
    deltas: list[Delta]
    prompt_ids: tuple[int, ...] | None


@dataclass(slots=True, eq=False)
class _Call:
    """One request: its words, and the task that runs it."""

    words: asyncio.Queue[Word | Exception] = field(default_factory=asyncio.Queue)
    goes: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


Find = Callable[[str], tuple[Upstream, EmbeddedGate] | None]


class Relays:
    """A `Backend[Job]`. Use as `async with`. `find` gives upstream and gate of a life, None if it ended."""

    def __init__(self, find: Find) -> None:
        self._find = find
        self._calls: dict[str, _Call] = {}
        self._group = Tasks()

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for call in self._calls.values():
            if call.task is not None:
                call.task.cancel()
        await self._group.__aexit__(kind, error, trace)

    async def close(self) -> None:
        """See `Backend.close`; leaving this does it."""

    async def run(self, place: Place, request: Request[Job]) -> AsyncGenerator[Word, None]:
        """See `Backend.run`. Raises HttpError too, for what the upstream answered instead."""
        found = self._find(place.incarnation)
        if found is None:
            raise TurnRefused(request.session, "ending", f"{place.incarnation} has ended", retry=True)
        call = self._calls[request.lease] = _Call()
        task = call.task = self._group.create_task(self._run(call, *found, request))
        task.add_done_callback(lambda _: self._calls.pop(request.lease, None))
        try:
            while True:
                word = await call.words.get()
                if isinstance(word, Exception):
                    raise word
                yield word
                if isinstance(word, Over):
                    return
        finally:
            task.cancel()

    async def proceed(self, place: Place, lease: str) -> bool:
        """See `Backend.proceed`."""
        call = self._calls.get(lease)
        if call is None:
            return False
        call.goes.set()
        return True

    async def is_over(self, place: Place, lease: str, is_alive: Callable[[], bool]) -> bool:
        """See `Backend.is_over`."""
        if (call := self._calls.get(lease)) is not None and call.task is not None:
            call.task.cancel()
            await asyncio.wait((call.task,), timeout=ENDS_S)
        clock = asyncio.get_running_loop().time
        until = clock() + ENDS_S
        while is_alive() and (found := self._find(place.incarnation)) is not None and not found[1].is_over(lease):
            if clock() > until:
                return False
            await asyncio.sleep(LOOK_S)
        return True

    # -- one request -----------------------------------------------------------------------------

    async def _run(self, call: _Call, upstream: Upstream, gate: EmbeddedGate, request: Request[Job]) -> None:
        session, told = request.session, call.words.put_nowait
        failure: Exception | None = None

        async def begins(version: int | None) -> None:
            told(Admitted(version))
            if request.waits:
                await call.goes.wait()

        try:
            async with gate.admit(
                session, lease=request.lease, pin=request.pin, hold=max(0.0, request.hold), begins=begins
            ) as lease:
                try:
                    await _closed(self._talk(call, upstream, request, lease))
                except HttpError as error:
                    failure = error
                    lease.fail(error.text)
        except Refusal as refused:
            failure = TurnRefused(session, refused.reason, refused.text, retry=refused.retry)
        except LeaseEnded as ended:
            told(Over(ended.ending, ended.why))
            return
        except asyncio.CancelledError:
            told(TurnLost(session, request.lease, "broken", "it was cancelled"))
            raise
        except Exception as error:
            # It is this call's, and whoever asked is told: no other call ends with it.
            failure = error
        told(Over("stop") if failure is None else failure)

    async def _talk(self, call: _Call, upstream: Upstream, request: Request[Job], lease: GateLease) -> None:
        """Ask, and tell what comes. Raises HttpError."""
        job = request.work
        reader = OpenAIAnswers(job.ask, version=lease.version or 0) if job.reads else None
        assembled = Assembled(job.ask.choices)
        async with upstream.generate(job.body, request.lease) as answer:
            call.words.put_nowait(Responded())
            if job.ask.stream:
                await self._stream(call, answer, assembled, reader, job.exact, lease)
            else:
                body = await upstream.body(answer)
                said = _object(body)
                assembled.whole(said)
                self._tell(call, said, reader.whole(body) if reader else [], reader, job.exact, lease)
        if not assembled.is_ended:
            raise refusal("upstream_broken", f"{upstream.name}'s answer ends before its choices have")
        if job.exact and not (reader and reader.is_exact):
            text = f"{upstream.name} did not tell the ids of all tokens: serve without --token-ids, or mend it"
            raise refusal("upstream_malformed", text)

    async def _stream(
        self, call: _Call, answer: httpx.Response, assembled: Assembled, reader: OpenAIAnswers | None, exact: bool,
        lease: GateLease,
    ) -> None:  # fmt: skip
        parser = Parser()
        async for piece in answer.aiter_bytes():
            try:
                events = parser.feed(piece)
            except TooLarge as wrong:
                raise refusal("upstream_malformed", f"the upstream's stream cannot be read: {wrong}") from None
            for event in events:
                if event.data.startswith(b"[DONE]"):
                    return
                said = _object(event.data)
                assembled.add(said)
                deltas = reader.feed(b"data: " + b"\ndata: ".join(event.data.split(b"\n")) + b"\n\n") if reader else []
                self._tell(call, said, deltas, reader, exact, lease)

    def _tell(
        self, call: _Call, said: Mapping[str, Any], deltas: list[Delta], reader: OpenAIAnswers | None, exact: bool,
        lease: GateLease,
    ) -> None:  # fmt: skip
        tokens = [token for delta in deltas for token in delta.tokens] if exact else []
        if tokens:
            ids, logprobs = [token.id for token in tokens], [token.logprob for token in tokens]
            version = lease.tokens(ids, logprobs) or 0
            call.words.put_nowait(Made(ids, logprobs, [version] * len(ids)))
        call.words.put_nowait(Said(said, deltas, reader.prompt_token_ids if reader else None))


async def _closed(work: Coroutine[Any, Any, None]) -> None:
    """Do it in a task of its own, which is over when this returns, however often its caller is cancelled: an upstream
    that was not hung up on would go on with what the gate holds to be over."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        task.cancel()
        while not task.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait((task,))
        if not task.cancelled():
            task.exception()
        raise


def _object(data: bytes) -> dict[str, Any]:
    """One object of the upstream. Raises HttpError: 502 for what is none, or the error that it tells."""
    try:
        said = parse(data)
    except HttpError as wrong:
        raise refusal("upstream_malformed", f"the upstream's answer cannot be read: {wrong.text}") from None
    if said.get("error") or said.get("object") == "error":
        error = said.get("error")
        code = error.get("code") if isinstance(error, Mapping) else said.get("code")
        raise of_upstream(code if isinstance(code, int) else 0, data)
    return said
