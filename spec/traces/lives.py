"""The lives of an instance: what a next one goes on from, and what begins anew.

Rules of this file:

- Leases and sessions outlive their process. All else begins anew with it: a gate without weights, a
  controller with a term of its own, a trainer from a checkpoint that is none of its machine's state.
- A session goes on from its last step that had to be durable, or from any moment after it.
- Of a lease less is stored than its steps: the next life of its replica goes on from any moment. Its
  receipt is logged once its closure is stored, and nothing goes on from there.
- What a killed process had stored may be more or less than what it had logged.
- The lives of an instance follow one another, so that two never go on from the same one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from ...statemachines.session import Session
from .judging import Run
from .reading import Birth, Entry, Fact, Step, Track

LATER = frozenset({"EndTurn", "Lose"})
"""The steps of a session that need not be durable: a next life is told of them again."""
DURABLE = frozenset(e.name for e in Session.ir.events) - LATER

Found: TypeAlias = tuple[Entry, Entry | None, str]


def restorations(run: Run) -> Iterator[Found]:
    """Each life that is no first one: the end of the one before it, where that can only be one."""
    for machine in ("Gate", "Replica", "Sync", "Trainer"):
        for track in run.of(machine):
            if track.restored:
                yield track.entries[0], None, f"a {machine} begins anew with each life of its process"
    for machine in ("Lease", "Session"):
        tracks, lives = run.of(machine), dict[str, list[Track]]()
        if not any(t.restored for t in tracks) and len({t.instance for t in tracks}) == len(tracks):
            continue
        for track in tracks:
            lives.setdefault(track.instance, []).append(track)
        may_have = _holders(run, machine)
        for of in lives.values():
            if len(of) > 1 or of[0].restored:
                yield from _one_after_another(of, may_have)


Holders: TypeAlias = Mapping[str, str]
"""Killed incarnations that may have held an instance, each with its replica; it is empty where that is not known."""


def _holders(run: Run, machine: str) -> tuple[Holders, Holders]:
    """Those that may have held an instance of the machine, and the replica of each incarnation that has one."""
    replicas = {t.incarnation: t.instance for t in run.of("Gate")}
    logged = {t.incarnation for t in run.tracks}
    if machine == "Lease":
        others = logged - replicas.keys()
    else:
        others = {t.incarnation for name in ("Gate", "Trainer") for t in run.of(name)}
        others -= {t.incarnation for t in run.of("Session")}
    return {i: replicas.get(i, "") for i in run.trace.killed - others}, replicas


def _is_unseen(lives: Sequence[Track], known: tuple[Holders, Holders]) -> bool:
    """Whether a killed process may have lost all lines of a life of this instance."""
    holders, replicas = known
    seen = {t.incarnation for t in lives}
    if lives[0].name == "Session":
        return not holders.keys() <= seen
    # A lease is found by the next lives of the replica that admitted it.
    own = {replicas.get(i, "") for i in seen}
    return any(i not in seen and (not replica or replica in own or "" in own) for i, replica in holders.items())


def _one_after_another(lives: Sequence[Track], known: tuple[Holders, Holders]) -> Iterator[Found]:
    """Each life that is no first one; what is wrong with it if the lives cannot have followed one another."""
    place = known[1].get
    is_session = lives[0].name == "Session"
    before = Track(lives[0].machine, lives[0].instance, "")
    born = [t for t in lives if not t.restored]
    # A lease that is admitted twice is told by its admissions.
    former = {t: [before] for t in born} if is_session else dict[Track, list[Track]]()
    for life in lives:
        if life.restored or is_session:
            own = None if is_session else place(life.incarnation)
            others = [t for t in lives if t is not life and (own is None or place(t.incarnation, own) == own)]
            former.setdefault(life, []).extend(t for t in others if _leaves(t, life))
    asked = [life for life in former if life.restored or len(born) > 1]
    if _is_unseen(lives, known):
        yield from ((life.entries[0], None, "") for life in asked)
        return
    without, reached = _unpaired(former), _reached([before] if is_session else born, former)
    for life in asked:
        found = former[life]
        text = ""
        if not found:
            start: Any = life.entries[0].post
            text = f"no earlier life of it has left it as {start!r}" if len(lives) > 1 else "it has no earlier life"
        elif life not in reached:
            text = "no life that it can have come of was ever born"
        elif life in without:
            text = "another life of it has gone on from there" if life.restored else "it was born before, and is stored"
        source = found[0] if len(found) == 1 and found[0] is not before else None
        yield life.entries[0], source.entries[-1] if source and not text else None, text


def _leaves(former: Track, life: Track) -> bool:
    """Whether what one life had stored at its end is what another begins with."""
    is_session, start = former.name == "Session", life.entries[0].post
    if not is_session and any(e.name == "receipt" for e in former.entries if type(e) is Fact):
        return False
    if former.killed:
        return True
    for entry in reversed(former.entries):
        if life.restored and entry.post == start:
            return True
        is_stored = isinstance(entry, Birth) and entry.restored
        if is_session and (is_stored or _is_durable(entry)):
            return False
    return not life.restored


def _is_durable(entry: Entry) -> bool:
    return isinstance(entry, Step) and entry.name in DURABLE and entry.outcome.kind in ("go", "stay")


def _unpaired(former: Mapping[Track, Sequence[Track]]) -> list[Track]:
    """The lives for which no former one is left, where each is gone on from once (H. W. Kuhn, 1955)."""
    goes_on: dict[Track, Track] = {}
    of: dict[Track, Track] = {}
    without: list[Track] = []
    for life in former:
        by: dict[Track, Track] = {}
        waiting, free = [life], None
        for one in waiting:
            for each in former[one]:
                if each not in by:
                    by[each] = one
                    if each not in goes_on:
                        free = each
                        break
                    waiting.append(goes_on[each])
            if free is not None:
                break
        if free is None:
            without.append(life)
        while free is not None:
            one = by[free]
            goes_on[free], of[one], free = one, free, of.get(one)
    return without


def _reached(first: Sequence[Track], former: Mapping[Track, Sequence[Track]]) -> set[Track]:
    """The lives that can come of those that were born."""
    reached = set(first)
    waiting = list(first)
    for one in waiting:
        more = [life for life, found in former.items() if life not in reached and one in found]
        reached.update(more)
        waiting += more
    return reached
