"""The gates of upstreams: each begun while its upstream is known to hold what is published, and ended when not.

Rules of this file:

- A gate lives only in front of an upstream that holds what is published, by what it was last told and by the process
  that was told it. Any other is held back, with the reason, until a window loads it.
- Within a window every upstream that answers has a gate: a new life, where the last one ended.
- What a gate installs is loaded by the trainer of the window that is open, or is there already.
- A life is written down before it begins, and ended in the roster once its gate is closed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from ...protocol.client import CallError
from ...protocol.store import StoreError
from ...protocol.tasks import Tasks
from ...statemachines.replica import Replica
from ..controller.controller import Controller
from ..controller.roster import Roster
from ..gate import EmbeddedGate
from ..gate.blocks import Install
from ..serving.errors import HttpError
from ..weights import Manifest, ManifestError
from .holding import Holding, Holdings, is_as_found, manifest
from .upstream import Upstream
from .window import Window

_log = logging.getLogger(__name__)
OBEY_S, TEND_S, CLAIMED_S, KNOWN_S = 0.2, 1.0, 20.0, 2.0
"""How often orders of the controller are looked for, how often each upstream is looked at, and how long the controller
may take to claim a new gate, and to take note of one that has ended."""
MISSES = 5
"""An upstream that does not answer so many looks in a row is taken to be down."""

MakeGate = Callable[[Upstream, str, Install], EmbeddedGate]


@dataclass(slots=True, eq=False)
class Life:
    """One life of a gate. `how` says how it ended, `is_given_up` that it is poisoned for its process and not for what
    that holds."""

    upstream: Upstream
    incarnation: str
    gate: EmbeddedGate
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    ends: asyncio.Event = field(default_factory=asyncio.Event)
    how: str = "stopped"
    is_given_up: bool = False
    misses: int = 0
    task: asyncio.Task[None] | None = None


class Fleet:
    """Use as `async with`; `controller` is set before. `make` makes the gate of an upstream, for a life of it."""

    def __init__(
        self, upstreams: Mapping[str, Upstream], roster: Roster, holdings: Holdings, make: MakeGate
    ) -> None:
        self.controller: Controller
        self.upstreams, self.holdings = upstreams, holdings
        self.lives: dict[str, Life] = {}
        """By the name of the upstream."""
        self.window: Window | None = None
        self._roster, self._make = roster, make
        self._alone = {name: asyncio.Lock() for name in upstreams}
        self._group = Tasks()
        self._tending: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        self._tending = [self._group.create_task(self._tend(upstream)) for upstream in self.upstreams.values()]
        self._tending.append(self._group.create_task(self._obey()))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._tending:
            task.cancel()
        ended = [life.incarnation for life in self.lives.values()]
        for life in self.lives.values():
            life.ends.set()
        await self._group.__aexit__(kind, error, trace)
        # So that sessions which the next process finds lost are known to be.
        await self.controller.changed.until(lambda: not any(map(self.controller.is_alive, ended)), KNOWN_S)

    # -- what others ask -------------------------------------------------------------------------

    def find(self, incarnation: str) -> tuple[Upstream, EmbeddedGate] | None:
        """Upstream and gate of a life, None once it has ended."""
        for life in self.lives.values():
            if life.incarnation == incarnation and life.ready.is_set():
                return life.upstream, life.gate
        return None

    async def has_bytes(self, version: int) -> bool:
        """Whether every gate that there is can be brought to a version: its trainer is there, or all hold it."""
        if self.window is not None and not self.window.why_lost and self.window.version == version:
            return True
        return bool(self.lives) and all(not self._why_not(name, version) for name in self.lives)

    def is_claimed(self) -> bool:
        """Whether the controller has claimed every gate that there is."""
        members = self.controller.members
        lives = self.lives.values()
        return all((m := members.get(life.upstream.name)) and m.incarnation == life.incarnation for life in lives)

    def _begun(self) -> list[Life]:
        return [life for life in self.lives.values() if life.ready.is_set()]

    async def models(self) -> bytes:
        """What the first upstream that answers lists. Raises HttpError."""
        failure: HttpError | None = None
        for upstream in self.upstreams.values():
            try:
                return await upstream.models()
            except HttpError as error:
                failure = failure or error
        assert failure is not None
        raise failure

    async def gather(self) -> None:
        """Give every upstream that answers a gate which the controller has claimed, for the window that is open."""
        # A gate that the last window has poisoned is replaced first.
        changed = self.controller.changed
        await changed.until(lambda: not any(life.gate.is_poisoned for life in self._begun()), CLAIMED_S)
        await asyncio.gather(*(self._bring(name) for name in self.upstreams))
        await self.controller.changed.until(self.is_claimed, CLAIMED_S)

    async def tidy(self) -> None:
        """The window is over: who does not hold what is published is held back."""
        published = self.controller.published
        for life in list(self.lives.values()):
            gate = life.gate
            if published is not None and not gate.is_poisoned and gate.version != published:
                await self._end(life, f"its window ended, and it does not hold version {published}")

    # -- lives -----------------------------------------------------------------------------------

    async def _bring(self, name: str) -> None:
        async with self._alone[name]:
            if name in self.lives:
                return
            try:
                await self.upstreams[name].started()
            except HttpError as error:
                self._hold(name, error.text)
                return
            await self._begin(self.upstreams[name])

    async def _begin(self, upstream: Upstream) -> None:
        incarnation = self._roster.begin(upstream.name, "rollout")

        async def install(version: int, named: Manifest | None) -> str:
            return await self._install(upstream, version, named)

        life = Life(upstream, incarnation, self._make(upstream, incarnation, install))
        self.lives[upstream.name] = life
        life.task = self._group.create_task(self._live(life))
        await life.ready.wait()

    async def _live(self, life: Life) -> None:
        name = life.upstream.name
        try:
            async with life.gate as gate:
                self._roster.enlist(life.incarnation, gate.control, "", 0)
                if name in self._roster.holds():
                    self._roster.release(name)
                life.ready.set()
                await life.ends.wait()
        finally:
            life.ready.set()
            if self.lives.get(name) is life:
                del self.lives[name]
            self._roster.end(life.incarnation, life.how)

    async def _end(self, life: Life, how: str) -> None:
        life.how = how
        life.ends.set()
        if life.task is not None:
            await asyncio.wait((life.task,))
        if why := self._why_not(life.upstream.name, self.controller.published):
            self._hold(life.upstream.name, why)

    def _hold(self, name: str, why: str) -> None:
        if self._roster.holds().get(name) != why:
            _log.warning("%s is held back: %s", name, why)
            self._roster.hold(name, why)

    async def _obey(self) -> None:
        """End the lives that the controller orders to end."""
        while True:
            await asyncio.sleep(OBEY_S)
            try:
                ordered = self._roster.ends_ordered()
                for life in [life for life in self.lives.values() if life.incarnation in ordered]:
                    name, why = life.upstream.name, life.gate.why or ordered[life.incarnation]
                    async with self._alone[name]:
                        if life.gate.is_poisoned and not life.is_given_up:
                            self.holdings.doubt(name)
                        await self._end(life, why)
            except StoreError as error:
                _log.error("the roster cannot be used, which is tried again: %s", error)

    # -- upstreams -------------------------------------------------------------------------------

    async def _tend(self, upstream: Upstream) -> None:
        while True:
            try:
                async with self._alone[upstream.name]:
                    await self._look(upstream)
            except StoreError as error:
                _log.error("%s: what it holds cannot be looked up, which is tried again: %s", upstream.name, error)
            await asyncio.sleep(TEND_S)

    async def _look(self, upstream: Upstream) -> None:
        """Begin a gate where there may be one; give one up whose upstream is another process by now, or is down."""
        name, life = upstream.name, self.lives.get(upstream.name)
        if life is None and self.window is not None:
            return
        if life is not None and (life.gate.is_poisoned or life.gate.snapshot.state == "INSTALLING"):
            return
        try:
            started = await upstream.started()
        except HttpError as error:
            if life is None:
                self._hold(name, error.text)
                return
            life.misses += 1
            if life.misses == MISSES:
                await self._give_up(life, error.text)
            return
        if life is None:
            published = self.controller.published
            if why := self._why_not(name, published, started):
                self._hold(name, why)
                return
            if published is not None and is_as_found(named := self.controller.manifests.get(published)):
                self.holdings.put(name, Holding(published, named.digest, started))
            await self._begin(upstream)
            return
        life.misses = 0
        held = self.holdings.of(name)
        if held is not None and held.started is not None and started is not None and held.started != started:
            await self._give_up(life, f"{name} is another process by now: it has restarted")

    async def _give_up(self, life: Life, why: str) -> None:
        """Have it poisoned, and so replaced."""
        member = self.controller.members.get(life.upstream.name)
        if member is None or member.incarnation != life.incarnation:
            return
        life.is_given_up = True
        try:
            await member.poison(why)
        except CallError as error:
            _log.error("%s could not be given up: %s", life.incarnation, error)
            return
        self.controller.tell(life.incarnation, Replica.Poisoned(why=why))

    def _why_not(self, name: str, version: int | None, started: float | None = None) -> str:
        """Why an upstream does not hold a version, as far as is known; `started` as it tells now, if it was asked."""
        held = self.holdings.of(name)
        if version is None:
            return ""
        has_restarted = None not in (started, held and held.started) and started != (held and held.started)
        is_found = is_as_found(self.controller.manifests.get(version))
        if is_found and has_restarted:
            return ""
        if held is not None and held.version is None:
            return f"{name}: its weights are in doubt: the next window loads it"
        if is_found:
            return ""
        if held is None or held.version != version:
            holds = "what it had when it was found" if held is None else f"version {held.version}"
            return f"{name} holds {holds}, and published is {version}: the next window loads it"
        if has_restarted:
            return f"{name} has restarted since it was loaded with version {version}: the next window loads it"
        return ""

    # -- what gates install ----------------------------------------------------------------------

    async def _install(self, upstream: Upstream, version: int, named: Manifest | None) -> str:
        """Return once the upstream holds the version; the digest of what it holds. Raises where it does not."""
        name, held = upstream.name, self.holdings.of(upstream.name)
        if named is None:
            raise ManifestError(f"version {version} has no manifest")
        if is_as_found(named):
            started = await upstream.started()
            if why := self._why_not(name, version, started):
                raise ManifestError(why)
            self.holdings.put(name, Holding(version, named.digest, started))
            return named.digest
        if held is not None and (held.version, held.digest) == (version, named.digest):
            return named.digest
        window = self.window
        if window is None or window.version != version:
            raise ManifestError(f"nobody is there who has the bytes of version {version}")
        self.holdings.doubt(name)
        word = await window.loading(name)
        digest = manifest(version, named.run, named.step, word).digest
        if digest == named.digest:
            self.holdings.put(name, Holding(version, digest, await upstream.started()))
        return digest
