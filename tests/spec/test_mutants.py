"""A gate with one rule broken is caught by the system model, and by the drift check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from sluicegate.spec.checkers import tlc
from sluicegate.spec.checkers.model import Model
from sluicegate.spec.emitter import files
from sluicegate.spec.models import MODELS, SAFETY, SPEC
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.ir import TRUE, Branch, Cell, Ir, Node

Mutate = Callable[[Cell], Cell]


def cells(ir: Ir, event: str, state: str, mutate: Mutate) -> Ir:
    assert any((c.event, c.state) == (event, state) for c in ir.cells)
    changed = tuple(mutate(c) if (c.event, c.state) == (event, state) else c for c in ir.cells)
    assert changed != ir.cells
    return replace(ir, cells=changed)


def without(guard: Node, reads: set[str]) -> Node:
    """A guard without the conjuncts that read all these fields."""
    parts = guard.args if guard.op == "and" else (guard,)
    kept = tuple(p for p in parts if not reads <= {str(n.value) for n in p.walk() if n.op == "field"})
    assert len(kept) < len(parts)
    return Node("and", kept, guard.type) if len(kept) > 1 else kept[0] if kept else TRUE


def each(cell: Cell, change: Callable[[Branch], Branch]) -> Cell:
    return replace(cell, branches=tuple(change(b) for b in cell.branches))


def installs_without_quiet(ir: Ir) -> Ir:
    def mutate(cell: Cell) -> Cell:
        return each(
            cell,
            lambda b: replace(b, guard=without(b.guard, {"quiet", "ranks"})) if "lent" not in b.reason else b,
        )

    return cells(ir, "Install", "DRAINING", mutate)


def admits_while_draining(ir: Ir) -> Ir:
    opened = next(c for c in ir.cells if (c.event, c.state) == ("Admit", "OPEN"))

    def mutate(cell: Cell) -> Cell:
        moved = tuple(replace(b, target="DRAINING") for b in opened.branches)
        return replace(cell, branches=moved, otherwise=replace(opened.otherwise, target="DRAINING"))

    return cells(ir, "Admit", "DRAINING", mutate)


def reopens_before_verified(ir: Ir) -> Ir:
    def mutate(cell: Cell) -> Cell:
        (branch,) = cell.branches
        return replace(cell, branches=(), otherwise=replace(branch, guard=TRUE))

    return cells(ir, "Reopen", "INSTALLING", mutate)


def seal_keeps_quiet(ir: Ir) -> Ir:
    def keep(branch: Branch) -> Branch:
        return replace(branch, updates=tuple(u for u in branch.updates if u.field != "quiet"))

    return cells(ir, "Seal", "OPEN", lambda cell: each(cell, keep))


MUTANTS = {
    "installs_without_quiet": installs_without_quiet,
    "admits_while_draining": admits_while_draining,
    "reopens_before_verified": reopens_before_verified,
    "seal_keeps_quiet": seal_keeps_quiet,
}


def system(ir: Ir) -> Model:
    """The model of two replicas as `sluicegate check` judges it, over a changed gate."""
    base = next(m for m in MODELS if m.name == "swap").model()
    changed = {name.removesuffix(".tla"): text for name, text in files([ir]).items()}
    return replace(base, modules={**base.modules, "Gate": changed["Gate"]})


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_rule_of_the_gate_is_caught_by_the_system_model(name: str) -> None:
    result = tlc.check(system(MUTANTS[name](Gate.ir)), timeout=120)
    assert result.verdict == "violated", result
    assert result.violated in SAFETY
    assert result.trace[-1].action


@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_rule_of_the_gate_is_drift(name: str) -> None:
    committed = (SPEC / "generated" / "Gate.tla").read_text()
    assert files([Gate.ir])["Gate.tla"] == committed
    assert files([MUTANTS[name](Gate.ir)])["Gate.tla"] != committed
