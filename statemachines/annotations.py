"""What the annotations of arguments and the element types of fields mean: classes of the language as types.

Rules of this file:

- A class stands for a kind of type because it says so, with `stands_for`; nothing here knows them by name.
- A named type is known again by its name and content: `class_of` gives the class that declared it.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

from .ir import BOOL, NAT, NOTE, Type, TypeKind

C = TypeVar("C", bound=type)

_KINDS: dict[type, TypeKind] = {}
_BY_KIND: dict[TypeKind, Any] = {}
_classes: dict[Type, Any] = {}
_PLAIN: dict[TypeKind, Type] = {"bool": BOOL, "nat": NAT, "note": NOTE}
_DERIVED: dict[TypeKind, str] = {"id": "class Rank(Id): ...", "record": "class Span(Record): size: Nat"}
"""Kinds whose types are classes that are derived from the kind's own, and how one is written."""


def stands_for(kind: TypeKind) -> Callable[[C], C]:
    """A class decorator: the class stands for types of this kind."""

    def declare(cls: C) -> C:
        _KINDS[cls], _BY_KIND[kind] = kind, cls
        return cls

    return declare


def class_of(type_: Type) -> Any:
    """The class that was declared as `type_`: an enum, an id sort or a record."""
    return _classes[type_]


def expression_class(type_: Type) -> Any:
    """The class of the expressions of `type_`."""
    return _classes[type_] if type_.kind in _DERIVED else _BY_KIND[type_.kind]


def type_of(hint: Any) -> Type:
    """The `Type` that an annotation means. Raises TypeError for what is not one of the language."""
    cls, args = typing.get_origin(hint) or hint, typing.get_args(hint)
    kind = _kind_of(cls) if isinstance(cls, type) else None
    if kind is None:
        raise TypeError(_no_type(hint))
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind in _DERIVED:
        if cls in _KINDS:
            raise TypeError(f"{cls.__name__} is the base of such types: declare one of your own, {_DERIVED[kind]}")
        members: dict[str, Type] = getattr(cls, "members", {})
        return _named(Type(kind, cls.__name__, tuple(members.values()), tuple(members)), cls)
    if not args:
        raise TypeError(f"{cls.__name__} needs its element types, as in {cls.__name__}[...]")
    if kind == "enum":
        (enum,) = args
        if not (isinstance(enum, type) and issubclass(enum, StrEnum) and len(enum)):
            raise TypeError(f"EnumOf[{_shown(enum)}] is of no StrEnum with members: class Mode(StrEnum): WAIT = 'wait'")
        return _named(Type("enum", enum.__name__, members=tuple(m.value for m in enum)), enum)
    inner = tuple(type_of(a) for a in args)
    if (kind == "opt" and inner[0].kind == "opt") or any(a.kind in ("map", "note") for a in inner):
        raise TypeError(
            f"{_shown(hint)} nests what cannot be nested (Opt in Opt, Map or Note in anything): use a Record or an Id"
        )
    return Type(kind, args=inner)


def annotations_of(cls: type) -> dict[str, Any]:
    """The annotations of this class itself, in order, without class variables."""
    own = inspect.get_annotations(cls)
    return {k: v for k, v in own.items() if not (v is typing.ClassVar or typing.get_origin(v) is typing.ClassVar)}


def _named(type_: Type, cls: type) -> Type:
    _classes[type_] = cls
    return type_


def _kind_of(cls: type) -> TypeKind | None:
    if cls in _KINDS:
        return _KINDS[cls]
    return next((kind for base in cls.__mro__ if (kind := _KINDS.get(base)) in _DERIVED), None)


def _no_type(hint: Any) -> str:
    if isinstance(hint, str):
        return f"the annotation {hint!r} is text: take `from __future__ import annotations` out of the module"
    kind = type(hint).__name__
    if any(base in _KINDS for base in type(hint).__mro__):
        return f"{kind}(...) is a value where its type is needed: write {kind}"
    return (
        f"{_shown(hint)} is not a type of the language "
        "(Bool, Nat, EnumOf, Opt, SetOf, MapOf, SeqOf, Note, an Id or a Record)"
    )


def _shown(hint: Any) -> str:
    return repr(hint).replace("sluicegate.statemachines.", "")
