"""How a session server's connections are set."""

from __future__ import annotations

import asyncio
import gc
import socket
from contextlib import closing
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from sluicegate.runtime.serving.config import HttpSettings
from sluicegate.runtime.serving.process import listening


async def test_what_is_written_is_sent_at_once() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async with asyncio.timeout(30), listening(app, HttpSettings(), 1.0) as address:
        host, _, port = address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        with closing(writer):
            writer.write(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
            assert b" 204 " in await reader.readline()
            own = writer.get_extra_info("sockname")
            protocols = [found for found in gc.get_objects() if isinstance(found, H11Protocol)]
            (ours,) = [p for p in protocols if p.transport.get_extra_info("peername") == own]
            connection = ours.transport.get_extra_info("socket")
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
