"""Replaying each track on its table: what is logged must be what the compiled machine makes of the events.

Rules of this file:

- The pure step alone says what an event does; a line is explained if verdict, states and changed
  fields are equal to it.
- Every step is compared before any rule between machines is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

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


def replay(trace: Trace) -> Inexplicable | None:
    """Step every track through its machine; the inexplicable entry with the lowest line, if any.

    Gives every entry its `post` and every step its `outcome`, up to the one that is returned.
    """
    found = [wrong for track in trace.tracks.values() for wrong in _track(track)]
    return min(found, key=lambda w: w.entry.line, default=None)


def _track(track: Track) -> Iterator[Inexplicable]:
    machine = track.machine
    names = [f.name for f in machine.ir.fields]
    snapshot: Any = None
    for entry in track.entries:
        if isinstance(entry, Birth):
            snapshot = entry.start
            if not entry.restored and snapshot.state != machine.ir.states[0]:
                yield Inexplicable(entry, machine.ir.name, f"born in {snapshot.state}: the table says that it is born "
                                   f"in {machine.ir.states[0]}")  # fmt: skip
                return
        elif isinstance(entry, Step):
            before = snapshot
            snapshot, entry.outcome = machine.step(before, entry.event)
            changed = {n: new for n in names if (new := getattr(snapshot, n)) != getattr(before, n)}
            wrong = _compare(entry, before, snapshot, changed)
            if wrong:
                yield Inexplicable(entry, machine.ir.name, f"{entry.event!r}: {wrong}")
                return
        entry.post = snapshot


def _compare(step: Step, before: Any, after: Any, changed: dict[str, Any]) -> str:
    """What the table says instead of the line, or nothing."""
    outcome = step.outcome
    said = f"the table, in {before.state}, says {outcome.kind} by {outcome.rule}"
    said += f" ({outcome.reason}: {outcome.text})" if outcome.refused else f", then {after.state}"
    if step.before != before.state:
        return f"logged in state {step.before}, but the instance was in {before.state}; {said}"
    verdict = {"kind": outcome.kind, "rule": outcome.rule, "reason": outcome.reason}
    if step.verdict != verdict:
        logged = step.verdict
        reason = f" ({logged['reason']})" if logged["reason"] else ""
        return f"logged as {logged['kind']} by {logged['rule']}{reason}; {said}"
    if step.after != after.state:
        return f"logged with state {step.after} after it; {said}"
    for name in sorted(changed.keys() | step.changes.keys()):
        if name not in step.changes:
            return f"logged without a change of {name}; {said}, and {name} becomes {changed[name]!r}"
        if name not in changed:
            return f"logged with {name} changed to {step.changes[name]!r}; {said}, and {name} does not change"
        if changed[name] != step.changes[name]:
            return f"logged with {name} = {step.changes[name]!r}; {said}, and {name} becomes {changed[name]!r}"
    return ""
