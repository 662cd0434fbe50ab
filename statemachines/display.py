"""Expressions written for a reader, by the display column of the operator table."""

from __future__ import annotations

from .ir import Node
from .operators import OPERATORS


def show(node: Node, event: str = "") -> str:
    """One line of text; arguments of events without their event, or after `event` and a dot."""
    match node.op:
        case "const":
            return "none" if node.value is None else "∅" if node.value == () else str(node.value).lower()
        case "field" | "state":
            return str(node.value or "?")
        case "arg":
            name = str(node.value[-1] if isinstance(node.value, tuple) else node.value)
            return f"{event}.{name}" if event else name
        case "get":
            return f"{_atom(node.args[0], event)}.{node.value}"
        case "record":
            fields = ", ".join(f"{k}: {show(v, event)}" for k, v in zip(node.type.members, node.args, strict=True))
            return f"{node.type.name}({fields})"
        case "and" | "or":
            return f" {node.op} ".join(_atom(arg, event) for arg in node.args)
        case _:
            return OPERATORS[node.op].display.format(*(_atom(arg, event) for arg in node.args))


def _atom(node: Node, event: str) -> str:
    text = show(node, event)
    return text if node.op in ("const", "field", "state", "arg", "get", "record") else f"({text})"
