"""Runs of a machine in words: each event, the rule that it took, and what that changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .display import show
from .ir import Branch


def told(machine: Any, born: Any, events: Sequence[Any]) -> Iterator[str]:
    """A run from a newborn instance, a line for its birth and one for each event."""
    yield f"0. a new {machine.__name__}: {situation(born)}"
    before = born
    for number, event in enumerate(events, start=1):
        after, outcome = machine.step(before, event)
        rule = branch_of(machine, before, event, outcome.rule)
        yield f"{number}. {event_text(event)} in {before.state}, by {named(machine, rule)}: {changes(before, after)}"
        before = after


def branch_of(machine: Any, before: Any, event: Any, rule: str) -> Branch:
    """The branch `rule` of the cell that `event` meets in `before`."""
    cell = machine.ir.cell(type(event).__name__, before.state)
    return next(b for b in cell.all() if b.rule == rule)


def named(machine: Any, rule: Branch) -> str:
    """A rule with its place; what was taken over from elsewhere has none."""
    return rule.rule if machine.imported else f"{rule.rule} ({rule.where})"


def situation(snapshot: Any) -> str:
    """State and fields: `OPEN, coins = 1`."""
    return ", ".join([snapshot.state, *(f"{f.name} = {value(getattr(snapshot, f.name))}" for f in snapshot.fields)])


def event_text(event: Any) -> str:
    """`Pay(amount=2)`, `Push`."""
    values = ", ".join(f"{name}={value(v)}" for name, v in event.__dict__.items())
    return f"{type(event).__name__}({values})" if values else type(event).__name__


def changes(before: Any, after: Any) -> str:
    """What differs: `LOCKED -> UNLOCKED, coins 0 -> 1`."""
    found = [f"{before.state} -> {after.state}"] if before.state != after.state else []
    for f in before.fields:
        old, new = getattr(before, f.name), getattr(after, f.name)
        if old != new:
            found.append(f"{f.name} {value(old)} -> {value(new)}")
    return ", ".join(found) or "nothing changes"


def branch_text(machine: Any, rule: Branch) -> str:
    """A guarded rule in words: `pays (orders.py:7): if amount > 0, go to PAID`."""
    does = {"go": f"go to {rule.target}", "stay": "stay", "ignore": "ignore", "refuse": f"refuse {rule.reason}"}
    return f"{named(machine, rule)}: if {show(rule.guard)}, {does[rule.kind]}"


def value(of: Any) -> str:
    """A value of a field or argument as it is shown to people."""
    match of:
        case None:
            return "none"
        case bool():
            return str(of).lower()
        case frozenset() | set():
            return "{" + ", ".join(sorted(map(value, of))) + "}"
        case tuple() | list():
            return "[" + ", ".join(map(value, of)) + "]"
        case dict():
            return "{" + ", ".join(f"{value(k)}: {value(v)}" for k, v in of.items()) + "}"
        case _:
            return str(of)
