"""Replaying each track on its table: what is logged must be what the compiled machine makes of the events.

Rules of this file:

- The pure step alone says what an event does; a line is explained if verdict, states and changed
  fields are equal to it.
- Only the fields that the step's rule can change are compared; what is wrong with a line is found out
  once it is known that something is.
- Every step is compared before any rule between machines is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import Any

from .format import Progress, quietly
from .reading import Birth, Entry, Step, Trace, Track


@dataclass(frozen=True, slots=True)
class Inexplicable:
    """An entry that no table or rule explains, and what it should have been.

    `missing`: the entry itself is in order, and what must follow it is not there.
    """

    entry: Entry
    rule: str
    text: str
    missing: bool = False

    def __str__(self) -> str:
        return f"line {self.entry.line}: {self.entry}: {self.text}"


def replay(trace: Trace, progress: Progress = quietly) -> Inexplicable | None:
    """Step every track through its machine; the inexplicable entry with the lowest line, if any.

    Gives every entry its `post` and every step its `outcome`, up to the one that is returned.
    """
    found: list[Inexplicable] = []
    for number, track in enumerate(trace.tracks.values()):
        if (wrong := _track(track)) is not None:
            found.append(wrong)
        if not number % 1024:
            progress("instances replayed", number, len(trace.tracks))
    return min(found, key=lambda w: w.entry.line, default=None)


def _track(track: Track) -> Inexplicable | None:
    """The first entry of a track that is not what its table makes of it."""
    machine = track.machine
    step, changeable = machine.step, _changeable(machine)
    snapshot: Any = None
    for entry in track.entries:
        if type(entry) is Step:
            before, event, verdict = snapshot, entry.event, entry.verdict
            kind = type(event)
            snapshot, entry.outcome = step(before, event)
            changes: dict[str, Any] = {}
            if snapshot is not before:
                for name, get in changeable[kind, entry.outcome.rule]:
                    new, old = get(snapshot), get(before)
                    if new is not old and new != old:
                        changes[name] = new
            if (
                entry.outcome[:3] != verdict
                or changes != entry.changes
                or entry.before != before.state
                or entry.after != snapshot.state
            ):
                return Inexplicable(entry, machine.ir.name, f"{event!r}: {_compare(entry, before, snapshot)}")
        elif isinstance(entry, Birth):
            snapshot = entry.start
            if not entry.restored and snapshot.state != machine.ir.states[0]:
                return Inexplicable(entry, machine.ir.name, f"born in {snapshot.state}: the table says that it is born "
                                    f"in {machine.ir.states[0]}")  # fmt: skip
        entry.post = snapshot
    return None


@cache
def _changeable(machine: Any) -> dict[tuple[type, str], tuple[tuple[str, Callable[[Any], Any]], ...]]:
    """For each event and rule of a table: the fields that it sets in any state, each with its getter."""
    fields: dict[tuple[type, str], set[str]] = {}
    for cell in machine.ir.cells:
        for branch in cell.all():
            names = fields.setdefault((getattr(machine, cell.event), branch.rule), set())
            names.update(u.field for u in branch.updates)
    return {key: tuple((name, attrgetter(name)) for name in sorted(names)) for key, names in fields.items()}


def _compare(step: Step, before: Any, after: Any) -> str:
    """What the table says instead of the line."""
    outcome = step.outcome
    names = [f.name for f in step.track.machine.ir.fields]
    changed = {n: new for n in names if (new := getattr(after, n)) != getattr(before, n)}
    said = f"the table, in {before.state}, says {outcome.kind} by {outcome.rule}"
    said += f" ({outcome.reason}: {outcome.text})" if outcome.refused else f", then {after.state}"
    if step.before != before.state:
        return f"logged in state {step.before}, but the instance was in {before.state}; {said}"
    logged = step.verdict
    if logged != outcome[:3]:
        reason = f" ({logged.reason})" if logged.reason else ""
        return f"logged as {logged.kind} by {logged.rule}{reason}; {said}"
    if step.after != after.state:
        return f"logged with state {step.after} after it; {said}"
    for name in sorted(changed.keys() | step.changes.keys()):
        if name not in step.changes:
            return f"logged without a change of {name}; {said}, and {name} becomes {changed[name]!r}"
        if name not in changed:
            return f"logged with {name} changed to {step.changes[name]!r}; {said}, and {name} does not change"
        if changed[name] != step.changes[name]:
            return f"logged with {name} = {step.changes[name]!r}; {said}, and {name} becomes {changed[name]!r}"
    raise AssertionError(f"line {step.line} is what its table says")
