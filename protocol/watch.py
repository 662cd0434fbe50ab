"""One watcher of one instance: it is told that something has changed, and holds nothing but the last change.

What the instance then is, the reader's side looks at when it reads: so many changes between two reads cost no more
than one, and a slow reader holds up nobody.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple


class Change(NamedTuple):
    """A step that changed the instance: its number after it, the event, rule and cause."""

    number: int
    event: str
    rule: str
    cause: str


NOTHING_YET = Change(-1, "", "", "")
"""What a new watcher is told: there is an instance to look at."""


class Watcher:
    """What one reader has not read yet: the last change, if there is one."""

    __slots__ = ("_change", "_is_ended", "_wake")

    def __init__(self) -> None:
        self._change: Change | None = NOTHING_YET
        self._is_ended = False
        self._wake = asyncio.Event()

    def tell(self, change: Change) -> None:
        self._change = change
        self._wake.set()

    def end(self) -> None:
        """Nothing more will come: the reader gets what waits, then the end."""
        self._is_ended = True
        self._wake.set()

    async def next(self) -> Change | None:
        """Wait for the last change that was not read; None at the end."""
        while self._change is None:
            if self._is_ended:
                return None
            self._wake.clear()
            await self._wake.wait()
        change, self._change = self._change, None
        return change
