"""Mutants of a declared table, made mechanically: one thing dropped from one rule of one event.

Rules of this file:

- Dropped are, in turn: each conjunct of each guard, each update, each output, each move to another
  state, and for each event each fence that guards it.
- A rule is broken wherever its event's row uses it, as it is in the declaration. Rules that only
  ignore or refuse have no effect to drop; their guards are dropped like the others.
- A branch with a weaker guard comes first in its cell, and the others apply only where it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ...statemachines.compiler import compile_machine
from ...statemachines.display import show
from ...statemachines.explore import events_of, explore
from ...statemachines.ir import BOOL, TRUE, Branch, Cell, Ir, Node, Scope
from ..emitter.expressions import parts

Change = Callable[[Cell], Cell]


@dataclass(frozen=True, slots=True)
class TableMutant:
    """A machine with one rule broken. `module` names the machine, `event` its row, `name` says what was dropped."""

    name: str
    module: str
    event: str
    ir: Ir


def mutants(ir: Ir) -> list[TableMutant]:
    """Every mutant of a table, in its order; those with equal cells are one."""
    found: dict[tuple[Cell, ...], TableMutant] = {}
    for event in ir.events:
        for what, change in _changes(ir, event.name):
            cells = tuple(change(c) if c.event == event.name else c for c in ir.cells)
            if cells != ir.cells and cells not in found:
                name = f"{ir.name}.{event.name}{what}"
                found[cells] = TableMutant(name, ir.name, event.name, replace(ir, cells=cells))
    names = [m.name for m in found.values()]
    if len(set(names)) < len(names):
        twice = sorted({n for n in names if names.count(n) > 1})
        raise ValueError(f"mutants of {ir.name} with one name: {', '.join(twice)}")
    return list(found.values())


def _changes(ir: Ir, event: str) -> Iterator[tuple[str, Change]]:
    cells = [c for c in ir.cells if c.event == event]
    for fence in cells[0].fences:
        yield f": without fence {fence.rule}, {show(fence.guard)}", _without_fence(fence)
    guarded = list(dict.fromkeys((b.rule, b.guard) for c in cells for b in c.branches))
    for rule, guard in guarded:
        alike = [g for r, g in guarded if r == rule]
        where = f" ({'|'.join(c.state for c in cells if _has(c, rule, guard))})" if len(alike) > 1 else ""
        conjuncts = parts(guard, "and")
        for number, conjunct in enumerate(conjuncts):
            rest = [c for i, c in enumerate(conjuncts) if i != number]
            yield f".{rule}{where}: guard without {show(conjunct)}", _weaker(rule, guard, _all(rest))
    acting = {b.rule: b for c in cells for b in (*c.branches, c.otherwise) if b.kind in ("go", "stay")}
    for rule, branch in acting.items():
        for update in branch.updates:
            if ir.field(update.field).type.kind != "note":
                yield f".{rule}: without {update.field} := {show(update.value)}", _without_update(rule, update.field)
        for number, output in enumerate(branch.outputs):
            yield f".{rule}: without output {output.output}", _without_output(rule, number)
        if branch.kind == "go":
            yield f".{rule}: without the move to {branch.target}", _each(rule, _stays)


def _has(cell: Cell, rule: str, guard: Node) -> bool:
    return any(b.rule == rule and b.guard == guard for b in cell.branches)


def _all(nodes: list[Node]) -> Node:
    return Node("and", tuple(nodes), BOOL) if len(nodes) > 1 else nodes[0] if nodes else TRUE


def _each(rule: str, change: Callable[[Cell, Branch], Branch]) -> Change:
    """Change every branch of a cell, its otherwise too, that carries the rule."""

    def applied(cell: Cell) -> Cell:
        branches = tuple(change(cell, b) if b.rule == rule else b for b in cell.branches)
        otherwise = change(cell, cell.otherwise) if cell.otherwise.rule == rule else cell.otherwise
        return replace(cell, branches=branches, otherwise=otherwise)

    return applied


def _stays(cell: Cell, branch: Branch) -> Branch:
    return replace(branch, kind="stay", target=cell.state)


def _without_update(rule: str, field: str) -> Change:
    return _each(rule, lambda _, b: replace(b, updates=tuple(u for u in b.updates if u.field != field)))


def _without_output(rule: str, number: int) -> Change:
    return _each(rule, lambda _, b: replace(b, outputs=tuple(o for i, o in enumerate(b.outputs) if i != number)))


def _without_fence(fence: Branch) -> Change:
    # The same fence has another target in each cell: the state that it stays in.
    same = fence.rule, fence.guard
    return lambda cell: replace(cell, fences=tuple(f for f in cell.fences if (f.rule, f.guard) != same))


def _weaker(rule: str, guard: Node, weaker: Node) -> Change:
    def applied(cell: Cell) -> Cell:
        if not _has(cell, rule, guard):
            return cell
        broken = next(b for b in cell.branches if b.rule == rule and b.guard == guard)
        denied = Node("not", (weaker,), BOOL)
        others = (replace(b, guard=_all([denied, b.guard])) for b in cell.branches if b is not broken)
        return replace(cell, branches=(replace(broken, guard=weaker), *others))

    return applied


# -- mutants that no model can tell from the table -----------------------------------------------


SCOPES: dict[str, tuple[Scope, ...]] = {
    "Gate": (
        Scope(nats=(("window", 1), ("timer", 1)), ids=(("LeaseId", 1), ("Rank", 1), ("Digest", 1))),
        Scope(nats=(("window", 0), ("timer", 0), ("term", 0)), ids=(("LeaseId", 2), ("Rank", 2), ("Digest", 2))),
    ),
    "Sync": (
        Scope(nats=(("term", 0), ("minimum", 2)), ids=(("ReplicaId", 2),)),
        Scope(nats=(("term", 0), ("minimum", 1)), ids=(("ReplicaId", 3),)),
    ),
    "Session": (Scope(nats=(("binding", 2),), ids=(("ReplicaId", 2), ("Incarnation", 2))),),
}
"""Scopes beside the declared one in which a mutant must be equal to be called equal."""


class Reached:
    """Everything that a machine reaches in its declared scope and in `SCOPES`, to hold mutants against."""

    def __init__(self, machine: Any) -> None:
        self.machine = machine
        self.scopes = (machine.ir.scope, *SCOPES.get(machine.__name__, ()))
        self.explored = [list(explore(machine, scope).states) for scope in self.scopes]

    def difference(self, mutant: TableMutant) -> str:
        """How the mutant's steps differ from the table's in what is reached: `steps`, `words` or nothing.

        `words` are the kind and reason of an event that changes nothing and puts nothing out. A mutant
        whose steps are the same in every reached state reaches the same states.
        """
        broken = _compiled(mutant.ir, self.machine)
        event = mutant.ir.event(mutant.event)
        worded = False
        for scope, states in zip(self.scopes, self.explored, strict=True):
            happenings = list(events_of(self.machine, event, scope))
            for before in states:
                for happens in happenings:
                    after, outcome = self.machine.step(before, happens)
                    changed, other = broken.step(before, happens)
                    if after.values() != changed.values() or outcome.outputs != other.outputs:
                        return "steps"
                    worded = worded or (outcome.refused, outcome.reason) != (other.refused, other.reason)
        return "words" if worded else ""


def _compiled(ir: Ir, like: Any) -> Any:
    """The steps of a changed table over the events and outputs of the machine that it was made from."""
    names = [*(e.name for e in ir.events), *(o.name for o in ir.outputs), "step"]
    body = {name: getattr(like, name) for name in names}
    made = type(like.__name__, (), {**body, "ir": ir, "__module__": like.__module__})
    compile_machine(made)
    return made
