"""Whether a run can be lined up: every track in its order, and everything before what needs it.

Rules of this file:

- Happens-before is the order of each track together with the edges that the rules gave.
- If it has no cycle there is a run of the system that is in accord with every line; a topological
  sort (A. B. Kahn, 1962) finds it or is left with what cannot be placed.
"""

from __future__ import annotations

from collections.abc import Iterable

from .reading import Entry, Track
from .replay import Inexplicable


def line_up(tracks: Iterable[Track], edges: Iterable[tuple[Entry, Entry, str]]) -> Inexplicable | None:
    """The entry with the lowest line that a rule puts behind what can only come after it; None if there is none."""
    before: dict[Entry, list[tuple[Entry, str]]] = {}
    after: dict[Entry, list[Entry]] = {}
    waits: dict[Entry, int] = {}
    for track in tracks:
        previous: Entry | None = None
        for entry in track.entries:
            waits[entry] = 0 if previous is None else 1
            if previous is not None:
                after.setdefault(previous, []).append(entry)
            previous = entry
    for first, second, rule in edges:
        before.setdefault(second, []).append((first, rule))
        after.setdefault(first, []).append(second)
        waits[second] += 1
    ready = [entry for entry, count in waits.items() if not count]
    placed: set[Entry] = set()
    while ready:
        entry = ready.pop()
        placed.add(entry)
        for other in after.get(entry, ()):
            waits[other] -= 1
            if not waits[other]:
                ready.append(other)
    stuck = sorted(
        ((entry, first, rule) for entry in waits.keys() - placed for first, rule in before.get(entry, ())),
        key=lambda s: (s[0].line, s[1].line),
    )
    for entry, first, rule in stuck:
        if first not in placed and _reaches(entry, first, after):
            text = f"it needs line {first.line} ({first}) before it, which can only come after it"
            return Inexplicable(entry, rule, text)
    return None


def _reaches(start: Entry, goal: Entry, after: dict[Entry, list[Entry]]) -> bool:
    seen, waiting = {start}, [start]
    while waiting:
        for other in after.get(waiting.pop(), ()):
            if other is goal:
                return True
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return start is goal
