"""What a client may assume says something: a rule less of it breaks a promise, a wrong table does not keep it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from sluicegate.spec.checkers import tlc
from sluicegate.spec.emitter import files
from sluicegate.spec.models.form import SystemModel
from sluicegate.spec.models.switch import SWITCH
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.ir import Branch, Ir

LINES = {
    "weights change under what runs": (
        "OneVersion", False, "IF ~site[r].open /\\ Idle(r) THEN {<<>>}", "IF ~site[r].open THEN {<<>>}",
    ),
    "any version may be told": ("LabelsGrow", True, "site[r].told[1] < w[1]", "site[r].told[1] # w[1]"),
    "a door opens on weights that are not told": (
        "OpenServes", True, "  /\\ site[r].weights = site[r].told\n  /\\ Continue", "  /\\ Continue",
    ),
    "what froze continues on whatever is there": (
        "LabelsTold", True, "Thaw(r) == site[r].weights = site[r].told /\\ Continue", "Thaw(r) == Continue",
    ),
    "what is lost is told": ("OneReceipt", True, '!.stage = "lost"]', '!.stage = "lost", !.receipts = 1]'),
}  # fmt: skip


def small(keeping: bool) -> SystemModel:
    """The smallest model of a client's view."""
    base = next(m for m in SWITCH if m.name == "client")
    constants = {**base.config.constants, "Keeping": "TRUE" if keeping else "FALSE"}
    return replace(base, config=replace(base.config, constants=constants))


@pytest.mark.soak
@pytest.mark.parametrize("name", LINES)
def test_a_rule_less_breaks_a_promise(name: str) -> None:
    promise, keeping, before, after = LINES[name]
    model = small(keeping).model()
    text = model.modules["AtomicSwitch"]
    assert before in text
    config = replace(model.config, invariants=(promise,))
    broken = replace(model, config=config, modules={**model.modules, "AtomicSwitch": text.replace(before, after)})
    assert tlc.check(broken, timeout=60).violated == promise


def with_cell(event: str, state: str, change: Callable[[Branch], Branch]) -> Ir:
    def renamed(branch: Branch) -> Branch:
        return replace(change(branch), rule=f"{branch.rule}_wrong")

    cells = tuple(
        replace(c, branches=tuple(map(renamed, c.branches)), otherwise=renamed(c.otherwise))
        if (c.event, c.state) == (event, state)
        else c
        for c in Gate.ir.cells
    )
    return replace(Gate.ir, cells=cells)


def admits_while_draining() -> Ir:
    opened = next(c for c in Gate.ir.cells if (c.event, c.state) == ("Admit", "OPEN"))
    ir = with_cell("Admit", "DRAINING", lambda b: b)
    moved = replace(
        opened,
        state="DRAINING",
        branches=tuple(replace(b, target="DRAINING", rule=f"{b.rule}_wrong") for b in opened.branches),
        otherwise=replace(opened.otherwise, target="DRAINING", rule=f"{opened.otherwise.rule}_wrong"),
    )
    return replace(ir, cells=tuple(moved if (c.event, c.state) == ("Admit", "DRAINING") else c for c in ir.cells))


def labels_with_the_version_before() -> Ir:
    return with_cell(
        "Installed", "INSTALLING", lambda b: replace(b, updates=tuple(u for u in b.updates if u.field != "version"))
    )


TABLES = {
    "admits while draining": admits_while_draining,
    "labels with the version before": labels_with_the_version_before,
}


@pytest.mark.soak
@pytest.mark.parametrize("name", TABLES)
def test_a_table_that_is_wrong_does_not_keep_what_a_client_may_assume(name: str) -> None:
    model = next(m for m in SWITCH if m.name == "refines").model()
    gate = files([TABLES[name]()])["Gate.tla"]
    result = tlc.check(replace(model, modules={**model.modules, "Gate": gate}), timeout=60)
    assert result.violated == "Refines", result
