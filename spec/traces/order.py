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
    """The entry with the lowest line that a rule puts behind what can only come after it; None if there is none.

    Every entry has its place `at` in the order of `tracks`.
    """
    tracks = list(tracks)
    count = sum(len(track.entries) for track in tracks)
    begins = bytearray(count + 1)
    begins[count] = 1
    # How many entries each waits for: its neighbour in the track, and one for each edge.
    waits = [1] * count
    at = 0
    for track in tracks:
        if track.entries:
            begins[at], waits[at] = 1, 0
            at += len(track.entries)
    after: list[list[int] | None] = [None] * count
    edges = list(edges)
    for first, second, _ in edges:
        later = second.at
        waits[later] += 1
        others = after[first.at]
        if others is None:
            after[first.at] = [later]
        else:
            others.append(later)
    ready = [at for at in range(count) if begins[at] and not waits[at]]
    placed = bytearray(count)
    left = count
    while ready:
        at = ready.pop()
        while True:
            placed[at] = 1
            left -= 1
            others = after[at]
            if others is not None:
                for other in others:
                    waits[other] -= 1
                    if not waits[other]:
                        ready.append(other)
            at += 1
            if begins[at]:
                break
            waits[at] -= 1
            if waits[at]:
                break
    if not left:
        return None
    entries = [entry for track in tracks for entry in track.entries]
    return _first_stuck(entries, after, [e for e in edges if not placed[e[0].at] and not placed[e[1].at]])


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
