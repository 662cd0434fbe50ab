"""A gRPC server for generated services: a port from the system, health, reflection, a bounded stop.

Rules of this file:

- A server that cannot tell who calls listens on loopback only, unless it is told otherwise in words.
- Every method has a guard before it, and a service of which nobody says who may call it is not served.
- Health says SERVING once the server listens, and NOT_SERVING before it stops taking calls.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Protocol, Self

from grpc import aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from .access import ACCESS, Access, server_credentials
from .guard import Callers, Guard
from .network import NETWORK
from .roles import needs_of, open_needs
from .sources import AccessError

OPTIONS = (
    ("grpc.so_reuseport", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    # Of calls that the loop has not taken up yet gRPC would drop some, by chance and without a reason. How many
    # there can be is bounded by the streams of each connection.
    ("grpc.server.max_pending_requests", 2**31 - 1),
    ("grpc.server.max_pending_requests_hard_limit", 2**31 - 1),
)


class ServerError(Exception):
    """The server cannot listen as asked; says why and how to mend it."""


class Service(Protocol):
    """What can be served: generated servicers are."""

    @property
    def SERVICE(self) -> str: ...

    def add_to(self, server: aio.Server) -> None: ...


class Server:
    """Serves `services` on `address` (a host name or IP, that of `access` if not given) and `port` (0: one
    from the system).

    Use as `async with Server([...]) as server`; it listens inside, at `server.target`. Leaving gives
    running calls `grace` seconds. `access` says who may call, and how much; if not given, the process's
    own does. `options` are gRPC's, and go before the limits of `access`.

    Raises:
        ServerError: from the constructor, for an address where callers must be known, a service without
            roles, a port that is none, and sources that cannot be used; on entering, when the port cannot be had.
    """

    def __init__(
        self,
        services: Sequence[Service],
        *,
        access: Access | None = None,
        address: str | None = None,
        port: int = 0,
        grace: float = 2.0,
        options: Sequence[tuple[str, int]] = (),
    ) -> None:
        access = access or ACCESS.get()
        require_port(port)
        self._address, self.port = access.address if address is None else address, port
        if access.certificate and not access.knows_callers:
            raise ServerError("a certificate says who serves, not who calls: give roles, or tokens, with it")
        if not (access.knows_callers or is_loopback(self._address) or access.i_accept_plaintext_beyond_loopback):
            raise ServerError(
                f"{self._address} is reachable from other machines and nobody who calls would be known: give a "
                "certificate with roles or tokens, listen on 127.0.0.1, or set i_accept_plaintext_beyond_loopback"
            )
        try:
            needs = dict(pair for service in services for pair in needs_of(service).items())
            self._credentials = server_credentials(access)
            callers = Callers(access)
        except AccessError as error:
            raise ServerError(str(error)) from error
        self._guard = Guard(needs | open_needs(), callers, access.calls_per_client)
        self._services, self._grace = tuple(services), grace
        limits = {
            "grpc.max_receive_message_length": access.message_bytes,
            "grpc.max_concurrent_streams": access.streams,
            **dict(OPTIONS),
            **dict(options),
        }
        self._server = NETWORK.get().server(tuple(limits.items()), (self._guard,))
        self._health = health.aio.HealthServicer()  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def target(self) -> str:
        """`host:port`, as a client dials it."""
        return f"[{self._address}]:{self.port}" if ":" in self._address else f"{self._address}:{self.port}"

    @property
    def calls(self) -> Mapping[str, int]:
        """How many calls are being served, by the caller's name."""
        return self._guard.calls

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


def require_port(port: int) -> None:
    """Raises ServerError for what is no port: gRPC would listen on another one."""
    if not (isinstance(port, int) and 0 <= port < 65536):
        raise ServerError(f"port is {port!r}: give one from 1 to 65535, or 0 for one from the system")


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach the address."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
