"""Values of the declaration language as JSON, and back: for traces, journals and reports.

Rules of this file:

- Deterministic: equal values give equal JSON. Sets and the keys of maps are sorted.
- A set and a sequence are lists; a record is an object; no value is null; enums, ids and notes are
  text. A map is an object where its keys are text, else a list of [key, value] pairs.
- Decoding believes nothing: what does not fit the type is a ValueError that names the path.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from .annotations import class_of
from .ir import Field, Type
from .machine import Event

_TEXT = ("enum", "id", "note")


def encode(type_: Type, value: Any) -> Any:
    """A value of `type_` as what `json.dumps` takes. The value is not checked."""
    match type_.kind:
        case "bool" | "nat":
            return value
        case "enum" | "id" | "note":
            return str(value)
        case "opt":
            return None if value is None else encode(type_.args[0], value)
        case "seq":
            return [encode(type_.args[0], item) for item in value]
        case "set":
            return sorted((encode(type_.args[0], item) for item in value), key=_order)
        case "map":
            key, item = type_.args
            pairs = sorted(([encode(key, k), encode(item, v)] for k, v in value.items()), key=lambda p: _order(p[0]))
            return dict(pairs) if key.kind in _TEXT else pairs
        case "record":
            members = zip(type_.members, type_.args, strict=True)
            return {name: encode(member, getattr(value, name)) for name, member in members}


def decode(type_: Type, data: Any, path: str = "value") -> Any:
    """The value of `type_` that `data`, as `json.loads` gave it, stands for.

    Raises:
        ValueError: `data` does not fit; the message names `path` and the part below it.
    """
    match type_.kind:
        case "bool":
            if isinstance(data, bool):
                return data
        case "nat":
            if isinstance(data, int) and not isinstance(data, bool) and data >= 0:
                return data
        case "id" | "note":
            if isinstance(data, str):
                return data
        case "enum":
            if isinstance(data, str) and data in type_.members:
                return class_of(type_)(data)
            _wrong(path, f"one of {', '.join(type_.members)}", data)
        case "opt":
            return None if data is None else decode(type_.args[0], data, path)
        case "seq":
            if isinstance(data, list):
                return tuple(_items(type_.args[0], data, path))
        case "set":
            if isinstance(data, list):
                items = _items(type_.args[0], data, path)
                return frozenset(_once(items, path))
        case "map":
            if (pairs := _pairs(type_.args[0], data, path)) is not None:
                keys = [decode(type_.args[0], k, f"{path}, key {k!r}") for k, _ in pairs]
                values = [decode(type_.args[1], v, f"{path}[{json.dumps(k)}]") for k, v in pairs]
                return dict(zip(_once(keys, path), values, strict=True))
        case "record":
            fields = tuple(Field(n, t) for n, t in zip(type_.members, type_.args, strict=True))
            return class_of(type_)(**_named(fields, data, path))
    _wrong(path, f"a {type_}", data)


def fits(type_: Type, value: Any) -> bool:
    """Whether a frozen `value` is one of `type_`, and not only equal to one: True is no 1, nor 1.0 a natural."""
    match type_.kind:
        case "bool":
            return isinstance(value, bool)
        case "nat":
            return isinstance(value, int) and not isinstance(value, bool) and value >= 0
        case "enum":
            return isinstance(value, str) and str(value) in type_.members
        case "id" | "note":
            return isinstance(value, str)
        case "opt":
            return value is None or fits(type_.args[0], value)
        case "seq" | "set":
            return isinstance(value, (tuple, frozenset)) and all(fits(type_.args[0], item) for item in value)
        case "map":
            key, item = type_.args
            return isinstance(value, dict) and all(fits(key, k) and fits(item, v) for k, v in value.items())
        case "record":
            members = zip(type_.members, type_.args, strict=True)
            return all(hasattr(value, name) and fits(member, getattr(value, name)) for name, member in members)


def encode_event(machine: Any, event: Event) -> dict[str, Any]:
    """An event of `machine` as `{"event": name, "fields": {...}}`."""
    declared = machine.ir.event(type(event).__name__)
    return {"event": declared.name, "fields": {f.name: encode(f.type, getattr(event, f.name)) for f in declared.fields}}


def decode_event(machine: Any, data: Any) -> Any:
    """The event of `machine` that `encode_event` wrote.

    Raises:
        ValueError: `data` is no event of this machine; the message names the path.
    """
    named = _named((Field("event", Type("note")),), _without(data, "fields"), "event")
    declared = next((e for e in machine.ir.events if e.name == named["event"]), None)
    if declared is None:
        _wrong("event", f"an event of {machine.ir.name}", named["event"])
    return getattr(machine, declared.name)(**_named(declared.fields, data.get("fields"), declared.name))


def encode_snapshot(snapshot: Any) -> dict[str, Any]:
    """A snapshot as `{"state": name, "fields": {...}}`."""
    fields = snapshot.machine.ir.fields
    return {"state": snapshot.state, "fields": {f.name: encode(f.type, getattr(snapshot, f.name)) for f in fields}}


def decode_snapshot(machine: Any, data: Any) -> Any:
    """The snapshot of `machine` that `encode_snapshot` wrote.

    Raises:
        ValueError: `data` is no snapshot of this machine; the message names the path.
    """
    named = _named((Field("state", Type("note")),), _without(data, "fields"), "snapshot")
    if named["state"] not in machine.ir.states:
        _wrong("snapshot.state", f"one of {', '.join(machine.ir.states)}", named["state"])
    values = _named(machine.ir.fields, data.get("fields"), machine.ir.name)
    return machine.Snapshot.of_values(named["state"], *values.values())


def _named(fields: tuple[Field, ...], data: Any, path: str) -> dict[str, Any]:
    """The decoded members of an object that must have exactly these fields."""
    if not isinstance(data, dict):
        _wrong(path, "an object", data)
    wanted = [f.name for f in fields]
    if missing := [n for n in wanted if n not in data]:
        raise ValueError(f"{path}: {', '.join(missing)} missing")
    if unknown := [str(n) for n in data if n not in wanted]:
        raise ValueError(f"{path}: unknown {', '.join(unknown)}; the fields are {', '.join(wanted) or 'none'}")
    return {f.name: decode(f.type, data[f.name], f"{path}.{f.name}") for f in fields}


def _without(data: Any, name: str) -> Any:
    return {k: v for k, v in data.items() if k != name} if isinstance(data, dict) else data


def _items(type_: Type, data: list[Any], path: str) -> list[Any]:
    return [decode(type_, item, f"{path}[{i}]") for i, item in enumerate(data)]


def _pairs(key: Type, data: Any, path: str) -> list[Any] | None:
    if key.kind in _TEXT:
        return list(data.items()) if isinstance(data, dict) else None
    if not isinstance(data, list):
        return None
    for i, pair in enumerate(data):
        if not isinstance(pair, list) or len(pair) != 2:
            _wrong(f"{path}[{i}]", "a pair [key, value]", pair)
    return data


def _once(items: list[Any], path: str) -> list[Any]:
    seen = set()
    for item in items:
        if item in seen:
            raise ValueError(f"{path}: {item!r} is there twice")
        seen.add(item)
    return items


def _order(data: Any) -> Any:
    """Numbers by size, anything else by its text."""
    if isinstance(data, int):
        return (0, data, "")
    return (1, 0, data if isinstance(data, str) else json.dumps(data, sort_keys=True))


def _wrong(path: str, wanted: str, data: Any) -> NoReturn:
    shown = repr(data)
    raise ValueError(f"{path}: needs {wanted}, got {shown if len(shown) <= 60 else shown[:57] + '...'}")
