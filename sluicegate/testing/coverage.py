"""Which rules of which machines a test run has taken.

Rules of this file:

- A place is a rule of an event in a state; a fence is one place for all states.
- What counts is what the machine can take within its declared scope, and what was taken beyond it. Of a
  scope that cannot be explored, every place of the table counts.
- Only what a test drives is counted: explorations, also those that it asks for itself, the judging of
  properties, and the look ahead of a driven run are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any

from ..statemachines.explore import TooLarge, explore
from ..statemachines.ir import Ir
from ..statemachines.observing import observed

Place = tuple[str, str, str]
"""Event, state, rule; the state is empty for a fence."""
EXPLORING = 60.0
"""Seconds that the exploration of a scope may take."""


class Coverage:
    """Counts the places of `machines`, by the names that they were asked for, from `start` to `stop`."""

    def __init__(self, machines: dict[str, Any]) -> None:
        self.machines = machines
        self.taken: dict[str, set[Place]] = {name: set() for name in machines}
        self._watching = ExitStack()

    def start(self) -> None:
        for name, machine in self.machines.items():
            self._watching.enter_context(observed(machine, _seeing(machine.ir, self.taken[name])))

    def stop(self) -> None:
        self._watching.close()

    def add(self, found: dict[str, list[list[str]]]) -> None:
        """What another process has counted, as `plain` gave it."""
        for name, places in found.items():
            self.taken[name] |= {(event, state, rule) for event, state, rule in places}

    def plain(self) -> dict[str, list[list[str]]]:
        """What was counted, in lists of text."""
        return {name: [list(place) for place in sorted(places)] for name, places in self.taken.items()}

    def report(self) -> Iterator[tuple[str, float, list[str]]]:
        """For each machine its name and count, the percentage, and a line for each place that was not taken."""
        for name, machine in self.machines.items():
            can = _reachable(machine)
            taken = self.taken[name]
            total = len(can | taken)
            percent = 100.0 * len(taken) / total
            missing = [_line(machine.ir, place) for place in sorted(can - taken)]
            yield f"{name}: {len(taken)} of {total} places of the table taken ({percent:.0f} %)", percent, missing


def _reachable(machine: Any) -> set[Place]:
    ir: Ir = machine.ir
    try:
        places: Iterable[Place] = explore(machine, timeout=EXPLORING).taken
    except TooLarge:
        places = [(cell.event, cell.state, branch.rule) for cell in ir.cells for branch in cell.all()]
    return {_place(ir, *place) for place in places}


def _seeing(ir: Ir, taken: set[Place]) -> Any:
    fences = _fences(ir)
    return lambda event, state, rule: taken.add((event, "" if (event, rule) in fences else state, rule))


def _place(ir: Ir, event: str, state: str, rule: str) -> Place:
    return event, "" if (event, rule) in _fences(ir) else state, rule


def _fences(ir: Ir) -> set[tuple[str, str]]:
    return {(cell.event, fence.rule) for cell in ir.cells for fence in cell.fences}


def _line(ir: Ir, place: Place) -> str:
    event, state, rule = place
    branches: Iterable[Any] = (b for c in ir.cells if c.event == event and state in ("", c.state) for b in c.all())
    where = next(b.where for b in branches if b.rule == rule)
    return f"{event}{f' in {state}' if state else ''}: {rule} ({where})"
