"""Typed expressions of the declaration language: what guards, effects and outputs are written in.

Rules of this file:

- An expression is an object that holds a `Node`; the class gives it operators and a type.
- The same classes declare fields (`Nat(0)`, `SetOf(Lease)`) and annotate arguments (`epoch: Nat`).
- Nothing here looks at a value: an expression has no truth, no hash, no members.
- A wrong type is reported with its place and mend, and the expression goes on as if it were right.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Generic, Never, NoReturn, Self, TypeVar

from .ir import BOOL, NAT, NOTE, Node, Type
from .loose import made
from .problems import caller, report, stop

T = TypeVar("T", bound="Expr")
K = TypeVar("K", bound="Expr")
V = TypeVar("V", bound="Expr")
E = TypeVar("E", bound=StrEnum)

none: Any = None
"""The absent value of an `Opt`."""


@dataclass(frozen=True, slots=True)
class Change:
    """An update of one field, as a rule's `.do()` takes it."""

    field: str
    value: Node
    where: str

    def __post_init__(self) -> None:
        made(self, self.where)


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
        return _compare("eq", self, other)

    def __ne__(self, other: Any) -> Bool:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _compare("ne", self, other)

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"{self} has no truth while a machine is declared: write a & b, a | b, ~a instead of and, or, not, "
            "and (a <= b) & (b <= c) instead of a <= b <= c"
        )

    def __contains__(self, item: object) -> NoReturn:
        raise TypeError(f"write {self}.has(x) instead of x in {self}")

    def __iter__(self) -> NoReturn:
        raise TypeError(f"{self} has no members while a machine is declared")

    def __str__(self) -> str:
        from .display import show

        return show(self.node)

    __repr__ = __str__


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

    def __invert__(self) -> Bool:
        return Bool.of_node(Node("not", (self.node,), BOOL))


class Nat(Expr):
    """0, 1, 2, ... As a field: `epoch = Nat(0)`. Subtraction stops at 0."""

    def __init__(self, initial: int = 0) -> None:
        if not isinstance(initial, int) or isinstance(initial, bool):
            report("Nat", f"{initial!r} is no natural number", "start as in Nat(0)")
        elif initial < 0:
            report("Nat", f"{initial} is below 0", "start at 0 or above")
        self._declare(lambda: Nat, initial)

    def __add__(self, other: Nat | int) -> Nat:
        return Nat.of_node(Node("add", (self.node, lift(other, NAT)), NAT))

    def __sub__(self, other: Nat | int) -> Nat:
        return Nat.of_node(Node("monus", (self.node, lift(other, NAT)), NAT))

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


class EnumOf(Expr, Generic[E]):
    """A member of a `StrEnum`. As a field: `mode = EnumOf(Mode.WAIT)`."""

    def __init__(self, initial: E) -> None:
        if not isinstance(initial, StrEnum):
            mend = "give the member that it starts with: EnumOf(Mode.WAIT)"
            stop("EnumOf", f"{initial!r} is no member of a StrEnum", mend)
        self._declare(lambda: EnumOf[type(initial)], initial)


class Id(Expr):
    """A sort of opaque names: `class LeaseId(Id)`. A string at run time, a model value in TLA+.

    As a field it can only be given: `owner = LeaseId().given()`.
    """

    def __init__(self) -> None:
        self._declare(lambda: type(self), "")


class Note(Expr):
    """Text that is carried along for people: never compared, absent from TLA+."""

    def __init__(self) -> None:
        self._declare(lambda: Note, "")


class Opt(Expr, Generic[T]):
    """A value or none. As a field: `version = Opt(Nat)`, at first none."""

    def __init__(self, of: type[T]) -> None:
        self._declare(lambda: Opt[of])

    def is_some(self) -> Bool:
        return Bool.of_node(Node("is_some", (self.node,), BOOL))

    def or_else(self, default: T | Any) -> T:
        inner = self.node.type.args[0]
        return wrap(Node("or_else", (self.node, lift(default, inner)), inner))


class SetOf(Expr, Generic[T]):
    """A finite set. As a field: `active = SetOf(LeaseId)`, at first empty."""

    def __init__(self, of: type[T]) -> None:
        self._declare(lambda: SetOf[of], ())

    def has(self, item: T) -> Bool:
        return Bool.of_node(Node("in", (lift(item, self._item), self.node), BOOL))

    def is_empty(self) -> Bool:
        return Bool.of_node(Node("set_empty", (self.node,), BOOL))

    def size(self) -> Nat:
        return Nat.of_node(Node("set_size", (self.node,), NAT))

    def __le__(self, other: SetOf[T]) -> Bool:
        return Bool.of_node(Node("subset", (self.node, lift(other, self.node.type)), BOOL))

    def __or__(self, other: SetOf[T]) -> SetOf[T]:
        return self._with("union", lift(other, self.node.type))

    def __sub__(self, other: SetOf[T]) -> SetOf[T]:
        return self._with("minus", lift(other, self.node.type))

    def including(self, item: T) -> SetOf[T]:
        """This set and `item`, as an expression."""
        return self._with("set_add", lift(item, self._item))

    def excluding(self, item: T) -> SetOf[T]:
        """This set without `item`, as an expression."""
        return self._with("set_remove", lift(item, self._item))

    def add(self, item: T) -> Change:
        return self._change(self.including(item).node)

    def remove(self, item: T) -> Change:
        """Update this field: without `item`, which need not be in it."""
        return self._change(self.excluding(item).node)

    @property
    def _item(self) -> Type:
        return self.node.type.args[0]

    def _with(self, op: str, other: Node) -> SetOf[T]:
        return SetOf.of_node(Node(op, (self.node, other), self.node.type))


class MapOf(Expr, Generic[K, V]):
    """A finite map. As a field: `digests = MapOf(Rank, Digest)`, at first empty."""

    def __init__(self, key: type[K], value: type[V]) -> None:
        self._declare(lambda: MapOf[key, value], ())

    def get(self, key: K) -> Opt[V]:
        _require_no_option(f"{self}.get(...)", self._value)
        return Opt.of_node(Node("map_get", (self.node, lift(key, self._key)), Type("opt", args=(self._value,))))

    def has(self, key: K) -> Bool:
        return Bool.of_node(Node("map_has", (self.node, lift(key, self._key)), BOOL))

    def keys(self) -> SetOf[K]:
        return SetOf.of_node(Node("map_keys", (self.node,), Type("set", args=(self._key,))))

    def is_empty(self) -> Bool:
        return Bool.of_node(Node("map_empty", (self.node,), BOOL))

    def put(self, key: K, value: V | Any) -> Change:
        args = (self.node, lift(key, self._key), lift(value, self._value))
        return self._change(Node("map_put", args, self.node.type))

    def remove(self, key: K) -> Change:
        return self._change(Node("map_remove", (self.node, lift(key, self._key)), self.node.type))

    @property
    def _key(self) -> Type:
        return self.node.type.args[0]

    @property
    def _value(self) -> Type:
        return self.node.type.args[1]


class SeqOf(Expr, Generic[T]):
    """A finite sequence. As a field: `waiting = SeqOf(LeaseId)`, at first empty."""

    def __init__(self, of: type[T]) -> None:
        self._declare(lambda: SeqOf[of], ())

    def is_empty(self) -> Bool:
        return Bool.of_node(Node("seq_empty", (self.node,), BOOL))

    def size(self) -> Nat:
        return Nat.of_node(Node("seq_size", (self.node,), NAT))

    def first(self) -> Opt[T]:
        _require_no_option(f"{self}.first()", self.node.type.args[0])
        return Opt.of_node(Node("seq_head", (self.node,), Type("opt", args=self.node.type.args)))

    def append(self, item: T | Any) -> Change:
        return self._change(Node("seq_append", (self.node, lift(item, self.node.type.args[0])), self.node.type))

    def drop_first(self) -> Change:
        return self._change(Node("seq_tail", (self.node,), self.node.type))


class _RecordField:
    """A record's field: of a value the value, of an expression an expression."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, record: Record | None, owner: type[Record]) -> Any:
        if record is None:
            return self
        if "node" not in record.__dict__:
            return record.values[self.name]
        type_ = record.node.type
        return wrap(Node("get", (record.node,), type_.args[type_.members.index(self.name)], self.name))


class Record(Expr):
    """Named fields together: `class Span(Record): version: Nat; count: Nat`.

    Called with expressions it is an expression, with plain values a value, comparable and hashable.
    """

    values: dict[str, Any]

    def __init_subclass__(cls) -> None:
        cls.members = {name: type_of(hint) for name, hint in annotations_of(cls).items()}
        for name, member in cls.members.items():
            if hasattr(Record, name):
                raise TypeError(f"{cls.__name__}.{name} hides a name of every record: give it another name")
            if member.kind in ("map", "note"):
                raise TypeError(
                    f"{cls.__name__}.{name} is a {member}, and a record holds no map and no note: make it a field"
                )
        for name in cls.members:
            setattr(cls, name, _RecordField(name))

    members: typing.ClassVar[dict[str, Type]] = {}

    def __init__(self, **values: Any) -> None:
        if set(values) != set(self.members):
            raise TypeError(
                f"{type(self).__name__} takes exactly {', '.join(self.members)}; got {', '.join(values) or 'nothing'}"
            )
        if any(isinstance(v, Expr) and "node" in v.__dict__ for v in values.values()):
            nodes = tuple(lift(values[name], hint) for name, hint in self.members.items())
            self.node = Node("record", nodes, type_of(type(self)))
        else:
            self.values = {name: values[name] for name in self.members}

    def __eq__(self, other: Any) -> Any:
        if "node" in self.__dict__ or (isinstance(other, Expr) and "node" in other.__dict__):
            return _compare("eq", self, other)
        # By name and members, as the language tells types apart: two modules may declare one record.
        return isinstance(other, Record) and self._named() == other._named() and self.values == other.values

    def __ne__(self, other: Any) -> Any:
        if "node" in self.__dict__ or (isinstance(other, Expr) and "node" in other.__dict__):
            return _compare("ne", self, other)
        return not self == other

    def __hash__(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return hash((self._named(), *self.values.values()))

    def _named(self) -> str:
        return type(self).__name__

    def __str__(self) -> str:
        if "node" in self.__dict__:
            return super().__str__()
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.values.items())})"

    __repr__ = __str__


_classes: dict[Type, Any] = {}


def _require_no_option(what: str, item: Type) -> None:
    """An Opt of an Opt is nothing that the checkers and the compiled step tell apart in the same way."""
    if item.kind == "opt":
        stop(what, "would be an Opt of an Opt", "keep the items in a Record or under an Id")


def class_of(type_: Type) -> Any:
    """The class that was declared as `type_`: an enum, an id sort or a record."""
    return _classes[type_]


def type_of(hint: Any) -> Type:
    """The `Type` that an annotation means. Raises TypeError for what is not one of the language."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is EnumOf:
        (enum,) = args
        result = Type("enum", enum.__name__, members=tuple(m.value for m in enum))
        _classes[result] = enum
        return result
    if origin in _CONTAINERS:
        inner = tuple(type_of(a) for a in args)
        kind = _CONTAINERS[origin]
        if (kind == "opt" and inner[0].kind == "opt") or any(a.kind in ("map", "note") for a in inner):
            raise TypeError(
                f"{hint} nests what cannot be nested (Opt in Opt, Map or Note in anything): use a Record or an Id"
            )
        return Type(kind, args=inner)
    if isinstance(hint, type) and issubclass(hint, Expr):
        if hint in (Bool, Nat, Note):
            return {Bool: BOOL, Nat: NAT, Note: NOTE}[hint]
        if issubclass(hint, Id) and hint is not Id:
            result = Type("id", hint.__name__)
        elif issubclass(hint, Record) and hint is not Record:
            result = Type("record", hint.__name__, tuple(hint.members.values()), tuple(hint.members))
        else:
            raise TypeError(f"{hint.__name__} needs its element types, as in {hint.__name__}[...]")
        _classes[result] = hint
        return result
    if isinstance(hint, str):
        raise TypeError(f"the annotation {hint!r} is text: take `from __future__ import annotations` out of the module")
    if isinstance(hint, Expr):
        kind = type(hint).__name__
        raise TypeError(f"{kind}(...) is a value where its type is needed: write {kind}")
    raise TypeError(
        f"{hint!r} is not a type of the language (Bool, Nat, EnumOf, Opt, SetOf, MapOf, SeqOf, Note, an Id or a Record)"
    )


_CONTAINERS: dict[Any, typing.Literal["opt", "set", "map", "seq"]] = {
    Opt: "opt",
    SetOf: "set",
    MapOf: "map",
    SeqOf: "seq",
}
_BY_KIND: dict[str, type[Expr]] = {
    "bool": Bool, "nat": Nat, "note": Note, "enum": EnumOf, "opt": Opt, "set": SetOf, "map": MapOf, "seq": SeqOf,
}  # fmt: skip


def wrap(node: Node) -> Any:
    """The expression object of the class that fits the node's type."""
    cls = _BY_KIND.get(node.type.kind) or _classes[node.type]
    return cls.of_node(node)


def annotations_of(cls: type) -> dict[str, Any]:
    """The annotations of this class itself, in order, without private and class variables."""
    own = inspect.get_annotations(cls)
    return {k: v for k, v in own.items() if not k.startswith("_") and typing.get_origin(v) is not typing.ClassVar}


def lift(value: Any, type_: Type) -> Node:
    """The node of an expression or plain value that must have type `type_`."""
    if isinstance(value, Expr) and "node" in value.__dict__:
        node = value.node
        if node.type == type_:
            return node
        if type_.kind == "opt" and node.type == type_.args[0]:
            return Node("some", (node,), type_)
        report(str(value), f"is a {node.type} where a {type_} is needed", f"give a {type_}")
        return Node("const", (), type_, _SAMPLE.get(type_.kind))
    match type_.kind, value:
        case "bool", bool():
            pass
        case "nat", int() if not isinstance(value, bool) and value >= 0:
            pass
        case "enum", str() if value in type_.members:
            pass
        case "note", str():
            pass
        case "opt", None:
            pass
        case "opt", _:
            return Node("some", (lift(value, type_.args[0]),), type_)
        case (("set" | "map" | "seq"), (frozenset() | set() | dict() | tuple())) if not value:
            value = ()
        case _:
            report(repr(value), f"is not a {type_}", f"give a {type_}")
            value = _SAMPLE.get(type_.kind)
    return Node("const", (), type_, value)


_SAMPLE: dict[str, Any] = {"bool": True, "nat": 0, "set": (), "map": (), "seq": (), "note": "", "enum": "", "id": ""}


def either(condition: Bool, then: T, otherwise: T | Any) -> T:
    """`then` if `condition` holds, else `otherwise`."""
    return wrap(Node("ite", (condition.node, then.node, lift(otherwise, then.node.type)), then.node.type))


def _flat(op: str, *nodes: Node) -> Node:
    parts = tuple(p for n in nodes for p in (n.args if n.op == op else (n,)))
    return Node(op, parts, BOOL)


def _compare(op: str, left: Expr, right: Any) -> Bool:
    type_ = left.node.type
    if type_.kind == "note":
        report(str(left), "a Note is never compared", "compare a field of another type, or declare this one as an Id")
        return Bool.of_node(Node("const", (), BOOL, True))
    if isinstance(right, Expr) and right.node.type.kind == "opt" and type_ == right.node.type.args[0]:
        return Bool.of_node(Node(op, (lift(left, right.node.type), right.node), BOOL))
    return Bool.of_node(Node(op, (left.node, lift(right, type_)), BOOL))
