"""An app behind the gate under a real HTTP server, and clients of it that behave badly."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from gate_kit import TokenServer, commanded, judge, made_for, until
from rollout_kit import Driven

from sluicegate import EmbeddedGate, GateMiddleware

SESSION = {"x-session-id": "agent-1"}


class Tokens:
    """An app that streams as many tokens as the body says, each the number of the version that made it."""

    def __init__(self, server: TokenServer) -> None:
        self._server = server

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message["body"]
            if not message["more_body"]:
                break
        if message["type"] == "http.disconnect":
            return
        lease = scope["sluicegate.lease"]
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
        for number in range(int(body or b"1")):
            version = await self._server.token()
            assert lease.tokens([number]) == version
            await send({"type": "http.response.body", "body": b"%d" % version, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


@dataclass
class Served:
    """The gate, who commands it, and the port of the HTTP server."""

    gate: EmbeddedGate
    controller: Driven
    server: TokenServer
    port: int
    http: httpx.AsyncClient

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1/generate"

    async def closures(self) -> dict[str, int]:
        """How all leases so far have closed; a client has its last byte before that."""
        await until(lambda: not self.gate.counts["open"])
        return self.gate.records.counts()


class Listening(uvicorn.Server):
    """Leaves the signals of a test's own process alone."""

    def capture_signals(self) -> Any:
        return contextlib.nullcontext()


@asynccontextmanager
async def _serving(app: Any, **settings: Any) -> AsyncIterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as port:
        config = uvicorn.Config(app, log_level="error", lifespan="off", timeout_graceful_shutdown=5, **settings)
        server = Listening(config)
        task = asyncio.create_task(server.serve([port]))
        try:
            async with asyncio.timeout(20):
                while not server.started and not task.done():  # noqa: ASYNC110
                    await asyncio.sleep(0.005)
            yield port.getsockname()[1]
        finally:
            server.should_exit = True
            async with asyncio.timeout(30):
                await task


@asynccontextmanager
async def served(folder: Path, *, hold: float | None = None, **changes: Any) -> AsyncIterator[Served]:
    """A gate that serves version 1 behind a real HTTP server; at the end nothing is left, and its log is judged."""
    server = TokenServer()
    gate = made_for(server, folder, **changes)
    async with commanded(gate) as controller:
        await controller.update(1)
        app = GateMiddleware(Tokens(server), gate, hold=hold, retry_after=7)
        async with _serving(app) as port, httpx.AsyncClient(timeout=30, headers=SESSION) as http:
            yield Served(gate, controller, server, port, http)
        counts = gate.counts
        assert (counts["open"], counts["waiting"], counts["running"]) == (0, 0, 0)
    judge(folder)


class Wire:
    """One TCP connection, written by hand."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def to(cls, port: int) -> Wire:
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def send(self, *parts: bytes) -> None:
        self.writer.write(b"".join(parts))
        await self.writer.drain()

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        """The next whole answer: its status, headers and body."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().splitlines()
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
        body = b""
        if headers.get("transfer-encoding") == "chunked":
            while size := int((await self.reader.readuntil(b"\r\n")).decode(), 16):
                body += (await self.reader.readexactly(size + 2))[:-2]
            await self.reader.readexactly(2)
        elif length := int(headers.get("content-length", "0")):
            body = await self.reader.readexactly(length)
        return int(head[0].split()[1]), headers, body

    def reset(self) -> None:
        """Hang up so that the other side gets a reset."""
        held: socket.socket = self.writer.get_extra_info("socket")
        held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.close()


def post(body: bytes, length: int | None = None, *more: str) -> bytes:
    """A request as it goes over the wire; `length`: what it says of its body."""
    lines = [
        "POST /v1/generate HTTP/1.1",
        "host: x",
        f"content-length: {len(body) if length is None else length}",
        *more,
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body
