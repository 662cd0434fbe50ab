"""Machines that more than one thread steps, and waiting for what they change.

Rules of this file:

- A step and the look that leads to it are one: both are made under the lock.
- Whoever waits is woken in a loop of its own, whichever thread made the change.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ...statemachines.compiler import Outcome
from ..tracelog import MachineLog


class SharedSignal:
    """Wakes all who wait, in their own loops, at each `notify`; what has changed is for them to look at."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiters: dict[asyncio.Future[None], asyncio.AbstractEventLoop] = {}

    def notify(self) -> None:
        with self._lock:
            waiters, self._waiters = self._waiters, {}
        for waiter, loop in waiters.items():
            # A loop that was closed has nobody who waits.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(_wake, waiter)

    async def until(self, holds: Callable[[], bool], within: float) -> bool:
        """Wait until `holds()`, at most `within` seconds; whether it holds."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(within):
                while True:
                    waiter = loop.create_future()
                    with self._lock:
                        self._waiters[waiter] = loop
                    try:
                        # It is looked at once it is sure that the next change wakes.
                        if holds():
                            return True
                        await waiter
                    finally:
                        with self._lock:
                            self._waiters.pop(waiter, None)
        except TimeoutError:
            return holds()


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


class SharedMachine:
    """One live machine of a process, stepped by its threads and logged in `log`, of its kind."""

    def __init__(self, machine: Any, instance: str, log: MachineLog | None, **given: Any) -> None:
        self.lock = threading.RLock()
        self.changed = SharedSignal()
        self.live = machine.Live(**given)
        self._instance, self._log, self._number = instance, log, 0
        if log is not None:
            log.lives(instance, self.live, False, "")

    def step(self, event: Any, cause: str = "") -> Outcome:
        """Step, and wake whoever waits for a change."""
        with self.lock:
            before = self.live.state
            outcome = self.live.step(event)
            self._number += 1
            if self._log is not None:
                self._log(self._instance, self._number, event, before, self.live.state, outcome, cause)
        if outcome.kind in ("go", "stay"):
            self.changed.notify()
        return outcome
