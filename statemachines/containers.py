"""Typed expressions that hold others: a value or none, sets, maps and sequences."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from .annotations import stands_for
from .expressions import Bool, Change, Expr, Nat, lift, wrap
from .ir import BOOL, NAT, Node, Type
from .problems import stop

T = TypeVar("T", bound=Expr)
K = TypeVar("K", bound=Expr)
V = TypeVar("V", bound=Expr)

none: Any = None
"""The absent value of an `Opt`."""


@stands_for("opt")
class Opt(Expr, Generic[T]):
    """A value or none. As a field: `version = Opt(Nat)`, at first none."""

    def __init__(self, of: type[T]) -> None:
        self._declare(lambda: Opt[of])

    def is_some(self) -> Bool:
        return Bool.of_node(Node("is_some", (self.node,), BOOL))

    def or_else(self, default: T | Any) -> T:
        inner = self.node.type.args[0]
        return wrap(Node("or_else", (self.node, lift(default, inner)), inner))


@stands_for("set")
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

    def __ror__(self, other: frozenset[Any]) -> SetOf[T]:
        return SetOf.of_node(Node("union", (lift(other, self.node.type), self.node), self.node.type))

    def __sub__(self, other: SetOf[T]) -> SetOf[T]:
        return self._with("minus", lift(other, self.node.type))

    def __rsub__(self, other: frozenset[Any]) -> SetOf[T]:
        return SetOf.of_node(Node("minus", (lift(other, self.node.type), self.node), self.node.type))

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


@stands_for("map")
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


@stands_for("seq")
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


def _require_no_option(what: str, item: Type) -> None:
    """An Opt of an Opt is nothing that the checkers and the compiled step tell apart in the same way."""
    if item.kind == "opt":
        stop(what, "would be an Opt of an Opt", "keep the items in a Record or under an Id")
