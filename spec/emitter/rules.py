"""The table read by event and rule: where each rule applies, and under which conditions.

Rules of this file:

- The cells of one event that hold the same rule under the same conditions become one place, so that
  a rule used in four states is one action.
- What comes before in a cell is spelled out by its negation: a branch applies only if no fence does,
  the otherwise only if no fence and no branch does. Branches are pairwise disjoint by declaration.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...statemachines.ir import TRUE, Branch, Event, Field, Ir, Node
from .expressions import EmitError


@dataclass(frozen=True, slots=True)
class Condition:
    """A guard that must hold, or must not."""

    node: Node
    holds: bool


@dataclass(frozen=True, slots=True)
class Place:
    """The states in which a rule applies under the same conditions."""

    states: tuple[str, ...]
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of one event. `branch` is any of the equal branches that carry it."""

    event: Event
    name: str
    branch: Branch
    places: tuple[Place, ...]

    @property
    def states(self) -> tuple[str, ...]:
        """All states in which it can apply, each once."""
        return tuple(dict.fromkeys(s for place in self.places for s in place.states))

    @property
    def changes(self) -> bool:
        """Whether it can change the record: it goes, or it stays and updates something."""
        return self.branch.kind == "go" or bool(self.branch.updates)

    def reads(self) -> set[str]:
        """The arguments that its conditions and updates read."""
        nodes = [c.node for place in self.places for c in place.conditions]
        nodes += [u.value for u in self.branch.updates]
        return {str(n.value) for node in nodes for n in node.walk() if n.op == "arg"}


def camel(name: str) -> str:
    """`not_drained` as `NotDrained`."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def arguments(event: Event) -> tuple[Field, ...]:
    """The arguments that exist in TLA+: all but notes."""
    return tuple(f for f in event.fields if f.type.kind != "note")


def rules(ir: Ir, event: Event) -> tuple[Rule, ...]:
    """The rules of one event in the order in which its row first names them.

    Raises EmitError if two branches of the event share a rule's name but not its effect.
    """
    branches: dict[str, Branch] = {}
    places: dict[str, dict[tuple[Condition, ...], list[str]]] = {}
    for cell in (c for c in ir.cells if c.event == event.name):
        for branch, conditions in _conditions(cell.fences, cell.branches, cell.otherwise):
            first = branches.setdefault(branch.rule, branch)
            if _effect(first) != _effect(branch):
                raise EmitError(
                    f"{ir.name}.{event.name}: rule {branch.rule!r} means one thing at {first.where} and "
                    f"another at {branch.where} (state {cell.state}); give one of them another name"
                )
            states = places.setdefault(branch.rule, {}).setdefault(conditions, [])
            states.append(cell.state)
    return tuple(
        Rule(event, name, branch, tuple(Place(tuple(s), c) for c, s in places[name].items()))
        for name, branch in branches.items()
    )


def _effect(branch: Branch) -> object:
    target = branch.target if branch.kind == "go" else ""
    return branch.kind, target, branch.reason, branch.updates, branch.outputs


def _conditions(
    fences: tuple[Branch, ...], branches: tuple[Branch, ...], otherwise: Branch
) -> list[tuple[Branch, tuple[Condition, ...]]]:
    found = []
    before: tuple[Condition, ...] = ()
    for fence in fences:
        found.append((fence, (*before, Condition(fence.guard, True))))
        before = (*before, Condition(fence.guard, False))
    for branch in branches:
        found.append((branch, (*before, Condition(branch.guard, True))))
    before += tuple(Condition(branch.guard, False) for branch in branches)
    return [(b, tuple(c for c in cs if c != Condition(TRUE, True))) for b, cs in [*found, (otherwise, before)]]
