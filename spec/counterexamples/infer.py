"""Which event of a machine, with which arguments, leads from one snapshot to another.

Rules of this file:

- The table as it is declared now decides first: an event that it takes from the one snapshot to the
  other. What the table does not explain may be the step of another table, one with a rule broken: then
  an effect of the event counts, whatever its guard says, and at last the event that comes nearest.
- Arguments are chosen among what the two states, and the messages on their way, name.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...statemachines.annotations import class_of
from ...statemachines.interpreter import evaluate
from ...statemachines.ir import Branch, Event, Ir, Type
from ...statemachines.values import encode
from ..checkers.tla_values import Function, ModelValue
from ..emitter.module import rule_name
from ..emitter.rules import rules
from .form import MachineStep
from .records import Path, parts, python

MOST = 20_000
"""How many choices of arguments are tried for an event."""
MOST_EFFECTS = 2_000
"""As many where every effect of the event is tried too."""
MOST_BETWEEN, MOST_STANDS = 500, 60
"""As many for each of several events in a row, and how many snapshots between them are followed."""


@dataclass(slots=True)
class Pool:
    """What states name: numbers, ids, whole sets and sequences, and messages by the event that they carry."""

    nats: set[int] = field(default_factory=set)
    ids: dict[Any, None] = field(default_factory=dict)
    collections: dict[Any, None] = field(default_factory=dict)
    messages: list[tuple[str, str, Function]] = field(default_factory=list)

    def add(self, value: Any) -> None:
        match value:
            case bool():
                return
            case int():
                self.nats.add(value)
            case str() | ModelValue():
                self.ids[value] = None
            case frozenset():
                self.collections[value] = None
                for item in sorted(value, key=str):
                    self.add(item)
            case tuple() | Function():
                if isinstance(value, tuple):
                    self.collections[value] = None
                    if value and all(isinstance(part, (str, int, ModelValue)) for part in value):
                        self.ids[value] = None
                elif {"to", "ev"} <= set(value):
                    self.messages.append((str(value["to"]), str(value["ev"]), value))
                for _, inner in parts(value):
                    self.add(inner)
                if isinstance(value, Function) and not all(isinstance(key, str) and key.islower() for key in value):
                    for key in sorted(value, key=str):
                        self.add(key)


def step_of(
    machine: Any, path: Path, actor: str, before: Any, after: Any, names: Sequence[str], pool: Pool
) -> MachineStep | None:
    """The best explanation of a step by one of the events named; None where there is no event to try."""
    ir: Ir = machine.ir
    tried: list[tuple[Event, list[dict[str, Any]]]] = []
    for name in names:
        event = ir.event(name)
        sent = [m for to, ev, m in pool.messages if ev == name and to in (actor, actor.rpartition(".")[2])]
        # What a message says is what arrives; only where none fits may it have been another one.
        for given in [*([m] for m in sent), []]:
            choices = list(itertools.islice(_choices(ir, event, before, after, pool, given), MOST))
            tried.append((event, choices))
            fitting = [c for c in choices if _leads(machine, name, c, before, after)]
            acting = [c for c in fitting if _acts(machine, name, c, before)]
            if best := acting or fitting:
                return _step(path, machine, event, best, follows=True)
    for event, choices in tried:
        effects = _effects(ir, event, before)
        fitting = [c for c in choices[:MOST_EFFECTS] if any(effect(c) == after for effect in effects)]
        if fitting:
            return _step(path, machine, event, fitting, follows=False)
    near = [(_distance(machine, event, c, before, after), event, c) for event, cs in tried for c in cs[:MOST_EFFECTS]]
    if not near:
        return None
    least = min(distance for distance, _, _ in near)
    event = next(e for distance, e, _ in near if distance == least)
    best = [c for distance, e, c in near if distance == least and e is event]
    return _step(path, machine, event, best, follows=False)


def steps_of(
    machine: Any, path: Path, before: Any, after: Any, names: Sequence[str], pool: Pool
) -> list[MachineStep] | None:
    """Events in this order that lead, each acting, from one snapshot to the other; some may be left out."""
    reached: dict[Any, list[MachineStep]] = {before: []}
    for name in names:
        event = machine.ir.event(name)
        for stand, done in list(reached.items()):
            for chosen in itertools.islice(_choices(machine.ir, event, stand, after, pool, ()), MOST_BETWEEN):
                came = machine.step(stand, getattr(machine, name)(**chosen))[0]
                if came not in reached and len(reached) < MOST_STANDS:
                    reached[came] = [*done, _step(path, machine, event, [chosen], follows=True)]
    return reached.get(after)


def event_of_action(machine: Any, action: str) -> str:
    """The event whose rule the generated module calls `action`, or the event of that name; else empty."""
    ir: Ir = machine.ir
    for event in ir.events:
        if event.name == action or any(rule_name(ir, rule) == action for rule in rules(ir, event)):
            return event.name
    return ""


def _step(path: Path, machine: Any, event: Event, best: list[dict[str, Any]], follows: bool) -> MachineStep:
    first = best[0]
    guessed = tuple(
        f.name for f in event.fields if f.type.kind != "note" and any(c[f.name] != first[f.name] for c in best)
    )
    arguments = {f.name: encode(f.type, first[f.name]) for f in event.fields if f.type.kind != "note"}
    return MachineStep(".".join(path), machine.ir.name, event.name, arguments, guessed, follows)


# -- what an event does ----------------------------------------------------------------------------


def _leads(machine: Any, name: str, chosen: dict[str, Any], before: Any, after: Any) -> bool:
    return machine.step(before, getattr(machine, name)(**chosen))[0] == after


def _acts(machine: Any, name: str, chosen: dict[str, Any], before: Any) -> bool:
    return machine.step(before, getattr(machine, name)(**chosen))[1].kind in ("go", "stay")


def _distance(machine: Any, event: Event, chosen: dict[str, Any], before: Any, after: Any) -> tuple[int, bool]:
    """In how many fields the table ends elsewhere; of equal ones, an event that it takes is nearer."""
    came, outcome = machine.step(before, getattr(machine, event.name)(**chosen))
    return sum(a != b for a, b in zip(came.values(), after.values(), strict=True)), outcome.kind in ("ignore", "refuse")


def _effects(ir: Ir, event: Event, before: Any) -> list[Callable[[dict[str, Any]], Any]]:
    """Each effect that the event has in some state, as a function of its arguments, guards aside."""
    branches: dict[str, Branch] = {}
    for cell in ir.cells:
        if cell.event == event.name:
            branches.update((b.rule, b) for b in (*cell.branches, cell.otherwise) if b.kind in ("go", "stay"))
    fields = {f.name: getattr(before, f.name) for f in ir.fields}

    def effect(branch: Branch) -> Callable[[dict[str, Any]], Any]:
        def of(chosen: dict[str, Any]) -> Any:
            changed = {u.field: evaluate(u.value, fields, chosen) for u in branch.updates}
            return before.replace(**changed, **({"state": branch.target} if branch.kind == "go" else {}))

        return of

    return [effect(branch) for branch in branches.values()]


# -- arguments -------------------------------------------------------------------------------------


def _choices(
    ir: Ir, event: Event, before: Any, after: Any, pool: Pool, sent: Sequence[Function]
) -> Iterator[dict[str, Any]]:
    """Arguments of an event: what a message says, or those first that a field of the same name has."""
    cells = [c for c in ir.cells if c.event == event.name]
    nodes = [n for c in cells for b in c.all() for n in (b.guard, *(u.value for u in b.updates))]
    nodes += [n for c in cells for b in c.all() for e in b.outputs for _, n in e.args]
    read = {str(n.value) for node in nodes for n in node.walk() if n.op == "arg"}
    spaces: list[list[Any]] = []
    for f in event.fields:
        said = _fitting(f.type, [m[f.name] for m in sent if f.name in m])
        ours = [getattr(s, f.name) for s in (after, before) if _same(ir, f.name, f.type)]
        values = said or _unlike([*_inner(f.type, ours), *_values(f.type, ir, before, after, pool)])
        spaces.append(values if f.name in read else values[:1])
    for chosen in itertools.product(*spaces):
        yield dict(zip((f.name for f in event.fields), chosen, strict=True))


def _same(ir: Ir, name: str, kind: Type) -> bool:
    return any(f.name == name and kind in (f.type, *f.type.args) for f in ir.fields)


def _inner(kind: Type, values: list[Any]) -> list[Any]:
    """Values of a field for an argument of its type, or of the type in its option."""
    return [v for v in values if v is not None or kind.kind == "opt"]


def _fitting(kind: Type, values: list[Any]) -> list[Any]:
    found = []
    for value in values:
        try:
            found.append(python(kind, value))
        except (ValueError, TypeError, KeyError):
            continue
    return found


def _unlike(values: list[Any]) -> list[Any]:
    """Each value once, in order; maps are not hashable, so their text is the key."""
    found: dict[Any, Any] = {}
    for value in values:
        found.setdefault((type(value), repr(value) if isinstance(value, dict) else value), value)
    return list(found.values())


def _values(kind: Type, ir: Ir, before: Any, after: Any, pool: Pool) -> list[Any]:
    """Every value of a type that the states name, those of the machine itself first."""
    own = [getattr(s, f.name) for s in (after, before) for f in ir.fields if f.type == kind]
    match kind.kind:
        case "bool":
            return [False, True]
        case "nat":
            return sorted(pool.nats)
        case "enum":
            return list(class_of(kind))
        case "id":
            inside = [v for s in (after, before) for f in ir.fields for v in _ids(kind, f.type, getattr(s, f.name))]
            return [*own, *sorted(inside), *_fitting(kind, [*pool.ids, *sorted(pool.nats)])]
        case "opt":
            return [None, *_values(kind.args[0], ir, before, after, pool)]
        case "set" | "seq":
            empty = frozenset[Any]() if kind.kind == "set" else ()
            return [*own, *_fitting(kind, list(pool.collections)), empty]
        case "map":
            return [*own, {}]
        case "record":
            spaces = [_values(arg, ir, before, after, pool) for arg in kind.args]
            made = itertools.islice(itertools.product(*spaces), MOST_EFFECTS)
            return [class_of(kind)(**dict(zip(kind.members, values, strict=True))) for values in made]
        case _:
            return [""]


def _ids(wanted: Type, kind: Type, value: Any) -> Iterator[Any]:
    """The ids of one sort inside a value."""
    match kind.kind:
        case _ if kind == wanted:
            yield value
        case "set" | "seq":
            for item in value:
                yield from _ids(wanted, kind.args[0], item)
        case "opt":
            for item in () if value is None else (value,):
                yield from _ids(wanted, kind.args[0], item)
        case "map":
            for key, item in value.items():
                yield from (*_ids(wanted, kind.args[0], key), *_ids(wanted, kind.args[1], item))
