"""Properties of a machine: what is claimed of every instance, declared beside its table.

Rules of this file:

- A property speaks of the state and the fields of one instance, in the expressions of the rules; a
  state stands for "the instance is in it". It never changes how the machine steps.
- One that says nothing of the machine is an error, since it would pass whatever the table does.
- Nothing is assumed of the surroundings that a property does not say: without `fair`, no event need
  ever come.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import ir
from .display import show
from .expressions import Bool, lift, node_of
from .loose import among, made
from .misuse import Asked
from .names import BOUND
from .problems import caller, report

if TYPE_CHECKING:
    from .explore import Exploration
    from .machine import Event, Machine


@dataclass(eq=False)
class Claimed(Asked):
    """A property as the class body holds it. Make it with `always`, `never`, `reachable`, `leads_to`.

    What was no condition is None: it has been reported.
    """

    kind: ir.Claim
    condition: ir.Node | None
    then: ir.Node | None = None
    fair: tuple[Any, ...] = ()
    name: str = ""
    where: str = field(default_factory=caller)

    def __post_init__(self) -> None:
        made(self, self.where)

    def __str__(self) -> str:
        conditions = [show(node) for node in (self.condition, self.then) if node is not None]
        return f"{self.kind}({', '.join(conditions)})"


def always(condition: Bool) -> Claimed:
    """`condition` holds in every state that the machine reaches."""
    return Claimed("always", _bool(condition), where=caller())


def never(condition: Bool) -> Claimed:
    """`condition` holds in no state that the machine reaches."""
    return Claimed("never", _bool(condition), where=caller())


def reachable(condition: Bool) -> Claimed:
    """The machine can reach a state in which `condition` holds."""
    return Claimed("reachable", _bool(condition), where=caller())


def leads_to(condition: Bool, then: Bool, *, fair: type[Event] | tuple[type[Event], ...] = ()) -> Claimed:
    """Wherever `condition` holds, `then` holds there or at some later moment.

    `fair` names the events that can be relied on: each of them comes in the end, if from some moment
    on it could always change something. No other event need ever come.
    """
    relied_on = tuple(fair) if isinstance(fair, (tuple, list)) else (fair,)
    return Claimed("leads_to", _bool(condition), _bool(then), relied_on, where=caller())


def _bool(condition: Any) -> ir.Node | None:
    node = node_of(condition)
    if node is None and not isinstance(condition, bool):
        report(repr(condition), "is no expression over states and fields", "write it as in UNLOCKED & (coins == 0)")
        return None
    if node is not None and node.type != ir.BOOL:
        mend = f"compare it with something: {condition} == ..."
        report(str(condition), f"is a {node.type} where a Bool is needed", mend)
        return None
    return lift(condition, ir.BOOL)


# -- lowering ------------------------------------------------------------------------------------


def lower_properties(
    body: Mapping[str, Any],
    states: Mapping[str, Any],
    fields: Mapping[str, Any],
    events: Mapping[str, type],
    reported: Collection[Any] = (),
) -> tuple[ir.Property, ...]:
    """The properties of a class body in order of declaration.

    `events` are those that have a row, `reported` those of which it was told already what is wrong.
    """
    found = [(name, value) for name, value in body.items() if isinstance(value, Claimed) and value.name == name]
    for name, claimed in found:
        place = f"property {name}"
        if name != name.lower() or name.startswith("_") or not name.isascii() or BOUND.fullmatch(name):
            mend = "give it a lower-case ASCII name that is not _..., m, a_... or bound1"
            report(place, "is no name for a property", mend, claimed.where)
        for node in filter(None, (claimed.condition, claimed.then)):
            _check(place, node, states, fields, claimed.where)
        for event in claimed.fair:
            if not among(event, events.values()) and not among(event, reported):
                known = ", ".join(events) or "none, there is no event"
                named = getattr(event, "__name__", repr(event))
                report(place, f"{named} is no event of this machine with a row", f"name one of {known}", claimed.where)
    known = {event: event.__name__ for event in events.values()}
    return tuple(
        ir.Property(
            name, c.kind, c.condition or ir.TRUE, c.then, tuple(known[e] for e in c.fair if among(e, known)), c.where
        )
        for name, c in found
    )


def _check(place: str, node: ir.Node, states: Mapping[str, Any], fields: Mapping[str, Any], where: str) -> None:
    parts = list(node.walk())
    for part in parts:
        match part.op:
            case "arg":
                event, name = part.value if isinstance(part.value, tuple) else ("", part.value)
                what = f"reads {event}.{name}, which is gone when the step is done"
                report(place, what, "keep it in a field, and speak of the field", where)
            case "field" if part.value not in fields:
                known = ", ".join(fields) or "no field: it has none"
                what = f"{part.value or 'something without a name'} is not a field of this machine"
                report(place, what, f"speak of {known}", where)
            case "state" if part.value not in states:
                what = f"{part.value or 'a state without a name'} is not a state of this machine"
                report(place, what, f"use one of {', '.join(states)}", where)
    if not any(part.op in ("arg", "field", "state") for part in parts):
        what = f"'{show(node)}' names no state and no field, so that it says nothing of the machine"
        report(place, what, "speak of a state or a field", where)


# -- judging -------------------------------------------------------------------------------------


def says(claim: ir.Property) -> str:
    """The property in words: `never (UNLOCKED and (coins = 0))`."""
    condition = show(claim.condition)
    match claim.kind:
        case "leads_to":
            fair = f", if {' and '.join(claim.fair)} can be relied on" if claim.fair else ""
            assert claim.then is not None
            return f"{condition} leads to {show(claim.then)}{fair}"
        case kind:
            return f"{kind} {condition}"


def judge(machine: type[Machine], found: Exploration) -> Iterator[tuple[ir.Property, Any]]:
    """Each property but the temporal ones, with its first witness among the explored snapshots, or None.

    A witness of `always` and `never` breaks it, one of `reachable` shows that it holds.
    """
    from .compiler import predicate

    for claim in machine.ir.properties:
        if claim.kind == "leads_to":
            continue
        holds = predicate(machine, claim.condition)
        wanted = claim.kind != "always"
        yield claim, next((snapshot for snapshot in found.states if holds(snapshot) is wanted), None)
