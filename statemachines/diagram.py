"""A machine as a picture sees it: every way that a cell can go, in one form that all renderers read.

Rules of this file:

- Nothing is left out: each branch, fence and otherwise of the table is one line of the form.
- What moves the machine or has an effect is an edge; refusals and ignores are in the table form only.
- An argument of the event is written `event.epoch`, a field of the machine `epoch`.
- Fences are asked before the cells, in every state alike, so they stand apart from them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from .display import show
from .ir import TRUE, Branch, Ir, Kind

ELSE = "else"
"""The guard of an otherwise that stands behind branches."""


@dataclass(frozen=True, slots=True)
class Line:
    """One way that a cell can go. `guard` is empty where nothing is asked; `state` is empty for a fence."""

    event: str
    state: str
    kind: Kind
    target: str
    rule: str
    guard: str = ""
    outputs: tuple[str, ...] = ()
    reason: str = ""
    retry: bool = False

    @property
    def label(self) -> str:
        """What is written at an edge: `Event [guard] / rule`."""
        return f"{self.event}{f' [{self.guard}]' if self.guard else ''} / {self.rule}"


@dataclass(frozen=True, slots=True)
class Diagram:
    """A machine to be drawn. `states` in order of declaration, the first is initial.

    `events` are each event's name and how it is written with its arguments.
    """

    name: str
    doc: str
    states: tuple[str, ...]
    events: tuple[tuple[str, str], ...]
    fences: tuple[Line, ...]
    lines: tuple[Line, ...]

    @property
    def edges(self) -> tuple[Line, ...]:
        """What moves the machine, or changes or emits something in place."""
        return tuple(line for line in self.lines if line.kind in ("go", "stay"))

    def moves(self) -> Diagram:
        """The same without what stays in its state: fewer edges, for a picture of a large machine."""
        return replace(self, lines=tuple(line for line in self.lines if line.kind != "stay"))


def diagram(ir: Ir) -> Diagram:
    """The form of a machine, from its table."""
    fences: list[Line] = []
    lines: list[Line] = []
    for cell in ir.cells:
        if cell.state == ir.states[0]:
            fences += [_line(cell.event, "", fence) for fence in cell.fences]
        lines += [_line(cell.event, cell.state, branch) for branch in cell.branches]
        last = _line(cell.event, cell.state, cell.otherwise)
        lines.append(replace(last, guard=ELSE) if cell.branches else last)
    events = tuple((e.name, f"{e.name}({', '.join(f.name for f in e.fields)})") for e in ir.events)
    return Diagram(ir.name, ir.doc, ir.states, events, tuple(fences), tuple(lines))


def by_pair(edges: Iterable[Line]) -> dict[tuple[str, str], list[Line]]:
    """Edges that lead from one state to one other, together."""
    pairs: dict[tuple[str, str], list[Line]] = {}
    for edge in edges:
        pairs.setdefault((edge.state, edge.target), []).append(edge)
    return pairs


def _line(event: str, state: str, branch: Branch) -> Line:
    guard = "" if branch.guard == TRUE else show(branch.guard, "event")
    outputs = tuple(emit.output for emit in branch.outputs)
    return Line(event, state, branch.kind, branch.target, branch.rule, guard, outputs, branch.reason, branch.retry)
