"""A stage for real machines: they are set up as they stood, given events one by one, and looked at.

Rules of this file:

- A gate is the one of a worker (`gate.py`). Its engine, clock and leases are scripted: they say
  something only when an event says that they do.
- Other machines step as they are. What they put out is noted.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, Self

from ..statemachines.compiler import Outcome
from ..statemachines.gate import Gate
from .clock import StoppedLoop


class Actor:
    """One real machine on the stage. Its fields are read as attributes; `told` is what it had done."""

    def __init__(self, name: str, live: Any) -> None:
        self.name, self._live = name, live
        self._told: list[str] = []

    @property
    def now(self) -> Any:
        """An immutable copy of the machine."""
        return self._live.snapshot()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.now, name)

    def told(self) -> list[str]:
        """What was put out, or what the engine was told, since this was asked last."""
        said, self._told = self._told, []
        return said

    def step(self, event: Any) -> Outcome:
        """Give it an event, and return when all that follows at once has happened."""
        outcome = self._live.step(event)
        self._told += [type(output).__name__ for output in outcome.outputs]
        return outcome

    def leave(self) -> None:
        """Its process ends."""


class Stage:
    """Holds the machines of one replay. Use as `with Stage() as stage`, outside of a running event loop."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner(loop_factory=StoppedLoop)
        self._actors: dict[str, Actor] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            for actor in self._actors.values():
                actor.leave()
        finally:
            self._runner.close()

    def put(self, name: str, snapshot: Any) -> Actor:
        """A machine as the snapshot says; one that was there under this name leaves."""
        if name in self._actors:
            self._actors.pop(name).leave()
        self._actors[name] = self._gate(name, snapshot) if snapshot.machine is Gate else Actor(name, snapshot.live())
        return self._actors[name]

    def machine(self, machine: Any, name: str, state: str = "", **fields: Any) -> Actor:
        """A machine in a state, by default its initial one, with other fields as they are at its birth."""
        given = {f.name: fields[f.name] for f in machine.ir.fields if f.given}
        born = machine.initial(**given)
        return self.put(name, born.replace(**{**fields, "state": state or born.state}))

    def _gate(self, name: str, snapshot: Any) -> Actor:
        # The shell of a worker brings in engines and their libraries, which other machines do without.
        from .gate import GateActor

        return GateActor(name, snapshot, self._runner)
