"""What a class body makes and neither binds to a name nor uses: it would vanish without a word.

Rules of this file:

- What is made while a body runs is noted, and must be bound in it, or be part of what is.
- A rule, row or update that another one is made of is part of that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from typing import Any, TypeVar

from .problems import caller, report

T = TypeVar("T")

_made: ContextVar[dict[int, tuple[object, str]] | None] = ContextVar("made", default=None)


def begin() -> None:
    """Begin a class body: what is made from now on is noted."""
    _made.set({})


def end() -> None:
    """End a class body: nothing is noted after this."""
    _made.set(None)


def made(thing: T, where: str = "") -> T:
    """Note that the class body that runs has made `thing`, at "file:line"."""
    noted = _made.get()
    if noted is not None:
        noted[id(thing)] = thing, where or caller()
    return thing


def taken(*parts: object) -> None:
    """These have become part of something else, or have been reported."""
    noted = _made.get()
    if noted is not None:
        for part in parts:
            noted.pop(id(part), None)


def refuse_unbound(body: Mapping[str, Any], told: Callable[[object], str]) -> None:
    """Report what was made and is neither bound in `body` nor part of anything; `told` says what it is."""
    holders: dict[int, tuple[str, str]] = {}
    bound: set[int] = set()
    for name, value in body.items():
        bound.add(id(value))
        for part in members(value):
            holders.setdefault(id(part), (name, type(value).__name__))
    for thing, where in (_made.get() or {}).values():
        if id(thing) in bound:
            continue
        if id(thing) in holders:
            name, kind = holders[id(thing)]
            what = f"is in the {kind} {name}, and has no name of its own"
            mend = "bind each to a name of its own"
            if kind == "tuple" and len(body[name]) == 1:
                mend = f"take the comma at the end of {name} = ... out"
        else:
            what, mend = "is bound to no name", "bind it in the body, name = ..., or take it out"
        report(told(thing), f"{what}: it would not count", mend, where)


def members(value: object) -> Iterable[object]:
    """All that a tuple, list, set or dict holds, however deep."""
    inner: Iterable[object] = ()
    if isinstance(value, dict):
        inner = value.values()
    elif isinstance(value, (tuple, list, frozenset, set)):
        inner = value
    for part in inner:
        yield part
        yield from members(part)


def among(thing: object, others: Iterable[object]) -> bool:
    """Whether `thing` is one of `others` itself: an expression cannot be asked whether it is equal."""
    return any(thing is other for other in others)
