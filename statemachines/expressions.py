"""Typed expressions of the declaration language: what guards, effects and outputs are written in.

Rules of this file:

- An expression is an object that holds a `Node`; the class gives it operators and a type.
- The same classes declare fields (`Nat(0)`, `SetOf(Lease)`) and annotate arguments (`epoch: Nat`).
- Nothing here looks at a value: an expression has no truth, no hash, no members.
- A wrong type is reported with its place and mend, and the expression goes on as if it were right. What
  has no meaning at all ends the class body.
- Types are exact: True is no number, and a member of one enum none of another.
"""

from __future__ import annotations

import typing
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Generic, Never, NoReturn, Self, TypeVar

from .annotations import class_of, expression_class, stands_for, type_of
from .ir import BOOL, NAT, Node, Type
from .loose import made
from .misuse import Asked, no_operators
from .problems import DeclarationError, caller, misused, report, stop

T = TypeVar("T", bound="Expr")
E = TypeVar("E", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Change(Asked):
    """An update of one field, as a rule's `.do()` takes it."""

    field: str
    value: Node
    where: str

    def __post_init__(self) -> None:
        made(self, self.where)


_HAS: dict[str, str] = {
    "bool": "&, |, ~, ==, !=",
    "nat": "+, -, <, <=, >, >=, ==, !=, .max(n)",
    "enum": "==, !=",
    "id": "==, !=",
    "note": "nothing to ask: it is text for people",
    "opt": ".is_some(), .or_else(value), ==, !=",
    "set": ".has(x), .is_empty(), .size(), <=, |, -, .including(x), .excluding(x), .add(x), .remove(x), ==, !=",
    "map": ".get(key), .has(key), .keys(), .is_empty(), .put(key, value), .remove(key), ==, !=",
    "seq": ".first(), .size(), .is_empty(), .append(x), .drop_first(), ==, !=",
}
"""What expressions of each kind have, beside the updates .set(value) and .clear()."""


def _has(self: Expr) -> str:
    type_ = self.node.type if is_expression(self) else type_of(type(self))
    has = f"{''.join(f'.{m}, ' for m in type_.members)}==, !=" if type_.kind == "record" else _HAS[type_.kind]
    return f"a {type_} has {has}"


@no_operators(_has)
class Expr:
    """An expression. Fields are expressions that were given a name by the class body."""

    node: Node
    initial: object = None
    is_given: bool = False

    @classmethod
    def of_node(cls, node: Node) -> Self:
        self = cls.__new__(cls)
        self.node = node
        return self

    def _declare(self, hint: Callable[[], Any], initial: object = None) -> None:
        """Be a field of the type that `hint` gives."""
        type_, wrong = None, ""
        try:
            type_ = type_of(hint())
        except DeclarationError:
            raise
        except TypeError as error:
            wrong = str(error)
        if type_ is None:
            mend = "declare it as in Nat(0), Opt(Nat), SetOf(LeaseId), MapOf(Rank, Nat), EnumOf(Mode.WAIT)"
            stop(f"a field, {type(self).__name__}", wrong, mend)
        self.node, self.initial = Node("field", (), type_), initial
        made(self)

    def __call__(self, *values: Never, **named: Never) -> Self:
        """An error: what is declared is not called."""
        start = "at first none" if self.node.type.kind == "opt" else "at first empty"
        given = ", ".join(map(repr, (*values, *named.values())))
        mend = f"leave ({given}) out: {type(self).__name__}(...) is {start}, and rules update it"
        report(f"{type(self).__name__}(...)({given})", "calls a field", mend)
        return self

    def given(self) -> Self:
        """Make this field a parameter: fixed when an instance is born, never updated."""
        if self.node.op != "field":
            report(f"{self}.given()", "only a field can be given", "declare one as in limit = Nat().given()")
        self.is_given = True
        return self

    def bind(self, name: str) -> None:
        """Give a declared field its name."""
        self.node = replace(self.node, value=name)

    @property
    def is_unbound_field(self) -> bool:
        return self.node.op == "field" and self.node.value is None

    def set(self, value: Any) -> Change:
        """Update this field to `value`, an expression over the state before the step."""
        return self._change(lift(value, self.node.type))

    def clear(self) -> Change:
        """Update this field to its empty value: none, no members, no entries."""
        if self.node.type.kind not in ("opt", "set", "map", "seq"):
            report(f"{self}.clear()", f"a {self.node.type} has no empty value", "use .set(...)")
        return self._change(Node("const", (), self.node.type, None if self.node.type.kind == "opt" else ()))

    def _change(self, value: Node) -> Change:
        if self.node.op != "field":
            report(str(self), "only a field can be updated", "update a field that the machine declares")
            return Change("", value, caller())
        return Change(str(self.node.value), value, caller())

    def __eq__(self, other: Any) -> Bool:  # pyright: ignore[reportIncompatibleMethodOverride]
        return compare("eq", self, other)

    def __ne__(self, other: Any) -> Bool:  # pyright: ignore[reportIncompatibleMethodOverride]
        return compare("ne", self, other)

    def __hash__(self) -> int:
        raise misused(
            str(self), "is no key and no member of a Python set", "give it a name, or declare a MapOf or SetOf"
        )

    def __bool__(self) -> NoReturn:
        mend = "write a & b, a | b, ~a instead of and, or, not, and (a <= b) & (b <= c) instead of a <= b <= c"
        raise misused(str(self), "has no truth while a machine is declared", mend)

    def __contains__(self, item: object) -> NoReturn:
        raise misused(
            str(self), "has no members while a machine is declared", f"write {self}.has(x) instead of x in {self}"
        )

    def __iter__(self) -> NoReturn:
        raise misused(str(self), "has no members while a machine is declared", _has(self))

    if not typing.TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # What begins with an underscore is asked by Python's own tools, which go on without it.
            if name.startswith("_") or not is_expression(self):
                raise AttributeError(f"{type(self).__name__} has no {name}")
            raise misused(str(self), f"has no .{name}", _has(self))

        def __class_getitem__(cls, of: Any) -> Any:
            if not issubclass(cls, Generic):
                raise misused(
                    f"{cls.__name__}[{of!r}]", f"{cls.__name__} has no element types", f"write {cls.__name__}"
                )
            try:
                return super().__class_getitem__(of)
            except (TypeError, SyntaxError, IndexError) as error:
                what = "EnumOf[Mode], Opt[Nat], SetOf[LeaseId], MapOf[Rank, Nat]"
                raise misused(f"{cls.__name__}[{of!r}]", str(error), f"give it types, as in {what}") from error

    def __str__(self) -> str:
        from .display import show

        return show(self.node)

    __repr__ = __str__


@stands_for("bool")
class Bool(Expr):
    """True or false. As a field: `resident = Bool(False)`."""

    def __init__(self, initial: bool = False) -> None:
        if not isinstance(initial, bool):
            report("Bool", f"{initial!r} is neither True nor False", "start as in Bool(False)")
        self._declare(lambda: Bool, initial)

    def __and__(self, other: Bool) -> Bool:
        return Bool.of_node(_flat("and", self.node, lift(other, BOOL)))

    def __or__(self, other: Bool) -> Bool:
        return Bool.of_node(_flat("or", self.node, lift(other, BOOL)))

    def __rand__(self, other: bool) -> Bool:
        return Bool.of_node(_flat("and", lift(other, BOOL), self.node))

    def __ror__(self, other: bool) -> Bool:
        return Bool.of_node(_flat("or", lift(other, BOOL), self.node))

    def __invert__(self) -> Bool:
        return Bool.of_node(Node("not", (self.node,), BOOL))


@stands_for("nat")
class Nat(Expr):
    """0, 1, 2, ... As a field: `epoch = Nat(0)`. Subtraction stops at 0."""

    def __init__(self, initial: int = 0) -> None:
        if type(initial) is not int:
            report("Nat", f"{initial!r} is no natural number", "start as in Nat(0)")
        elif initial < 0:
            report("Nat", f"{initial} is below 0", "start at 0 or above")
        self._declare(lambda: Nat, initial)

    def __add__(self, other: Nat | int) -> Nat:
        return Nat.of_node(Node("add", (self.node, lift(other, NAT)), NAT))

    def __radd__(self, other: int) -> Nat:
        return Nat.of_node(Node("add", (lift(other, NAT), self.node), NAT))

    def __sub__(self, other: Nat | int) -> Nat:
        return Nat.of_node(Node("monus", (self.node, lift(other, NAT)), NAT))

    def __rsub__(self, other: int) -> Nat:
        return Nat.of_node(Node("monus", (lift(other, NAT), self.node), NAT))

    def max(self, other: Nat | int) -> Nat:
        return Nat.of_node(Node("max", (self.node, lift(other, NAT)), NAT))

    def __lt__(self, other: Nat | int) -> Bool:
        return Bool.of_node(Node("lt", (self.node, lift(other, NAT)), BOOL))

    def __le__(self, other: Nat | int) -> Bool:
        return Bool.of_node(Node("le", (self.node, lift(other, NAT)), BOOL))

    def __gt__(self, other: Nat | int) -> Bool:
        return Bool.of_node(Node("lt", (lift(other, NAT), self.node), BOOL))

    def __ge__(self, other: Nat | int) -> Bool:
        return Bool.of_node(Node("le", (lift(other, NAT), self.node), BOOL))


@stands_for("enum")
class EnumOf(Expr, Generic[E]):
    """A member of a `StrEnum`. As a field: `mode = EnumOf(Mode.WAIT)`."""

    def __init__(self, initial: E) -> None:
        if not isinstance(initial, StrEnum):
            mend = "give the member that it starts with: EnumOf(Mode.WAIT)"
            stop("EnumOf", f"{initial!r} is no member of a StrEnum", mend)
        self._declare(lambda: EnumOf[type(initial)], initial)


@stands_for("id")
class Id(Expr):
    """A sort of opaque names: `class LeaseId(Id)`. A string at run time, a model value in TLA+.

    As a field it can only be given: `owner = LeaseId().given()`.
    """

    def __init__(self) -> None:
        self._declare(lambda: type(self), "")


@stands_for("note")
class Note(Expr):
    """Text that is carried along for people: never compared, absent from TLA+."""

    def __init__(self) -> None:
        self._declare(lambda: Note, "")


def is_expression(value: object) -> bool:
    """Whether `value` is an expression; a record of plain values is none."""
    return isinstance(value, Expr) and "node" in value.__dict__


def node_of(value: Any) -> Node | None:
    """The node of an expression, None for anything else."""
    return value.node if is_expression(value) else None


def wrap(node: Node) -> Any:
    """The expression object of the class that fits the node's type."""
    return expression_class(node.type).of_node(node)


def lift(value: Any, type_: Type) -> Node:
    """The node of an expression or plain value that must have type `type_`."""
    if is_expression(value):
        node: Node = value.node
        if node.type == type_:
            return node
        if type_.kind == "opt" and node.type == type_.args[0]:
            return Node("some", (node,), type_)
        report(str(value), f"is a {node.type} where a {type_} is needed", f"give a {type_}")
        return _sample(type_)
    match type_.kind:
        case "opt" if value is not None:
            return Node("some", (lift(value, type_.args[0]),), type_)
        case "record" if isinstance(value, Expr) and type_of(type(value)) == type_:
            members = zip(type_.members, type_.args, strict=True)
            return Node("record", tuple(lift(getattr(value, name), member) for name, member in members), type_)
        case "set" | "map" | "seq" if isinstance(value, (frozenset, set, dict, tuple)) and not value:
            return Node("const", (), type_, ())
        case _ if _is_plain(value, type_):
            return Node("const", (), type_, value)
    mend = {
        "id": "take it from an event's argument or a field",
        "set": "begin with frozenset(), and .including(x)",
        "map": "begin with {}, and .put(key, value) in steps",
        "seq": "begin with (), and .append(x) in steps",
        "enum": f"give one of {', '.join(type_.members)}",
        "record": f"give {type_}({', '.join(f'{m}=...' for m in type_.members)})",
    }
    report(repr(value), f"is not a {type_}", mend.get(type_.kind, f"give a {type_}"))
    return _sample(type_)


def _is_plain(value: Any, type_: Type) -> bool:
    """Whether `value` is itself a constant of `type_`."""
    match type_.kind:
        case "bool":
            return isinstance(value, bool)
        case "nat":
            return type(value) is int and value >= 0
        case "enum":
            own = type(value) is str or isinstance(value, class_of(type_))
            return own and str(value) in type_.members
        case "note":
            return type(value) is str
        case "opt":
            return value is None
        case _:
            return False


def _sample(type_: Type) -> Node:
    """Some node of `type_`, in the place of what was wrong."""
    sample = {"bool": True, "nat": 0, "set": (), "map": (), "seq": (), "note": "", "id": ""}
    return Node("const", (), type_, type_.members[0] if type_.kind == "enum" else sample.get(type_.kind))


def either(condition: Bool, then: T | Any, otherwise: T | Any) -> T:
    """`then` if `condition` holds, else `otherwise`: one an expression, or both plain values of one type."""
    types = [found for value in (then, otherwise) if (found := _type_of_value(value)) is not None]
    if not types:
        stop("either(...)", f"{then!r} and {otherwise!r} are of no type of the language", "give one as an expression")
    # A value beside an option of its type is meant as one.
    type_ = next((t for t in types if t.kind == "opt" and t.args[0] in types), types[0])
    return wrap(Node("ite", (lift(condition, BOOL), lift(then, type_), lift(otherwise, type_)), type_))


def _type_of_value(value: Any) -> Type | None:
    """The type of an expression, or of a plain value whose type is plain to see."""
    match value:
        case Expr():
            return value.node.type if is_expression(value) else type_of(type(value))
        case bool():
            return BOOL
        case int():
            return NAT
        case StrEnum():
            return type_of(EnumOf[type(value)])
        case _:
            return None


def _flat(op: str, *nodes: Node) -> Node:
    parts = tuple(p for n in nodes for p in (n.args if n.op == op else (n,)))
    return Node(op, parts, BOOL)


def compare(op: str, left: Expr, right: Any) -> Bool:
    """The expression `left = right` or `left ≠ right`; one of the two may be a plain value."""
    if not is_expression(left):
        left, right = right, left
    type_ = left.node.type
    if type_.kind == "note":
        report(str(left), "a Note is never compared", "compare a field of another type, or declare this one as an Id")
        return Bool.of_node(Node("const", (), BOOL, True))
    if is_expression(right) and right.node.type.kind == "opt" and type_ == right.node.type.args[0]:
        return Bool.of_node(Node(op, (lift(left, right.node.type), right.node), BOOL))
    return Bool.of_node(Node(op, (left.node, lift(right, type_)), BOOL))
