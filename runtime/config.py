"""Frozen dataclasses from mappings: what a file of settings says, checked against what the code declares.

Rules of this file:

- A setting is declared once, as a field of a frozen dataclass; its annotation is its type.
- Every problem of a mapping is found and reported together, each with its place and its mend.
- A value is never bent to fit: a string is no number, a number is no flag; a whole number is a float.
- What fields may not say together is the dataclass's own `__post_init__`, which raises `ConfigError`.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import math
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, Literal, TypeVar

from .files import write_durably

T = TypeVar("T")


class ConfigError(ValueError):
    """Settings that cannot be used; one line a problem, each with its place and its mend."""

    def __init__(self, problems: str | Iterable[str]) -> None:
        self.problems = (problems,) if isinstance(problems, str) else tuple(problems)
        super().__init__("\n".join(self.problems))


def require(*rules: tuple[bool, str]) -> None:
    """Raises ConfigError with the text of every rule that does not hold; for `__post_init__`.

    A text begins with the name of the field that it is about.
    """
    broken = [text for holds, text in rules if not holds]
    if broken:
        raise ConfigError(broken)


def from_mapping(cls: type[T], mapping: Mapping[str, Any], where: str) -> T:
    """An instance of the dataclass `cls` with the values of `mapping`, nested dataclasses included.

    `where` names the mapping in errors, such as `demo.yaml: training`. A key that the mapping lacks
    takes the field's default. Raises ConfigError that names all problems: unknown keys (with the
    nearest known one), missing keys, values of another type, and what `__post_init__` refuses.
    """
    problems: list[str] = []
    value = _dataclass(cls, mapping, where, problems)
    if problems:
        raise ConfigError(problems)
    return value


def read_config(cls: type[T], path: Path) -> T:
    """An instance of `cls` from a JSON file. Raises ConfigError."""
    try:
        mapping = json.loads(path.read_text())
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}): give the path of a JSON file") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: is not JSON ({error}): mend it there") from error
    return from_mapping(cls, mapping, str(path))


def write_config(path: Path, config: Any) -> None:
    """Write what `read_config` reads, durably."""
    write_durably(path, json.dumps(as_json(config), indent=2).encode())


def as_json(value: Any) -> Any:
    """A config, or a part of one, as what `json.dumps` takes."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: as_json(getattr(value, f.name)) for f in dataclasses.fields(value) if f.init}
    if isinstance(value, Mapping):
        return {str(k): as_json(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(v) for v in value]
    if isinstance(value, Enum):
        return value.value
    return str(value) if isinstance(value, Path) else value


def _dataclass(cls: type[Any], mapping: Any, where: str, problems: list[str]) -> Any:
    before = len(problems)
    if not isinstance(mapping, Mapping):
        problems.append(f"{where}: expected keys and values, got {mapping!r}")
        return None
    fields = {field.name: field for field in dataclasses.fields(cls) if field.init}
    hints = typing.get_type_hints(cls)
    values: dict[str, Any] = {}
    for key, value in mapping.items():
        if key in fields:
            values[key] = _value(hints[key], value, f"{where}.{key}", problems)
        else:
            problems.append(f"{where}: there is no key {key!r}{_mend(key, fields)}")
    for name, field in fields.items():
        if name not in mapping and not _has_default(field):
            problems.append(f"{where}: the key {name!r} is missing and has no default")
    if len(problems) > before:
        return None
    try:
        return cls(**values)
    except ConfigError as refused:
        problems.extend(f"{where}.{text}" for text in refused.problems)
    except (ValueError, TypeError) as refused:
        problems.append(f"{where}: {refused}")
    return None


def _has_default(field: dataclasses.Field[Any]) -> bool:
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


def _mend(key: object, known: Iterable[str]) -> str:
    names = list(known)
    near = difflib.get_close_matches(str(key), names, n=1)
    return f": did you mean {near[0]!r}?" if near else f"; the keys are {', '.join(names) or 'none'}"


def _value(hint: Any, value: Any, where: str, problems: list[str]) -> Any:
    """`value` as the annotation `hint` wants it; a problem is noted and None given where it cannot be."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return value
    if origin in (typing.Union, types.UnionType):
        return _union(args, value, where, problems)
    if origin is Literal:
        return _member(dict(zip(map(str, args), args, strict=True)), value, where, problems)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _member({str(member.value): member for member in hint}, value, where, problems)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return value if isinstance(value, hint) else _dataclass(hint, value, where, problems)
    if origin in (tuple, list, Sequence):
        return _items(origin, args, value, where, problems)
    if origin in (dict, Mapping):
        if not isinstance(value, Mapping):
            problems.append(f"{where}: expected keys and values, got {value!r}")
            return None
        pairs = value.items()
        return {key: _value(args[1], item, f"{where}.{key}", problems) for key, item in pairs}
    if hint in _SCALARS:
        accepts, convert, name = _SCALARS[hint]
        if accepts(value):
            return convert(value)
        problems.append(f"{where}: expected {name}, got {value!r}{_scalar_mend(hint, value)}")
        return None
    raise TypeError(f"{where}: settings of type {hint!r} are not supported; declare it in another way")


def _union(args: tuple[Any, ...], value: Any, where: str, problems: list[str]) -> Any:
    if value is None and type(None) in args:
        return None
    choices = [arg for arg in args if arg is not type(None)]
    found: list[str] = []
    for choice in choices:
        found = []
        result = _value(choice, value, where, found)
        if not found:
            return result
    if len(choices) == 1:
        problems.extend(found)
    else:
        names = " or ".join(getattr(choice, "__name__", str(choice)) for choice in choices)
        problems.append(f"{where}: expected {names}, got {value!r}")
    return None


def _member(members: Mapping[str, Any], value: Any, where: str, problems: list[str]) -> Any:
    for text, member in members.items():
        if type(value) is type(member) and value == member:
            return member
        if isinstance(value, str) and value == text and isinstance(member, str):
            return member
    near = difflib.get_close_matches(str(value), list(members), n=1)
    hint = f": did you mean {near[0]!r}?" if near else ""
    problems.append(f"{where}: expected one of {', '.join(members)}, got {value!r}{hint}")
    return None


def _items(origin: Any, args: tuple[Any, ...], value: Any, where: str, problems: list[str]) -> Any:
    if isinstance(value, str) or not isinstance(value, Sequence):
        problems.append(f"{where}: expected a list, got {value!r}")
        return None
    if origin is tuple and not (len(args) == 2 and args[1] is Ellipsis):
        if len(value) != len(args):
            problems.append(f"{where}: expected {len(args)} items, got {len(value)}")
            return None
        kinds: Sequence[Any] = args
    else:
        kinds = [args[0]] * len(value)
    pairs = enumerate(zip(kinds, value, strict=True))
    items = [_value(kind, item, f"{where}[{number}]", problems) for number, (kind, item) in pairs]
    return items if origin is list else tuple(items)


def _scalar_mend(hint: Any, value: Any) -> str:
    if hint in (int, float) and isinstance(value, str):
        # YAML 1.1 reads 1e-3 as text; the dot makes it a number.
        return ": write a number without quotes, an exponent with its point, as in 1.0e-3"
    if hint is bool:
        return ": write true or false"
    return ": put it in quotes" if hint is str else ""


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_float(value: Any) -> bool:
    return _is_int(value) or (isinstance(value, float) and math.isfinite(value))


_SCALARS: dict[Any, tuple[Callable[[Any], bool], Callable[[Any], Any], str]] = {
    bool: (lambda value: isinstance(value, bool), bool, "true or false"),
    int: (_is_int, int, "a whole number"),
    float: (_is_float, float, "a finite number"),
    str: (lambda value: isinstance(value, str), str, "text"),
    Path: (lambda value: isinstance(value, str | Path), Path, "a path"),
}
