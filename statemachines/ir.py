"""The internal form of a declared machine: plain frozen data that every projection reads.

Rules of this file:

- Only data. No operators are overloaded, nothing is evaluated, nothing refers back to a class body.
- A value in here is hashable and compares by content, so two declarations can be compared.
- Every expression reads the state *before* the step; a field is updated at most once in a step.
- A cell decides in order: its fences, then its (pairwise disjoint) branches, then its otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, Never

from .problems import report

Kind = Literal["go", "stay", "ignore", "refuse"]
Claim = Literal["always", "never", "reachable", "leads_to"]
TypeKind = Literal["bool", "nat", "enum", "id", "opt", "set", "map", "seq", "record", "note"]


@dataclass(frozen=True, slots=True)
class Type:
    """A type of fields, arguments and expressions.

    `name` names enums, id sorts and records; `members` are an enum's members or a record's field
    names; `args` are the element types: opt, set, seq: one; map: key, value; record: one a field.
    """

    kind: TypeKind
    name: str = ""
    args: tuple[Type, ...] = ()
    members: tuple[str, ...] = ()

    def __str__(self) -> str:
        inner = ", ".join(map(str, self.args))
        match self.kind:
            case "enum" | "id" | "record":
                return self.name
            case "bool" | "nat" | "note":
                return self.kind.capitalize()
            case _:
                return f"{self.kind.capitalize()}[{inner}]"


BOOL, NAT, NOTE = Type("bool"), Type("nat"), Type("note")


@dataclass(frozen=True, slots=True)
class Node:
    """One expression.

    `op` is a key of `operators.OPERATORS`, or a leaf: `const` (value: the Python value), `field`
    (value: its name), `arg` (value: its name; the event is the one of the cell) or, in properties
    only, `state` (value: its name): the instance is in that state.
    A set, map or sequence constant is always the empty one: a `const` with value `()`.
    No value, `none`, is a `const` of an opt type with value `None`.
    """

    op: str
    args: tuple[Node, ...]
    type: Type
    value: object = None

    def walk(self) -> Iterator[Node]:
        """This node and all below it."""
        yield self
        for arg in self.args:
            yield from arg.walk()


TRUE = Node("const", (), BOOL, True)


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the machine, or of an event or output (those have no `initial`).

    `given` fields are fixed when an instance is born (`Gate.new(ranks=...)`) and never updated.
    `initial` is a Python value; a set, map or sequence starts empty: `()`.
    """

    name: str
    type: Type
    initial: object = None
    given: bool = False


@dataclass(frozen=True, slots=True)
class Event:
    """An event. `bases` are its event bases, nearest first, without the root.

    `outside` events are on the wire; the others are raised inside the process (engine, timers).
    `fenced` names the fields that a fence of the table compares, in order of declaration.
    """

    name: str
    fields: tuple[Field, ...]
    bases: tuple[str, ...]
    outside: bool
    fenced: tuple[str, ...]
    doc: str


@dataclass(frozen=True, slots=True)
class Output:
    """What the shell must do after a step."""

    name: str
    fields: tuple[Field, ...]
    doc: str


@dataclass(frozen=True, slots=True)
class Update:
    field: str
    value: Node


@dataclass(frozen=True, slots=True)
class Emit:
    output: str
    args: tuple[tuple[str, Node], ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """One way a cell can go.

    `rule` is the declared name (`seals`); branches of one event with equal rules are equal but for
    the target of `stay`. `target` is the state after: for stay, ignore and refuse the same one.
    `reason` and `retry` belong to refusals: `reason` is the refusal's declared name, `text` says it
    to a person, `retry` whether the same event may be taken later. `where` is "file:line".
    """

    rule: str
    guard: Node
    kind: Kind
    target: str
    reason: str = ""
    text: str = ""
    retry: bool = False
    updates: tuple[Update, ...] = ()
    outputs: tuple[Emit, ...] = ()
    where: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """What one event does in one state: fences in order, else the branch that holds, else otherwise.

    `fences` are guarded branches of kind ignore or refuse. `otherwise` has guard TRUE.
    """

    event: str
    state: str
    fences: tuple[Branch, ...]
    branches: tuple[Branch, ...]
    otherwise: Branch

    def all(self) -> tuple[Branch, ...]:
        return (*self.fences, *self.branches, self.otherwise)


_SCOPE = 'write Scope(nat=1, nats=(("epoch", 2),), ids=(("Rank", 2),))'


@dataclass(frozen=True, slots=True, init=False)
class Scope:
    """How far a machine is explored alone: bounds by name of a nat, sizes by name of an id sort.

    A nat (field, argument or member of a record) takes 0..nats[name]; one that is not named takes
    0..nat. A step whose result has a nat beyond its bound, or a sequence longer than the bound of its
    field, is not part of the explored graph. An id sort S of size 2 has the members "S1" and "S2". A
    map argument ranges over all total maps and the empty map, a set argument over all subsets, a seq
    argument over sequences up to length 1.
    """

    nat: int = 1
    nats: tuple[tuple[str, int], ...] = ()
    ids: tuple[tuple[str, int], ...] = ()

    def __init__(
        self,
        nat: int = 1,
        nats: tuple[tuple[str, int], ...] = (),
        ids: tuple[tuple[str, int], ...] = (),
        **others: Never,
    ) -> None:
        for name in others:
            report("Scope", f"has no {name}: it has nat, nats and ids", _SCOPE)
        if not _is_natural(nat):
            report("Scope", f"{nat!r} is no natural", _SCOPE)
            nat = 1
        for name, value in (("nat", nat), ("nats", _pairs(nats)), ("ids", _pairs(ids))):
            object.__setattr__(self, name, value)

    def bound(self, name: str) -> int:
        return dict(self.nats).get(name, self.nat)

    def members(self, sort: str) -> tuple[str, ...]:
        return tuple(f"{sort}{i + 1}" for i in range(dict(self.ids).get(sort, 1)))


def _pairs(named: Any) -> tuple[tuple[str, int], ...]:
    """Names and numbers as pairs, each name once; what is none is reported."""
    try:
        pairs = tuple((name, size) for name, size in (named.items() if isinstance(named, dict) else named))
        if len(dict(pairs)) == len(pairs) and all(isinstance(name, str) and _is_natural(size) for name, size in pairs):
            return pairs
    except (TypeError, ValueError):
        pass
    report("Scope", f"{named!r} is not one natural for each of some names", _SCOPE)
    return ()


def _is_natural(value: object) -> bool:
    return type(value) is int and value >= 0


@dataclass(frozen=True, slots=True)
class Property:
    """What is claimed of every instance, over its state and fields; no part of how it steps.

    `always`: `condition` holds in every reachable state. `never`: in none. `reachable`: in at least
    one. `leads_to`: wherever `condition` holds, `then` holds there or later, if each event in `fair`
    comes in the end once it could always change something. `where` is "file:line".
    """

    name: str
    kind: Claim
    condition: Node
    then: Node | None = None
    fair: tuple[str, ...] = ()
    where: str = ""


@dataclass(frozen=True, slots=True)
class Ir:
    """A machine. `states` in order of declaration, the first is initial; `cells` row by row."""

    name: str
    doc: str
    states: tuple[str, ...]
    fields: tuple[Field, ...]
    events: tuple[Event, ...]
    outputs: tuple[Output, ...]
    cells: tuple[Cell, ...]
    scope: Scope
    where: str = ""
    properties: tuple[Property, ...] = ()

    def event(self, name: str) -> Event:
        return next(e for e in self.events if e.name == name)

    def output(self, name: str) -> Output:
        return next(o for o in self.outputs if o.name == name)

    def field(self, name: str) -> Field:
        return next(f for f in self.fields if f.name == name)

    def cell(self, event: str, state: str) -> Cell:
        return next(c for c in self.cells if c.event == event and c.state == state)
