"""A gate on the stage: hosted as in a rollout worker, with the worker's own shell, over a scripted engine.

Rules of this file:

- An event of the engine or the clock goes the way that it goes in a worker wherever the shell has
  asked for it: the engine answers the question, or the timer runs out.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from ..protocol.generated.gate_service import GATE
from ..protocol.host import MachineHost
from ..runtime.weights import ManifestStore
from ..runtime.workers.gate import GateActions
from ..statemachines.compiler import Outcome
from ..statemachines.gate import Gate
from .clock import StoppedLoop
from .engine import NoBuckets, ScriptedEngine
from .stage import Actor


class GateActor(Actor):
    """A gate with the shell of a rollout worker, over a scripted engine."""

    def __init__(self, name: str, snapshot: Any, runner: asyncio.Runner) -> None:
        self._runner = runner
        self._engine = ScriptedEngine(sorted(snapshot.ranks))
        self._steps: list[tuple[Any, Outcome]] = []
        self._actions = GateActions(name, self._engine, ManifestStore(Path()), NoBuckets(), None)
        self._actions.leases = self
        self._actions.let_in = lambda: None
        self._actions.poisoned = self._poisoned
        self._host = MachineHost(GATE, self._actions, incarnation=f"{name}.1", observer=self._observe)
        self._actions.host = self._host
        self._run(self._enter(name, snapshot))
        super().__init__(name, self._host.live(name))

    def told(self) -> list[str]:
        said = self._engine.told[:]
        self._engine.told.clear()
        return said

    def step(self, event: Any) -> Outcome:
        seen = len(self._steps)
        self._run(self._give(event))
        return next(outcome for given, outcome in self._steps[seen:] if type(given) is type(event))

    def leave(self) -> None:
        self._run(self._exit())

    def withdraw(self, lease: str) -> bool:
        """No request waits here to go on."""
        return False

    def lose_track(self, lease: str, why: str) -> None:
        """What the gate tells leases whose time ran out."""
        self._engine.told.append(f"lose track of {lease}")

    def orphan(self, lease: str, why: str) -> None:
        """What the gate tells leases that the engine could not be told of."""

    def installed(self) -> None:
        """What the gate tells leases that wait for the end of an install: here none does."""

    # -- inside ------------------------------------------------------------------------------------

    async def _poisoned(self) -> None: ...

    def _observe(
        self, instance: str, number: int, event: Any, before: str, after: str, outcome: Outcome, cause: str
    ) -> None:
        self._steps.append((event, outcome))

    def _run(self, work: Any) -> None:
        self._runner.run(work)

    async def _enter(self, name: str, snapshot: Any) -> None:
        await self._actions.__aenter__()
        await self._host.__aenter__()
        self._host.adopt(name, snapshot)

    async def _exit(self) -> None:
        await self._actions.__aexit__(None, None, None)
        await self._host.__aexit__(None, None, None)

    async def _give(self, event: Any) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, StoppedLoop)
        if not self._comes_by_itself(event, loop):
            self._host.step(self.name, event)
        await loop.rest()

    def _comes_by_itself(self, event: Any, loop: StoppedLoop) -> bool:
        """Whether clock or engine bring the event about, since the shell asked them to."""
        gate, alone = self._host.live(self.name), len(self._engine.ranks) == 1
        match event:
            case Gate.Deadline():
                expire = loop.take("_expire", event.epoch, event.timer)
                if expire is not None:
                    expire()
                return expire is not None
            case Gate.Quiesced() if alone and event.epoch == gate.epoch and event.rank in self._engine.ranks:
                return self._engine.becomes_quiet()
            case Gate.Installed() if alone and event.epoch == gate.epoch and event.rank in self._engine.ranks:
                return self._engine.holds({str(event.rank): str(event.digest)})
            case Gate.InstallFailed() if alone and event.epoch == gate.epoch and event.rank in self._engine.ranks:
                return self._engine.breaks(str(event.why))
            case _:
                return False
