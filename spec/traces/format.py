"""The trace format: one JSON object a line, and what ties a trace to the tables that it was made by.

Rules of this file:

- Only names and shapes; `docs/trace.md` says what each line means and who writes it.
- A fingerprint covers what a table means and nothing else: where a rule stands in its file, what is
  claimed of it and what is said to a person may change without making old traces unreadable.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Collection
from typing import Any

from ...statemachines.gate import Gate
from ...statemachines.ir import NAT, NOTE, Field, Ir
from ...statemachines.lease import Lease

FORMAT = "sluicegate-trace"
VERSION = 1

SHAPES: dict[str, dict[str, type]] = {
    "header": {"format": str, "version": int, "run": str, "machines": dict, "lines": int},
    "began": {"incarnation": str, "process": str},
    "closed": {"incarnation": str, "lines": int},
    "ended": {"incarnation": str, "how": str},
    "new": {"machine": str, "instance": str, "incarnation": str, "n": int, "state": str, "fields": dict,
            "restored": bool, "cause": str},
    "step": {"machine": str, "instance": str, "incarnation": str, "n": int, "event": str, "fields": dict,
             "before": str, "after": str, "set": dict, "verdict": dict, "cause": str},
    "fact": {"machine": str, "instance": str, "incarnation": str, "n": int, "fact": str, "values": dict},
}  # fmt: skip
"""Kind of line -> its members with the JSON type of each; `line` itself is the first member of all."""

_DIGEST = Gate.ir.field("digests").type.args[1]
_SESSION = Lease.ir.field("session")

FACTS: dict[tuple[str, str], tuple[Field, ...]] = {
    ("Sync", "catch_up"): (Field("replica", NOTE), Field("epoch", NAT), Field("version", NAT)),
    ("Trainer", "manifest"): (Field("version", NAT), Field("digest", _DIGEST)),
    ("Lease", "receipt"): (Field("session", _SESSION.type), *Lease.ir.output("Receipt").fields),
}
"""(machine, fact) -> what it says. A fact stands in the track of the instance that knew it."""

_UNMEANT = frozenset({"where", "doc", "text", "scope", "properties"})


Progress = Callable[[str, int, int], None]
"""Called now and then with what is being done, how much of it is done, and how much there is."""


def quietly(doing: str, done: int, of: int) -> None:
    """A progress that is not shown."""


class TraceError(Exception):
    """A trace cannot be read: says which file and line, what is wrong and how to mend it."""


def fingerprint(ir: Ir) -> str:
    """A digest of what a machine's table means: 16 hexadecimal digits."""
    # By identity: comparing or hashing a whole table costs as much as its digest.
    known = _known.get(id(ir))
    if known is None or known[0] is not ir:
        known = _known[id(ir)] = (ir, _digest(ir, {}))
    return known[1][:16]


_known: dict[int, tuple[Ir, str]] = {}


def _digest(value: Any, seen: dict[int, str]) -> str:
    """The digest of a value's meaning, made of those of its parts; `seen` has what was met before."""
    if not isinstance(value, tuple) and not dataclasses.is_dataclass(value):
        return hashlib.sha256(f"{type(value).__name__} {value}".encode()).hexdigest()
    if id(value) not in seen:
        if isinstance(value, tuple):
            parts = ["tuple", *(_digest(v, seen) for v in value)]
        else:
            names = [f.name for f in dataclasses.fields(value) if f.name not in _UNMEANT]
            parts = [type(value).__name__, *(f"{n} {_digest(getattr(value, n), seen)}" for n in names)]
        seen[id(value)] = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return seen[id(value)]


def dumps(line: dict[str, Any]) -> str:
    """One line of a trace, without its end."""
    return _ENCODER.encode(line)


def names_no_character(line: dict[str, Any], notes: Collection[str]) -> bool:
    """Whether half a surrogate stands in a line, but for what names nothing: free text, and `notes` of events."""
    fields, free = line.get("fields"), {"began": "process", "ended": "how"}.get(line["line"])
    named = {name: value for name, value in line.items() if name != free}
    if line["line"] == "step" and isinstance(fields, dict):
        named["fields"] = {name: value for name, value in fields.items() if name not in notes}
    try:
        json.dumps(named, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
