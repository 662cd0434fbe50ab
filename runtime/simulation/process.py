"""A process of the cluster: tasks that share a name, a network and a fate.

Rules of this file:

- A process has one main task, which enters what it serves, says that it is ready, and leaves it when told.
- A killed process does nothing more, not even what it would do at its end.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from io import FileIO
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from ...protocol.network import NETWORK
from ...protocol.sqlite import CLAIMS, let_go
from .clock import OWNER, Owner, VirtualLoop
from .network import SimNetwork

T = TypeVar("T")
U = TypeVar("U")
END_S = 300.0
"""Virtual seconds in which a process has to be ready, or to end."""


class Process(Generic[T]):
    """One life of a process, which serves what `serve` gives."""

    def __init__(self, name: str, network: SimNetwork, serve: Callable[[], AbstractAsyncContextManager[T]]) -> None:
        self.name, self._network, self._serve = name, network, serve
        self._owner = Owner(name)
        self._context = contextvars.copy_context()
        self._context.run(OWNER.set, self._owner)
        self._context.run(NETWORK.set, network)
        self._claims: WeakSet[FileIO] = WeakSet()
        self._context.run(CLAIMS.set, self._claims)
        self._loop = asyncio.get_running_loop()
        self._told_to_end = asyncio.Event()
        self._ready: asyncio.Future[T] = self._loop.create_future()
        self._main: asyncio.Task[None] | None = None

    @property
    def is_running(self) -> bool:
        """Whether it was started and has neither ended nor been killed."""
        return self._main is not None and not (self._main.done() or self._owner.is_dead)

    async def start(self) -> T:
        """Start it; what it serves, once it is ready. Raises what it could not start for."""
        self._main = self.spawn(self._run())
        async with asyncio.timeout(END_S):
            await asyncio.wait([self._ready, self._main], return_when=asyncio.FIRST_COMPLETED)
        if self._main.done():
            self._main.result()
        return self._ready.result()

    def spawn(self, work: Coroutine[Any, Any, U]) -> asyncio.Task[U]:
        """A task of this process."""
        return self._loop.create_task(work, context=self._context.copy())

    def call(self, work: Callable[[], U]) -> U:
        """Something that this process does at once."""
        return self._context.copy().run(work)

    async def end(self) -> None:
        """Have it end gracefully, and wait for that; one that is dead stays so. Raises what it ended by."""
        if self._owner.is_dead or self._main is None:
            return
        self.go_on()
        self._told_to_end.set()
        loop = self._loop
        assert isinstance(loop, VirtualLoop)
        await loop.until(self._main.done, END_S, f"the end of {self.name}")
        self._main.result()

    def kill(self) -> None:
        """SIGKILL: nothing of it runs any more, its connections break, and its files are let go."""
        self._owner.is_dead = True
        let_go(self._claims)
        self._network.drop(self.name)

    def stop(self) -> None:
        """SIGSTOP: what comes for it waits."""
        self._owner.is_stopped = True

    def go_on(self) -> None:
        """SIGCONT."""
        if self._owner.is_stopped and not self._owner.is_dead:
            self._owner.go_on(self._loop)

    def bury(self) -> None:
        """The run is over: let what is left of a dead process be thrown away."""
        if self._owner.is_dead:
            self._owner.go_on(self._loop)

    async def _run(self) -> None:
        async with self._serve() as served:
            self._ready.set_result(served)
            await self._told_to_end.wait()
