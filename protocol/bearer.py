"""A channel that sends a token with each of its calls.

Rules of this file:

- The token is added by this side's own code, call by call. gRPC's call credentials would ask for it from threads
  of gRPC, which hold locks meanwhile: an event loop that closes a channel or a server then waits for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, cast

from grpc import aio

from .sources import Kept
from .tokens import read_token


def with_token(channel: aio.Channel, source: str) -> aio.Channel:
    """`channel`, whose calls send the token that `source` has by then. Raises AccessError."""
    return cast(aio.Channel, _Bearer(channel, source))


class _Bearer:
    """What generated stubs and callers use of a channel."""

    def __init__(self, channel: aio.Channel, source: str) -> None:
        self._channel = channel
        self._token = Kept((source,), lambda: read_token(source))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._channel.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._channel, name)

    def unary_unary(self, *given: Any, **named: Any) -> Callable[..., Any]:
        return self._sending(self._channel.unary_unary(*given, **named))

    def unary_stream(self, *given: Any, **named: Any) -> Callable[..., Any]:
        return self._sending(self._channel.unary_stream(*given, **named))

    def stream_unary(self, *given: Any, **named: Any) -> Callable[..., Any]:
        return self._sending(self._channel.stream_unary(*given, **named))

    def stream_stream(self, *given: Any, **named: Any) -> Callable[..., Any]:
        return self._sending(self._channel.stream_stream(*given, **named))

    def _sending(self, call: Any) -> Callable[..., Any]:
        def begin(*given: Any, metadata: Any = None, **named: Any) -> Any:
            sent = ("authorization", f"Bearer {self._token.now().reveal().decode()}")
            return call(*given, metadata=(*(metadata or ()), sent), **named)

        return begin
