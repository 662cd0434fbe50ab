"""What rules between machines are written in: which entries a rule is about, and what each of them needs.

Rules of this file:

- A rule never looks at the order of lines. It asks for another entry by a key, and that the one comes
  before the other: an edge. Whether all edges and all tracks can be lined up is asked at the end.
- An entry may be missing where the log of a killed process ended early; the rule then is excused, and
  that is counted.
- Rules are immutable; all findings are returned, none is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from .reading import Entry, Fact, Trace, Track
from .replay import Inexplicable

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
        self._named: dict[str, dict[str, list[Any]]] = {}
        self._selected: dict[int, list[Any]] = {}
        self._indices: dict[tuple[int, int], dict[Hashable, Any]] = {}
        at = 0
        for track in self.tracks:
            machine = track.name
            self._of.setdefault(machine, []).append(track)
            named = self._named.setdefault(machine, {})
            for entry in track.entries:
                entry.at = at
                at += 1
                name = entry.name
                if name in named:
                    named[name].append(entry)
                else:
                    named[name] = [entry]

    def named(self, machine: str, name: str) -> list[Any]:
        """The steps of an event, the facts of a name, or the births (`new`)."""
        return self._named.get(machine, {}).get(name, [])

    def selected(self, select: Select) -> list[Any]:
        """The entries of a selection; found once."""
        found = self._selected.get(id(select))
        if found is None:
            found = self._selected[id(select)] = list(select.entries(self))
        return found

    def index(self, select: Select, of: Key) -> dict[Hashable, Any]:
        """The entries of a selection by each of their keys; of a track, the first one in its order. Made once."""
        index = self._indices.get((id(select), id(of)))
        if index is None:
            index = self._indices[id(select), id(of)] = {}
            for entry in self.selected(select):
                key: Any = of(entry)
                for one in (key,) if type(key) is not list and key is not None else _keys(key):
                    held = index.setdefault(one, entry)
                    if held is not entry and held.track is entry.track and entry.n < held.n:
                        index[one] = entry
        return index

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
        return self.silent or any(t.killed and instance in (None, t.instance) for t in self.of(machine))


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


def moments(machine: str, text: str, when: Callable[[Any], bool] = lambda snapshot: True) -> Select:
    """The births and steps after which the instance's snapshot satisfies `when`."""

    def entries(run: Run) -> Iterator[Entry]:
        return (e for t in run.of(machine) for e in t.entries if type(e) is not Fact and when(e.post))

    return Select(text, entries)


@dataclass(eq=False, slots=True)
class Findings:
    """What the rules found: how often each was applied and excused, edges, and what is inexplicable."""

    applied: dict[str, int] = field(default_factory=dict)
    excused: dict[str, int] = field(default_factory=dict)
    edges: list[tuple[Entry, Entry, str]] = field(default_factory=list)
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
        matches = _matched(run, rule, found, each, by, earlier, of, lost, is_later=False)
        if ordered:
            found.edges += [(match, entry, name) for entry, match in matches]

    return Rule(name, why, judge)


def leads(
    name: str, each: Select, later: Select, *, by: Key, of: Key, why: str, ordered: bool = True, lost: Lost = never
) -> Rule:
    """Each entry of `each` that has a key is followed by an entry of `later` with it, after it if `ordered`."""

    def judge(run: Run, rule: Rule, found: Findings) -> None:
        matches = _matched(run, rule, found, each, by, later, of, lost, is_later=True)
        if ordered:
            found.edges += [(entry, match, name) for entry, match in matches]

    return Rule(name, why, judge)


def _matched(
    run: Run, rule: Rule, found: Findings, each: Select, by: Key, other: Select, of: Key, lost: Lost, is_later: bool
) -> list[tuple[Entry, Entry]]:
    """Each entry of `each` that has a key, with its match; those without one are found wrong or excused."""
    index = run.index(other, of)
    matches: list[tuple[Entry, Entry]] = []
    unmatched = 0
    for entry in run.selected(each):
        key: Any = by(entry)
        if key is None or key == []:
            continue
        match = next((index[one] for one in key if one in index), None) if type(key) is list else index.get(key)
        if match is not None:
            matches.append((entry, match))
            continue
        unmatched += 1
        if lost(run, entry):
            found.excused[rule.name] += 1
        else:
            text = f"{'leads to' if is_later else 'needs'} {other.text} for {' or '.join(map(_shown, _keys(key)))}"
            found.wrong.append(rule.refuse(entry, f"{text}, and there is none", missing=is_later))
    found.applied[rule.name] += len(matches) + unmatched
    return matches


def once(name: str, each: Select, *, by: Key, why: str) -> Rule:
    """No two entries of `each` have the same key."""

    def judge(run: Run, rule: Rule, found: Findings) -> None:
        keyed = [(key, entry) for entry in run.selected(each) for key in _keys(by(entry))]
        found.applied[rule.name] += len(keyed)
        if len({key for key, _ in keyed}) == len(keyed):
            return
        seen: dict[Hashable, Entry] = {}
        for key, entry in sorted(keyed, key=lambda k: k[1].line):
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
        for entry, earlier, text in relation(run):
            asked += 1
            if text:
                found.wrong.append(rule.refuse(entry, text))
            elif earlier is not None:
                found.edges.append((earlier, entry, name))
        found.applied[rule.name] += asked

    return Rule(name, why, judge)


def _keys(key: Hashable | list[Hashable] | None) -> list[Hashable]:
    return key if isinstance(key, list) else [] if key is None else [key]


def _shown(key: Hashable) -> str:
    return f"({', '.join(map(str, key))})" if isinstance(key, tuple) else str(key)
