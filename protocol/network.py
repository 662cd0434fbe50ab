"""Where channels and servers come from: sockets, or a network of one process that somebody scripts.

Rules of this file:

- `dial` and `Server` take both from the `NETWORK` of their context; nothing else asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Protocol

import grpc
from grpc import aio

Options = Sequence[tuple[str, int]]


class Network(Protocol):
    """Makes channels and servers that can reach each other."""

    def channel(self, target: str, credentials: grpc.ChannelCredentials | None, options: Options) -> aio.Channel:
        """A channel to `host:port`."""
        ...

    def server(self, options: Options, interceptors: Sequence[aio.ServerInterceptor]) -> aio.Server:
        """A server that does not listen yet; a call goes through the interceptors first."""
        ...


class Sockets:
    """gRPC as it is."""

    def channel(self, target: str, credentials: grpc.ChannelCredentials | None, options: Options) -> aio.Channel:
        if credentials is None:
            return aio.insecure_channel(target, options=options)
        return aio.secure_channel(target, credentials, options=options)

    def server(self, options: Options, interceptors: Sequence[aio.ServerInterceptor]) -> aio.Server:
        return aio.server(options=options, interceptors=interceptors)


_SOCKETS = Sockets()
NETWORK: ContextVar[Network] = ContextVar("network", default=_SOCKETS)
