"""Field numbers: from a committed lock, so that reordering a declaration changes nothing on the wire.

Rules of this file:

- A field keeps its number as long as its name and type stay; a new one gets the next number that the
  message never used.
- What is removed, or comes back with another type, leaves its number reserved for ever.
- A message that is no longer declared keeps its entry, for the day it returns.
- Enum values are locked in the same way, and start at 0.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .layout import Layout

Entry = dict[str, Any]
"""One message or enum: {"fields": {name: [number, type]}, "reserved": [[number, name], ...]}."""
Lock = dict[str, dict[str, Entry]]
"""Machine -> message or enum -> entry."""


class LockError(Exception):
    """The lock file cannot be read; says where and how to mend it."""


def read_lock(path: Path) -> Lock:
    """The lock, empty if there is no file yet. Raises LockError if it is not one."""
    if not path.exists():
        return {}
    try:
        lock = json.loads(path.read_text())
        for machine, entries in lock.items():
            for name, entry in entries.items():
                _check(f"{machine}.{name}", entry)
    except (ValueError, AttributeError, KeyError, TypeError) as wrong:
        raise LockError(f"{path}: not a lock of field numbers ({wrong}): restore it from version control") from wrong
    return lock


def write_lock(lock: Lock) -> str:
    """The lock as text: one line a field, so that a change reads well in a review."""
    lines = ["{"]
    for i, (machine, entries) in enumerate(sorted(lock.items())):
        lines.append(f' "{machine}": {{')
        for j, (name, entry) in enumerate(sorted(entries.items())):
            lines.append(f'  "{name}": {{')
            fields = [f"   {json.dumps(k)}: {json.dumps(v)}" for k, v in entry["fields"].items()]
            lines.append('   "fields": {\n' + ",\n".join("  " + f for f in fields) + "\n   },")
            lines.append(f'   "reserved": {json.dumps(entry["reserved"])}')
            lines.append("  }" + ("," if j + 1 < len(entries) else ""))
        lines.append(" }" + ("," if i + 1 < len(lock) else ""))
    return "\n".join([*lines, "}", ""])


def allocate(lock: Lock, layout: Layout) -> Lock:
    """The lock with numbers for all that the layout declares; the given one is left as it was."""
    entries = dict(lock.get(layout.ir.name, {}))
    for message in layout.messages.values():
        entries[message.name] = _merge(entries.get(message.name), {f.name: f.type for f in message.fields}, 1)
    for enum in layout.enums.values():
        entries[enum.name] = _merge(entries.get(enum.name), dict.fromkeys(enum.values, ""), 0)
    return {**lock, layout.ir.name: entries}


def _merge(old: Entry | None, wanted: dict[str, str], first: int) -> Entry:
    before: dict[str, list[Any]] = old["fields"] if old else {}
    reserved: list[list[Any]] = list(old["reserved"]) if old else []
    kept = {name: at for name, at in before.items() if wanted.get(name) == at[1]}
    reserved += [[at[0], name] for name, at in before.items() if name not in kept]
    number = max([first - 1, *(at[0] for at in before.values()), *(at[0] for at in reserved)]) + 1
    for name, type_ in wanted.items():
        if name not in kept:
            kept[name] = [number, type_]
            number += 1
    fields = dict(sorted(kept.items(), key=lambda item: item[1][0]))
    return {"fields": fields, "reserved": sorted(reserved)}


def _check(where: str, entry: Entry) -> None:
    numbers = [at[0] for at in entry["fields"].values()] + [at[0] for at in entry["reserved"]]
    if not all(isinstance(n, int) for n in numbers):
        raise ValueError(f"{where}: a number is not a whole number")
    if len(set(numbers)) != len(numbers):
        raise ValueError(f"{where}: a number is used twice")
