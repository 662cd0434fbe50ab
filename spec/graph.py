"""The reachable graph of a machine by the compiled step, and how it differs from what a checker found.

Rules of this file:

- Both graphs are compared by content, in the values of `checkers.tla_values`; notes are left out.
- An edge is (state, action, state); the action is the rule's name in the generated module. All
  rules are edges, also those that ignore and refuse.
- Python enumerates the same arguments as the generated module: those that the event's rules read.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from ..statemachines.explore import Exploration
from ..statemachines.explore import explore as exploration
from ..statemachines.ir import Ir, Scope, Type
from .checkers import tla_checker, tlc
from .checkers.model import Config, Graph, GraphState, Model
from .checkers.tla_values import function, show
from .emitter import constants, emit, emit_alone
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


def compare(
    machine: Any,
    timeout: float = 600.0,
    scope: Scope | None = None,
    found: Exploration | None = None,
    checkers: Sequence[str] = (tla_checker.NAME, tlc.NAME),
) -> GraphReport:
    """Explore `machine` (a `Machine` class) in `scope`, by default its declared one, by Python and the `checkers`.

    Holds Python's and TLC's graphs equal, states and edges, and tla-checker's verdict and count of
    distinct states equal to Python's. `found` is what Python's exploration of this scope gave, where
    it is known already. Raises CheckerMissing where a checker is not installed, and RuntimeError where
    TLC cannot explore the module to its end.
    """
    ir = replace(machine.ir, scope=scope or machine.ir.scope)
    difference, count, checker_seconds = "", 0, 0.0
    with ThreadPoolExecutor(1) as pool:
        started = time.monotonic()
        dump = pool.submit(tlc.graph, alone(ir), timeout=timeout) if tlc.NAME in checkers else None
        ours = explore(machine, ir.scope, found)
        explored = time.monotonic()
        if tla_checker.NAME in checkers:
            bound = len(ours.states) + 1
            checked = tla_checker.check(alone(ir, only_changes=True), max_states=bound, timeout=timeout)
            count, checker_seconds = checked.distinct, checked.seconds
            if not checked.ok:
                difference = f"tla-checker: {checked.verdict} {checked.violated or ''} {checked.detail}".rstrip()
            elif count != len(ours.states):
                difference = f"tla-checker finds {count} states, Python {len(ours.states)}"
        theirs = dump.result() if dump else ours
        dumped = time.monotonic()
    difference = differ(ours, theirs) or difference
    return GraphReport(
        machine.ir.name,
        len(ours.states),
        len(ours.edges),
        count,
        difference,
        explored - started,
        dumped - started,
        checker_seconds,
    )


def alone(ir: Ir, only_changes: bool = False) -> Model:
    """The generated module that explores a machine alone, in the scope of `ir`.

    With `only_changes` the rules that leave the record as it is are left out: the states are the
    same, and the exploration is three times as fast. Properties over runs are then left out too.
    """
    members = {name: "{" + ", ".join(f'"{m}"' for m in ids) + "}" for name, ids in constants(ir).items()}
    config = Config(constants=members, next="Changes" if only_changes else "Next", invariants=("TypeOK",))
    modules = {ir.name: emit(ir), f"MC{ir.name}": emit_alone(ir, temporal=not only_changes)}
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


def explore(machine: Any, scope: Scope | None = None, found: Exploration | None = None) -> Graph:
    """The graph of `machine` in `scope`, by default its declared one, by the pure step, or out of what it `found`."""
    ir: Ir = machine.ir
    names = {(e.name, rule.name): rule_name(ir, rule) for e in ir.events for rule in rules(ir, e)}
    found = found or exploration(machine, scope)
    states: list[GraphState] = [frozenset([("m", record(snapshot))]) for snapshot in found.states]
    edges = frozenset((states[source], names[event, rule], states[to]) for source, event, rule, to in found.edges)
    return Graph(frozenset(states[: found.initial]), frozenset(states), edges)


def record(snapshot: Any) -> Any:
    """A snapshot as the record that the generated module has for it."""
    fields = [f for f in snapshot.machine.ir.fields if f.type.kind != "note"]
    return function([("state", snapshot.state), *((f.name, plain(getattr(snapshot, f.name), f.type)) for f in fields)])


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
