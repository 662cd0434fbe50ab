"""The pause of agents at turn boundaries: turns that run go on to their end, and the next call waits.

Rules of this file:

- A turn is one call of an agent, named once; its end is told however it ends.
- What may happen is in the table of the Agents machine; whoever is refused waits until turns flow again.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ...statemachines.agents import Agents
from ..tracelog import TraceLog
from .shared import SharedMachine

WAIT_S = 3600.0
"""How long one wait for turns to flow lasts, before the next."""


class NotQuiet(Exception):
    """Turns still ran when the time was over; the text names them."""


class TurnsClosed(Exception):
    """No turn begins any more."""


class Turns:
    """The turns of a run's agents, from any thread. `log` traces them."""

    def __init__(self, log: TraceLog | None = None) -> None:
        self._machine = SharedMachine(Agents, "agents", log.of("Agents") if log else None)
        self._numbers = itertools.count(1)

    @property
    def state(self) -> str:
        """The state of the Agents machine."""
        return self._machine.live.state

    @property
    def running(self) -> tuple[str, ...]:
        """The turns that run, by name."""
        with self._machine.lock:
            return tuple(sorted(self._machine.live.turns))

    @asynccontextmanager
    async def turn(self, name: str) -> AsyncIterator[None]:
        """One call of an agent is inside. Waits while turns are paused. Raises TurnsClosed."""
        turn = f"{name}.{next(self._numbers)}"
        while (outcome := self._machine.step(Agents.TurnBegins(turn=turn))).refused:
            if not outcome.retry:
                raise TurnsClosed(f"{name}: {outcome.text}")
            await self._machine.changed.until(lambda: self.state in ("FLOWING", "CLOSED"), WAIT_S)
        try:
            yield
        finally:
            self._machine.step(Agents.TurnEnds(turn=turn))

    def pause(self) -> None:
        """No turn begins before `resume`. Raises TurnsClosed."""
        self._step(Agents.Pause())

    def resume(self) -> None:
        """Turns may begin again. Raises TurnsClosed."""
        self._step(Agents.Resume())

    async def quiesce(self, within: float) -> None:
        """Pause, and return once no turn runs. Raises NotQuiet after `within` seconds, when turns flow again.

        One that was paused before stays so.
        """
        was_flowing = self.state == "FLOWING"
        self.pause()
        is_quiet = False
        try:
            is_quiet = await self._machine.changed.until(lambda: self.state in ("QUIET", "CLOSED"), within)
            if not is_quiet:
                raise NotQuiet(f"turns {', '.join(self.running)} still run after {within:g} s: wait longer")
        finally:
            if not is_quiet and was_flowing and self.state == "PAUSING":
                self.resume()

    def close(self) -> None:
        """No turn begins again; those that run go on."""
        self._machine.step(Agents.Close())

    def _step(self, event: Agents.Pause | Agents.Resume) -> None:
        outcome = self._machine.step(event)
        if outcome.refused:
            raise TurnsClosed(f"{type(event).__name__}: {outcome.text}")
