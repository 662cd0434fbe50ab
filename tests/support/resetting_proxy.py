"""A TCP proxy that resets some of its connections in their middle, as a network does."""

from __future__ import annotations

import asyncio
import random
import socket
import struct
from types import TracebackType
from typing import Self

CHUNK = 64 * 1024
RESET = struct.pack("ii", 1, 0)
"""A socket that lingers for no time is reset when it is closed, with whatever was on its way."""


class ResettingProxy:
    """Forwards connections to a port of this host. Use as `async with`; `target` is where it listens.

    A connection is reset with chance `share`, before one of the first `pieces` pieces that go through it, one way
    or the other; with `pieces` 0 each piece has that chance.
    """

    def __init__(self, port: int, share: float, *, pieces: int = 0, seed: int = 0) -> None:
        self._port, self._share, self._pieces = port, share, pieces
        self._draw = random.Random(seed)
        self.connections = self.resets = 0
        self.target = ""
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=CHUNK)
        self.target = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        left = [self._draw.randrange(self._pieces)] if self._pieces and self._draw.random() < self._share else []
        other: asyncio.StreamWriter | None = None
        try:
            far, other = await asyncio.open_connection("127.0.0.1", self._port, limit=CHUNK)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._forward(reader, other, left))
                group.create_task(self._forward(far, writer, left))
        except* _Reset:
            self.resets += 1
            for end in (writer, other):
                assert end is not None
                end.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        except* OSError:
            pass
        finally:
            self._tasks.discard(task)
            for end in (writer, other):
                if end is not None:
                    end.transport.abort()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, left: list[int]) -> None:
        while piece := await reader.read(CHUNK):
            if (left and left[0] == 0) or (not self._pieces and self._draw.random() < self._share):
                raise _Reset
            if left:
                left[0] -= 1
            writer.write(piece)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


class _Reset(Exception):
    """This connection is to be reset."""
