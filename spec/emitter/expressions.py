"""Expressions of the internal form, written in TLA+.

Rules of this file:

- The meaning of an operator is its `tla` template in the table of operators; here it is only filled
  in: arguments are bracketed where they are not atoms, `{v}` becomes a name used once in the module.
- A field is read from the record of the instance (`gSeal.epoch`), an argument is a parameter of the
  operator that is being written (`gSeal_epoch`).
- A Note has one value, the empty text: it is carried along, never compared.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ...statemachines.ir import Node, Type
from ...statemachines.operators import OPERATORS

EMPTY_MAP = r"[nokey \in {} |-> 0]"

# A simple comparison is denied by its opposite, which reads better than ~(...).
_DENIED = {
    "eq": "{0} # {1}",
    "ne": "{0} = {1}",
    "lt": "{0} >= {1}",
    "le": "{0} > {1}",
    "is_some": "{0} = <<>>",
    "in": r"{0} \notin {1}",
    "set_empty": "{0} # {{}}",
    "map_empty": "DOMAIN {0} # {{}}",
    "map_has": r"{1} \notin DOMAIN {0}",
    "seq_empty": "{0} # <<>>",
}
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def atom(text: str) -> bool:
    """Whether `text` needs no brackets as an argument: a name, a literal, or one bracketed whole."""
    if text.startswith('"'):
        return text.find('"', 1) == len(text) - 1
    if text.startswith("<<"):
        return _end(text, 0) == len(text)
    start = 0
    while start < len(text) and (text[start].isalnum() or text[start] in "_."):
        start += 1
    if start == len(text):
        return ".." not in text
    return text[start] in _CLOSING and _end(text, start) == len(text)


def _end(text: str, start: int) -> int:
    """Just after the bracket that closes the one at `start`; strings hold no brackets here."""
    depth, at = 0, start
    while at < len(text):
        pair = text[at : at + 2]
        if pair in ("<<", ">>"):
            depth += 1 if pair == "<<" else -1
            at += 2
        else:
            depth += (text[at] in "([{") - (text[at] in ")]}")
            at += 1
        if depth == 0:
            return at
    return -1


def bracketed(text: str) -> str:
    return text if atom(text) else f"({text})"


class EmitError(RuntimeError):
    """A machine that cannot be written in TLA+; says what is in the way and how to mend it."""


@contextmanager
def placed(where: str) -> Iterator[None]:
    """Says of an EmitError where in the declaration it comes from."""
    try:
        yield
    except EmitError as error:
        raise EmitError(f"{where}: {error}") from error


MOST = 2_147_483_647
"""The largest number that TLC reads and counts to."""


def number(value: int) -> str:
    """A natural in TLA+. Raises EmitError for one that not every checker reads."""
    if value > MOST:
        raise EmitError(f"{value} is more than {MOST}, to which TLC counts: use a smaller number")
    return str(value)


_WRITABLE = re.compile(r"[ !#-\[\]-~]*")


def quoted(text: str) -> str:
    """A string in TLA+. Raises EmitError for one that not every checker reads as it is written."""
    if not _WRITABLE.fullmatch(text):
        raise EmitError(
            f"the value {text!r} cannot be written in TLA+: use printable ASCII without quotes and backslashes"
        )
    return f'"{text}"'


def literal(kind: Type, value: object) -> str:
    """A constant of type `kind` in TLA+.

    Sets, maps and sequences are empty in a declaration; for any other value ValueError is raised. Raises
    EmitError for a text or a number that not every checker reads.
    """
    match kind.kind:
        case "bool":
            return "TRUE" if value else "FALSE"
        case "nat" if isinstance(value, int):
            return number(value)
        case "enum" | "id":
            return quoted(str(value))
        case "note":
            return '""'
        case "opt":
            return "<<>>" if value is None else f"<<{literal(kind.args[0], value)}>>"
        case "set" | "seq" | "map" if not value:
            return {"set": "{}", "seq": "<<>>", "map": EMPTY_MAP}[kind.kind]
        case "record":
            members = [
                f"{name} |-> {literal(arg, getattr(value, name))}"
                for name, arg in zip(kind.members, kind.args, strict=True)
            ]
            return "[" + ", ".join(members) + "]"
    raise ValueError(f"a value of type {kind} cannot be written in TLA+: {value!r}")


@dataclass(slots=True)
class Names:
    """Gives out bound variables; one per module, so that no two are the same."""

    count: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def fresh(self) -> str:
        return f"bound{next(self.count)}"


def render(node: Node, record: str, names: Names) -> str:
    """The TLA+ of an expression over the instance in `record`; arguments are `<record>_<name>`."""
    match node.op:
        case "const":
            return literal(node.type, node.value)
        case _ if node.type.kind == "note":
            return '""'
        case "field":
            return f"{record}.{node.value}"
        case "arg":
            return f"{record}_{node.value}"
        case "state":
            return f'{record}.state = "{node.value}"'
        case "and" | "or":
            joint = r" /\ " if node.op == "and" else r" \/ "
            return joint.join(bracketed(render(n, record, names)) for n in parts(node, node.op))
        case "not":
            return denied(node.args[0], record, names)
        case "record":
            members = zip(node.type.members, node.args, strict=True)
            return "[" + ", ".join(f"{m} |-> {render(n, record, names)}" for m, n in members) + "]"
        case "get":
            return f"{bracketed(render(node.args[0], record, names))}.{node.value}"
        case _:
            return _fill(OPERATORS[node.op].tla, node, record, names)


def denied(node: Node, record: str, names: Names) -> str:
    """The TLA+ of "`node` does not hold"."""
    if node.op == "not":
        return render(node.args[0], record, names)
    if node.op == "const":
        return literal(node.type, not node.value)
    if node.op == "state":
        return f'{record}.state # "{node.value}"'
    if node.op in _DENIED:
        return _fill(_DENIED[node.op], node, record, names)
    return "~" + bracketed(render(node, record, names))


def parts(node: Node, op: str) -> list[Node]:
    """The arguments of nested `and`s (or `or`s), in order."""
    if node.op != op:
        return [node]
    return [part for arg in node.args for part in parts(arg, op)]


def _fill(template: str, node: Node, record: str, names: Names) -> str:
    bound = names.fresh() if "{v}" in template else ""
    return template.format(*(bracketed(render(n, record, names)) for n in node.args), v=bound)
