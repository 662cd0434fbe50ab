"""Agents on an event loop of a thread of their own, so that they live on while another loop is busy.

Rules of this file:

- What the thread holds is entered, used and left in its own loop; whoever else wants something asks.
- The end of the thread is told, with its cause, to everybody who asks and to everybody who waits for it.
- A loop that something blocks is as good as ended: whoever asks is told so, with the place that blocks it.
- To leave cancels, waits for what ends in its own time, and joins the thread, all within a bound.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import sys
import threading
import traceback
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

T = TypeVar("T")
R = TypeVar("R")
_log = logging.getLogger(__name__)
BEAT_S, SILENT_S = 5.0, 60.0
"""How often the thread's loop is asked for a sign of life by whoever waits, and how long it may give none."""


class AgentsDied(Exception):
    """The agents' thread has ended by itself, or its loop stands; the cause is what ended it."""


class AgentThread(Generic[T]):
    """A thread with a loop in which `make()` is entered. Use as `async with AgentThread(make) as agents`.

    Entering waits until `make()` is entered and raises what that raises; leaving waits at most `within` seconds. What
    `make()` runs in the background belongs in a task group of its own: what escapes from it ends the thread. Context
    variables of whoever enters hold inside. Leaving raises AgentsDied where the thread has ended by itself and nobody
    was told of it, and TimeoutError where it does not end. `silent` is how many seconds its loop may stand.
    """

    def __init__(
        self, make: Callable[[], AbstractAsyncContextManager[T]], *, within: float = 30.0, name: str = "agents",
        silent: float = SILENT_S,
    ) -> None:  # fmt: skip
        self._make, self._within, self._name, self._silent = make, within, name, silent
        self._inside: T
        self._stop = asyncio.Event()
        self._main: asyncio.Task[Any] | None = None
        self._thread: threading.Thread
        self._theirs: asyncio.AbstractEventLoop
        self._began: asyncio.Future[None]
        self._over: asyncio.Future[BaseException | None]
        self._is_left = self._is_told = False

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The thread's loop."""
        return self._theirs

    async def __aenter__(self) -> Self:
        here = asyncio.get_running_loop()
        self._began, self._over = here.create_future(), here.create_future()
        self._theirs = asyncio.new_event_loop()
        context = contextvars.copy_context()
        # A thread that does not end in time must not keep the process.
        self._thread = threading.Thread(target=context.run, args=(self._run, here), name=self._name, daemon=True)
        self._thread.start()
        try:
            await asyncio.wait((self._began, self._over), return_when=asyncio.FIRST_COMPLETED)
        except BaseException:
            await self._leave()
            raise
        if not self._began.done():
            await self._leave()
            self._is_told = True
            raise self._over.result() or self._died()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._leave()
        except TimeoutError:
            if error is None:
                raise
            _log.exception("behind %r", error)
        if self._over.done() and self._over.result() is not None and not self._is_told:
            if error is None:
                raise self._died()
            _log.error("%s; behind %r", self._died(), error)

    async def ask(self, work: Callable[[T], Coroutine[Any, Any, R]], within: float) -> R:
        """What `work(inside)` comes to in the thread's loop. Whoever stops waiting cancels it.

        Raises TimeoutError after `within` seconds, AgentsDied where the thread has ended or its loop stands, and what
        the work raises.
        """
        if self._over.done():
            raise self._died()

        async def run() -> R:
            return await work(self._inside)

        coroutine = run()
        try:
            asked = asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, self._theirs))
        except RuntimeError:
            # The loop was closed just now.
            coroutine.close()
            await self._wait_over()
            raise self._died() from None
        try:
            async with asyncio.timeout(within):
                await self._until_any(asked, self._over)
        except BaseException:
            asked.cancel()
            raise
        if asked.done() and not asked.cancelled():
            return asked.result()
        # A thread that ends cancels what it was asked.
        asked.cancel()
        await self._wait_over()
        raise self._died()

    async def ended(self) -> None:
        """Return once the thread was left. Raises AgentsDied as soon as it has ended by itself."""
        await asyncio.shield(self._over)
        if not self._is_left or self._over.result() is not None:
            raise self._died()

    # -- inside ----------------------------------------------------------------------------------

    async def _until_any(self, *futures: asyncio.Future[Any]) -> None:
        """Wait for the first of them. Raises AgentsDied where the thread's loop gives no sign of life meanwhile."""
        here = asyncio.get_running_loop()
        beat = asyncio.Event()
        heard = here.time()
        while True:
            with contextlib.suppress(RuntimeError):
                # Where the loop is closed, the end of the thread is told.
                self._theirs.call_soon_threadsafe(here.call_soon_threadsafe, beat.set)
            done, _ = await asyncio.wait(
                futures, timeout=min(BEAT_S, self._silent / 2), return_when=asyncio.FIRST_COMPLETED
            )
            if done:
                return
            if beat.is_set():
                beat.clear()
                heard = here.time()
            elif here.time() - heard > self._silent:
                raise AgentsDied(
                    f"the agents' loop has stood for {self._silent:g} s, and every conversation with it: something in "
                    f"it blocks and does not await, as a task or tool of your own may. It stands here:\n{self._place()}"
                )

    def _place(self) -> str:
        """Where the thread is just now: its innermost calls."""
        frame = sys._current_frames().get(self._thread.ident or 0)
        return "".join(traceback.format_stack(frame)[-4:]) if frame is not None else "(it runs no Python)"

    def _died(self) -> AgentsDied:
        self._is_told = True
        cause = self._over.result() if self._over.done() else None
        while isinstance(cause, BaseExceptionGroup) and len(cause.exceptions) == 1:
            cause = cause.exceptions[0]
        if cause is None and self._is_left:
            return AgentsDied("the agents' thread was left: ask it before that")
        died = AgentsDied(f"the agents' thread has ended: {cause or 'nothing of it was left to run'!r}")
        died.__cause__ = cause
        return died

    async def _wait_over(self) -> None:
        await asyncio.wait((self._over,), timeout=self._within)

    async def _leave(self) -> None:
        self._is_left = True
        for end in (self._let_go, self._cancel):
            if not self._over.done():
                with contextlib.suppress(RuntimeError):
                    self._theirs.call_soon_threadsafe(end)
                await asyncio.wait((self._over,), timeout=self._within / 2)
        if not self._over.done():
            raise TimeoutError(f"the agents' thread has not ended within {self._within:g} s: it is left behind")
        # It has told its end as the last thing that it did.
        self._thread.join(self._within)

    def _let_go(self) -> None:
        """In the thread: leave what was made; or what is still being made."""
        self._stop.set()
        if not self._began.done():
            self._cancel()

    def _cancel(self) -> None:
        if self._main is not None:
            self._main.cancel()

    def _run(self, here: asyncio.AbstractEventLoop) -> None:
        """The thread: hold what was made until it is left, and tell how that ended."""
        cause: BaseException | None = None
        try:
            with asyncio.Runner(loop_factory=lambda: self._theirs) as runner:
                runner.run(self._hold(here))
        except BaseException as error:
            cause = error
        if self._is_left and isinstance(cause, asyncio.CancelledError):
            cause = None
        self._tell(here, self._over, cause)

    async def _hold(self, here: asyncio.AbstractEventLoop) -> None:
        self._main = asyncio.current_task()
        if self._stop.is_set():
            return
        async with self._make() as self._inside:
            self._tell(here, self._began, None)
            await self._stop.wait()

    @staticmethod
    def _tell(here: asyncio.AbstractEventLoop, future: asyncio.Future[Any], value: object) -> None:
        def tell() -> None:
            if not future.done():
                future.set_result(value)

        try:
            here.call_soon_threadsafe(tell)
        except RuntimeError:
            _log.error("the agents' thread has outlived the loop that began it")
