"""How a session server's connections are set."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import AsyncIterator
from contextlib import closing
from typing import Any

import pytest
from session_kit import until
from starlette.responses import Response, StreamingResponse
from uvicorn.protocols.http.h11_impl import H11Protocol

from sluicegate.runtime.serving.config import HttpSettings
from sluicegate.runtime.serving.process import listening

MUCH = bytes(1 << 24)
"""More than any buffer on the way has room for."""


def served_as(writer: asyncio.StreamWriter) -> H11Protocol:
    """The server's side of a client's connection."""
    protocols = [found for found in gc.get_objects() if isinstance(found, H11Protocol)]
    (ours,) = [p for p in protocols if p.transport.get_extra_info("peername") == writer.get_extra_info("sockname")]
    return ours


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
            connection = served_as(writer).transport.get_extra_info("socket")
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "stream"])
async def test_a_client_that_does_not_read_its_answer_is_cut_off(is_stream: bool) -> None:
    async def events() -> AsyncIterator[bytes]:
        while True:
            yield MUCH
            await asyncio.sleep(0)

    app = StreamingResponse(events()) if is_stream else Response(MUCH)
    async with asyncio.timeout(30), listening(app, HttpSettings(read=0.5), 1.0) as address:
        host, _, port = address.rpartition(":")
        _, writer = await asyncio.open_connection(host, int(port), limit=1024)
        with closing(writer):
            writer.write(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
            connection = served_as(writer)
            await until(lambda: connection.cycle is not None)
            await until(lambda: connection not in connection.connections and not connection.tasks)


async def test_a_client_that_has_read_is_not_cut_off_while_its_answer_goes_on() -> None:
    went_on = asyncio.Event()

    async def events() -> AsyncIterator[bytes]:
        yield MUCH
        await went_on.wait()
        yield b"end"

    async with asyncio.timeout(60), listening(StreamingResponse(events()), HttpSettings(read=3), 1.0) as address:
        host, _, port = address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        with closing(writer):
            writer.write(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
            await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(len(MUCH))
            asyncio.get_running_loop().call_later(3.5, went_on.set)
            assert (await reader.read()).endswith(b"3\r\nend\r\n0\r\n\r\n")
