"""A request's output as an asynchronous iterator, for callers that need no more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

from .base import Engine, Finish, FinishReason, Request, Token


class StreamSink:
    """A sink that queues what comes; freezes are invisible but for the pause."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[Token | Finish] = asyncio.Queue()

    def tokens(self, tokens: Sequence[Token]) -> None:
        for token in tokens:
            self.queue.put_nowait(token)

    def suspended(self, epoch: int) -> None:
        del epoch

    def continued(self, epoch: int) -> None:
        del epoch

    def finished(self, finish: Finish) -> None:
        self.queue.put_nowait(finish)

    def lost(self, why: str) -> None:
        self.queue.put_nowait(Finish(FinishReason.FAILED, f"what became of it is not known: {why}"))


async def stream(engine: Engine, request: Request) -> AsyncGenerator[Token | Finish, None]:
    """The tokens of `request`, then its Finish. Leaving the iterator early aborts the request."""
    sink = StreamSink()
    engine.generate(request, sink)
    item: Token | Finish | None = None
    try:
        while not isinstance(item, Finish):
            item = await sink.queue.get()
            yield item
    finally:
        if not isinstance(item, Finish):
            await engine.abort(request.request_id)
