"""Conversions between a machine's Python values and its messages, as Python source.

Rules of this file:

- `to_message` writes an expression for a keyword of a message's constructor, `to_value` one that reads
  a message's field; both are straight-line code, so that a call pays for its own fields only.
- Sets are written in order, so that equal values make equal bytes.
- A choice that is not given, or a record that is missing, is a `WireError` that names its place.
"""

from __future__ import annotations

from ...statemachines.ir import Type
from .layout import KEYS, Layout, constant, proto_name

PLAIN = ("bool", "nat", "id", "note")
ANNOTATIONS = {"bool": "bool", "nat": "int", "id": "str", "note": "str"}


class Conversions:
    """Writes expressions for one machine's types."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    def annotation(self, type_: Type, argument: bool = False) -> str:
        """The Python type of a value; as an argument, the widest that is taken."""
        inner = [self.annotation(a) for a in type_.args]
        match type_.kind:
            case "enum" | "record":
                return type_.name
            case "opt":
                return f"{inner[0]} | None"
            case "set":
                return f"{'Set' if argument else 'frozenset'}[{inner[0]}]"
            case "seq":
                return f"Sequence[{inner[0]}]" if argument else f"tuple[{inner[0]}, ...]"
            case "map":
                return f"Mapping[{inner[0]}, {inner[1]}]"
            case kind:
                return ANNOTATIONS[kind]

    # -- to messages -----------------------------------------------------------------------------

    def to_message(self, type_: Type, value: str, depth: int = 0) -> str:
        """A constructor's argument for the field that holds `value`."""
        item, inner = f"x{depth}", type_.args
        match type_.kind:
            case "opt":
                if inner[0].kind in PLAIN:
                    return value
                return f"None if {value} is None else {self.element(inner[0], value, depth)}"
            case "set":
                key = "" if inner[0].kind in (*PLAIN, "enum") else ", key=repr"
                ordered = f"sorted({value}{key})"
                return ordered if inner[0].kind in PLAIN else self._each(inner[0], ordered, depth)
            case "seq":
                return value if inner[0].kind in PLAIN else self._each(inner[0], value, depth)
            case "map" if inner[0].kind in KEYS:
                if inner[1].kind in PLAIN:
                    return value
                made = self.element(inner[1], item, depth + 1)
                return f"{{k{depth}: {made} for k{depth}, {item} in {value}.items()}}"
            case "map":
                parts = f"key={self.element(inner[0], f'k{depth}', depth + 1)}"
                parts += f", value={self.element(inner[1], item, depth + 1)}"
                entry = f"pb.{self.layout.named(type_)}Entry({parts})"
                return f"[{entry} for k{depth}, {item} in sorted({value}.items(), key=repr)]"
            case _:
                return self.element(type_, value, depth)

    def element(self, type_: Type, value: str, depth: int = 0) -> str:
        """One always present value, as the proto element that holds it."""
        match type_.kind:
            case kind if kind in PLAIN:
                return value
            case "enum":
                return f"_{constant(type_.name)}[{value}]"
            case "record":
                return f"_{type_.name.lower()}_message({value})"
            case _:
                return f"pb.{self.layout.named(type_)}(items={self.to_message(type_, value, depth)})"

    def _each(self, type_: Type, values: str, depth: int) -> str:
        return f"[{self.element(type_, f'x{depth}', depth + 1)} for x{depth} in {values}]"

    # -- to values -------------------------------------------------------------------------------

    def to_value(self, type_: Type, message: str, name: str, depth: int = 0) -> str:
        """The value that field `name` of `message` holds."""
        name = proto_name(name)
        held, item, inner = f"{message}.{name}", f"x{depth}", type_.args
        match type_.kind:
            case "opt":
                return f'{self.value(inner[0], held, depth)} if {message}.HasField("{name}") else None'
            case "set":
                return f"frozenset({held if inner[0].kind in PLAIN else self._values(inner[0], held, depth)})"
            case "seq":
                return f"tuple({held if inner[0].kind in PLAIN else self._values(inner[0], held, depth)})"
            case "map" if inner[0].kind in KEYS:
                if inner[1].kind in PLAIN:
                    return f"dict({held})"
                made = self.value(inner[1], item, depth + 1)
                return f"{{k{depth}: {made} for k{depth}, {item} in {held}.items()}}"
            case "map":
                key = self.value(inner[0], f"{item}.key", depth + 1)
                return f"{{{key}: {self.value(inner[1], f'{item}.value', depth + 1)} for {item} in {held}}}"
            case "record":
                return f'_{type_.name.lower()}_value(given({message}, "{name}"))'
            case _:
                return self.value(type_, held, depth)

    def value(self, type_: Type, held: str, depth: int = 0) -> str:
        """The value of one proto element."""
        match type_.kind:
            case kind if kind in PLAIN:
                return held
            case "enum":
                return f"_{constant(type_.name)}_OF[{held}]"
            case "record":
                return f"_{type_.name.lower()}_value({held})"
            case _:
                return self.to_value(type_, held, "items", depth)

    def _values(self, type_: Type, held: str, depth: int) -> str:
        return f"({self.value(type_, f'x{depth}', depth + 1)} for x{depth} in {held})"
