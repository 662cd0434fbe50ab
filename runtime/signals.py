"""Waiting for a change that someone in the same event loop makes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Signal:
    """Wakes all who wait, at each `notify`; what has changed is for them to look at."""

    def __init__(self) -> None:
        self._waiters: set[asyncio.Future[None]] = set()

    def notify(self) -> None:
        waiters, self._waiters = self._waiters, set()
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def until(self, holds: Callable[[], bool], within: float) -> bool:
        """Wait until `holds()`, at most `within` seconds; whether it holds."""
        try:
            async with asyncio.timeout(within):
                while not holds():
                    waiter = asyncio.get_running_loop().create_future()
                    self._waiters.add(waiter)
                    try:
                        await waiter
                    finally:
                        self._waiters.discard(waiter)
        except TimeoutError:
            return holds()
        return True
