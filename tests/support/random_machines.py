"""Random small machines, declared in the language: every type, fences, guards, updates, outputs, refusals.

Rules of this file:

- A machine is made of bytes that Hypothesis draws at once: each choice takes one, and the first option
  when none is left. So machines differ widely, and one that shows a fault is made small.
- Its scope is small: the values of its fields together are bounded before it is declared.
- Its states have its own name in theirs, so that the records of several machines never meet.
"""

import math
import types
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from typing import Any

from hypothesis import strategies as st

from sluicegate.statemachines import (
    Bool,
    EnumOf,
    Event,
    Id,
    Machine,
    MapOf,
    Nat,
    Note,
    Opt,
    Output,
    Record,
    Refuse,
    Scope,
    SeqOf,
    SetOf,
    State,
    Table,
    choose,
    columns,
    either,
    fence,
    go,
    ignore,
    none,
    row,
    stay,
)
from sluicegate.statemachines.annotations import type_of
from sluicegate.statemachines.expressions import Change, Expr, wrap
from sluicegate.statemachines.ir import Node, Type


class Item(Id):
    """What sets, maps and records are of."""


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Span(Record):
    item: Item
    size: Nat


class Pack(Record):
    span: Span
    items: SetOf[Item]
    open: Bool


FIELDS: list[Any] = [
    Bool, Nat, EnumOf[Colour], Opt[Nat], Opt[Item], Opt[Span], Opt[SetOf[Item]], SetOf[Item], SetOf[Nat],
    SetOf[EnumOf[Colour]], SetOf[Span], SetOf[SetOf[Item]], MapOf[Item, Nat], MapOf[Nat, Bool],
    MapOf[Item, SetOf[Item]], MapOf[EnumOf[Colour], Span], SeqOf[Item], SeqOf[Nat], SeqOf[Span],
    SeqOf[SetOf[Item]], Opt[Pack], Note,
]  # fmt: skip
ARGUMENTS: list[Any] = [
    Bool, Nat, EnumOf[Colour], Item, Opt[Nat], Opt[Item], SetOf[Item], SetOf[Nat], MapOf[Item, Nat], SeqOf[Item], Span,
    Pack, Opt[Span], Note,
]  # fmt: skip
GIVEN: list[Any] = [Item, SetOf[Item], Nat]
SIZE = 400
"""How many values the fields of a machine may have together."""


def size(kind: Type) -> int:
    """How many values a field of this type has, within a scope of naturals up to 1 and two of each id."""
    match kind.kind:
        case "note":
            return 1
        case "bool" | "nat" | "id" | "enum":
            return 2
        case "opt" | "seq":
            return 1 + size(kind.args[0])
        case "set":
            return 2 ** size(kind.args[0])
        case "map":
            return (1 + size(kind.args[1])) ** size(kind.args[0])
        case "record":
            return math.prod(map(size, kind.args))


CHOICES = 400
"""Bytes that a machine is made of."""


@st.composite
def machines(draw: st.DrawFn, name: str = "Drawn") -> type[Machine]:
    """Machines called `name`, with up to three states, five fields and five events."""
    return _Draft(draw(st.binary(min_size=CHOICES, max_size=CHOICES)), name).machine()


class _Draft:
    def __init__(self, data: bytes, name: str) -> None:
        self.data, self.name = iter(data), name
        self.body: dict[str, Any] = {}

    def one(self, options: Any) -> Any:
        options = list(options)
        return options[self.below(len(options))]

    def below(self, n: int) -> int:
        return next(self.data, 0) % n

    def machine(self) -> type[Machine]:
        self.states = [State() for _ in range(1 + self.below(3))]
        self.body |= {f"{self.name.upper()}_{'ABC'[i]}": s for i, s in enumerate(self.states)}
        self.fields()
        self.refusals = [Refuse("no"), Refuse("not yet", retry=True)]
        self.outputs()
        events, parts = self.events()
        rows = [row(e, *self.cells(e)) for e in events]
        used = {id(c) for r in rows for c in r.cells} | {id(b) for r in rows for c in r.cells for b in _inside(c)}
        used |= {id(b.refusal) for p in parts for b in p.branches}
        self.body |= {f"no_{i}": r for i, r in enumerate(self.refusals) if id(r) in used}
        table = Table(*parts, columns(*self.states), *rows)
        scope = Scope(nat=1, ids=(("Item", 2),) if self.has_items(events) else ())

        def fill(names: dict[str, Any]) -> None:
            names["__module__"] = __name__
            for key, value in {**self.body, "scope": scope, "table": table}.items():
                names[key] = value

        return types.new_class(self.name, (Machine,), exec_body=fill)

    def has_items(self, events: list[type[Event]]) -> bool:
        found = [f.node.type for f in self.own.values()] + [t for e in events for t in e.arguments.values()]
        return any("Item" in str(p) or p.kind == "record" for t in found for p in _parts(t))

    # -- what there is -------------------------------------------------------------------------

    def fields(self) -> None:
        self.own: dict[str, Expr] = {}
        self.fixed: set[str] = set()
        left = SIZE
        for i in range(1 + self.below(5)):
            hint = self.one([h for h in FIELDS if size(type_of(h)) <= left])
            left //= size(type_of(hint))
            self.own[f"f{i}"] = self.field(type_of(hint), hint)
        if left >= 4 and self.below(3) == 0:
            hint = self.one(GIVEN)
            self.own["g"] = self.field(type_of(hint), hint).given()
            self.fixed.add("g")
        # An expression over a field needs its name, which the class body would give it only later.
        for key, field in self.own.items():
            field.bind(key)
            self.body[key] = field

    def field(self, kind: Type, hint: Any) -> Expr:
        match kind.kind:
            case "bool":
                return Bool(self.below(2) == 1)
            case "nat":
                return Nat(self.below(2))
            case "enum":
                return EnumOf(self.one(Colour))
            case "id":
                return Item()
            case "note":
                return Note()
            case "opt":
                return Opt(*hint.__args__)
            case "set":
                return SetOf(*hint.__args__)
            case "map":
                return MapOf(*hint.__args__)
            case _:
                return SeqOf(*hint.__args__)

    def outputs(self) -> None:
        self.told: list[type[Output]] = []
        for i in range(self.below(3)):
            hints = {f"o{j}": self.one(ARGUMENTS) for j in range(self.below(3))}
            made = types.new_class(f"Told{i}", (Output,), exec_body=lambda n, h=hints: n.update(__annotations__=h))
            self.told.append(made)
            self.body[f"Told{i}"] = made

    def events(self) -> tuple[list[type[Event]], list[Any]]:
        made: list[type[Event]] = []
        parts: list[Any] = []
        base: type[Event] = Event
        numbers = [f for k, f in self.own.items() if f.node.type.kind == "nat"]
        if numbers and self.below(2):
            base = types.new_class("Control", (Event,), exec_body=lambda n: n.update(__annotations__={"epoch": Nat}))
            self.body["Control"] = base
            number: Any = self.one(numbers)
            epoch: Any = base.epoch  # pyright: ignore[reportAttributeAccessIssue]
            parts.append(
                fence(
                    base,
                    self.refusals[0].when(epoch < number),
                    self.one([ignore, self.refusals[1]]).when(epoch > number),
                )
            )
        for i in range(2 + self.below(4)):
            hints: dict[str, Any] = {}
            left = 16
            for j in range(self.below(3)):
                hint = self.one([h for h in ARGUMENTS if size(type_of(h)) <= left])
                left //= size(type_of(hint))
                hints[f"a{j}"] = hint
            of = base if self.below(2) else Event
            event = types.new_class(f"E{i}", (of,), exec_body=lambda n, h=hints: n.update(__annotations__=h))
            made.append(event)
            self.body[f"E{i}"] = event
        if base is not Event and not any(issubclass(e, base) for e in made):
            del self.body["Control"]
            parts = []
        return made, parts

    # -- cells ---------------------------------------------------------------------------------

    def cells(self, event: type[Event]) -> list[Any]:
        """A cell for each state; one may be in several."""
        made: list[Any] = []
        for _ in self.states:
            made.append(self.one(made) if made and self.below(4) == 0 else self.cell(event))
        return made

    def cell(self, event: type[Event]) -> Any:
        made: Any
        match self.below(8):
            case 0:
                return self.one(self.states)
            case 1:
                return self.one([ignore, *self.refusals])
            case 2 | 3:
                made = self.action(event)
            case 4 | 5:
                made = self.guarded(event, self.condition(event, 2)).orelse(self.otherwise(event))
            case _:
                first, second = self.condition(event, 2), self.condition(event, 1)
                made = choose(
                    self.guarded(event, first), self.guarded(event, ~first & second), orelse=self.otherwise(event)
                )
        return self.bound(made) if self.below(4) else made

    def bound(self, made: Any) -> Any:
        """A rule or a part of one under a name of its own."""
        made = replace(made, name=f"r{len(self.body)}")
        self.body[made.name] = made
        return made

    def guarded(self, event: type[Event], *guards: Bool) -> Any:
        kind = self.one([self.action(event)] * 4 + [ignore, self.refusals[0]])
        return self.bound(kind.when(*guards))

    def otherwise(self, event: type[Event]) -> Any:
        return self.one([ignore, *self.refusals, *self.states]) if self.below(2) else self.action(event)

    def action(self, event: type[Event]) -> Any:
        made = go(self.one(self.states)) if self.below(2) else stay()
        names = [k for k in self.own if k not in self.fixed]
        changed = dict.fromkeys(self.one(names) for _ in range(1 + self.below(3))) if names else {}
        made = made.do(*(self.change(event, self.own[k]) for k in changed))
        possible = [t for t in self.told if all(self.some(event, k) for k in t.arguments.values())]
        if possible and self.below(2):
            told = self.one(possible)
            made = made.emit(told(**{k: self.value(event, t, 1) for k, t in told.arguments.items()}))
        return made

    def change(self, event: type[Event], field: Any) -> Change:
        kind = field.node.type
        ways: list[Callable[[], Change]] = [lambda: field.set(self.value(event, kind, 2))]
        if kind.kind in ("opt", "set", "map", "seq"):
            ways.append(field.clear)
        if kind.kind == "set" and self.some(event, kind.args[0]):
            ways += [lambda: field.add(self.value(event, kind.args[0], 1))] * 2
            ways.append(lambda: field.remove(self.value(event, kind.args[0], 1)))
        if kind.kind == "map" and all(self.some(event, t) for t in kind.args):
            key, item = kind.args
            ways += [lambda: field.put(self.value(event, key, 1), self.value(event, item, 1))] * 2
            ways.append(lambda: field.remove(self.value(event, key, 1)))
        if kind.kind == "seq":
            ways.append(field.drop_first)
            if self.some(event, kind.args[0]):
                ways += [lambda: field.append(self.value(event, kind.args[0], 1))] * 2
        return self.one(ways)()

    # -- expressions ---------------------------------------------------------------------------

    def leaves(self, event: type[Event], kind: Type) -> list[Any]:
        """Fields and arguments of a type, and parts of records that have it."""
        roots: list[Any] = [*self.own.values(), *(getattr(event, a) for a in event.arguments)]
        found: list[Any] = []
        while roots:
            root = roots.pop()
            if root.node.type == kind:
                found.append(root)
            if root.node.type.kind == "record":
                roots += [getattr(root, member) for member in root.node.type.members]
        return found

    def value(self, event: type[Event], kind: Type, depth: int) -> Any:
        """An expression of a type, or a plain value where there is one."""
        found: list[Callable[[], Any]] = [lambda leaf=leaf: leaf for leaf in self.leaves(event, kind)]
        found *= 2
        found += self.constants(kind)
        if depth or not found:
            found += self.operations(event, kind, max(depth - 1, 0))
        return self.one(found)()

    def expression(self, event: type[Event], kind: Type, depth: int) -> Any:
        """An expression of a type that is no plain value."""
        made = self.value(event, kind, depth)
        if isinstance(made, Expr) and "node" in made.__dict__:
            return made
        return wrap(Node("const", (), kind, _constant(made)))

    def constants(self, kind: Type) -> list[Callable[[], Any]]:
        match kind.kind:
            case "bool":
                return [lambda: self.below(2) == 1]
            case "nat":
                return [lambda: self.below(3)]
            case "enum":
                return [lambda: self.one(Colour)]
            case "opt":
                return [lambda: none]
            case "note":
                return [lambda: "because"]
            case "set":
                return [frozenset]
            case "map":
                return [dict]
            case "seq":
                return [tuple]
            case _:
                return []

    def operations(self, event: type[Event], kind: Type, depth: int) -> list[Callable[[], Any]]:
        def of(k: Type) -> Any:
            return self.expression(event, k, depth)

        def plain(k: Type) -> Any:
            return self.value(event, k, depth)

        ways: list[Callable[[], Any]] = []
        if kind.kind != "note" and depth:
            ways.append(lambda: either(self.condition(event, depth), of(kind), plain(kind)))
        roots = [*self.own.values(), *(getattr(event, a) for a in event.arguments)]
        for root in roots:
            r, k = root, root.node.type
            if k.kind == "opt" and k.args[0] == kind:
                ways.append(lambda r=r: r.or_else(plain(kind)))
            if kind.kind == "opt" and k.kind == "seq" and k.args == kind.args:
                ways.append(lambda r=r: r.first())
            if kind.kind == "opt" and k.kind == "map" and k.args[1:] == kind.args and self.some(event, k.args[0]):
                ways.append(lambda r=r, k=k: r.get(of(k.args[0])))
            if kind.kind == "set" and k.kind == "map" and k.args[:1] == kind.args:
                ways.append(lambda r=r: r.keys())
            if kind.kind == "nat" and k.kind in ("set", "seq"):
                ways.append(lambda r=r: r.size())
        match kind.kind:
            case "bool":
                ways.append(lambda: self.condition(event, depth))
            case "nat" if depth or self.leaves(event, kind):
                ways += [
                    lambda: of(kind) + plain(kind),
                    lambda: of(kind) - plain(kind),
                    lambda: of(kind).max(plain(kind)),
                ]
            case "set":
                ways += [lambda: of(kind) | of(kind), lambda: of(kind) - of(kind)]
                if self.some(event, kind.args[0]):
                    ways += [
                        lambda: of(kind).including(plain(kind.args[0])),
                        lambda: of(kind).excluding(plain(kind.args[0])),
                    ]
            case "opt" if self.some(event, kind.args[0]):
                ways.append(lambda: wrap(Node("some", (of(kind.args[0]).node,), kind)))
            case "record" if all(self.some(event, t) for t in kind.args):
                cls = {"Span": Span, "Pack": Pack}[kind.name]
                ways.append(lambda: cls(**{m: of(t) for m, t in zip(kind.members, kind.args, strict=True)}))
            case _:
                pass
        return ways

    def some(self, event: type[Event], kind: Type) -> bool:
        """Whether an expression of a type can be written: ids have no constants."""
        if kind.kind == "id":
            return bool(self.leaves(event, kind))
        return all(self.some(event, t) for t in kind.args) if kind.kind == "record" else True

    def condition(self, event: type[Event], depth: int) -> Any:
        roots = [*self.own.values(), *(getattr(event, a) for a in event.arguments)]
        ways: list[Callable[[], Any]] = []
        for root in roots:
            r, k = root, root.node.type
            if k.kind != "note":
                ways.append(
                    lambda r=r, k=k: r == self.value(event, k, 0 if k.kind in ("id", "record") else depth and 1)
                )
                ways.append(lambda r=r, k=k: r != self.value(event, k, 0))
            match k.kind:
                case "bool":
                    ways.append(lambda r=r: r)
                case "nat":
                    ways.append(lambda r=r, k=k: r < self.value(event, k, 1))
                    ways.append(lambda r=r, k=k: r >= self.value(event, k, 0))
                case "opt":
                    ways.append(lambda r=r: r.is_some())
                case "set":
                    ways.append(lambda r=r: r.is_empty())
                    ways.append(lambda r=r, k=k: r <= self.expression(event, k, 1))
                    if self.some(event, k.args[0]):
                        ways.append(lambda r=r, k=k: r.has(self.value(event, k.args[0], 1)))
                case "map":
                    ways.append(lambda r=r: r.is_empty())
                    if self.some(event, k.args[0]):
                        ways.append(lambda r=r, k=k: r.has(self.value(event, k.args[0], 1)))
                case "seq":
                    ways.append(lambda r=r: r.is_empty())
                case _:
                    pass
        if depth:
            ways += [
                lambda: self.condition(event, depth - 1) & self.condition(event, depth - 1),
                lambda: self.condition(event, depth - 1) | self.condition(event, depth - 1),
                lambda: ~self.condition(event, depth - 1),
            ]
        if not ways:
            return wrap(Node("const", (), type_of(Bool), self.below(2) == 1))
        return self.one(ways)()


def _constant(value: Any) -> Any:
    return () if value in (frozenset(), {}, ()) and not isinstance(value, (bool, int)) else value


def _parts(kind: Type) -> list[Type]:
    return [kind, *(p for a in kind.args for p in _parts(a))]


def _inside(cell: Any) -> list[Any]:
    found = [b.refusal for b in getattr(cell, "branches", ())]
    return [*found, getattr(getattr(cell, "otherwise", None), "refusal", None), getattr(cell, "refusal", None)]
