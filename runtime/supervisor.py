"""Keeps processes alive: each life enlisted in the roster, ended by order, replaced within a budget.

Rules of this file:

- A life is written down before its process starts, and ended in the roster once the system says it is gone.
- Two never keep the processes of one roster: the second is refused before it ends anything. The caretaker of one
  that was killed has its place for moments.
- Who rules comes and goes; what is kept goes on. An order is read from the roster, whoever wrote it.
- What dies too often is held, with an alarm, until somebody releases it: nothing is started meanwhile.
- What retires, or ends because another of its kind rules, is not replaced.
- A roster that cannot be read or written is tried again until it can: what runs goes on meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from ..protocol.store import StoreError
from ..protocol.tasks import Tasks
from .caretaker import cared_for
from .controller.roster import Life, Roster
from .launcher import OVERRULED, HostError, Launcher, LaunchError, Worker
from .signals import Signal

T = TypeVar("T")
_log = logging.getLogger(__name__)
LOOK_S = 0.2
"""How often the roster is looked at for orders and releases."""

AGAIN_S = 2.0
"""How long after a process could not be begun it is tried again."""

CARE_S = 2.0
"""How long the caretaker of an earlier supervisor is waited for."""

GONE_S = 10.0
"""How long the process of an earlier supervisor may take to be gone after it was killed."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How many lives of one name, and of all, may die in a window of so many seconds before they are held."""

    lives: int = 4
    all_lives: int = 16
    window: float = 600.0


@dataclass(frozen=True, slots=True)
class Charge:
    """What is kept alive: `config` makes the config of a life from its incarnation; `within`: seconds to start."""

    name: str
    role: str
    config: Callable[[str], Mapping[str, Any]]
    within: float = 120.0


@dataclass(slots=True)
class Deaths:
    """When lives of one name died."""

    at: deque[float] = field(default_factory=deque)

    def within(self, window: float) -> int:
        """How many died in the last `window` seconds."""
        while self.at and self.at[0] < time.monotonic() - window:
            self.at.popleft()
        return len(self.at)


class Supervisor:
    """Keeps charges alive through `launcher`. Use as `async with`; leaving ends what it started.

    `alarm` is called with a name and the reason when it is held. `clear` is called while no process of the run
    lives: before the first is started, and after the last has ended. `removes` are the folders that are removed where
    this process is killed, once its workers have gone. Entering raises StoreError where another process keeps those of
    this roster, and then nothing of it was touched.
    """

    def __init__(
        self, roster: Roster, launcher: Launcher, budget: Budget | None = None,
        alarm: Callable[[str, str], None] | None = None, clear: Callable[[], None] = lambda: None,
        removes: Sequence[Path] = (),
    ) -> None:  # fmt: skip
        self.roster, self.launcher, self.budget = roster, launcher, budget or Budget()
        self.workers: dict[str, Worker] = {}
        """The lives that were started here, by incarnation."""
        self.changed = Signal()
        """Notified when a life is ready or has ended, and when a name is held."""
        self._alarm = alarm
        self._deaths: dict[str, Deaths] = {}
        self._group = Tasks()
        self._keeping: list[asyncio.Task[None]] = []
        self._clear, self._removes = clear, removes
        self._held = contextlib.ExitStack()

    async def __aenter__(self) -> Self:
        with contextlib.ExitStack() as held:
            await self._be_alone(held)
            for life in self.roster.living():
                await _end_leftover(life, self.launcher.folder)
                self.roster.end(life.incarnation, "its supervisor ended")
            self._clear()
            if self._removes and (register := self.roster.file) is not None:
                held.enter_context(cared_for(register, self.launcher.folder, self._removes))
            held.callback(self._clear)
            await self._group.__aenter__()
            self._held = held.pop_all()
        self._keeping.append(self._group.create_task(self._obey()))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._keeping:
            task.cancel()
        with self._held:
            try:
                await self._group.__aexit__(kind, error, trace)
            finally:
                await self.launcher.stop_all()
                for incarnation, worker in self.workers.items():
                    # Where it cannot be told any more, the next supervisor finds that it is gone.
                    with contextlib.suppress(StoreError):
                        self.roster.end(incarnation, _said(worker.process.returncode))

    async def _be_alone(self, held: contextlib.ExitStack) -> None:
        """Be the one that keeps this roster's processes, until `held` is left. Raises StoreError."""
        until = time.monotonic() + CARE_S
        while True:
            try:
                held.enter_context(self.roster.alone())
                return
            except StoreError:
                if time.monotonic() > until:
                    raise
            await asyncio.sleep(LOOK_S)

    def keep(self, charge: Charge) -> None:
        """Keep `charge` alive from now on."""
        self._keeping.append(self._group.create_task(self._keep(charge)))

    def present(self, name: str) -> Worker | None:
        """The running life of a name that is ready."""
        found = [w for w in self.workers.values() if w.name == name and w.ready and w.is_running]
        return found[-1] if found else None

    # -- inside ----------------------------------------------------------------------------------

    async def _keep(self, charge: Charge) -> None:
        while True:
            await self._released(charge.name)
            incarnation = await self._stored(lambda: self.roster.begin(charge.name, charge.role))
            try:
                how, status = await self._live(charge, incarnation)
            except HostError as error:
                # It is the host's trouble, and no death of this process.
                if await self._over(incarnation, str(error)):
                    return
                _log.error("%s: %s", incarnation, error)
                await asyncio.sleep(AGAIN_S)
                continue
            if await self._over(incarnation, how) or (charge.role == "controller" and status == OVERRULED):
                return
            _log.error("%s: %s", incarnation, how)
            await self._count(charge.name, how)

    async def _over(self, incarnation: str, how: str) -> bool:
        """Write the end of a life down; whether it retired, and is not to be replaced."""
        await self._stored(lambda: self.roster.end(incarnation, how))
        self.changed.notify()
        return await self._read(lambda: self.roster.is_retired(incarnation))

    async def _stored(self, write: Callable[[], T]) -> T:
        """What a write of the roster gives, once it works."""
        return await self._works(write, "written")

    async def _read(self, look: Callable[[], T]) -> T:
        """What the roster says, once it can be read."""
        return await self._works(look, "read")

    async def _works(self, use: Callable[[], T], what: str) -> T:
        said = ""
        while True:
            try:
                return use()
            except StoreError as error:
                if str(error) != said:
                    said = str(error)
                    _log.error("the roster cannot be %s, which is tried again: %s", what, said)
            await asyncio.sleep(LOOK_S)

    async def _released(self, name: str) -> None:
        # Whoever releases it is another process.
        while name in await self._read(self.roster.holds):  # noqa: ASYNC110
            await asyncio.sleep(LOOK_S)

    async def _live(self, charge: Charge, incarnation: str) -> tuple[str, int | None]:
        """One life, from its start to its end: how it ended."""

        def started(worker: Worker) -> None:
            self.workers[incarnation] = worker
            # It is told again once the process is ready.
            with contextlib.suppress(StoreError):
                self.roster.enlist(incarnation, "", "", worker.pid)

        try:
            worker = await self.launcher.start(
                charge.role, charge.name, incarnation, charge.config(incarnation), within=charge.within, started=started
            )
        except HostError:
            raise
        except LaunchError as error:
            return f"it did not start: {error}", None
        control, data = worker.ready["control"], worker.ready.get("data", "")
        await self._stored(lambda: self.roster.enlist(incarnation, control, data, worker.pid))
        self.changed.notify()
        status = await worker.wait()
        return _said(status), status

    async def _obey(self) -> None:
        """End what is ordered to end: a retired life gracefully, any other at once."""
        ending: set[str] = set()
        while True:
            for incarnation, why in (await self._read(self.roster.ends_ordered)).items():
                worker = self.workers.get(incarnation)
                if worker is None or incarnation in ending:
                    continue
                ending.add(incarnation)
                _log.warning("%s is ended by order: %s", incarnation, why)
                if await self._read(lambda life=incarnation: self.roster.is_retired(life)):
                    self._keeping.append(self._group.create_task(self.launcher.end(worker)))
                else:
                    worker.kill()
            await asyncio.sleep(LOOK_S)

    async def _count(self, name: str, how: str) -> None:
        """A life died unasked: hold its name if too many have."""
        self._deaths.setdefault(name, Deaths()).at.append(time.monotonic())
        budget = self.budget
        own = self._deaths[name].within(budget.window)
        every = sum(d.within(budget.window) for d in self._deaths.values())
        if own <= budget.lives and every <= budget.all_lives:
            return
        whose = f"{own} lives of {name}" if own > budget.lives else f"{every} lives of all processes"
        why = f"{whose} ended within {budget.window:g} s, the last one so: {how.splitlines()[0]}; release it to go on"
        self._deaths[name].at.clear()
        await self._stored(lambda: self.roster.hold(name, why))
        _log.error("%s is held: %s", name, why)
        if self._alarm is not None:
            self._alarm(name, why)
        self.changed.notify()


def _said(status: int | None) -> str:
    if status is None:
        return "its supervisor ended"
    return f"signal {-status}" if status < 0 else f"status {status}"


async def _end_leftover(life: Life, processes: Path) -> None:
    """End the process of a life that an earlier supervisor left, and wait until it is gone."""
    config = str(processes / f"{life.incarnation}.json").encode()

    def is_there() -> bool:
        try:
            # A process id is used again, and a copied roster has another run's: the path of its config names a life.
            return config in Path(f"/proc/{life.pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return False

    until = time.monotonic() + GONE_S
    while life.pid and is_there() and time.monotonic() < until:
        with contextlib.suppress(ProcessLookupError):
            os.kill(life.pid, signal.SIGKILL)
        await asyncio.sleep(0.05)
