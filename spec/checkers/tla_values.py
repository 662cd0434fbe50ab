"""TLA+ values as both checkers print them, as hashable Python values, and back as one normal text.

| TLA+ | Python |
|---|---|
| TRUE, 3, "a" | bool, int, str |
| model value r1 | `ModelValue("r1")` |
| {1, 2}, 1..2 | frozenset |
| <<1, 2>> and functions on 1..n, the empty one too | tuple |
| records and other functions | `Function` |

A record is a function on strings and a sequence is a function on 1..n: they are equal in TLA+, and
the checkers print them differently, so both forms become one value here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

Value = object
_TOKEN = re.compile(
    r"""\s*(?:(?P<string>"(?:\\.|[^"\\])*")|(?P<number>-?\d+)|(?P<name>\w+)"""
    r"""|(?P<sign><<|>>|\|->|:>|@@|\.\.|[{}\[\](),]))"""
)
_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class ModelValue:
    """An uninterpreted constant: equal to itself only, and to no string."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Function(Mapping[Value, Value]):
    """A function or record as its set of pairs; make it with `function`."""

    pairs: frozenset[tuple[Value, Value]]

    def __getitem__(self, key: Value) -> Value:
        for k, v in self.pairs:
            if k == key:
                return v
        raise KeyError(key)

    def __iter__(self) -> Iterator[Value]:
        return iter(k for k, _ in self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)


def function(pairs: Iterable[tuple[Value, Value]]) -> Value:
    """A function from its pairs: a tuple where the domain is 1..n, else a `Function`."""
    mapping = dict(pairs)
    if all(type(key) is int for key in mapping) and mapping.keys() == set(range(1, len(mapping) + 1)):
        return tuple(mapping[i] for i in range(1, len(mapping) + 1))
    return Function(frozenset(mapping.items()))


def parse(text: str) -> Value:
    """The value that a text stands for. Raises ValueError naming the place where it does not go on."""
    reader = _Reader(text)
    value = reader.value()
    reader.end()
    return value


def show(value: Value) -> str:
    """The normal text of a value: sets, records and functions in the order of their elements' texts."""
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        case int() | ModelValue():
            return str(value)
        case tuple():
            return f"<<{', '.join(map(show, value))}>>"
        case frozenset():
            return "{" + ", ".join(sorted(map(show, value))) + "}"
        case Function() if all(isinstance(key, str) and _NAME.fullmatch(key) for key in value):
            return "[" + ", ".join(sorted(f"{key} |-> {show(v)}" for key, v in value.pairs)) + "]"
        case Function():
            return "(" + " @@ ".join(sorted(f"{show(key)} :> {show(v)}" for key, v in value.pairs)) + ")"
        case _:
            raise TypeError(f"not a TLA+ value: {value!r}")


def normal(text: str) -> str:
    """The normal text of a printed value."""
    return show(parse(text))


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.kind = self.token = ""
        self.advance()

    def advance(self) -> None:
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            if self.text[self.at :].strip():
                self.fail("a value")
            self.kind = self.token = ""
            return
        self.at = match.end()
        self.kind = match.lastgroup or ""
        self.token = match[self.kind]

    def fail(self, expected: str) -> None:
        raise ValueError(f"expected {expected} at character {self.at} of TLA+ value {self.text!r}")

    def take(self, sign: str) -> bool:
        if self.kind == "sign" and self.token == sign:
            self.advance()
            return True
        return False

    def need(self, sign: str) -> None:
        if not self.take(sign):
            self.fail(sign)

    def end(self) -> None:
        if self.kind:
            self.fail("the end")

    def value(self) -> Value:
        kind, token = self.kind, self.token
        if kind == "string":
            self.advance()
            return re.sub(r"\\(.)", r"\1", token[1:-1])
        if kind == "number":
            self.advance()
            if self.take(".."):
                high = self.value()
                return frozenset(range(int(token), int(str(high)) + 1))
            return int(token)
        if kind == "name":
            self.advance()
            return token.upper() == "TRUE" if token.upper() in ("TRUE", "FALSE") else ModelValue(token)
        if self.take("{"):
            return frozenset(self.items("}"))
        if self.take("<<"):
            return tuple(self.items(">>"))
        if self.take("["):
            return self.record()
        if self.take("("):
            return self.function()
        self.fail("a value")
        raise AssertionError

    def items(self, close: str) -> Iterator[Value]:
        while not self.take(close):
            yield self.value()
            if self.token != close:
                self.need(",")

    def record(self) -> Value:
        pairs: list[tuple[Value, Value]] = []
        while not self.take("]"):
            name = self.token
            self.advance()
            self.need("|->")
            pairs.append((name, self.value()))
            if self.token != "]":
                self.need(",")
        return function(pairs)

    def function(self) -> Value:
        pairs: list[tuple[Value, Value]] = []
        while True:
            key = self.value()
            self.need(":>")
            pairs.append((key, self.value()))
            if self.take(")"):
                return function(pairs)
            self.need("@@")
