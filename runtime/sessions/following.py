"""The replicas of a run whose controller is another process, as sessions see them.

Rules of this file:

- Who lives and where is in the roster; what a replica is, and whether an operation runs, its controller says. Who
  rules changes, and is followed.
- While no controller answers nothing is bound: whether an operation runs is not known.
- The end of a life is told once, and only from the roster.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing
from types import TracebackType
from typing import Any, Self

from grpc import aio

from ...protocol.client import CallError, dial
from ...protocol.generated.replica_service import ReplicaClient
from ...protocol.generated.sync_service import SyncClient
from ...protocol.store import StoreError
from ...protocol.tasks import Tasks
from ..controller.roster import Life, Roster, Ruler
from ..controller.sync import INSTANCE
from ..signals import Signal

_log = logging.getLogger(__name__)
LOOK_S = 0.2
"""How often the roster is looked at, and how soon a watch that broke off is taken up again."""


class Followed:
    """One life of a replica, where it answers, and what its controller says of it."""

    def __init__(self, life: Life) -> None:
        self.replica, self.incarnation = life.name, life.incarnation
        self.control, self.data = life.control, life.data
        self.state, self.version = "", None


class FollowedCohort:
    """See `Cohort`. Use as `async with`: entering reads the roster once. `on_end` is told of each life that ends."""

    def __init__(self, roster: Roster, on_end: Callable[[str], Any]) -> None:
        self.changed = Signal()
        self._roster, self._on_end = roster, on_end
        self._lives: dict[str, Followed] = {}
        self._sync: Any = None
        self._ruler: Ruler | None = None
        self._channel: aio.Channel | None = None
        self._watches: dict[str, asyncio.Task[None]] = {}
        self._group = Tasks()
        self._following: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        self._look()
        self._following = self._group.create_task(self._follow())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in (self._following, *self._watches.values()):
            if task is not None:
                task.cancel()
        try:
            await self._group.__aexit__(kind, error, trace)
        finally:
            if self._channel is not None:
                await self._channel.close()

    # -- what sessions ask -----------------------------------------------------------------------

    @property
    def published(self) -> int | None:
        return None if self._sync is None else self._sync.published

    @property
    def phase(self) -> str:
        """The state of the Sync machine, empty while no controller answers."""
        return "" if self._sync is None else self._sync.state

    @property
    def is_idle(self) -> bool:
        return self._sync is not None and self._sync.state == "IDLE"

    def serving(self) -> list[Followed]:
        published = self.published
        return [
            life for life in self._lives.values()
            if published is not None and life.state == "SERVING" and life.version == published
        ]  # fmt: skip

    def place(self, incarnation: str) -> Followed | None:
        return self._lives.get(incarnation)

    def is_alive(self, incarnation: str) -> bool:
        return incarnation in self._lives

    def is_leaving(self, incarnation: str) -> bool:
        life = self._lives.get(incarnation)
        return life is not None and life.state == "LEAVING"

    def living(self) -> list[Followed]:
        return list(self._lives.values())

    # -- inside ----------------------------------------------------------------------------------

    async def _follow(self) -> None:
        said = ""
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                await self._rule(self._roster.ruler())
                self._look()
                said = ""
            except StoreError as error:
                if str(error) != said:
                    said = str(error)
                    _log.error("the roster cannot be read, which is tried again: %s", said)

    def _look(self) -> None:
        """Take in who begins and who has ended."""
        living = {life.incarnation: life for life in self._roster.living("rollout") if life.control}
        for incarnation in self._lives.keys() - living.keys():
            del self._lives[incarnation]
            if (watch := self._watches.pop(incarnation, None)) is not None:
                watch.cancel()
            self._on_end(incarnation)
            self.changed.notify()
        for incarnation in living.keys() - self._lives.keys():
            self._lives[incarnation] = Followed(living[incarnation])
        if self._channel is not None:
            for incarnation in self._lives.keys() - self._watches.keys():
                client = ReplicaClient(self._channel, incarnation)
                self._begin(incarnation, client, lambda seen, life=self._lives[incarnation]: _note(life, seen))

    async def _rule(self, ruler: Ruler | None) -> None:
        """Watch the controller that rules now."""
        if ruler == self._ruler or ruler is None:
            return
        for watch in self._watches.values():
            watch.cancel()
        self._watches.clear()
        self._forget()
        if self._channel is not None:
            await self._channel.close()
        self._ruler, self._channel = ruler, dial(ruler.control)
        self._begin("", SyncClient(self._channel, INSTANCE), self._note_sync)

    def _begin(self, name: str, client: Any, note: Callable[[Any], None]) -> None:
        self._watches[name] = self._group.create_task(self._watch(name, client, note))

    async def _watch(self, name: str, client: Any, note: Callable[[Any], None]) -> None:
        """Note each change; what broke off is taken up again until another rules or the life has ended."""
        while True:
            try:
                async with aclosing(client.watch()) as changes:
                    async for seen in changes:
                        note(seen.snapshot)
                        self.changed.notify()
            except CallError:
                pass
            note(None)
            self.changed.notify()
            await asyncio.sleep(LOOK_S)

    def _note_sync(self, snapshot: Any) -> None:
        self._sync = snapshot

    def _forget(self) -> None:
        self._sync = None
        for life in self._lives.values():
            _note(life, None)


def _note(life: Followed, snapshot: Any) -> None:
    life.state, life.version = ("", None) if snapshot is None else (snapshot.state, snapshot.version)
