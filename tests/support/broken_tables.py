"""Tables with one cell changed on purpose, and system models over them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sluicegate.spec.checkers.model import Model
from sluicegate.spec.emitter import files
from sluicegate.spec.models import SystemModel
from sluicegate.statemachines.ir import TRUE, Branch, Cell, Ir

STAYING = ("stay", "ignore", "refuse")


def broken(ir: Ir, event: str, state: str, change: Callable[[Cell], Cell]) -> Ir:
    """The machine with one cell changed."""
    changed = tuple(change(c) if (c.event, c.state) == (event, state) else c for c in ir.cells)
    assert changed != ir.cells
    return replace(ir, cells=changed)


def like(ir: Ir, event: str, state: str, other: str) -> Ir:
    """The event does in `state` what it does in the state `other`."""
    (model,) = (c for c in ir.cells if (c.event, c.state) == (event, other))

    def moved(branch: Branch) -> Branch:
        return replace(branch, target=state) if branch.kind in STAYING else branch

    return broken(
        ir, event, state,
        lambda cell: replace(cell, branches=tuple(map(moved, model.branches)), otherwise=moved(model.otherwise)),
    )  # fmt: skip


def unguarded(ir: Ir, event: str, state: str) -> Ir:
    """The event takes the first branch of its cell without asking."""

    def change(cell: Cell) -> Cell:
        return replace(cell, branches=(), otherwise=replace(cell.branches[0], guard=TRUE))

    return broken(ir, event, state, change)


def unfenced(ir: Ir, event: str) -> Ir:
    """The event is not fenced, in any state."""
    cells = tuple(replace(c, fences=()) if c.event == event else c for c in ir.cells)
    assert cells != ir.cells
    return replace(ir, cells=cells)


def forgetting(ir: Ir, event: str, state: str, field: str) -> Ir:
    """The event leaves a field as it is."""

    def kept(branch: Branch) -> Branch:
        return replace(branch, updates=tuple(u for u in branch.updates if u.field != field))

    return broken(
        ir, event, state,
        lambda cell: replace(cell, branches=tuple(map(kept, cell.branches)), otherwise=kept(cell.otherwise)),
    )  # fmt: skip


def silent(ir: Ir, event: str, state: str, output: str) -> Ir:
    """The event does not ask for an output."""

    def quiet(branch: Branch) -> Branch:
        return replace(branch, outputs=tuple(emit for emit in branch.outputs if emit.output != output))

    return broken(
        ir, event, state,
        lambda cell: replace(cell, branches=tuple(map(quiet, cell.branches)), otherwise=quiet(cell.otherwise)),
    )  # fmt: skip


def over(system: SystemModel, ir: Ir) -> Model:
    """The system model over a changed machine."""
    made = system.model()
    return replace(made, modules={**made.modules, ir.name: files([ir])[f"{ir.name}.tla"]})


def told(system: SystemModel, *changes: tuple[str, str]) -> Model:
    """The system model with its own text changed: each text, which must be there once, by another."""
    made = system.model()
    text = made.modules[system.module]
    for old, new in changes:
        assert text.count(old) == 1, f"{text.count(old)} times in {system.module}: {old}"
        text = text.replace(old, new)
    return replace(made, modules={**made.modules, system.module: text})
