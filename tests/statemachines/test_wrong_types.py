"""Whatever is put into a declaration that does not fit there is an error with its place and mend.

Every constructor and operator of the language is given values of all kinds: those that fit must work,
and all others must end in a `DeclarationError`, never in an error of Python's own and never in silence.
"""

import operator
import types
from collections.abc import Callable
from enum import Enum, IntEnum, StrEnum
from pathlib import Path
from typing import Any

import pytest

import sluicegate.statemachines as language
from sluicegate.statemachines import (
    Bool,
    DeclarationError,
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
    always,
    choose,
    columns,
    either,
    go,
    ignore,
    leads_to,
    never,
    reachable,
    row,
    stay,
)


class Part(Id):
    """Something countable."""


class Speed(StrEnum):
    SLOW = "slow"
    FAST = "fast"


class Pace(StrEnum):
    SLOW = "slow"


class Level(IntEnum):
    LOW = 0


class Plain(Enum):
    LOW = 0


class Span(Record):
    part: Part
    size: Nat


class Width(Record):
    size: Nat
    sure: Bool


class Body:
    """A machine's body as it is made, with one of everything in it."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names
        for name in ("ON", "OFF"):
            names[name] = State()
        names.update(
            n=Nat(0), b=Bool(False), e=EnumOf(Speed.SLOW), o=Opt(Nat), s=SetOf(Part), m=MapOf(Part, Nat), q=SeqOf(Part),
            w=SetOf(Width), t=Note(), busy=Refuse("busy"),
        )  # fmt: skip
        # An update of a mapping does not bind names.
        for name, value in list(names.items()):
            if isinstance(value, language.expressions.Expr) and not isinstance(value, State):
                value.bind(name)
        names["busy"].name = "busy"

        class Tick(Event):
            nat: Nat
            flag: Bool
            part: Part
            speed: EnumOf[Speed]
            span: Span
            width: Width
            best: Opt[Nat]
            parts: SetOf[Part]
            line: SeqOf[Part]
            marks: MapOf[Part, Nat]

        class Ring(Output):
            nat: Nat

        class Late(Event): ...

        names["Tick"], names["Ring"], names["Late"] = Tick, Ring, Late

    def __getattr__(self, name: str) -> Any:
        return self.names[name]


Make = Callable[[Body], Any]
"""Something to put into a declaration, as it is made in a body."""

ZOO: dict[str, tuple[str, Make]] = {
    # what it is called: of which kind it is, and how it is made
    "True": ("bool", lambda x: True),
    "a flag": ("bool", lambda x: x.Tick.flag),
    "a comparison": ("bool", lambda x: x.n == 1),
    "a state": ("state otherwise cell", lambda x: x.ON),
    "0": ("nat", lambda x: 0),
    "7": ("nat", lambda x: 7),
    "a field of naturals": ("nat", lambda x: x.n),
    "a sum": ("nat", lambda x: 1 + x.n),
    "-1": ("", lambda x: -1),
    "1.5": ("", lambda x: 1.5),
    "1j": ("", lambda x: 1j),
    "text": ("note", lambda x: "no"),
    "a note": ("note", lambda x: x.t),
    "bytes": ("", lambda x: b"no"),
    "an enum's text": ("enum note", lambda x: "slow"),
    "a member": ("enum", lambda x: Speed.FAST),
    "an enum's field": ("enum", lambda x: x.e),
    "another enum's member": ("", lambda x: Pace.SLOW),
    "a number's member": ("", lambda x: Level.LOW),
    "a plain member": ("", lambda x: Plain.LOW),
    "an id": ("id", lambda x: x.Tick.part),
    "none": ("none", lambda x: None),
    "an option": ("opt", lambda x: x.o),
    "no set": ("empty", lambda x: frozenset()),
    "no sequence": ("empty", lambda x: ()),
    "no map": ("empty", lambda x: {}),
    "a full set": ("", lambda x: frozenset({"a"})),
    "a full map": ("", lambda x: {"a": 1}),
    "a list": ("", lambda x: ["a"]),
    "a set field": ("set", lambda x: x.s),
    "a map field": ("map", lambda x: x.m),
    "a sequence field": ("seq", lambda x: x.q),
    "a record": ("record", lambda x: x.Tick.width),
    "a plain record": ("record", lambda x: Width(size=1, sure=True)),
    "a wrong record": ("", lambda x: Width(size=True, sure=1)),
    "another record": ("", lambda x: x.Tick.span),
    "a plain other record": ("", lambda x: Span(part="a", size=1)),
    "a type": ("type", lambda x: Nat),
    "a class": ("", lambda x: int),
    "an enum": ("", lambda x: Speed),
    "an event": ("event", lambda x: x.Tick),
    "an event's value": ("", lambda x: x.Late()),
    "an output": ("output", lambda x: x.Ring(nat=x.n)),
    "an output's class": ("", lambda x: x.Ring),
    "a state's class": ("", lambda x: State),
    "a base": ("", lambda x: language.expressions.Expr),
    "a bare container": ("", lambda x: Opt),
    "a container": ("type", lambda x: SetOf[Nat]),
    "a function": ("", lambda x: lambda: True),
    "a module": ("", lambda x: types),
    "an object": ("", lambda x: object()),
    "an update": ("change", lambda x: x.n.set(1)),
    "ignore": ("ignore otherwise cell", lambda x: ignore),
    "a refusal": ("refusal otherwise cell", lambda x: x.busy),
    "an action": ("action otherwise cell", lambda x: stay()),
    "a guarded action": ("guarded", lambda x: stay().when(x.b)),
    "a rule": ("rule cell", lambda x: stay().when(x.b).orelse(ignore)),
    "columns": ("", lambda x: columns(x.ON)),
    "a table": ("", lambda x: Table()),
    "a property": ("", lambda x: always(x.b)),
    "a scope": ("", lambda x: Scope()),
}

Use = Callable[[Body, Any], Any]


def guards(make: Callable[[Body, Any], Any]) -> Use:
    """What is made is a condition of the row."""
    return lambda x, v: stay().when(make(x, v)).orelse(ignore)


def sets(name: str, make: Callable[[Body, Any], Any]) -> Use:
    """What is made is the new value of a field."""
    return lambda x, v: stay().do(getattr(x, name).set(make(x, v)))


def does(make: Callable[[Body, Any], Any]) -> Use:
    """What is made is an update."""
    return lambda x, v: stay().do(make(x, v))


USES: dict[str, tuple[str, Use]] = {
    # what is done with the value: the kinds that fit, and how it is used
    **{
        f"n {sign} _": ("nat", sets("n", lambda x, v, op=op: op(x.n, v)))
        for sign, op in {"+": operator.add, "-": operator.sub}.items()
    },
    **{
        f"_ {sign} n": ("nat", sets("n", lambda x, v, op=op: op(v, x.n)))
        for sign, op in {"+": operator.add, "-": operator.sub}.items()
    },
    **{
        f"n {op.__name__} _": ("nat", guards(lambda x, v, op=op: op(x.n, v)))
        for op in (operator.lt, operator.le, operator.gt, operator.ge)
    },
    **{
        f"_ {op.__name__} n": ("nat", guards(lambda x, v, op=op: op(v, x.n)))
        for op in (operator.lt, operator.le, operator.gt, operator.ge)
    },
    **{
        f"n {op.__name__} _": ("", guards(lambda x, v, op=op: op(x.n, v)))
        for op in (operator.mul, operator.mod, operator.truediv, operator.pow, operator.and_, operator.lshift)
    },
    **{
        f"_ {op.__name__} n": ("", guards(lambda x, v, op=op: op(v, x.n)))
        for op in (operator.mul, operator.floordiv, operator.pow, operator.xor, operator.matmul)
    },
    "n == _": ("nat opt", guards(lambda x, v: x.n == v)),
    "n != _": ("nat opt", guards(lambda x, v: x.n != v)),
    "n.max(_)": ("nat", sets("n", lambda x, v: x.n.max(v))),
    "n.set(_)": ("nat", does(lambda x, v: x.n.set(v))),
    "b & _": ("bool", guards(lambda x, v: x.b & v)),
    "b | _": ("bool", guards(lambda x, v: x.b | v)),
    "_ & b": ("bool", guards(lambda x, v: v & x.b)),
    "b == _": ("bool", guards(lambda x, v: x.b == v)),
    "b + _": ("", guards(lambda x, v: x.b + v)),
    "b.set(_)": ("bool", does(lambda x, v: x.b.set(v))),
    "e == _": ("enum", guards(lambda x, v: x.e == v)),
    "e.set(_)": ("enum", does(lambda x, v: x.e.set(v))),
    "e < _": ("", guards(lambda x, v: x.e < v)),
    "o == _": ("nat opt none", guards(lambda x, v: x.o == v)),
    "o.set(_)": ("nat opt none", does(lambda x, v: x.o.set(v))),
    "o.or_else(_)": ("nat", sets("n", lambda x, v: x.o.or_else(v))),
    "o < _": ("", guards(lambda x, v: x.o < v)),
    "s.has(_)": ("id", guards(lambda x, v: x.s.has(v))),
    "s <= _": ("set empty", guards(lambda x, v: x.s <= v)),
    "s | _": ("set empty", sets("s", lambda x, v: x.s | v)),
    "s - _": ("set empty", sets("s", lambda x, v: x.s - v)),
    "s & _": ("", sets("s", lambda x, v: x.s & v)),
    "s.add(_)": ("id", does(lambda x, v: x.s.add(v))),
    "s.remove(_)": ("id", does(lambda x, v: x.s.remove(v))),
    "s.set(_)": ("set empty", does(lambda x, v: x.s.set(v))),
    "m.put(part, _)": ("nat", does(lambda x, v: x.m.put(x.Tick.part, v))),
    "m.put(_, 1)": ("id", does(lambda x, v: x.m.put(v, 1))),
    "m.get(_)": ("id", sets("o", lambda x, v: x.m.get(v))),
    "m.set(_)": ("map empty", does(lambda x, v: x.m.set(v))),
    "m[_]": ("", guards(lambda x, v: x.m[v])),
    "_ in s": ("", guards(lambda x, v: v in x.s)),
    "q.append(_)": ("id", does(lambda x, v: x.q.append(v))),
    "q.set(_)": ("seq empty", does(lambda x, v: x.q.set(v))),
    "w.add(_)": ("record", does(lambda x, v: x.w.add(v))),
    "width == _": ("record", guards(lambda x, v: x.Tick.width == v)),
    "_ == width": ("record", guards(lambda x, v: v == x.Tick.width)),
    "Width(size=_)": ("nat", guards(lambda x, v: Width(size=v, sure=True) == x.Tick.width)),
    "Width(size=_, sure=b)": ("nat", guards(lambda x, v: Width(size=v, sure=x.b) == x.Tick.width)),
    "either(_, n, 1)": ("bool", sets("n", lambda x, v: either(v, x.n, 1))),
    "either(b, n, _)": ("nat", sets("n", lambda x, v: either(x.b, x.n, v))),
    "either(b, _, n)": ("nat", sets("n", lambda x, v: either(x.b, v, x.n))),
    "either(b, _, 1)": ("nat", sets("n", lambda x, v: either(x.b, v, 1))),
    "either(b, o, _)": ("nat opt none", sets("o", lambda x, v: either(x.b, x.o, v))),
    "either(b, width, _)": ("record", guards(lambda x, v: either(x.b, x.Tick.width, v) == x.Tick.width)),
    "when(_)": ("bool", guards(lambda x, v: v)),
    "do(_)": ("change", does(lambda x, v: v)),
    "emit(_)": ("output", lambda x, v: stay().emit(v)),
    "emit(Ring(nat=_))": ("nat", lambda x, v: stay().emit(x.Ring(nat=v))),
    "go(_)": ("state", lambda x, v: go(v)),
    "orelse(_)": ("otherwise", lambda x, v: stay().when(x.b).orelse(v)),
    "choose(_)": ("guarded", lambda x, v: choose(v, orelse=ignore)),
    "choose(orelse=_)": ("otherwise", lambda x, v: choose(stay().when(x.b), orelse=v)),
    "a cell": ("cell", lambda x, v: v),
}  # fmt: skip


def declare(use: Callable[[Body], Any], table: Callable[[Body, Any], Any] | None = None) -> type[Machine]:
    """A machine with what `use` makes as the cell of its only event in its first state."""

    def body(names: dict[str, Any]) -> None:
        x = Body(names)
        made = use(x)
        cells = columns(x.ON, x.OFF), row(x.Tick, made, x.busy), row(x.Late, ignore, ignore)
        names["table"] = table(x, made) if table else Table(*cells)

    return types.new_class("Whole", (Machine,), exec_body=body)


def ends(make: Callable[[], Any]) -> str:
    """How a declaration ends: "" where it works; what is told, with its place in this file and a mend."""
    try:
        make()
    except DeclarationError as error:
        for problem in error.problems:
            assert problem.where.startswith(f"{Path(__file__).name}:"), problem
            assert problem.place
            assert problem.what
            assert problem.mend
        return str(error)
    return ""


@pytest.mark.parametrize("used", USES)
def test_what_fits_works_and_all_else_is_told(used: str) -> None:
    fits, use = USES[used]
    wrong = {}
    for name, (kinds, make) in ZOO.items():
        works = bool({*fits.split()} & {*kinds.split()})
        said = ends(lambda make=make: declare(lambda x: use(x, make(x))))
        if works is bool(said):
            wrong[name] = said or "passes in silence"
    assert wrong == {}


def annotated(base: type, hint: Any, **values: Any) -> type:
    return type("Late", (base,), {"__annotations__": {"to": hint}, **values})


PLACES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "Bool(_)": ("True", lambda v: Bool(v)),
    "Nat(_)": ("0 7", lambda v: Nat(v)),
    "EnumOf(_)": ("Speed.FAST Pace.SLOW", lambda v: EnumOf(v)),
    "Opt(_)": ("Nat SetOf[Nat] Width", lambda v: Opt(v)),
    "SetOf(_)": ("Nat SetOf[Nat] Width", lambda v: SetOf(v)),
    "SeqOf(_)": ("Nat SetOf[Nat] Width", lambda v: SeqOf(v)),
    "MapOf(Nat, _)": ("Nat SetOf[Nat] Width", lambda v: MapOf(Nat, v)),
    "Refuse(_)": ("'' 'no' Speed.FAST Pace.SLOW", lambda v: Refuse(v)),
    "Refuse(retry=_)": ("True", lambda v: Refuse("no", retry=v)),
    "State(_)": ("", lambda v: State(v)),
    "Scope(nat=_)": ("0 7", lambda v: Scope(nat=v)),
    "Scope(ids=_)": ("() [] {} '' b'' frozenset()", lambda v: Scope(ids=v)),
    "an argument": ("Nat SetOf[Nat] Width MapOf[Nat,Nat]", lambda v: annotated(Event, v)),
    "an argument's value": ("", lambda v: annotated(Event, Nat, to=v)),
    "a member": ("Nat SetOf[Nat] Width", lambda v: annotated(Record, v)),
    "Opt[_]": ("Nat SetOf[Nat] Width", lambda v: annotated(Event, Opt[v])),
    "EnumOf[_]": ("Speed", lambda v: annotated(Event, EnumOf[v])),
    "Nat[_]": ("", lambda v: Nat[v]),  # pyright: ignore[reportInvalidTypeArguments]
    "always(_)": ("True Nat(0)==0", lambda v: always(v)),
    "never(_)": ("True Nat(0)==0", lambda v: never(v)),
    "reachable(_)": ("True Nat(0)==0", lambda v: reachable(v)),
    "leads_to(_, True)": ("True Nat(0)==0", lambda v: leads_to(v, True)),  # pyright: ignore[reportArgumentType]
}  # fmt: skip
VALUES = {
    text: eval(text)
    for text in (
        "True", "0", "7", "-1", "1.5", "None", "''", "'no'", "b''", "()", "[]", "{}", "frozenset()", "{'a': 'b'}",
        "(('a', 1.5),)", "Speed.FAST", "Pace.SLOW", "Level.LOW", "Plain.LOW", "Speed", "Plain", "int", "object()",
        "Nat", "SetOf[Nat]", "Width", "Record", "Id", "Opt", "State", "Event", "ignore", "print", "types",
        "Width(size=1, sure=True)",
    )
}  # fmt: skip
VALUES["Nat(0)"] = Nat(0)
VALUES["Nat(0)==0"] = Nat(0) == 0
VALUES["MapOf[Nat,Nat]"] = MapOf[Nat, Nat]


@pytest.mark.parametrize("place", PLACES)
def test_a_constructor_takes_what_fits_and_tells_all_else(place: str) -> None:
    fits, make = PLACES[place]
    wrong = {}
    for name, value in VALUES.items():
        said = ends(lambda value=value: make(value))
        if (name in fits.split()) is bool(said):
            wrong[name] = said or "passes in silence"
    assert wrong == {}
