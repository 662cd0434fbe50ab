"""Machines inside the state of a model: where their records stand, and the snapshots that these are.

Rules of this file:

- A record is an instance of a machine if it has exactly the machine's fields and a state of it; no
  model has to say where it keeps its machines.
- A model may name an id by any value; here each has one text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...statemachines.annotations import class_of
from ...statemachines.ir import Type
from ..checkers.tla_values import Function, ModelValue, show

Path = tuple[str, ...]
"""A variable, then the fields and keys that lead into its value."""


def instances(state: Mapping[str, Any], machines: Sequence[Any]) -> dict[Path, tuple[Any, Any]]:
    """Every instance in a state (variables to values): its path to its machine and snapshot."""
    found: dict[Path, tuple[Any, Any]] = {}
    shapes: dict[frozenset[object], list[Any]] = {}
    for machine in machines:
        shapes.setdefault(frozenset(_members(machine)), []).append(machine)

    def walk(path: Path, value: Any) -> None:
        if not isinstance(value, (Function, tuple)):
            return
        # Machines may have the same fields: their states tell which one it is, else it is the one that was named last.
        for machine in reversed(shapes.get(frozenset(value), [])) if isinstance(value, Function) else ():
            try:
                found[path] = machine, snapshot(machine, value)
                return
            except (ValueError, TypeError, KeyError):
                pass  # a record of the same shape that is none
        for key, inner in parts(value):
            walk((*path, key), inner)

    for name, value in state.items():
        walk((name,), value)
    return found


def parts(value: Any) -> Iterator[tuple[str, Any]]:
    """The keys of a function or record, as text, and what is there; of a sequence, its places."""
    pairs = enumerate(value, 1) if isinstance(value, tuple) else value.items()
    return iter(sorted(((text(key), inner) for key, inner in pairs), key=lambda pair: pair[0]))


def snapshot(machine: Any, value: Any) -> Any:
    """The snapshot that a record is. Raises ValueError, TypeError or KeyError if it is none."""
    ir = machine.ir
    if value["state"] not in ir.states:
        raise ValueError(f"{value['state']!r} is no state of {ir.name}")
    values = [f.initial if f.type.kind == "note" else python(f.type, value[f.name]) for f in ir.fields]
    return machine.Snapshot.of_values(value["state"], *values)


def python(kind: Type, value: Any) -> Any:
    """A checker's value as the value of a machine's type. Raises ValueError if it does not fit."""
    match kind.kind:
        case "bool" if isinstance(value, bool):
            return value
        case "nat" if type(value) is int and value >= 0:
            return value
        case "enum" if isinstance(value, str):
            return class_of(kind)(value)
        case "id" if not isinstance(value, bool):
            return text(value)
        case "opt" if isinstance(value, tuple) and len(value) < 2:
            return python(kind.args[0], value[0]) if value else None
        case "seq" if isinstance(value, tuple):
            return tuple(python(kind.args[0], item) for item in value)
        case "set" if isinstance(value, frozenset):
            return frozenset(python(kind.args[0], item) for item in value)
        case "map" if isinstance(value, (tuple, Function)):
            pairs = enumerate(value, 1) if isinstance(value, tuple) else value.items()
            return {python(kind.args[0], key): python(kind.args[1], item) for key, item in pairs}
        case "record" if isinstance(value, Function):
            members = zip(kind.members, kind.args, strict=True)
            return class_of(kind)(**{name: python(member, value[name]) for name, member in members})
    raise ValueError(f"{show(value)} is no {kind}")


def text(value: Any) -> str:
    """What a key or an id is called: text as it is, a tuple by its parts."""
    match value:
        case str() | ModelValue():
            return str(value)
        case tuple():
            return ".".join(map(text, value))
        case _:
            return show(value)


def _members(machine: Any) -> list[str]:
    return ["state", *(f.name for f in machine.ir.fields if f.type.kind != "note")]
