"""An event loop in which no time passes: a timer runs when it is told to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Any

from ..runtime.simulation.clock import VirtualLoop


class StoppedLoop(VirtualLoop):
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

    def take(self, name: str, *args: Any) -> Callable[[], object] | None:
        """Take the running timer whose callback is called `name` and has these arguments; what it would run."""
        for entry in self.timers:
            callback, given, handle = entry
            if given == args and getattr(callback, "__name__", "") == name and not handle.cancelled():
                self.timers.remove(entry)
                return lambda: callback(*given)
        return None
