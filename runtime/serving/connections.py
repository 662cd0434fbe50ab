"""The connections of an HTTP server: one that says nothing whole, or reads nothing, is not held for ever.

Rules of this file:

- A request's head comes within its time, counted from when one may be sent; a connection without is closed.
- So does the rest of a request that was answered before it had come.
- A client reads as well: one whose answer waits for it that long is cut off, and what it has not read is dropped.
- It is read by h11, whatever else is installed: heads are bounded (64 KiB), and what is no HTTP is refused as strictly.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


def connections(within: float) -> type[asyncio.Protocol]:
    """The protocol of connections on which neither direction is waited for more than so many seconds."""

    class Connection(H11Protocol):
        _late: asyncio.TimerHandle | None = None
        _unread: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - as in uvicorn
            super().connection_made(transport)
            self._bound()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            self._is_read()
            super().connection_lost(exc)

        def pause_writing(self) -> None:
            super().pause_writing()
            if self._unread is None:
                self._unread = self.loop.call_later(within, self.transport.abort)

        def resume_writing(self) -> None:
            self._is_read()
            super().resume_writing()

        def handle_events(self) -> None:
            super().handle_events()
            self._bound()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._bound()

        def _bound(self) -> None:
            is_answered = self.cycle is not None and self.cycle.response_complete
            if not (is_answered or self.conn.their_state is h11.IDLE):
                self._stop_waiting()
            elif self._late is None:
                # Closed, it would wait until the end of an answer is read.
                self._late = self.loop.call_later(within, self.transport.abort)

        def _stop_waiting(self) -> None:
            if self._late is not None:
                self._late.cancel()
                self._late = None

        def _is_read(self) -> None:
            if self._unread is not None:
                self._unread.cancel()
                self._unread = None

    return Connection
