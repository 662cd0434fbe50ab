"""One watcher of one instance: a bounded queue that a slow reader cannot make grow."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

LIMIT = 64
"""Transitions that wait for one watcher before they are left out for a fresh snapshot."""


class Watcher:
    """Transitions on their way to one reader.

    A reader that falls `limit` transitions behind loses them, and is told to take a fresh snapshot;
    a new one begins so.
    """

    __slots__ = ("_items", "_limit", "_wake", "ended", "late")

    def __init__(self, limit: int = LIMIT) -> None:
        self._items: deque[Any] = deque()
        self._limit = limit
        self._wake = asyncio.Event()
        self._wake.set()
        self.late = True
        self.ended = False

    def put(self, transition: Any) -> None:
        if self.late:
            return
        if len(self._items) >= self._limit:
            self._items.clear()
            self.late = True
        else:
            self._items.append(transition)
        self._wake.set()

    def end(self) -> None:
        """Nothing more will come: the reader gets what waits, then the end."""
        self.ended = True
        self._wake.set()

    async def ready(self) -> bool:
        """Wait until there is something to take; False at the end."""
        while not (self.late or self._items):
            if self.ended:
                return False
            self._wake.clear()
            await self._wake.wait()
        return True

    def take(self) -> Any:
        """The next transition, or None: the reader is late and takes a fresh snapshot now."""
        if self.late:
            self.late = False
            return None
        return self._items.popleft()
