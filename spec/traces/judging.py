"""What rules between machines are written in: which entries a rule is about, and what each of them needs.

Rules of this file:

- A rule never looks at the order of lines. It asks for another entry by a key, and that the one comes
  before the other: an edge. Whether all edges and all tracks can be lined up is asked at the end.
- An entry may be missing where the log of a killed process ended early; the rule then is excused, and
  that is counted.
- Rules are immutable; all findings are returned, none is raised.
- Keys and matches of a selection are asked for all at once; single entries are looked at only where
  one of them has several keys, none, or no match.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple, TypeAlias, TypeVar

from .reading import Entry, Fact, Trace, Track
from .replay import Inexplicable

T = TypeVar("T")

Key: TypeAlias = Callable[[Any], Hashable | list[Hashable] | None]
"""The key of an entry, a list of keys, or None where the rule is not about the entry.

An entry that needs another has a list of alternatives; one that is needed has every key of its list.
"""
Lost: TypeAlias = Callable[["Run", Any], bool]
"""Whether the entry that is missing may have stood in a log that ended early."""


class Run:
    """A replayed trace, with its entries by machine and name. Tracks are in the order of their keys."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.tracks = [trace.tracks[key] for key in sorted(trace.tracks)]
        self._of: dict[str, list[Track]] = {}
        self._named: dict[str, defaultdict[str, list[Any]]] = {}
        self._made: dict[Hashable, Any] = {}
        begin = 0
        for track in self.tracks:
            machine = track.name
            self._of.setdefault(machine, []).append(track)
            named = self._named.setdefault(machine, defaultdict(list))
            for entry in track.entries:
                entry.at = begin + entry.n
                named[entry.name].append(entry)
            begin += len(track.entries)

    def named(self, machine: str, name: str) -> list[Any]:
        """The steps of an event, the facts of a name, or the births (`new`)."""
        named = self._named.get(machine)
        return named.get(name, []) if named else []

    def made(self, make: Callable[[Run], T]) -> T:
        """What `make` makes of this run; made once."""
        return self._once(make, lambda: make(self))

    def selected(self, select: Select) -> list[Any]:
        """The entries of a selection; found once."""
        return self._once(select, lambda: list(select.entries(self)))

    def keys(self, select: Select, of: Key) -> list[Any]:
        """The key of each entry of a selection; found once."""
        return self._once((select, of), lambda: list(map(of, self.selected(select))))

    def index(self, select: Select, of: Key) -> dict[Hashable, Any]:
        """The entries of a selection by each of their keys; of a track, the first one in its order. Made once."""
        return self._once((select, of, "index"), lambda: _index(self.selected(select), self.keys(select, of)))

    def _once(self, key: Hashable, make: Callable[[], Any]) -> Any:
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = make()
        return made

    def of(self, machine: str) -> list[Track]:
        return self._of.get(machine, [])

    @cached_property
    def silent(self) -> bool:
        """Whether some killed process left no line at all: it may have been anything."""
        return not self.trace.killed <= {t.incarnation for t in self.tracks}

    def cut(self, machine: str, instance: str | None = None, incarnation: str | None = None) -> bool:
        """Whether a log that would hold such a track ended early."""
        if incarnation is not None:
            return incarnation in self.trace.killed
        tracks = self.of(machine)
        # Where nothing begins it, its begin too was in what is missing.
        begins = instance is None or any(t.instance == instance and not t.restored for t in tracks)
        return self.silent or any(t.killed and (not begins or instance in (None, t.instance)) for t in tracks)


@dataclass(frozen=True, slots=True)
class Select:
    """Entries of one kind; `text` names them in a sentence."""

    text: str
    entries: Callable[[Run], Iterable[Any]]


def births(machine: str) -> Select:
    """The births of a machine that were not restored."""
    return Select(f"the birth of a {machine}", lambda run: (b for b in run.named(machine, "new") if not b.restored))


def steps(machine: str, *events: str, kinds: str = "go stay ignore refuse") -> Select:
    """The steps of these events whose verdict is one of `kinds`."""
    wanted = frozenset(kinds.split())
    is_any = len(wanted) == 4

    def entries(run: Run) -> Iterator[Any]:
        every = (s for name in events for s in run.named(machine, name))
        return every if is_any else (s for s in every if s.outcome.kind in wanted)

    return Select(f"a {machine} {' or '.join(events)}{'' if is_any else f' with verdict {kinds}'}", entries)


def facts(machine: str, name: str) -> Select:
    return Select(f"the fact `{name}` of a {machine}", lambda run: run.named(machine, name))


def moments(machine: str, text: str, state: str | None = None) -> Select:
    """The births and steps after which the instance is in `state`; all of them if None."""

    def entries(run: Run) -> list[Entry]:
        every = [e for t in run.of(machine) for e in t.entries if type(e) is not Fact]
        return every if state is None else [e for e in every if e.post.state == state]

    return Select(text, entries)


class Edges(NamedTuple):
    """What a rule says of order: each entry of `earlier` comes before the one at its place in `later`."""

    rule: str
    earlier: Sequence[Entry]
    later: Sequence[Entry]


@dataclass(eq=False, slots=True)
class Findings:
    """What the rules found: how often each was applied and excused, edges, and what is inexplicable."""

    applied: dict[str, int] = field(default_factory=dict)
    excused: dict[str, int] = field(default_factory=dict)
    edges: list[Edges] = field(default_factory=list)
    wrong: list[Inexplicable] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Rule:
    """One named rule between machines, and why it holds."""

    name: str
    why: str
    judge: Callable[[Run, Rule, Findings], None]

    def apply(self, run: Run, found: Findings) -> None:
        found.applied[self.name] = found.excused[self.name] = 0
        self.judge(run, self, found)

    def refuse(self, entry: Entry, text: str, missing: bool = False) -> Inexplicable:
        return Inexplicable(entry, self.name, f"{entry.said}: {text}: {self.why}", missing)


def never(run: Run, entry: Any) -> bool:
    return False


def needs(
    name: str, each: Select, earlier: Select, *, by: Key, of: Key, why: str, ordered: bool = True, lost: Lost = never
) -> Rule:
    """Each entry of `each` that has a key needs an entry of `earlier` with it, before it if `ordered`."""

    def judge(run: Run, rule: Rule, found: Findings) -> None:
        entries, matches = _matched(run, rule, found, each, by, earlier, of, lost, is_later=False)
        if ordered:
            found.edges.append(Edges(name, matches, entries))

    return Rule(name, why, judge)


def leads(
    name: str, each: Select, later: Select, *, by: Key, of: Key, why: str, ordered: bool = True, lost: Lost = never
) -> Rule:
    """Each entry of `each` that has a key is followed by an entry of `later` with it, after it if `ordered`."""

    def judge(run: Run, rule: Rule, found: Findings) -> None:
        entries, matches = _matched(run, rule, found, each, by, later, of, lost, is_later=True)
        if ordered:
            found.edges.append(Edges(name, entries, matches))

    return Rule(name, why, judge)


def _matched(
    run: Run, rule: Rule, found: Findings, each: Select, by: Key, other: Select, of: Key, lost: Lost, is_later: bool
) -> tuple[list[Entry], list[Entry]]:
    """The entries of `each` that have a key and a match, and these; those without one are found wrong or excused."""
    index = run.index(other, of)
    entries, keys = run.selected(each), run.keys(each, by)
    if _is_single(keys):
        matches: list[Any] = list(map(index.get, keys))
    else:
        asked = [(entry, _keys(key)) for entry, key in zip(entries, keys, strict=True) if key is not None and key != []]
        entries, keys = [entry for entry, _ in asked], [key for _, key in asked]
        matches = [next((index[one] for one in key if one in index), None) for key in keys]
    found.applied[rule.name] += len(entries)
    if all(matches):
        return entries, matches
    for entry, key, match in zip(entries, keys, matches, strict=True):
        if match is None and lost(run, entry):
            found.excused[rule.name] += 1
        elif match is None:
            text = f"{'leads to' if is_later else 'needs'} {other.text} for {' or '.join(map(_shown, _keys(key)))}"
            found.wrong.append(rule.refuse(entry, f"{text}, and there is none", missing=is_later))
    matched = [(entry, match) for entry, match in zip(entries, matches, strict=True) if match is not None]
    return [entry for entry, _ in matched], [match for _, match in matched]


def once(name: str, each: Select, *, by: Key, why: str) -> Rule:
    """No two entries of `each` have the same key."""

    def judge(run: Run, rule: Rule, found: Findings) -> None:
        keyed = _single(run.selected(each), run.keys(each, by))
        found.applied[rule.name] += len(keyed[0])
        if len(set(keyed[1])) == len(keyed[1]):
            return
        seen: dict[Hashable, Entry] = {}
        for entry, key in sorted(zip(*keyed, strict=True), key=lambda k: k[0].line):
            if key in seen:
                found.wrong.append(rule.refuse(entry, f"repeats {_shown(key)} of line {seen[key].line}"))
            seen.setdefault(key, entry)

    return Rule(name, why, judge)


def always(name: str, each: Select, test: Callable[[Run, Any], str | None], *, why: str, missing: bool = False) -> Rule:
    """`test` says what is wrong with an entry: "" for nothing, None where the rule is not about it."""

    def judge(run: Run, rule: Rule, found: Findings) -> None:
        asked = 0
        for entry in run.selected(each):
            text = test(run, entry)
            asked += text is not None
            if text:
                found.wrong.append(rule.refuse(entry, text, missing))
        found.applied[rule.name] += asked

    return Rule(name, why, judge)


Counted: TypeAlias = Callable[[Run], Iterable[tuple[int, list[tuple[Any, str]]]]]
"""How many entries of a kind there are, and those that are wrong, each with what is wrong with it."""


def counted(name: str, kinds: Counted, *, why: str) -> Rule:
    """What is asked of very many entries: kind by kind, and only of the wrong ones more than a number."""

    def judge(run: Run, rule: Rule, found: Findings) -> None:
        for asked, wrong in kinds(run):
            found.applied[rule.name] += asked
            found.wrong += [rule.refuse(entry, text) for entry, text in wrong]

    return Rule(name, why, judge)


Relation: TypeAlias = Callable[[Run], Iterable[tuple[Entry, Entry | None, str]]]
"""(entry, what comes before it or None, what is wrong with it or nothing), for each that it is about."""


def related(name: str, relation: Relation, *, why: str) -> Rule:
    """What needs more than a key: `relation` finds what comes before an entry by itself."""

    def judge(run: Run, rule: Rule, found: Findings) -> None:
        asked = 0
        before: list[Entry] = []
        after: list[Entry] = []
        for entry, earlier, text in relation(run):
            asked += 1
            if text:
                found.wrong.append(rule.refuse(entry, text))
            elif earlier is not None:
                before.append(earlier)
                after.append(entry)
        found.edges.append(Edges(name, before, after))
        found.applied[rule.name] += asked

    return Rule(name, why, judge)


def _index(entries: list[Any], keys: list[Any]) -> dict[Hashable, Any]:
    """The entries by their keys; of those of one track with the same key, the first in its order."""
    entries, keys = _single(entries, keys)
    # Backwards, so that of entries with the same key the first is the one that stays.
    index = dict(zip(reversed(keys), reversed(entries), strict=True))
    if len(index) < len(keys) and not _is_in_order(entries):
        index.clear()
        for entry, key in zip(entries, keys, strict=True):
            held = index.setdefault(key, entry)
            if held is not entry and held.track is entry.track and entry.n < held.n:
                index[key] = entry
    return index


def _is_in_order(entries: list[Any]) -> bool:
    places = [entry.at for entry in entries]
    return places == sorted(places)


def _single(entries: list[Any], keys: list[Any]) -> tuple[list[Any], list[Any]]:
    """Entries and keys, an entry for each of its keys."""
    if _is_single(keys):
        return entries, keys
    several = list(map(_keys, keys))
    return [entry for entry, own in zip(entries, several, strict=True) for _ in own], list(chain.from_iterable(several))


def _is_single(keys: list[Any]) -> bool:
    """Whether all of these are one key each."""
    return _NOT_ONE.isdisjoint(map(type, keys))


_NOT_ONE = {list, type(None)}


def _keys(key: Hashable | list[Hashable] | None) -> list[Hashable]:
    return key if isinstance(key, list) else [] if key is None else [key]


def _shown(key: Hashable) -> str:
    return f"({', '.join(map(str, key))})" if isinstance(key, tuple) else str(key)
