"""One call over the simulated network, at both of its ends.

Rules of this file:

- A client's end is told once; what arrives after it is dropped.
- A call that its client leaves, by cancelling, by its deadline or by the end of its connection, cancels the
  servicer's task.
"""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator
from typing import TYPE_CHECKING, Any, NoReturn

from grpc import StatusCode, aio

if TYPE_CHECKING:
    from .network import Listening, SimNetwork

WINDOW = 16
"""Messages of a stream that may be on their way, or wait for the client, before the servicer waits."""


class Abort(Exception):
    """A servicer ends a call with a status."""

    def __init__(self, code: StatusCode, details: str, trailing: Any) -> None:
        super().__init__(details)
        self.code, self.details, self.trailing = code, details, trailing


class Call:
    """A call with one answer; awaiting it gives that, or raises AioRpcError."""

    def __init__(
        self, network: SimNetwork, source: str, target: str, path: str, request: bytes, parse: Any,
        timeout: float | None,
    ) -> None:  # fmt: skip
        self._network, self._parse, self._path = network, parse, path
        self._loop = asyncio.get_running_loop()
        self.source, self.target, self.address = source, target, target
        self.method = path.rpartition("/")[2]
        self.task: asyncio.Task[None] | None = None
        """The servicer's."""
        self.room = asyncio.Event()
        self._timeout = timeout
        self._messages: deque[bytes] = deque()
        self._on_the_way = self._last = self._next = 0
        self._arrived: dict[int, Callable[[], object]] = {}
        self._error: aio.AioRpcError | None = None
        self._is_over = self._is_broken = False
        self.was_left = False
        """Whether the client ended it."""
        self._wake = asyncio.Event()
        self._timer = None if timeout is None else self._loop.call_later(max(0.0, timeout), self._expire)
        served = network.reach(source, target)
        if served is None:
            self.fail(StatusCode.UNAVAILABLE, "connection refused")
            return
        self.target = served.owner
        network.begin(self)
        network.send(self.method, source, self.target, "request", lambda: self._arrive(request))

    # -- the client's end ----------------------------------------------------------------------------

    def __await__(self) -> Generator[Any, None, Any]:
        return self._answer().__await__()

    def done(self) -> bool:
        return self._is_over

    def cancel(self) -> bool:
        """The client leaves."""
        if self._is_over:
            return False
        self.was_left = True
        self.fail(StatusCode.CANCELLED, "Locally cancelled by application!")
        self._stop_servicer()
        return True

    def break_(self) -> None:
        """The connection is gone."""
        self._is_broken = True
        self.fail(StatusCode.UNAVAILABLE, "connection reset")
        if self.task is not None:
            self.task.cancel()

    def fail(self, code: StatusCode, details: str, trailing: Any = ()) -> None:
        if not self._is_over:
            self._error = aio.AioRpcError(code, aio.Metadata(), aio.Metadata(*trailing), details=details)
            self._end()

    async def _answer(self) -> Any:
        try:
            while not self._is_over:
                self._wake.clear()
                await self._wake.wait()
        except asyncio.CancelledError:
            self.cancel()
            raise
        if self._error is not None:
            raise self._error
        return self._parse(self._messages.popleft())

    def _expire(self) -> None:
        self.fail(StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded")
        self._stop_servicer()

    def _stop_servicer(self) -> None:
        def stop() -> None:
            if self.task is not None:
                self.task.cancel()

        self._network.send("", self.source, self.target, "request", stop)

    def _close(self) -> None:
        if not self._is_over:
            self._end()

    def _end(self) -> None:
        self._is_over = True
        if self._timer is not None:
            self._timer.cancel()
        self._network.forget(self)
        self._wake.set()
        self.room.set()

    # -- on the way ----------------------------------------------------------------------------------

    def _arrive(self, request: bytes) -> None:
        """The request is there: a task of the server's process serves it."""
        if self._is_broken:
            return
        served = self._network.reach(self.source, self.address)
        if served is None:
            self.fail(StatusCode.UNAVAILABLE, "connection refused")
            return
        first = self.task is None
        task = self._loop.create_task(self._serve(served, request, first), context=served.context.copy())
        task.set_name(f"{self.method} of {self.source}")
        if first:
            self.task = task
            served.calls.add(self)
            task.add_done_callback(lambda _: served.calls.discard(self))
            if self._is_over:
                # What the client said since comes right behind.
                self._stop_servicer()

    async def take(self, message: bytes) -> None:
        """A message for the client begins its way, as soon as the client has read enough of those before it."""
        while self._on_the_way >= WINDOW and not self._is_over:
            self.room.clear()
            await self.room.wait()
        self._on_the_way += 1
        self._travel(lambda: self._receive(message))

    def finish(self, error: Abort | None) -> None:
        """The servicer has ended the call."""
        if error is None:
            self._travel(self._close)
        else:
            self._travel(lambda: self.fail(error.code, error.details, error.trailing))

    def _travel(self, arrive: Callable[[], object]) -> None:
        number, self._last = self._last, self._last + 1

        # Within a stream nothing overtakes: what is early waits for what was sent before it.
        def in_order() -> None:
            self._arrived[number] = arrive
            while self._next in self._arrived:
                self._arrived.pop(self._next)()
                self._next += 1

        self._network.send(self.method, self.target, self.source, "answer", in_order)

    def _receive(self, message: bytes) -> None:
        if not self._is_over:
            self._messages.append(message)
            self._wake.set()

    # -- the servicer's end --------------------------------------------------------------------------

    async def _serve(self, served: Listening, request: bytes, first: bool) -> None:
        method = await served.find(self._path)
        if method is None:
            self.finish(Abort(StatusCode.UNIMPLEMENTED, "Method not found!", ()))
            return
        context = ServicerContext(self if first else None, method.response_serializer, self._timeout)
        handler: Any = method.unary_stream if method.response_streaming else method.unary_unary
        failure: Abort | None = None
        try:
            parse: Any = method.request_deserializer
            result = handler(parse(request), context)
            if inspect.isasyncgen(result):
                async for message in result:
                    await context.write(message)
            else:
                answer = await result
                if not method.response_streaming:
                    await context.write(answer)
        except Abort as error:
            failure = error
        except asyncio.CancelledError:
            if not self._is_over:
                self.finish(Abort(StatusCode.CANCELLED, "the server ends", ()))
            raise
        except Exception as error:
            failure = Abort(StatusCode.UNKNOWN, f"Unexpected {type(error)}: {error}", ())
            self._network.unhandled.append(f"{served.owner}: {self.method}: {error!r}")
        if first:
            self.finish(failure)


class Stream(Call):
    """A call with a stream of answers."""

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._read()

    async def _read(self) -> AsyncIterator[Any]:
        try:
            while True:
                while self._messages:
                    message = self._messages.popleft()
                    self._on_the_way -= 1
                    self.room.set()
                    yield self._parse(message)
                if self._is_over:
                    break
                self._wake.clear()
                await self._wake.wait()
        except asyncio.CancelledError:
            self.cancel()
            raise
        if self._error is not None:
            raise self._error


class ServicerContext:
    """What servicers use of a call; one of a repeated request has nobody to answer."""

    def __init__(self, call: Call | None, serialize: Any, timeout: float | None) -> None:
        loop = asyncio.get_running_loop()
        self._call, self._serialize = call, serialize
        self._time = loop.time
        self._until = None if timeout is None else loop.time() + timeout

    async def write(self, message: Any) -> None:
        if self._call is not None:
            await self._call.take(self._serialize(message))

    async def abort(self, code: StatusCode, details: str = "", trailing_metadata: Any = ()) -> NoReturn:
        raise Abort(code, details, trailing_metadata)

    def time_remaining(self) -> float | None:
        return None if self._until is None else max(0.0, self._until - self._time())

    def invocation_metadata(self) -> tuple[tuple[str, str], ...]:
        return ()

    def peer_identities(self) -> None:
        """Nobody has a certificate."""

    def auth_context(self) -> dict[str, list[bytes]]:
        return {}

    def peer(self) -> str:
        return "" if self._call is None else f"sim:{self._call.source}"
