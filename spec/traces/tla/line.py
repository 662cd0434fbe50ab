"""One order of a run's entries, and what each instance was after each, by what the log itself says.

Rules of this file:

- The order is one that the rules between machines allow. Of a controller it is that of its log, as
  long as that contradicts no rule: where a line stands means nothing, but it is a good guess.
- What is logged is believed here, whether or not the tables explain it: the models judge it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from ..format import Progress, quietly
from ..judging import Findings, Run
from ..reading import Birth, Entry, Step, Trace
from ..rules import RULES

_LATE = frozenset({"Deadline", "Fault", "Expire"})
"""What can happen at any time is put off until something depends on it."""


def believe(trace: Trace) -> None:
    """Give every entry the snapshot that its line claims, and every step what its table says of it."""
    for track in trace.tracks.values():
        snapshot: Any = None
        for entry in track.entries:
            if isinstance(entry, Birth):
                snapshot = entry.start
            elif isinstance(entry, Step):
                _, entry.outcome = track.machine.step(snapshot, entry.event)
                snapshot = snapshot.replace(state=entry.after, **entry.changes)
            entry.post = snapshot


def in_order(trace: Trace, progress: Progress = quietly) -> list[Entry]:
    """All entries of a believed trace, each after what it needs; where that cannot be, as the file has them."""
    run, found = Run(trace), Findings()
    for number, rule in enumerate(RULES):
        rule.apply(run, found)
        progress("rules", number + 1, len(RULES))
    edges = [pair for e in found.edges for pair in zip(e.earlier, e.later, strict=True)]
    edges += [*_lives(run), *_claims(run)]
    entries = [entry for track in run.tracks for entry in track.entries]
    neighbours = [(a, b) for track in run.tracks for a, b in pairwise(track.entries)]
    placed = _sorted(entries, [*neighbours, *edges, *_processes(entries)])
    if len(placed) < len(entries):
        placed = _sorted(entries, [*neighbours, *edges])
    if len(placed) < len(entries):
        rest = set(entries) - set(placed)
        placed += sorted(rest, key=lambda e: e.line)
    return placed


def _lives(run: Run) -> Iterable[tuple[Entry, Entry]]:
    """A gate's next life begins after the last that its former one logged."""
    gates: dict[str, list[Any]] = {}
    for track in run.of("Gate"):
        gates.setdefault(track.instance, []).append(track)
    for lives in gates.values():
        lives.sort(key=lambda track: track.entries[0].line)
        yield from ((former.entries[-1], later.entries[0]) for former, later in pairwise(lives))


def _claims(run: Run) -> Iterable[tuple[Entry, Entry]]:
    """An operation begins after its members were claimed."""
    claims: dict[tuple[str, int], list[Entry]] = {}
    for step in run.named("Gate", "Claim"):
        claims.setdefault((step.instance, step.event.term), []).append(step)
    for begin in run.named("Sync", "Begin"):
        for member in begin.event.members:
            yield from ((claim, begin) for claim in claims.get((member, begin.post.term), [])[:1])


def _processes(entries: list[Entry]) -> Iterable[tuple[Entry, Entry]]:
    """What a controller knows and does, in the order of its log."""
    last: dict[str, Entry] = {}
    for entry in sorted((e for e in entries if e.track.name in ("Sync", "Replica")), key=lambda e: e.line):
        if entry.incarnation in last:
            yield last[entry.incarnation], entry
        last[entry.incarnation] = entry


def _sorted(entries: list[Entry], edges: list[tuple[Entry, Entry]]) -> list[Entry]:
    """A topological order that prefers replicas to controllers, and puts off what can happen at any time."""
    waits = [0] * len(entries)
    after: list[list[int]] = [[] for _ in entries]
    for first, second in edges:
        waits[second.at] += 1
        after[first.at].append(second.at)
    heap = [(_rank(e), e.line, e.at) for e in entries if not waits[e.at]]
    heapq.heapify(heap)
    placed: list[Entry] = []
    while heap:
        *_, at = heapq.heappop(heap)
        placed.append(entries[at])
        for other in after[at]:
            waits[other] -= 1
            if not waits[other]:
                heapq.heappush(heap, (_rank(entries[other]), entries[other].line, other))
    return placed


def _rank(entry: Entry) -> int:
    if entry.name in _LATE or (entry.name == "new" and entry.track.name == "Gate"):
        return 2
    return 0 if entry.track.name in ("Gate", "Lease") else 1
