"""Metrics over HTTP, by the server that Prometheus' library brings: `GET /metrics`.

Rules of this file:

- It listens where the rule of every server lets it: on loopback, or where its callers are known. Here they are
  known by certificates alone, and whoever has one that the authorities signed may look.
- It runs in a thread of its own, which reads and changes nothing.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from prometheus_client import CollectorRegistry, start_http_server

from ...protocol.access import ACCESS, Access
from ...protocol.server import ServerError, is_loopback, require_port
from ...protocol.sources import AccessError, read
from .metrics import Metrics


@contextmanager
def serving(metrics: Metrics, *, port: int = 0, access: Access | None = None) -> Iterator[str]:
    """Serve `metrics` inside, where `access` (the process's own if not given) has its address; `host:port`.

    `port` 0 is one from the system. Raises ServerError, as `protocol/server.py` does.
    """
    require_port(port)
    access = access or ACCESS.get()
    knows_callers = bool(access.certificate and access.authorities)
    if not (knows_callers or is_loopback(access.address) or access.i_accept_plaintext_beyond_loopback):
        raise ServerError(
            f"metrics on {access.address} are reachable from other machines and nobody who asks would be known: give "
            "certificate, key and authorities, listen on 127.0.0.1, or set i_accept_plaintext_beyond_loopback"
        )
    registry = CollectorRegistry()
    registry.register(metrics)
    with ExitStack() as stack:
        try:
            server, thread = start_http_server(
                port, access.address, registry, **(_tls(access, stack) if access.certificate else {})
            )
        except AccessError as error:
            raise ServerError(str(error)) from error
        except OSError as error:
            text = f"metrics cannot be served on {access.address}:{port} ({error.strerror}): take another port, or 0"
            raise ServerError(text) from error
        if isinstance(server.socket, ssl.SSLSocket):
            # In the thread of its connection: who connects and says nothing is in nobody's way.
            server.socket.do_handshake_on_connect = False  # pyright: ignore[reportAttributeAccessIssue]
        try:
            host = f"[{access.address}]" if ":" in access.address else access.address
            yield f"{host}:{server.server_port}"
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def _tls(access: Access, stack: ExitStack) -> dict[str, Any]:
    """What the server is started with; secrets are given through memory that no other process can name."""

    def path_of(source: str, what: str) -> str:
        file = os.memfd_create(what, os.MFD_CLOEXEC)
        stack.callback(os.close, file)
        os.write(file, read(source, what).reveal())
        return f"/proc/self/fd/{file}"

    found = {"certfile": path_of(access.certificate, "certificate"), "keyfile": path_of(access.key, "key")}
    if access.authorities:
        found["client_cafile"] = path_of(access.authorities, "authorities")
        return {**found, "client_auth_required": True}
    return found
