"""What a trainer of somebody's own calls to publish: a window, in which it loads the next version in its own way.

Rules of this file:

- A window is one call, open as long as its block runs: the server learns at once when the trainer has gone.
- Whoever leaves the block normally knows what became of it; whoever leaves it with an exception has given it up.
- It needs no torch, and nothing of the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from grpc import StatusCode, aio

from ...protocol.client import dial
from ...protocol.generated import window_pb2 as pb
from ...protocol.generated import window_pb2_grpc as rpc

EOF: Any = aio.EOF  # pyright: ignore[reportAttributeAccessIssue]
AGAIN_S = 0.5
"""Pause between two questions what became of a window whose call broke off."""


class WindowFailed(Exception):
    """A window was not entered, or what was loaded in it is not published; the text says why.

    `reason` is a name for programs, `unknown` where no answer came. With `retry` another window may be opened later.
    `left_behind` has the upstreams that it went on without, and why.
    """

    def __init__(
        self, text: str, reason: str, *, retry: bool = False, left_behind: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(text)
        self.reason, self.retry, self.left_behind = reason, retry, dict(left_behind or {})


class SyncClient:
    """Publishes weights through a server (`sluicegate serve`) that answers trainers at `where`, `host:port`.

    Use as `async with`. `within`: seconds that may pass until a window is entered, and until it is published.
    """

    def __init__(self, where: str, *, within: float = 900.0) -> None:
        self._where, self._within = where, within
        self._channel: aio.Channel | None = None

    async def __aenter__(self) -> Self:
        self._channel = dial(self._where)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._channel is not None:
            await self._channel.close()

    def window(self, *, digest: str, step: int = 0, operation_id: str = "") -> Window:
        """`async with sync.window(step=12, digest="sha256:…") as window:` opens one.

        `digest` is your word for the content of the weights, equal where it is the same; `step` the training step that
        made them. `operation_id` stands for this window, drawn if not given: the same id again is the same window.
        Entering raises WindowFailed. Raises TypeError, ValueError for what is no step or no word.
        """
        if not isinstance(step, int) or not isinstance(digest, str):
            raise TypeError(f"step is {step!r} and digest {digest!r}: give a number and a text")
        if not digest or step < 0:
            raise ValueError(f"step is {step} and digest {digest!r}: give one from 0, and a word for the weights")
        if self._channel is None:
            raise RuntimeError("the client is not open yet: use it inside `async with`")
        begin = pb.WindowBegin(operation_id=operation_id or os.urandom(16).hex(), step=step, digest=digest)
        return Window(self._channel, begin, self._within)


class Window:
    """One window. Inside of it all upstreams that take part are drained, and wait to be loaded."""

    def __init__(self, channel: aio.Channel, begin: pb.WindowBegin, within: float) -> None:
        self.version = -1
        """The number that the weights are published as."""
        self.upstreams: dict[str, str] = {}
        """URLs by name, of those to be loaded."""
        self.left_behind: dict[str, str] = {}
        """After it was left: the upstreams that it went on without, and why."""
        self.operation_id = begin.operation_id
        self._stub: Any = rpc.WindowStub(channel)
        self._begin, self._within = begin, within
        self._call: Any = None
        self._reading: asyncio.Task[None] | None = None
        self._taken: dict[str, asyncio.Future[str]] = {}
        self._closed: asyncio.Future[pb.WindowClosed] = asyncio.get_running_loop().create_future()

    async def loaded(self, upstream: str, digest: str) -> None:
        """Say that `upstream` (a name of `upstreams`) holds weights of this content now. Raises WindowFailed where
        they are not what the window is for, or the upstream was given up meanwhile."""
        taken = self._taken[upstream] = asyncio.get_running_loop().create_future()
        said = pb.WindowLoaded(upstream=upstream, digest=digest)
        try:
            async with asyncio.timeout(self._within):
                await self._call.write(pb.WindowRequest(loaded=said))
                await asyncio.wait((taken, self._closed), return_when=asyncio.FIRST_COMPLETED)
        except (aio.AioRpcError, asyncio.InvalidStateError, TimeoutError) as error:
            if self._closed.done() and self._closed.exception() is None:
                raise _failure(self._closed.result()) from error
            raise _unknown(error) from error
        if not taken.done():
            raise _failure(self._closed.result())
        if why := taken.result():
            raise WindowFailed(why, "not_taken")

    async def __aenter__(self) -> Self:
        self._call = self._stub.Open()
        try:
            async with asyncio.timeout(self._within):
                await self._call.write(pb.WindowRequest(begin=self._begin))
                answer = await self._call.read()
        except (aio.AioRpcError, asyncio.InvalidStateError, TimeoutError) as error:
            self._call.cancel()
            raise _unknown(error) from error
        except BaseException:
            self._call.cancel()
            raise
        if answer is EOF or answer.WhichOneof("said") != "entered":
            failure = _unknown(None) if answer is EOF else _failure(answer.closed)
            self._call.cancel()
            raise failure
        self.version, self.upstreams = answer.entered.version, dict(answer.entered.upstreams)
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._reading is not None
        try:
            if error is None:
                closed = await self._leave()
                self.left_behind = dict(closed.left_behind)
                if not closed.published:
                    raise _failure(closed)
        finally:
            self._call.cancel()
            self._reading.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._reading

    async def _leave(self) -> pb.WindowClosed:
        """What became of it; asked again where the call breaks off, since the window ends without it. Raises
        WindowFailed where that stays unknown."""
        try:
            async with asyncio.timeout(self._within):
                try:
                    await self._call.write(pb.WindowRequest(leave=pb.WindowLeave()))
                    return await asyncio.shield(self._closed)
                except (aio.AioRpcError, asyncio.InvalidStateError, WindowFailed):
                    return await self._ask_again()
        except TimeoutError as error:
            raise _unknown(error) from error

    async def _ask_again(self) -> pb.WindowClosed:
        while True:
            call = self._stub.Open()
            try:
                await call.write(pb.WindowRequest(begin=self._begin))
                answer = await call.read()
                if answer is not EOF and answer.closed.reason != "window_open":
                    return answer.closed
            except (aio.AioRpcError, asyncio.InvalidStateError):
                pass
            finally:
                call.cancel()
            await asyncio.sleep(AGAIN_S)

    async def _read(self) -> None:
        try:
            while (answer := await self._call.read()) is not EOF:
                match answer.WhichOneof("said"):
                    case "taken":
                        taken = self._taken.get(answer.taken.upstream)
                        if taken is not None and not taken.done():
                            taken.set_result(answer.taken.refused)
                    case "closed":
                        self._closed.set_result(answer.closed)
                        return
                    case _:
                        pass
            failure = _unknown(None)
        except aio.AioRpcError as error:
            failure = _unknown(error)
        if not self._closed.done():
            self._closed.set_exception(failure)
            # Nobody may ask for it any more.
            self._closed.exception()


_REFUSED = (StatusCode.INVALID_ARGUMENT, StatusCode.UNIMPLEMENTED, StatusCode.PERMISSION_DENIED,
            StatusCode.UNAUTHENTICATED)  # fmt: skip


def _failure(closed: pb.WindowClosed) -> WindowFailed:
    if closed.published:
        return WindowFailed(f"this window is over: it was published as version {closed.version}", "published")
    return WindowFailed(
        closed.text or closed.reason, closed.reason, retry=closed.retry, left_behind=closed.left_behind
    )


def _unknown(error: Exception | None) -> WindowFailed:
    if isinstance(error, aio.AioRpcError) and error.code() in _REFUSED:
        return WindowFailed(f"the server refused the window ({error.details()}): nothing was begun", "refused")
    why = error.details() if isinstance(error, aio.AioRpcError) else repr(error) if error else "it ended early"
    return WindowFailed(f"no answer of the server ({why}): what became of the window is not known", "unknown")
