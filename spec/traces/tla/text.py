"""Values of a trace as TLA+ text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


class Raw(str):
    """Text that is TLA+ already."""

    __slots__ = ()


def tla(value: Any) -> str:
    """A value as TLA+: mappings with text keys are records, others functions; None is the empty option.

    An option that holds a value is a tuple of one. Raises TypeError for what has no form.
    """
    match value:
        case Raw():
            return str(value)
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return str(value)
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        case None:
            return "<<>>"
        case tuple() | list():
            return f"<<{', '.join(map(tla, value))}>>"
        case frozenset() | set():
            return "{" + ", ".join(sorted(map(tla, value))) + "}"
        case Mapping() if value and all(isinstance(k, str) and k.isidentifier() for k in value):
            return record(value.items())
        case Mapping():
            pairs = " @@ ".join(f"({tla(k)} :> {tla(v)})" for k, v in value.items())
            return pairs or "[none \\in {} |-> 0]"
        case _:
            raise TypeError(f"no TLA+ value: {value!r}")


def record(members: Iterable[tuple[str, Any]]) -> str:
    """A record; the empty one is the function on nothing."""
    text = ", ".join(f"{name} |-> {tla(value)}" for name, value in members)
    return f"[{text}]" if text else "[none \\in {} |-> 0]"
