"""An event loop in which no time passes: a timer runs when it is told to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Any

IDLE_AFTER = 50
"""Turns of the loop after which nothing that is ready can be left: a step of a shell takes a few."""


class StoppedLoop(asyncio.SelectorEventLoop):
    """Timers are kept in `timers`, with their callbacks and arguments, and never run by themselves."""

    def __init__(self) -> None:
        super().__init__()
        self.timers: list[tuple[Callable[..., object], tuple[Any, ...], asyncio.TimerHandle]] = []

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self.timers.append((callback, args, handle))
        return handle

    def call_later(
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def take(self, name: str, *args: Any) -> Callable[[], object] | None:
        """Take the running timer whose callback is called `name` and has these arguments; what it would run."""
        for entry in self.timers:
            callback, given, handle = entry
            if given == args and getattr(callback, "__name__", "") == name and not handle.cancelled():
                self.timers.remove(entry)
                return lambda: callback(*given)
        return None

    async def rest(self) -> None:
        """Return when everything that was ready has run."""
        for _ in range(IDLE_AFTER):
            await asyncio.sleep(0)
