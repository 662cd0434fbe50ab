"""The settings by which processes know and admit each other, and gRPC's credentials made of them.

Rules of this file:

- Settings name sources, never secrets: they can be written into a config and be shown.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field

import grpc

from .roles import Role
from .sources import AccessError, Secret, read
from .tls import judge
from .tokens import read_token, read_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How a process is known to others, who may call it, and how much. Without `certificate` it is in plain text.

    A source is the path of a file, or `env:NAME` for an environment variable. Files of tokens are read again
    once they change; certificates and keys when a server starts and when a client dials.

    `address`: where servers listen, as others reach it. `certificate`, `key`: sources of this process's PEM
    chain and private key. `authorities`: source of the PEM certificates that sign those of all processes.
    `roles`: names in certificates (common name or any alternative name) and what who has one may do; with any
    of them, a caller needs a certificate to connect at all. `tokens`: source of the bearer tokens that servers
    take, one a line: a name, roles joined by commas, the token. `token`: source of the one that this process
    sends, and then is known by. `message_bytes`: the largest message; `streams`: the most calls at once on
    one connection, further ones wait; `calls_per_client`: the most calls at once of one certificate or
    token, or of one connection where there are none, further ones are refused.
    `i_accept_plaintext_beyond_loopback`: lets servers listen where others reach them though nobody is known.
    """

    address: str = "127.0.0.1"
    certificate: str = ""
    key: str = ""
    authorities: str = ""
    roles: Mapping[str, tuple[Role, ...]] = field(default_factory=dict)
    tokens: str = ""
    token: str = ""
    message_bytes: int = 4 * 1024 * 1024
    streams: int = 8192
    calls_per_client: int = 16384
    i_accept_plaintext_beyond_loopback: bool = False

    def __post_init__(self) -> None:
        limits = (self.message_bytes, self.streams, self.calls_per_client)
        without = [
            (bool(self.certificate) != bool(self.key), "certificate and key are given together, or not at all"),
            (bool(self.roles) and not (self.certificate and self.authorities),
             "roles of certificates need certificate, key and authorities"),
            (bool(self.tokens) and not self.certificate,
             "tokens are read by everybody on the way unless there are certificate and key"),
            (bool(self.token) and not self.authorities,
             "a token is only sent to whom authorities vouch for: give authorities"),
            (not all(name and roles for name, roles in self.roles.items()),
             "roles: each name has at least one of data, control"),
            (min(limits) <= 0, "message_bytes, streams and calls_per_client are above 0"),
        ]  # fmt: skip
        if wrong := [text for is_wrong, text in without if is_wrong]:
            raise ValueError("; ".join(wrong))

    @property
    def knows_callers(self) -> bool:
        """Whether a server can tell who calls it."""
        return bool(self.certificate and (self.roles or self.tokens))


_PLAIN = Access()
ACCESS: ContextVar[Access] = ContextVar("access", default=_PLAIN)
"""The settings of this process, by which `dial` and `Server` go where none are given."""


@contextlib.contextmanager
def acting_as(access: Access) -> Iterator[None]:
    """Go by these settings inside, and in every task that is begun inside."""
    token = ACCESS.set(access)
    try:
        yield
    finally:
        ACCESS.reset(token)


def check(access: Access) -> None:
    """Read every source of these settings once. Raises AccessError for what cannot be used."""
    if access.authorities:
        channel_credentials(access)
    if access.token:
        read_token(access.token)
    server_credentials(access)
    if access.tokens:
        read_tokens(access.tokens)


def server_credentials(access: Access) -> grpc.ServerCredentials | None:
    """What a server of these settings shows and asks for; None in plain text. Raises AccessError."""
    if not access.certificate:
        return None
    certificate, key = _own(access)
    authorities = read(access.authorities, "authorities") if access.authorities else None
    judge(certificate, key, authorities, as_client=False, named=_named(access))
    # gRPC could ask for newer ones at each handshake, but from threads that hold locks: see bearer.py.
    return grpc.ssl_server_credentials(
        [(key.reveal(), certificate.reveal())],
        None if authorities is None else authorities.reveal(),
        require_client_auth=bool(access.roles),
    )


def channel_credentials(access: Access) -> grpc.ChannelCredentials | None:
    """What a client of these settings shows and asks for; None in plain text. Raises AccessError."""
    if not access.authorities:
        if access.certificate:
            raise AccessError(f"{_named(access)}: authorities are missing: servers cannot be told from impostors")
        return None
    authorities = read(access.authorities, "authorities")
    certificate, key = _own(access) if access.certificate else (None, None)
    judge(certificate, key, authorities, as_client=True, named=_named(access))
    return grpc.ssl_channel_credentials(
        authorities.reveal(),
        None if key is None else key.reveal(),
        None if certificate is None else certificate.reveal(),
    )


def _own(access: Access) -> tuple[Secret, Secret]:
    return read(access.certificate, "certificate"), read(access.key, "key")


def _named(access: Access) -> str:
    if not access.certificate:
        return f"authorities {access.authorities}"
    return f"certificate {access.certificate} with key {access.key}"
