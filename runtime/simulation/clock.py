"""An event loop in which time is a number: when nothing can run, it jumps to the next timer.

Rules of this file:

- Virtual time passes only while nothing can run; real time never makes anything happen.
- Work given to a thread is done by the loop itself, a fixed virtual time later, or the `seconds` that its
  executor says.
- What belongs to a process that is stopped waits until it goes on; what belongs to a dead one, until the run
  is over and its tasks are cancelled.
- A run that cannot go on, or goes on for too long, is an error that says who waits for what.
"""

from __future__ import annotations

import asyncio
import contextvars
import selectors
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Executor
from contextvars import Context, ContextVar
from types import CoroutineType
from typing import Any, TypeVar

T = TypeVar("T")
THREAD_S = 0.001
"""Virtual seconds that work in a thread takes."""
TIE_S = 1e-12
SPINS = 200_000
"""Turns of the loop at one instant after which something is taken to go round in a circle."""


class Stuck(Exception):
    """A run that does not end; the text says who waits for what."""


class Owner:
    """Whose work something is: a process that runs, is stopped, or is dead."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_stopped = self.is_dead = False
        self._parked: list[tuple[Context, Callable[..., object], tuple[Any, ...]]] = []

    def run(self, context: Context, callback: Callable[..., object], args: tuple[Any, ...]) -> None:
        """Run a callback of this process, now or when it goes on."""
        if self.is_stopped or self.is_dead:
            self._parked.append((context, callback, args))
        else:
            callback(*args)

    def go_on(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let everything run that has come while it was stopped, in its order; so is a dead one buried."""
        self.is_stopped = self.is_dead = False
        parked, self._parked = self._parked, []
        for context, callback, args in parked:
            loop.call_soon(callback, *args, context=context)


OWNER: ContextVar[Owner | None] = ContextVar("owner", default=None)


class _Selector(selectors.SelectSelector):
    """Tells the loop when it would sleep."""

    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            self.loop.rest_for(timeout)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """Ends with Stuck after `virtual` seconds of its own time, or `real` seconds of everybody's."""

    def __init__(self, *, virtual: float = 3600.0, real: float = 60.0) -> None:
        self._now, self._virtual = 0.0, virtual
        self._until, self._real = time.monotonic() + real, real
        self._spins = self._timers = 0
        self._waiting: list[tuple[Callable[[], object], asyncio.Future[None]]] = []
        self._owners: weakref.WeakKeyDictionary[asyncio.Task[Any], Owner] = weakref.WeakKeyDictionary()
        selector = _Selector()
        selector.loop = self
        super().__init__(selector)
        self.set_task_factory(self._task)

    def time(self) -> float:
        return self._now

    async def until(self, holds: Callable[[], object], within: float, what: str = "") -> None:
        """Return at the first moment at which nothing runs and `holds()`. Raises Stuck after `within` seconds."""
        future: asyncio.Future[None] = self.create_future()
        entry = (holds, future)
        self._waiting.append(entry)
        try:
            async with asyncio.timeout(within):
                await future
        except TimeoutError:
            raise Stuck(f"not within {within:g} s: {what or 'what was waited for'}\n{self.waiting()}") from None
        finally:
            if entry in self._waiting:
                self._waiting.remove(entry)

    async def rest(self) -> None:
        """Return when nothing can run at this instant any more."""
        await self.until(lambda: True, 1.0)

    def rest_for(self, timeout: float | None) -> None:
        """Nothing has come from outside: jump to the next timer, if nothing else can run now."""
        if timeout is not None and timeout <= 0:
            self._spins += 1
            if self._spins > SPINS:
                raise Stuck(f"something goes round in a circle\n{self.waiting()}")
            return
        self._spins = 0
        if self._tell_who_waits():
            return
        if timeout is None:
            raise Stuck(f"nothing can ever run again\n{self.waiting()}")
        self._now += timeout
        if self._now > self._virtual or time.monotonic() > self._until:
            raise Stuck(f"no end after {self._now:g} s, of {self._real:g} s real at most\n{self.waiting()}")

    def _tell_who_waits(self) -> bool:
        """Whether what somebody waits for has come to hold."""
        met = False
        for entry in self._waiting[:]:
            holds, future = entry
            try:
                if not (future.done() or holds()):
                    continue
            except Exception as error:
                future.set_exception(error)
            met = True
            self._waiting.remove(entry)
            if not future.done():
                future.set_result(None)
        return met

    def extend(self, real: float) -> None:
        """Let the run take so many seconds from now on."""
        self._until, self._virtual, self._waiting = time.monotonic() + real, float("inf"), []

    def waiting(self) -> str:
        """Each task, whose it is, and where it waits."""
        lines = [_told(task, self._owners.get(task)) for task in asyncio.all_tasks(self)]
        return "\n".join([f"at {self._now:g} s:", *sorted(lines)])

    # -- whose work it is --------------------------------------------------------------------------

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Context | None = None) -> asyncio.Handle:
        context = contextvars.copy_context() if context is None else context
        owner = context.get(OWNER)
        if owner is None:
            return super().call_soon(callback, *args, context=context)
        return super().call_soon(owner.run, context, callback, args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        context = contextvars.copy_context() if context is None else context
        owner = context.get(OWNER)
        # Timers of one moment run in the order in which they were set.
        self._timers += 1
        when += self._timers * TIE_S
        if owner is None:
            return super().call_at(when, callback, *args, context=context)
        return super().call_at(when, owner.run, context, callback, args, context=context)

    def _task(
        self, loop: asyncio.AbstractEventLoop, coroutine: Any, context: Context | None = None
    ) -> asyncio.Task[Any]:
        task = asyncio.Task(coroutine, loop=loop, context=context)
        owner = OWNER.get() if context is None else context.get(OWNER)
        if owner is not None:
            self._owners[task] = owner
        return task

    # -- threads -----------------------------------------------------------------------------------

    def run_in_executor(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        future: asyncio.Future[T] = self.create_future()

        def work() -> None:
            try:
                result = func(*args)
            except Exception as error:
                if not future.done():
                    future.set_exception(error)
            else:
                if not future.done():
                    future.set_result(result)

        self.call_later(getattr(executor, "seconds", THREAD_S), work)
        return future


def _told(task: asyncio.Task[Any], owner: Owner | None) -> str:
    coroutine: Any = task.get_coro()
    where = "it has not begun"
    while isinstance(coroutine, CoroutineType) and coroutine.cr_frame is not None:
        frame = coroutine.cr_frame
        where = f"{frame.f_code.co_qualname} ({frame.f_code.co_filename.rsplit('/', 1)[-1]}:{frame.f_lineno})"
        coroutine = coroutine.cr_await
    return f"  {'' if owner is None else owner.name + ': '}{task.get_name()} waits in {where}"
