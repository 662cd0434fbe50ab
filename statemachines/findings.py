"""What is wrong with a table, found by exploring it, each with a run that shows it.

Rules of this file:

- A fault is wrong in any scope. A note may only mean that the scope is too small.
- A machine that was taken over from another library says which of its states are final: there, a
  state without a way on, or without a way to a final one, and a state that is never reached are
  faults. A declared machine may end where it likes, and says what it wants in properties: there, a
  state that nothing leaves is a note.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from .explore import Exploration
from .telling import branch_of, branch_text, event_text, told

Kind = Literal["nondeterminism", "deadlock", "dead state", "unreachable state", "rule never taken", "end", "left out"]


@dataclass(frozen=True, slots=True)
class Finding:
    """`text` says it in one line; `run` is a run that leads there, line by line, where there is one."""

    kind: Kind
    text: str
    fault: bool
    run: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


def findings(machine: Any, found: Exploration) -> tuple[Finding, ...]:
    """Everything that an exploration tells of the table of `machine`, faults first."""
    every = [*_overlaps(machine, found), *_unreached(machine, found), *_stuck(machine, found), *_notes(machine, found)]
    return tuple(sorted(every, key=lambda finding: not finding.fault))


def _run(machine: Any, found: Exploration, snapshot: Any) -> tuple[str, ...]:
    return tuple(told(machine, *found.path(snapshot)))


def _overlaps(machine: Any, found: Exploration) -> Iterator[Finding]:
    for overlap in found.overlaps:
        before, event = overlap.snapshot, overlap.event
        first, second = (branch_text(machine, branch_of(machine, before, event, rule)) for rule in overlap.rules)
        text = f"in {before.state}, {event_text(event)} fits two rules: {first}; and {second}. The first is taken"
        yield Finding("nondeterminism", text, True, _run(machine, found, before))


def _unreached(machine: Any, found: Exploration) -> Iterator[Finding]:
    for state in found.unreached:
        into = {c.state for c in machine.ir.cells for b in c.all() if b.kind == "go" and b.target == state}
        into -= {state}
        if machine.imported:
            why = f"only {', '.join(sorted(into))} go there, never reached either" if into else "nothing goes there"
            yield Finding("unreachable state", f"{state} is never reached: {why}", True)
        else:
            yield Finding("unreachable state", f"within the scope, {state} is never reached", False)


def _stuck(machine: Any, found: Exploration) -> Iterator[Finding]:
    """States of a machine that was taken over from which nothing goes on, or nothing to a final state."""
    if not machine.imported:
        return
    final = machine.imported.final
    moves: dict[int, set[int]] = {number: set() for number in found.states.values()}
    kinds = {(c.event, c.state, b.rule): b.kind for c in machine.ir.cells for b in c.all()}
    snapshots = list(found.states)
    acts: set[int] = set()
    for source, event, rule, target in found.edges:
        if kinds[event, snapshots[source].state, rule] in ("go", "stay"):
            acts.add(source)
            moves[source].add(target)
    alive = {number for snapshot, number in found.states.items() if snapshot.state in final}
    while more := {source for source, targets in moves.items() if targets & alive} - alive:
        alive |= more
    for snapshot, number in found.states.items():
        state = snapshot.state
        if number not in acts and state not in final:
            text = f"no event does anything in {state}: give it a way on, or declare it final"
            yield Finding("deadlock", text, True, _run(machine, found, snapshot))
        elif final and number not in alive:
            text = f"no final state ({', '.join(final)}) can be reached from {state} any more"
            yield Finding("dead state", text, True, _run(machine, found, snapshot))


def _ends(machine: Any, found: Exploration) -> Iterator[Finding]:
    """States in which no event does anything, beyond the scope either."""
    kinds = {(c.event, c.state, b.rule): b.kind for c in machine.ir.cells for b in c.all()}
    acts = {place[1] for place in found.taken if kinds[place] in ("go", "stay")}
    for state in machine.ir.states:
        if state not in acts and state not in found.unreached:
            text = f"within the scope, no event does anything in {state}: good if it is meant as an end"
            yield Finding("end", text, False)


def _notes(machine: Any, found: Exploration) -> Iterator[Finding]:
    if not machine.imported:
        yield from _ends(machine, found)
    for dead in found.dead:
        place = f"{dead.event}{f' in {dead.state}' if dead.state else ''}"
        where = "" if machine.imported else f", {dead.where}"
        yield Finding("rule never taken", f"within the scope, {dead.rule} is never taken ({place}{where})", False)
    if machine.imported:
        yield from (Finding("rule never taken", text, True) for text in machine.imported.shadowed)
        yield from (Finding("left out", text, False) for text in machine.imported.left_out)
