"""A gRPC server for generated services: a port from the system, health, reflection, a bounded stop.

Rules of this file:

- Without credentials a server listens on loopback only, unless it is told otherwise in words.
- Health says SERVING once the server listens, and NOT_SERVING before it stops taking calls.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self

import grpc
from grpc import aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from .network import NETWORK

OPTIONS = (
    ("grpc.so_reuseport", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
)


class ServerError(Exception):
    """The server cannot listen as asked; says why and how to mend it."""


class Service(Protocol):
    """What can be served: generated servicers are."""

    @property
    def SERVICE(self) -> str: ...

    def add_to(self, server: aio.Server) -> None: ...


class Server:
    """Serves `services` on `address` (a host name or IP) and `port` (0: one from the system).

    Use as `async with Server([...]) as server`; it listens inside, at `server.target`. Leaving gives
    running calls `grace` seconds. `i_accept_plaintext_beyond_loopback` lets it listen elsewhere
    without credentials.

    Raises:
        ServerError: from the constructor, for an address that needs credentials; on entering, when
            the port cannot be had.
    """

    def __init__(
        self,
        services: Sequence[Service],
        *,
        address: str = "127.0.0.1",
        port: int = 0,
        credentials: grpc.ServerCredentials | None = None,
        i_accept_plaintext_beyond_loopback: bool = False,
        grace: float = 2.0,
        options: Sequence[tuple[str, int]] = (),
    ) -> None:
        if credentials is None and not (is_loopback(address) or i_accept_plaintext_beyond_loopback):
            raise ServerError(
                f"{address} is reachable from other machines and there are no credentials: give some, "
                "listen on 127.0.0.1, or set i_accept_plaintext_beyond_loopback=True"
            )
        self._services, self._address, self.port = tuple(services), address, port
        self._credentials, self._grace = credentials, grace
        self._server = NETWORK.get().server((*OPTIONS, *options))
        self._health = health.aio.HealthServicer()  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def target(self) -> str:
        """`host:port`, as a client dials it."""
        return f"[{self._address}]:{self.port}" if ":" in self._address else f"{self._address}:{self.port}"

    async def set_serving(self, serving: bool, service: str = "") -> None:
        """Tell the health service; an empty name is the server as a whole."""
        known = health_pb2.HealthCheckResponse.ServingStatus
        await self._health.set(service, known.SERVING if serving else known.NOT_SERVING)

    async def __aenter__(self) -> Self:
        names = [s.SERVICE for s in self._services]
        for service in self._services:
            service.add_to(self._server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        reflection.enable_server_reflection((*names, health.SERVICE_NAME, reflection.SERVICE_NAME), self._server)
        try:
            if self._credentials is None:
                self.port = self._server.add_insecure_port(self.target)
            else:
                self.port = self._server.add_secure_port(self.target, self._credentials)
        except RuntimeError as error:
            raise ServerError(f"cannot listen on {self.target}: take another port, or 0 for a free one") from error
        await self._server.start()
        for name in ("", *names):
            await self.set_serving(True, name)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._health.enter_graceful_shutdown()
        await self._server.stop(self._grace)


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach the address."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
