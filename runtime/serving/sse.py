"""Server-sent events, written and read: events, and the bytes they come in.

The format is that of the HTML standard, section "Server-sent events": what it calls `id` and `retry` is passed over.
"""

from __future__ import annotations

import re
from typing import NamedTuple

EVENT_LIMIT = 8 * 1024 * 1024
"""Bytes of one event: more than a whole answer with its log-probabilities takes."""
_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


class Event(NamedTuple):
    """One event: `name` is empty where none was said; `data` has its lines joined with line feeds."""

    name: str
    data: bytes


class TooLarge(ValueError):
    """An event is larger than the reader takes."""


def encode(data: bytes, name: str = "") -> bytes:
    """One event with one line of data.

    >>> encode(b"{}", "ping")
    b'event: ping\\ndata: {}\\n\\n'
    """
    head = b"event: " + name.encode() + b"\n" if name else b""
    return head + b"data: " + data + b"\n\n"


class Parser:
    """Reads events from bytes that are cut anywhere; an event that its blank line did not end is none.

    `limit`: bytes that one event may take.
    """

    def __init__(self, limit: int = EVENT_LIMIT) -> None:
        self._limit = limit
        self._rest = bytearray()
        """What no line end has followed yet; no line end is in its first `_searched` bytes."""
        self._searched = 0
        self._is_after_cr = False
        self._is_first = True
        self._name, self._data, self._size = "", list[bytes](), 0

    def feed(self, data: bytes) -> list[Event]:
        """The events that these bytes end. Raises `TooLarge`."""
        if self._is_after_cr and data:
            # The line of this line feed has ended with the carriage return before it.
            data = data.removeprefix(b"\n")
            self._is_after_cr = False
        self._rest += data
        events, start = list[Event](), 0
        while found := _LINE_END.search(self._rest, max(start, self._searched)):
            line = bytes(self._rest[start : found.start()])
            start = found.end()
            self._is_after_cr = found.group() == b"\r" and start == len(self._rest)
            if event := self._line(line):
                events.append(event)
        del self._rest[:start]
        self._searched = len(self._rest)
        self._bound(len(self._rest))
        return events

    def _line(self, line: bytes) -> Event | None:
        if self._is_first:
            line, self._is_first = line.removeprefix(_BOM), False
        self._size += len(line)
        self._bound(0)
        if not line:
            name, data = self._name, self._data
            self._name, self._data, self._size = "", [], 0
            return Event(name, b"\n".join(data)) if data else None
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")
        return None

    def _bound(self, more: int) -> None:
        if self._size + more > self._limit:
            raise TooLarge(f"an event is larger than {self._limit} bytes")
