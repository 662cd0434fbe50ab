"""The reachable graph of a machine by the compiled step, and how it differs from what a checker found.

Rules of this file:

- Both graphs are compared by content, in the values of `checkers.tla_values`; notes are left out.
- An edge is (state, action, state); the action is the rule's name in the generated module. All
  rules are edges, also those that ignore and refuse.
- Python enumerates the same arguments as the generated module: those that the event's rules read.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..statemachines.expressions import class_of
from ..statemachines.ir import Event, Ir, Scope, Type
from .checkers import tla_checker, tlc
from .checkers.model import Config, Graph, GraphState, Model
from .checkers.tla_values import function, show
from .emitter import constants, files
from .emitter.module import rule_name
from .emitter.rules import rules


@dataclass(frozen=True, slots=True)
class GraphReport:
    """What came of comparing a machine's graphs.

    `difference` is the first one found, in words, or empty. `checker_distinct` is tla-checker's count
    of distinct states. Times are in seconds.
    """

    machine: str
    states: int
    edges: int
    checker_distinct: int
    difference: str
    python_seconds: float
    tlc_seconds: float
    checker_seconds: float

    @property
    def ok(self) -> bool:
        return not self.difference


def compare(machine: Any, timeout: float = 600.0) -> GraphReport:
    """Explore `machine` (a `Machine` class) in its declared scope by Python, TLC and tla-checker.

    Holds Python's and TLC's graphs equal, states and edges, and tla-checker's verdict and count of
    distinct states equal to theirs. Raises CheckerMissing where a checker is not installed, and
    RuntimeError where TLC cannot explore the module to its end.
    """
    started = time.monotonic()
    ours = explore(machine)
    explored = time.monotonic()
    theirs = tlc.graph(alone(machine.ir), timeout=timeout)
    dumped = time.monotonic()
    checked = tla_checker.check(alone(machine.ir, only_changes=True), max_states=len(ours.states) + 1, timeout=timeout)
    difference = differ(ours, theirs)
    if not difference and not checked.ok:
        difference = f"tla-checker: {checked.verdict} {checked.violated or ''} {checked.detail}".rstrip()
    if not difference and checked.distinct != len(ours.states):
        difference = f"tla-checker finds {checked.distinct} states, Python {len(ours.states)}"
    return GraphReport(
        machine.ir.name,
        len(ours.states),
        len(ours.edges),
        checked.distinct,
        difference,
        explored - started,
        dumped - explored,
        checked.seconds,
    )


def alone(ir: Ir, only_changes: bool = False) -> Model:
    """The generated module that explores a machine alone, in its declared scope.

    With `only_changes` the rules that leave the record as it is are left out: the states are the
    same, and the exploration is three times as fast.
    """
    members = {name: "{" + ", ".join(f'"{m}"' for m in ids) + "}" for name, ids in constants(ir).items()}
    config = Config(constants=members, next="Changes" if only_changes else "Next", invariants=("TypeOK",))
    modules = {name.removesuffix(".tla"): text for name, text in files([ir]).items()}
    return Model(f"MC{ir.name}", modules, config)


def differ(python: Graph, checker: Graph) -> str:
    """The first difference between two graphs, in words; empty if they are equal."""
    for name, ours, theirs in (
        ("initial state", python.initial, checker.initial),
        ("state", python.states, checker.states),
    ):
        if only := _first(ours - theirs):
            return f"{name} in Python only: {_state(only)}"
        if only := _first(theirs - ours):
            return f"{name} in the checker only: {_state(only)}"
    for where, edges in (("Python", python.edges - checker.edges), ("the checker", checker.edges - python.edges)):
        if edges:
            source, action, target = min(edges, key=lambda e: (e[1], _state(e[0]), _state(e[2])))
            return f"step in {where} only: {action} from {_state(source)} to {_state(target)}"
    return ""


def _first(states: frozenset[GraphState]) -> GraphState | None:
    return min(states, key=_state, default=None)


def _state(state: GraphState) -> str:
    return ", ".join(f"{name} = {show(value)}" for name, value in sorted(state))


def explore(machine: Any) -> Graph:
    """The graph of `machine` in its declared scope, by the pure step."""
    ir: Ir = machine.ir
    fields = [f for f in ir.fields if f.type.kind != "note"]
    bounded = [f for f in fields if not f.given]
    events = [e for event in ir.events for e in _events(machine, event)]
    names = {(e.name, rule.name): rule_name(ir, rule) for e in ir.events for rule in rules(ir, e)}
    given = [f for f in ir.fields if f.given]
    spaces = [list(values(f.type, f.name, ir.scope)) for f in given]
    births = [
        machine.initial(**{f.name: value for f, value in zip(given, chosen, strict=True)})
        for chosen in itertools.product(*spaces)
    ]
    numbers = {snapshot: n for n, snapshot in enumerate(dict.fromkeys(births))}
    first = len(numbers)
    steps: set[tuple[int, str, int]] = set()
    waiting = deque(numbers)
    while waiting:
        before = waiting.popleft()
        source = numbers[before]
        for name, event in events:
            after, outcome = machine.step(before, event)
            target = source
            if after is not before:
                if not all(within(getattr(after, f.name), f.type, f.name, ir.scope) for f in bounded):
                    continue
                if after not in numbers:
                    numbers[after] = len(numbers)
                    waiting.append(after)
                target = numbers[after]
            steps.add((source, names[name, outcome.rule], target))
    states: list[GraphState] = []
    for snapshot in numbers:
        pairs = [("state", snapshot.state), *((f.name, plain(getattr(snapshot, f.name), f.type)) for f in fields)]
        states.append(frozenset([("m", function(pairs))]))
    edges = frozenset((states[source], action, states[target]) for source, action, target in steps)
    return Graph(frozenset(states[:first]), frozenset(states), edges)


def _events(machine: Any, event: Event) -> Iterator[tuple[str, Any]]:
    """The event with all values of the arguments that its rules read; the others have any one value."""
    read = {name for rule in rules(machine.ir, event) for name in rule.reads()}
    spaces = []
    for f in event.fields:
        space = values(f.type, f.name, machine.ir.scope)
        spaces.append(list(space) if f.name in read else [next(space)])
    for chosen in itertools.product(*spaces):
        arguments = {f.name: value for f, value in zip(event.fields, chosen, strict=True)}
        yield event.name, getattr(machine, event.name)(**arguments)


def values(kind: Type, name: str, scope: Scope) -> Iterator[Any]:
    """All Python values of an argument or given field `name` of type `kind` in a scope."""
    match kind.kind:
        case "bool":
            yield from (False, True)
        case "nat":
            yield from range(scope.bound(name) + 1)
        case "enum":
            yield from kind.members
        case "id":
            yield from scope.members(kind.name)
        case "note":
            yield ""
        case "opt":
            yield from (None, *values(kind.args[0], name, scope))
        case "seq":
            yield from ((), *((value,) for value in values(kind.args[0], name, scope)))
        case "set":
            members = list(values(kind.args[0], name, scope))
            for size in range(len(members) + 1):
                yield from map(frozenset, itertools.combinations(members, size))
        case "map":
            keys, vals = (list(values(t, name, scope)) for t in kind.args)
            yield {}
            for chosen in itertools.product(vals, repeat=len(keys)):
                yield dict(zip(keys, chosen, strict=True))
        case "record":
            make = class_of(kind)
            spaces = [list(values(t, m, scope)) for m, t in zip(kind.members, kind.args, strict=True)]
            for chosen in itertools.product(*spaces):
                yield make(**dict(zip(kind.members, chosen, strict=True)))


def plain(value: Any, kind: Type) -> Any:
    """A Python value as the checkers' value: an option as a sequence, maps and records as functions."""
    match kind.kind:
        case "bool" | "nat":
            return value
        case "enum" | "id":
            return str(value)
        case "note":
            return ""
        case "opt":
            return () if value is None else (plain(value, kind.args[0]),)
        case "seq":
            return tuple(plain(item, kind.args[0]) for item in value)
        case "set":
            return frozenset(plain(item, kind.args[0]) for item in value)
        case "map":
            key, val = kind.args
            return function((plain(k, key), plain(v, val)) for k, v in value.items())
        case "record":
            members = zip(kind.members, kind.args, strict=True)
            return function((name, plain(getattr(value, name), arg)) for name, arg in members)


def within(value: Any, kind: Type, name: str, scope: Scope) -> bool:
    """Whether no nat in a Python value, and no sequence's length, is beyond its bound."""
    match kind.kind:
        case "nat":
            return value <= scope.bound(name)
        case "opt":
            return value is None or within(value, kind.args[0], name, scope)
        case "set":
            return all(within(item, kind.args[0], name, scope) for item in value)
        case "seq":
            return len(value) <= scope.bound(name) and all(within(x, kind.args[0], name, scope) for x in value)
        case "map":
            key, val = kind.args
            return all(within(k, key, name, scope) and within(v, val, name, scope) for k, v in value.items())
        case "record":
            members = zip(kind.members, kind.args, strict=True)
            return all(within(getattr(value, m), t, m, scope) for m, t in members)
        case _:
            return True
