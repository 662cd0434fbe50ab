"""A machine's proto file: the layout with the numbers of the lock, as text."""

from __future__ import annotations

from .layout import KINDS, METHODS, Enum, Layout, Message, first_line
from .lock import Entry

PACKAGE = "sluicegate.v1"


def proto(layout: Layout, entries: dict[str, Entry], header: str) -> str:
    """The text of the file. `entries` are the machine's numbers, `header` says what made it."""
    ir = layout.ir
    lines = [f"// {header}", 'syntax = "proto3";', "", f"package {PACKAGE};", ""]
    lines += _comment(ir.doc)
    lines.append(f"service {ir.name} {{")
    for method in layout.methods:
        lines += [f"  {line}" for line in _comment(first_line(method.event.doc))]
        lines.append(f"  rpc {method.event.name}({method.request}) returns ({ir.name}Reply);")
    get, watch = METHODS
    lines += [
        "  // The instance as it is now.",
        f"  rpc {get}({ir.name}{get}Request) returns ({ir.name}Reply);",
        "  // The instance as it is now, then each change; `fresh` marks a snapshot after left out changes.",
        f"  rpc {watch}({ir.name}{watch}Request) returns (stream {ir.name}Transition);",
        "}",
        "",
    ]
    for enum in layout.enums.values():
        lines += [*_enum(enum, entries[enum.name]), ""]
    for message in layout.messages.values():
        kinds = [f"KIND_{k}" for k in ("UNSPECIFIED", *KINDS)] if message.name == f"{ir.name}Reply" else []
        lines += [*_message(message, entries[message.name], kinds), ""]
    return "\n".join(lines)


def _enum(enum: Enum, entry: Entry) -> list[str]:
    body = [f"  {name} = {number};" for name, (number, _) in entry["fields"].items()]
    return [f"enum {enum.name} {{", *_reserved(entry, set(enum.values)), *body, "}"]


def _message(message: Message, entry: Entry, kinds: list[str]) -> list[str]:
    lines = [*_comment(message.doc), f"message {message.name} {{"]
    if kinds:
        lines += ["  enum Kind {", *(f"    {name} = {i};" for i, name in enumerate(kinds)), "  }"]
    lines += _reserved(entry, {f.name for f in message.fields})
    lines += [f"  {type_} {name} = {number};" for name, (number, type_) in entry["fields"].items()]
    return [*lines, "}"]


def _reserved(entry: Entry, used: set[str]) -> list[str]:
    if not entry["reserved"]:
        return []
    names = sorted({f'"{name}"' for _, name in entry["reserved"] if name not in used})
    lines = [f"  reserved {', '.join(str(number) for number, _ in entry['reserved'])};"]
    return lines + ([f"  reserved {', '.join(names)};"] if names else [])


def _comment(doc: str) -> list[str]:
    return [f"// {line.strip()}".rstrip() for line in doc.strip().splitlines()] if doc.strip() else []
