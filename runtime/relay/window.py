"""One window: a trainer loads a version into upstreams that have drained, and says which it has loaded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class WindowLost(Exception):
    """The trainer will not load this upstream any more: its weights are in doubt."""


class Window:
    """`word` is what the trainer calls the weights of `version`. `changed` is told of every change."""

    def __init__(self, version: int, step: int, word: str, changed: Callable[[], None]) -> None:
        self.version, self.step, self.word = version, step, word
        self.why_lost = ""
        """Why the trainer has gone; empty while it is there."""
        self.done = asyncio.Event()
        self._waiting: dict[str, asyncio.Future[str]] = {}
        self._changed = changed

    @property
    def arrived(self) -> frozenset[str]:
        """The upstreams that have drained and wait, or were loaded."""
        return frozenset(self._waiting)

    async def loading(self, upstream: str) -> str:
        """What the trainer says that the upstream holds, once it has loaded it. Raises WindowLost."""
        if self.why_lost:
            raise WindowLost(self.why_lost)
        waiting = self._waiting[upstream] = asyncio.get_running_loop().create_future()
        self._changed()
        return await waiting

    def loaded(self, upstream: str, word: str) -> str:
        """The trainer has loaded it; why that is not taken, empty if it is."""
        waiting = self._waiting.get(upstream)
        if waiting is None:
            return f"{upstream} does not wait to be loaded: those that do are {', '.join(sorted(self._waiting))}"
        if waiting.done():
            return "" if self.was_loaded(upstream) else f"{upstream} is given up: {self.why_lost}"
        waiting.set_result(word)
        if word != self.word:
            return f"{upstream} holds {word!r}, and the window is for {self.word!r}: its gate is poisoned"
        return ""

    def was_loaded(self, upstream: str) -> bool:
        waiting = self._waiting.get(upstream)
        return waiting is not None and waiting.done() and not waiting.cancelled() and waiting.exception() is None

    def lose(self, why: str) -> None:
        """The trainer has gone, or the window is over: what was not loaded is not any more."""
        self.why_lost = self.why_lost or why
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(WindowLost(self.why_lost))
        self._changed()
