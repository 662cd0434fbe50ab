"""All that a machine can do within its scope, by the pure step: what `check` judges a table by.

Rules of this file:

- Breadth first from every newborn instance, so that a witness is a shortest run.
- Arguments that no rule of the event reads have one value; the others range over the whole scope.
- A step that leaves the scope counts as taken, and is not followed; where it leads, properties are
  asked once more, since what holds may hold only because the scope ends.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from .annotations import class_of
from .compiler import guards, predicate
from .instances import Outcome
from .ir import Cell, Event, Field, Ir, Node, Scope, Type
from .machine import Machine
from .observing import unobserved


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two rules of one cell that could both be taken: in `snapshot`, by `event`."""

    rules: tuple[str, str]
    snapshot: Any
    event: Any


@dataclass(frozen=True, slots=True)
class Dead:
    """A rule that was never taken where it was asked, since its guard never held, or since another's always did.

    `state` is empty for a fence: it is one for all states.
    """

    event: str
    state: str
    rule: str
    where: str


@dataclass(slots=True)
class Exploration:
    """What was found. `states` gives each reachable snapshot its number, the initial ones first.

    `edges` are (number, event, rule, number), those that change nothing too. `taken` gives the first
    (snapshot, event) of each (event, state, rule) that was taken. `beyond` gives, by number, the steps of a
    snapshot that leave the scope, and were not followed: event and rule by the snapshot that each leads to; one
    of them alone, where no property asks where runs lead. `cut` names the fields that such steps take out of it;
    `past` gives, by property, the first of them (snapshot and event) after which the property is broken, or what
    it says can be reached is.
    """

    states: dict[Any, int] = field(default_factory=dict)
    initial: int = 0
    edges: set[tuple[int, str, str, int]] = field(default_factory=set)
    taken: dict[tuple[str, str, str], tuple[Any, Any]] = field(default_factory=dict)
    overlaps: list[Overlap] = field(default_factory=list)
    dead: list[Dead] = field(default_factory=list)
    unreached: list[str] = field(default_factory=list)
    came: dict[Any, tuple[Any, Any]] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)
    past: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    beyond: dict[int, dict[Any, tuple[str, str]]] = field(default_factory=dict)

    def path(self, snapshot: Any) -> tuple[Any, list[Any]]:
        """A shortest run to a reachable snapshot: the newborn instance and the events."""
        events: list[Any] = []
        while snapshot in self.came:
            snapshot, event = self.came[snapshot]
            events.append(event)
        return snapshot, events[::-1]


_NOTHING = object()


class TooLarge(Exception):
    """An exploration was given up; the message says at what limit."""


MAX_STATES = 2_000_000
"""What fits into some 4 GiB of memory with its steps, for records of a dozen fields."""

MAX_CHOICES = 100_000
"""The most events, and the most newborn instances, that one scope may have."""


@unobserved()
def explore(
    machine: type[Machine], scope: Scope | None = None, *, timeout: float | None = None, max_states: int = MAX_STATES,
    stopped: Callable[[], bool] = lambda: False,
) -> Exploration:  # fmt: skip
    """Everything reachable in `scope`, by default the machine's own; it all stays in memory.

    Raises TooLarge after `timeout` seconds, soon after `stopped()`, at more than `max_states` snapshots, and
    where the scope has more than `MAX_CHOICES` events or newborn instances.
    """
    ir = machine.ir
    deadline = None if timeout is None else time.monotonic() + timeout
    scope = scope or ir.scope

    def go_on() -> None:
        if deadline is not None and time.monotonic() > deadline:
            raise TooLarge(f"stopped at its time limit of {timeout:g} s")
        if stopped():
            raise TooLarge("stopped from outside")

    bounded = [f for f in ir.fields if not f.given and f.type.kind != "note"]
    tests: dict[tuple[str, str], list[tuple[str, Any]]] = {}
    for cell, branch, test in guards(machine):
        if branch in cell.branches:
            tests.setdefault((cell.event, cell.state), []).append((branch.rule, test))
    events = [
        (e.name, value)
        for e in ir.events
        for value in _counted(events_of(machine, e, scope), f"events {e.name}", go_on)
    ]
    newborn = dict.fromkeys(_counted(births(machine, scope), "newborn instances", go_on))
    _require_newborn(newborn, bounded, scope)
    found = Exploration({snapshot: n for n, snapshot in enumerate(newborn)})
    found.initial = len(found.states)
    claims = [(claim, predicate(machine, claim.condition)) for claim in ir.properties if claim.kind != "leads_to"]
    clashes: set[tuple[str, str, str, str]] = set()
    leads = any(claim.kind == "leads_to" for claim in ir.properties)
    waiting = deque(found.states)
    while waiting:
        if len(found.states) > max_states:
            raise TooLarge(f"more than {max_states} states in this scope")
        go_on()
        before = waiting.popleft()
        source = found.states[before]
        for name, event in events:
            after, outcome = machine.step(before, event)
            found.taken.setdefault((name, before.state, outcome.rule), (before, event))
            for other in _also(tests.get((name, before.state), ()), outcome, before, event):
                if (key := (name, before.state, outcome.rule, other)) not in clashes:
                    clashes.add(key)
                    found.overlaps.append(Overlap((outcome.rule, other), before, event))
            target = source
            if after is not before:
                if over := [f.name for f in bounded if not within(getattr(after, f.name), f.type, f.name, scope)]:
                    if leads or source not in found.beyond:
                        found.beyond.setdefault(source, {}).setdefault(after, (name, outcome.rule))
                    found.cut.update(over)
                    for claim, holds in claims:
                        if claim.name not in found.past and holds(after) is (claim.kind != "always"):
                            found.past[claim.name] = before, event
                    continue
                if after not in found.states:
                    found.states[after] = len(found.states)
                    found.came[after] = before, event
                    waiting.append(after)
                target = found.states[after]
            found.edges.add((source, name, outcome.rule, target))
    reached = {snapshot.state for snapshot in found.states}
    found.unreached = [s for s in ir.states if s not in reached]
    found.dead = list(_dead(ir, found))
    return found


def _require_newborn(newborn: Collection[Any], bounded: Sequence[Field], scope: Scope) -> None:
    """Raises TooLarge where no instance is born in the scope, or one beyond it."""
    if not newborn:
        raise TooLarge("no instance is born in this scope: a given field has no value in it")
    for snapshot in newborn:
        for f in bounded:
            if not within(value := getattr(snapshot, f.name), f.type, f.name, scope):
                raise TooLarge(f"{f.name} = {value} of a newborn instance is beyond its bound: raise it in the scope")


def _counted(choices: Iterator[Any], what: str, go_on: Callable[[], None]) -> Iterator[Any]:
    """The choices, one by one. Raises TooLarge for too many, and where the exploration must end."""
    for number, choice in enumerate(choices):
        if number >= MAX_CHOICES:
            raise TooLarge(f"more than {MAX_CHOICES} {what} in this scope: give smaller bounds")
        if number % 1000 == 0:
            go_on()
        yield choice


def _also(tests: Any, outcome: Outcome, before: Any, event: Any) -> Iterator[str]:
    """The branches after the one that was taken whose guards hold too."""
    rules = [rule for rule, _ in tests]
    if outcome.rule in rules:
        for rule, test in tests[rules.index(outcome.rule) + 1 :]:
            if test(before, event):
                yield rule


def _dead(ir: Ir, found: Exploration) -> Iterator[Dead]:
    for event in ir.events:
        cells = [c for c in ir.cells if c.event == event.name]
        for fence in cells[0].fences:
            if not any((event.name, s, fence.rule) in found.taken for s in ir.states):
                yield Dead(event.name, "", fence.rule, fence.where)
        for cell in cells:
            guarded = cell.all()[len(cell.fences) :] if cell.branches and cell.state not in found.unreached else ()
            for branch in guarded:
                if (event.name, cell.state, branch.rule) not in found.taken:
                    yield Dead(event.name, cell.state, branch.rule, branch.where)


# -- domains -------------------------------------------------------------------------------------


def births(machine: type[Machine], scope: Scope) -> Iterator[Any]:
    """The newborn instance for every choice of the given fields."""
    given = [f for f in machine.ir.fields if f.given]
    for chosen in _product(given, scope):
        yield machine.initial(**chosen)


def events_of(machine: type[Machine], event: Event, scope: Scope) -> Iterator[Any]:
    """The event with every value of the arguments that its rules read, and one of the others."""
    read = {name for cell in machine.ir.cells if cell.event == event.name for name in _read(cell)}
    make = getattr(machine, event.name)
    first = {f.name: next(values(f.type, f.name, scope), _NOTHING) for f in event.fields}
    if empty := [name for name, value in first.items() if value is _NOTHING]:
        raise TooLarge(f"argument {empty[0]} of {event.name} has no value in this scope: give its sort members")
    for chosen in _product([f for f in event.fields if f.name in read], scope):
        yield make(**{**first, **chosen})


def _product(fields: list[Field], scope: Scope) -> Iterator[dict[str, Any]]:
    spaces = [list(itertools.islice(values(f.type, f.name, scope), MAX_CHOICES + 1)) for f in fields]
    for chosen in itertools.product(*spaces):
        yield {f.name: value for f, value in zip(fields, chosen, strict=True)}


def _read(cell: Cell) -> Iterator[str]:
    return (str(n.value) for node in _nodes(cell) for n in node.walk() if n.op == "arg")


def _nodes(cell: Cell) -> Iterator[Node]:
    for branch in cell.all():
        yield branch.guard
        yield from (u.value for u in branch.updates)
        yield from (value for e in branch.outputs for _, value in e.args)


def values(type_: Type, name: str, scope: Scope) -> Iterator[Any]:
    """All values of an argument or given field `name` of type `type_` in a scope."""
    match type_.kind:
        case "bool":
            yield from (False, True)
        case "nat":
            yield from range(scope.bound(name) + 1)
        case "enum":
            yield from class_of(type_)
        case "id":
            yield from scope.members(type_.name)
        case "note":
            yield ""
        case "opt":
            yield from (None, *values(type_.args[0], name, scope))
        case "seq":
            yield from ((), *((value,) for value in values(type_.args[0], name, scope)))
        case "set":
            members = list(values(type_.args[0], name, scope))
            for size in range(len(members) + 1):
                yield from map(frozenset, itertools.combinations(members, size))
        case "map":
            keys, items = (list(values(t, name, scope)) for t in type_.args)
            yield {}
            for chosen in itertools.product(items, repeat=len(keys)) if keys else ():
                yield dict(zip(keys, chosen, strict=True))
        case "record":
            make = class_of(type_)
            fields = [Field(m, t) for m, t in zip(type_.members, type_.args, strict=True)]
            for chosen in _product(fields, scope):
                yield make(**chosen)


def within(value: Any, type_: Type, name: str, scope: Scope) -> bool:
    """Whether no nat in a value, and no sequence's length, is beyond its bound."""
    match type_.kind:
        case "nat":
            return value <= scope.bound(name)
        case "opt":
            return value is None or within(value, type_.args[0], name, scope)
        case "set":
            return all(within(item, type_.args[0], name, scope) for item in value)
        case "seq":
            items = type_.args[0]
            return len(value) <= scope.bound(name) and all(within(x, items, name, scope) for x in value)
        case "map":
            key, item = type_.args
            pairs = value.items()
            return all(within(k, key, name, scope) and within(v, item, name, scope) for k, v in pairs)
        case "record":
            members = zip(type_.members, type_.args, strict=True)
            return all(within(getattr(value, m), t, m, scope) for m, t in members)
        case _:
            return True
