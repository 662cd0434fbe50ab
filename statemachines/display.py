"""Expressions written for a reader, by the display column of the operator table."""

from __future__ import annotations

from .ir import Node
from .operators import OPERATORS


def show(node: Node) -> str:
    """One line of text; arguments of events without their event."""
    match node.op:
        case "const":
            return "none" if node.value is None else "∅" if node.value == () else str(node.value).lower()
        case "field":
            return str(node.value or "?")
        case "arg":
            return str(node.value[-1] if isinstance(node.value, tuple) else node.value)
        case "get":
            return f"{_atom(node.args[0])}.{node.value}"
        case "record":
            fields = ", ".join(f"{k}: {show(v)}" for k, v in zip(node.type.members, node.args, strict=True))
            return f"{node.type.name}({fields})"
        case "and" | "or":
            return f" {node.op} ".join(map(_atom, node.args))
        case _:
            return OPERATORS[node.op].display.format(*map(_atom, node.args))


def _atom(node: Node) -> str:
    text = show(node)
    return text if node.op in ("const", "field", "arg", "get", "record") else f"({text})"
