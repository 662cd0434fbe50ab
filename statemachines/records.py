"""Records: named fields together, as a type, a value and an expression.

Rules of this file:

- A record of plain values is a value, as a number is; in a rule it becomes the expression of it.
"""

from __future__ import annotations

import keyword
import typing
from collections.abc import Mapping
from typing import Any

from .annotations import annotations_of, stands_for, type_of
from .expressions import Expr, compare, is_expression, lift, wrap
from .ir import Node, Type
from .problems import declaring, report, stop


class _RecordField:
    """A record's field: of a value the value, of an expression an expression."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, record: Record | None, owner: type[Record]) -> Any:
        if record is None:
            return self
        if not is_expression(record):
            return record.values[self.name]
        type_ = record.node.type
        return wrap(Node("get", (record.node,), type_.args[type_.members.index(self.name)], self.name))


@stands_for("record")
class Record(Expr):
    """Named fields together: `class Span(Record): version: Nat; count: Nat`.

    Called with expressions it is an expression, with plain values a value, comparable and hashable.
    """

    values: Mapping[str, Any]
    members: typing.ClassVar[dict[str, Type]] = {}

    def __init_subclass__(cls) -> None:
        members: dict[str, Type] = {}
        for name, hint in annotations_of(cls).items():
            place = f"{cls.__name__}.{name}"
            try:
                member = type_of(hint)
            except TypeError as error:
                stop(place, str(error), "give it a type of the language")
            if hasattr(Record, name) or name in ("node", "values"):
                stop(place, "hides a name of every record", "give it another name")
            if keyword.iskeyword(name) or name != name.lower() or name.startswith("_") or not name.isascii():
                stop(place, "is no name for a member", "give it a lower-case ASCII name that is no keyword of Python")
            if member.kind in ("map", "note"):
                stop(place, f"is a {member}, and a record holds no map and no note", "make it a field")
            if name in cls.__dict__:
                report(place, "has a value, and a member has none of its own", "take the value out")
            members[name] = member
        # Who derives from a record has its members too.
        cls.members = {**cls.members, **members}
        if not cls.members:
            stop(cls.__name__, "has no members", "annotate some: class Span(Record): version: Nat")
        for name in members:
            setattr(cls, name, _RecordField(name))

    def __init__(self, **values: Any) -> None:
        if values.keys() != self.members.keys():
            given, wanted = ", ".join(values) or "nothing", ", ".join(self.members)
            what = f"takes exactly {wanted}; got {given}"
            if declaring():
                stop(f"{type(self).__name__}(...)", what, "give each of its members a value")
            raise TypeError(f"{type(self).__name__} {what}")
        if any(is_expression(value) for value in values.values()):
            nodes = tuple(lift(values[name], hint) for name, hint in self.members.items())
            self.node = Node("record", nodes, type_of(type(self)))
        else:
            self.values = {name: values[name] for name in self.members}

    def __eq__(self, other: Any) -> Any:
        if is_expression(self) or is_expression(other):
            return compare("eq", self, other)
        # By name and members, as the language tells types apart: two modules may declare one record.
        return isinstance(other, Record) and self._named() == other._named() and self.values == other.values

    def __ne__(self, other: Any) -> Any:
        if is_expression(self) or is_expression(other):
            return compare("ne", self, other)
        return not self == other

    def __hash__(self) -> int:
        return hash((self._named(), *self.values.values()))

    def _named(self) -> str:
        return type(self).__name__

    def __str__(self) -> str:
        if is_expression(self):
            return super().__str__()
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.values.items())})"

    __repr__ = __str__
