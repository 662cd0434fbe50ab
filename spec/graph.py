"""The reachable graph of a machine by the compiled step, and how it differs from what a checker found.

Rules of this file:

- Both graphs are compared by content, in the values of `checkers.tla_values`; notes are left out.
- An edge is (state, action, state); the action is the rule's name in the generated module. All
  rules are edges, also those that ignore and refuse.
- Python enumerates the same arguments as the generated module: those that the event's rules read.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from ..statemachines.explore import explore as exploration
from ..statemachines.ir import Ir, Type
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
    of distinct states. Times are in seconds; TLC runs beside the other two.
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
    with ThreadPoolExecutor(1) as pool:
        started = time.monotonic()
        dump = pool.submit(tlc.graph, alone(machine.ir), timeout=timeout)
        ours = explore(machine)
        explored = time.monotonic()
        bound = len(ours.states) + 1
        checked = tla_checker.check(alone(machine.ir, only_changes=True), max_states=bound, timeout=timeout)
        theirs = dump.result()
        dumped = time.monotonic()
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
        dumped - started,
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
    for name, ours, found in (
        ("initial state", python.initial, checker.initial),
        ("state", python.states, checker.states),
    ):
        if only := _first(ours - found):
            return f"{name} in Python only: {_state(only)}"
        if only := _first(found - ours):
            return f"{name} in the checker only: {_state(only)}"
    # One object for equal states: the sets of steps are then compared without looking into states again.
    own = {state: state for state in python.states}
    same = {id(state): own[state] for state in checker.states}
    theirs = frozenset((same.get(id(a), a), action, same.get(id(b), b)) for a, action, b in checker.edges)
    for where, edges in (("Python", python.edges - theirs), ("the checker", theirs - python.edges)):
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
    names = {(e.name, rule.name): rule_name(ir, rule) for e in ir.events for rule in rules(ir, e)}
    found = exploration(machine)
    states: list[GraphState] = []
    for snapshot in found.states:
        pairs = [("state", snapshot.state), *((f.name, plain(getattr(snapshot, f.name), f.type)) for f in fields)]
        states.append(frozenset([("m", function(pairs))]))
    edges = frozenset((states[source], names[event, rule], states[to]) for source, event, rule, to in found.edges)
    return Graph(frozenset(states[: found.initial]), frozenset(states), edges)


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
