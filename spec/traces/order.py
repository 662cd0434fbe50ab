"""Whether a run can be lined up: every track in its order, and everything before what needs it.

Rules of this file:

- Happens-before is the order of each track together with the edges that the rules gave.
- If it has no cycle there is a run of the system that is in accord with every line; a topological
  sort (A. B. Kahn, 1962) finds it or is left with what cannot be placed.
"""

from __future__ import annotations

from collections.abc import Sequence

from .judging import Edges
from .reading import Entry, Track
from .replay import Inexplicable


def line_up(tracks: Sequence[Track], edges: Sequence[Edges]) -> Inexplicable | None:
    """The entry with the lowest line that a rule puts behind what can only come after it; None if there is none.

    Every entry has its place `at` in the order of `tracks`.
    """
    # Of each entry: where its track ends, how many edges it waits for, and what waits for it.
    ends: list[int] = []
    for track in tracks:
        ends += [len(ends) + len(track.entries)] * len(track.entries)
    waits = [0] * len(ends)
    after: list[list[int] | None] = [None] * len(ends)
    for _, earlier, later in edges:
        for before, behind in zip(earlier, later, strict=True):
            first, second = before.at, behind.at
            waits[second] += 1
            others = after[first]
            if others is None:
                after[first] = [second]
            else:
                others.append(second)
    # Along each track up to what still waits for an edge, and on from there when it has the last one.
    reached = bytearray(len(ends))
    begins = [track.entries[0].at for track in tracks if track.entries]
    for at in begins:
        reached[at] = 1
    ready = [at for at in begins if not waits[at]]
    while ready:
        start = ready.pop()
        for at in range(start, ends[start]):
            if waits[at]:
                reached[at] = 1
                break
            others = after[at]
            if others is not None:
                for other in others:
                    waits[other] -= 1
                    if not waits[other] and reached[other]:
                        ready.append(other)
    if not any(waits):
        return None
    entries = [entry for track in tracks for entry in track.entries]
    # What waits is left over, and with it the rest of its track.
    placed = [True] * len(ends)
    for track in tracks:
        at = next((e.at for e in track.entries if waits[e.at]), None)
        if at is not None:
            placed[at : ends[at]] = [False] * (ends[at] - at)
    stuck = [
        (first, second, rule)
        for rule, earlier, later in edges
        for first, second in zip(earlier, later, strict=True)
        if not placed[first.at] and not placed[second.at]
    ]
    return _first_stuck(entries, after, stuck)


def _first_stuck(
    entries: list[Entry], after: list[list[int] | None], edges: list[tuple[Entry, Entry, str]]
) -> Inexplicable | None:
    """Of the entries that cannot be placed, the first that an edge puts on a cycle."""
    for first, entry, rule in sorted(edges, key=lambda e: (e[1].line, e[0].line)):
        if _reaches(entry, first, entries, after):
            text = f"it needs line {first.line} ({first}) before it, which can only come after it"
            return Inexplicable(entry, rule, text)
    return None


def _reaches(start: Entry, goal: Entry, entries: list[Entry], after: list[list[int] | None]) -> bool:
    seen, waiting = {start.at}, [start.at]
    while waiting:
        at = waiting.pop()
        neighbour = at + 1
        following = [neighbour] if neighbour < len(entries) and entries[neighbour].n else []
        for other in (*following, *(after[at] or ())):
            if other == goal.at:
                return True
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return start is goal
