"""What an expression means, by walking it: the compiled step is held equal to this.

Rules of this file:

- It shares nothing with the compiler or the operator table: each operator is said once more, in words
  of plain Python over frozen values, so that a mistake in one of the two shows as a difference.
- Slow and obvious. The runtime never comes here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .annotations import class_of
from .ir import Node

_EMPTY: dict[str, Any] = {"set": frozenset(), "map": {}, "seq": ()}


def evaluate(node: Node, fields: Mapping[str, Any], arguments: Mapping[str, Any]) -> Any:
    """The value of `node` for these fields of the instance and arguments of the event, all frozen.

    A property asks for the state too, as the field "state".
    """
    match node.op:
        case "const":
            return _EMPTY[node.type.kind] if node.value == () else node.value
        case "field":
            return fields[str(node.value)]
        case "state":
            return fields["state"] == node.value
        case "arg":
            return arguments[str(node.value)]
        case "ite":
            chosen = node.args[1 if evaluate(node.args[0], fields, arguments) else 2]
            return evaluate(chosen, fields, arguments)
    values = [evaluate(arg, fields, arguments) for arg in node.args]
    return apply(node, values)


def apply(node: Node, values: list[Any]) -> Any:
    """The operator of `node` on the values of its arguments."""
    match node.op, values:
        case "and", _:
            return False not in values
        case "or", _:
            return True in values
        case "not", [a]:
            return a is False
        case "eq", [a, b]:
            return a == b
        case "ne", [a, b]:
            return a != b
        case "lt", [a, b]:
            return a < b
        case "le", [a, b]:
            return not b < a
        case "add", [a, b]:
            return a + b
        case "monus", [a, b]:
            return a - b if b < a else 0
        case "max", [a, b]:
            return b if a < b else a
        case "some", [a]:
            return a
        case "is_some", [a]:
            return a is not None
        case "or_else", [a, b]:
            return a if a is not None else b
        case "in" | "map_has", [a, b]:
            member, collection = (a, b) if node.op == "in" else (b, a)
            return any(member == other for other in collection)
        case "set_empty" | "map_empty" | "seq_empty", [a]:
            return len(a) == 0
        case "set_size" | "seq_size", [a]:
            return sum(1 for _ in a)
        case "subset", [a, b]:
            return all(x in b for x in a)
        case "union", [a, b]:
            return frozenset([*a, *b])
        case "minus", [a, b]:
            return frozenset(x for x in a if x not in b)
        case "set_add", [a, b]:
            return frozenset([*a, b])
        case "set_remove", [a, b]:
            return frozenset(x for x in a if x != b)
        case "map_get", [a, b]:
            return next((v for k, v in a.items() if k == b), None)
        case "map_keys", [a]:
            return frozenset(k for k, _ in a.items())
        case "map_put", [a, b, c]:
            return dict([*a.items(), (b, c)])
        case "map_remove", [a, b]:
            return {k: v for k, v in a.items() if k != b}
        case "seq_append", [a, b]:
            return (*a, b)
        case "seq_head", [a]:
            return next(iter(a), None)
        case "seq_tail", [a]:
            return tuple(x for i, x in enumerate(a) if i > 0)
        case "record", _:
            return class_of(node.type)(**dict(zip(node.type.members, values, strict=True)))
        case "get", [a]:
            return getattr(a, str(node.value))
    raise ValueError(f"no operator {node.op} of {len(values)} arguments")
