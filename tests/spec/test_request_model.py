"""Each property of the path of requests, and of what a client may assume, is broken by a table or model that is wrong.

A rule is broken in the table that the model is checked over, or in the model's own account of the engine
and of time; the property, asked alone, must then fail.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from sluicegate.spec.checkers import Config, tlc
from sluicegate.spec.emitter import files
from sluicegate.spec.models.form import SystemModel
from sluicegate.spec.models.requests import PROMISES, bounds
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.ir import TRUE, Branch, Cell, Ir, Node
from sluicegate.statemachines.lease import Lease

Edit = Callable[[Ir], Ir]


def cell(event: str, state: str, change: Callable[[Cell], Cell]) -> Edit:
    """The table with one cell changed; its rules get names of their own."""

    def rename(branch: Branch) -> Branch:
        return replace(branch, rule=f"{branch.rule}_wrong")

    def edit(ir: Ir) -> Ir:
        (old,) = (c for c in ir.cells if (c.event, c.state) == (event, state))
        new = change(old)
        assert new != old
        return replace(ir, cells=tuple(each(rename)(new) if c is old else c for c in ir.cells))

    return edit


def each(change: Callable[[Branch], Branch]) -> Callable[[Cell], Cell]:
    return lambda c: replace(c, branches=tuple(change(b) for b in c.branches), otherwise=change(c.otherwise))


def reads(node: Node) -> set[str]:
    return {str(n.value) for n in node.walk() if n.op == "field"}


def unguarded(*fields: str) -> Callable[[Branch], Branch]:
    """Without the conjuncts of its guard that read all of these fields."""

    def change(branch: Branch) -> Branch:
        parts = branch.guard.args if branch.guard.op == "and" else (branch.guard,)
        kept = tuple(p for p in parts if not set(fields) <= reads(p))
        guard = Node("and", kept, branch.guard.type) if len(kept) > 1 else kept[0] if kept else TRUE
        return replace(branch, guard=guard)

    return change


def silent(branch: Branch) -> Branch:
    """It puts nothing out."""
    return replace(branch, outputs=())


def always(change: Callable[[Branch], Branch] = lambda b: b) -> Callable[[Cell], Cell]:
    """The first branch, whatever its guard says."""
    return lambda c: replace(c, branches=(), otherwise=replace(change(c.branches[0]), guard=TRUE))


def ignored(c: Cell) -> Cell:
    """It is known, and changes nothing."""
    return replace(c, branches=(), otherwise=Branch("nothing", TRUE, "ignore", c.state))


def towards(state: str) -> Callable[[Branch], Branch]:
    return lambda b: replace(b, target=state, kind="go") if b.kind == "stay" else b


def keeping(field: str) -> Callable[[Branch], Branch]:
    """It leaves this field as it is."""
    return lambda b: replace(b, updates=tuple(u for u in b.updates if u.field != field))


def admits_in(state: str) -> Edit:
    """A closed gate admits as an open one does."""
    opened = next(c for c in Gate.ir.cells if (c.event, c.state) == ("Admit", "OPEN"))
    moved = each(lambda b: replace(b, target=state))(opened)
    return cell("Admit", state, lambda c: replace(moved, state=state))


@dataclass(frozen=True)
class Wrong:
    """A property that must fail, of a model at bounds, over broken tables or with a broken line of its own."""

    breaks: str
    bounds: dict[str, str]
    gate: Edit | None = None
    lease: Edit | None = None
    line: tuple[str, str] = ("", "")


LATE = bounds(modes=("abort",), may=("late", "client", "unknown"))
PLAIN = bounds()
DOUBTED = bounds(may=("unknown",))

WRONG = {
    "a version is installed and not told": Wrong(
        "G1", PLAIN, gate=cell("Installed", "INSTALLING", each(keeping("version")))
    ),
    "an engine forgets what it was told to abort": Wrong(
        "G2", LATE, line=('[] c.does = "nothing" -> [c EXCEPT !.does = "barred"]', '[] c.does = "nothing" -> c')
    ),
    "an install does not wait for the device": Wrong(
        "G2", PLAIN, gate=cell("Install", "DRAINING", each(unguarded("quiet", "ranks")))
    ),
    "a gate reopens before all ranks have proved": Wrong("G3", PLAIN, gate=cell("Reopen", "INSTALLING", always())),
    "a discarded lease has no receipt": Wrong("G4", LATE, lease=cell("Reconciled", "ORPHANED", each(silent))),
    "a recorded lease has no receipt": Wrong("G4", PLAIN, lease=cell("Recorded", "ENDED", each(silent))),
    "a gate does not let go what is settled": Wrong("G4", PLAIN, gate=cell("Settle", "OPEN", ignored)),
    "a repeated request is let in again": Wrong(
        "G4", PLAIN, gate=cell("Admit", "OPEN", each(unguarded("active", "suspended", "orphaned")))
    ),
    "a settled lease is ended again": Wrong(
        "G4",
        DOUBTED,
        lease=cell("Reconciled", "SETTLED", lambda c: replace(c, otherwise=Branch("lost", TRUE, "go", "LOST"))),
    ),
    "tokens are not counted": Wrong("Whole", PLAIN, lease=cell("Progress", "FORWARDED", ignored)),
    "an older version is installed": Wrong(
        "G5", bounds(epochs=2), gate=cell("Install", "DRAINING", each(unguarded("version", "resident")))
    ),
    "a draining gate admits": Wrong("G6", PLAIN, gate=admits_in("DRAINING")),
    "who comes goes past who waits": Wrong(
        "G6", bounds(requests=2, hold=1), line=("  /\\ line = <<>> \\/ Closed\n", "")
    ),
    "an unknown outcome poisons": Wrong("A3", DOUBTED, gate=cell("Orphan", "OPEN", each(towards("POISONED")))),
    "a pin is not asked": Wrong("Pinned", PLAIN, gate=cell("Admit", "OPEN", each(unguarded("version")))),
    "an unknown outcome is not looked into": Wrong("L2", DOUBTED, lease=cell("Unknown", "FORWARDED", each(silent))),
    "an ended lease waits for ever": Wrong("L2", DOUBTED, lease=cell("Recorded", "ENDED", ignored)),
    "waiting at the door has no end": Wrong("L3", bounds(hold=1), line=("/\\ WF_vars(Goes(ByExpiry(q)))", "")),
}


@pytest.mark.soak
@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_breaks_its_property(name: str) -> None:
    result = tlc.check(model_of(WRONG[name]), timeout=60)
    assert result.verdict == "violated", result
    assert result.violated == WRONG[name].breaks


def model_of(wrong: Wrong) -> Any:
    temporal = wrong.breaks not in PROMISES
    asked: dict[str, Any] = (
        {"spec": "FairSpec", "properties": (wrong.breaks,)} if temporal else {"invariants": (wrong.breaks,)}
    )
    model = SystemModel("wrong", "", "RequestPath", Config(constants=wrong.bounds, **asked)).model()
    text = model.modules["RequestPath"]
    before, after = wrong.line
    assert before in text
    changed = {"RequestPath": text.replace(before, after)}
    for machine, edit in ((Gate, wrong.gate), (Lease, wrong.lease)):
        if edit is not None:
            name = machine.ir.name
            changed[name] = files([edit(machine.ir)])[f"{name}.tla"]
    return replace(model, modules={**model.modules, **changed})
