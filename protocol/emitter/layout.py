"""The messages of a machine: its internal form, laid out as protobuf messages and enums.

Rules of this file:

- Names are scoped by the machine: every message and enum starts with its name, every enum value with
  its enum's, and the first enum value means "not given".
- A field whose type protobuf cannot hold in one field (a set in a map, an opt in a set) is wrapped in
  a message of its own.
- Nothing here knows field numbers: those come from the lock.
"""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass, field

from ...statemachines.ir import Event, Field, Ir, Type

SCALARS = {"bool": "bool", "nat": "uint64", "id": "string", "note": "string"}
KEYS = ("bool", "nat", "id")
TAKEN = ("instance", "fence", "operation_id", "deadline")
"""Names of an outside event's fields that the wire needs for itself."""
METHODS = ("Get", "Watch")
REPLY = (
    ("instance", "string"),
    ("incarnation", "string"),
    ("number", "uint64"),
    ("snapshot", "{M}Snapshot"),
    ("replayed", "bool"),
    ("kind", "Kind"),
    ("rule", "string"),
    ("reason", "string"),
    ("text", "string"),
    ("retry", "bool"),
)
TRANSITION = (
    ("incarnation", "string"),
    ("number", "uint64"),
    ("snapshot", "{M}Snapshot"),
    ("fresh", "bool"),
    ("event", "string"),
    ("rule", "string"),
    ("cause", "string"),
)
KINDS = ("GO", "STAY", "IGNORE", "REFUSE")


class LayoutError(Exception):
    """A machine cannot be put on the wire; says which name and how to mend it."""


@dataclass(frozen=True, slots=True)
class ProtoField:
    """One field: `type` as written in proto, with its label (`optional uint64`, `map<string, bool>`)."""

    name: str
    type: str
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    name: str
    fields: tuple[ProtoField, ...]
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Enum:
    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Method:
    """A unary method of an outside event: `fence` is its message, `plain` the fields beside it."""

    event: Event
    request: str
    fence: str
    fenced: tuple[Field, ...]
    plain: tuple[Field, ...]


@dataclass(slots=True)
class Layout:
    """A machine's messages in the order of first use, and its methods."""

    ir: Ir
    messages: dict[str, Message] = field(default_factory=dict)
    enums: dict[str, Enum] = field(default_factory=dict)
    methods: list[Method] = field(default_factory=list)
    wrapped: dict[str, Type] = field(default_factory=dict)
    """Wrapper and entry messages, by name: the type each holds."""
    records: dict[str, Type] = field(default_factory=dict)
    choices: dict[str, Type] = field(default_factory=dict)
    """Enum types of the machine, by the name of the proto enum."""

    def named(self, type_: Type) -> str:
        """The proto name of an enum, a record, or of the message that wraps a container."""
        return self.ir.name + _title(type_)

    def field(self, name: str, type_: Type) -> ProtoField:
        """The proto field that holds a value of this type, with all that it needs declared."""
        inner = type_.args
        match type_.kind:
            case "opt":
                text = f"optional {self.element(inner[0])}"
            case "set" | "seq":
                text = f"repeated {self.element(inner[0])}"
            case "map" if inner[0].kind in KEYS:
                text = f"map<{SCALARS[inner[0].kind]}, {self.element(inner[1])}>"
            case "map":
                text = f"repeated {self._entry(type_)}"
            case _:
                text = self.element(type_)
        return ProtoField(proto_name(name), text)

    def element(self, type_: Type) -> str:
        """The proto type of one always present value of this type."""
        if type_.kind in SCALARS:
            return SCALARS[type_.kind]
        name = self.named(type_)
        if type_.kind == "enum":
            self._enum(name, type_)
        elif name not in self.messages:
            if type_.kind == "record":
                self.records[name] = type_
                parts = zip(type_.members, type_.args, strict=True)
                fields = tuple(self.field(member, inner) for member, inner in parts)
            else:
                self.wrapped[name] = type_
                fields = (self.field("items", type_),)
            self.add(Message(name, fields))
        return name

    def _entry(self, type_: Type) -> str:
        name = self.named(type_) + "Entry"
        key, value = (self.element(part) for part in type_.args)
        self.add(Message(name, (ProtoField("key", key), ProtoField("value", value))))
        return name

    def add(self, message: Message) -> None:
        """Declare a message. Raises LayoutError if its name is taken by another one."""
        if self.messages.setdefault(message.name, message) != message:
            raise LayoutError(
                f"{self.ir.name}: two messages would be named {message.name}: rename what makes the second"
            )

    def _enum(self, name: str, type_: Type) -> None:
        if name not in self.enums:
            self.choices[name] = type_
            self.enums[name] = enum(name, type_.members)


def layout(ir: Ir) -> Layout:
    """Lay a machine out. Raises LayoutError for a name that the wire needs for itself."""
    out = Layout(ir)
    machine = ir.name
    out.enums[f"{machine}State"] = enum(f"{machine}State", ir.states)
    state = ProtoField("state", f"{machine}State")
    for own in ir.fields:
        if own.name in ("state", *TAKEN[:2]):
            raise LayoutError(f"{machine}.{own.name}: a snapshot on the wire has a `{own.name}` of its own: rename it")
    fields = tuple(out.field(f.name, f.type) for f in ir.fields)
    out.add(Message(f"{machine}Snapshot", (state, *fields), first_line(ir.doc)))
    for event in ir.events:
        if event.outside:
            out.methods.append(_method(out, event))
    out.add(Message(f"{machine}Reply", _fixed(machine, REPLY)))
    for name in METHODS:
        out.add(Message(f"{machine}{name}Request", (ProtoField("instance", "string"),)))
    out.add(Message(f"{machine}Transition", _fixed(machine, TRANSITION)))
    return out


def enum(name: str, members: tuple[str, ...]) -> Enum:
    """An enum with its values prefixed; the first, 0, means "not given"."""
    prefix = constant(name)
    return Enum(name, (f"{prefix}_UNSPECIFIED", *(f"{prefix}_{constant(m)}" for m in members)))


def constant(name: str) -> str:
    """`GateMode` -> `GATE_MODE`; signs that an enum value cannot hold become `_`."""
    return re.sub(r"\W", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)).upper()


def snake(name: str) -> str:
    """`StartInstall` -> `start_install`; a keyword of Python gets a trailing `_`."""
    return proto_name(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower())


def proto_name(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def first_line(doc: str) -> str:
    return doc.strip().split("\n", 1)[0]


def _method(out: Layout, event: Event) -> Method:
    machine = out.ir.name
    where = f"{machine}.{event.name}"
    if event.name in METHODS:
        raise LayoutError(f"{where}: every service has a method {event.name} already: rename the event")
    for own in event.fields:
        if own.name in TAKEN:
            raise LayoutError(f"{where}.{own.name}: requests have a `{own.name}` of their own: rename the field")
    fenced = tuple(f for f in event.fields if f.name in event.fenced)
    plain = tuple(f for f in event.fields if f.name not in event.fenced)
    fence = f"{machine}{''.join(f.name.title().replace('_', '') for f in fenced)}Fence"
    own = (ProtoField("incarnation", "string"), ProtoField("operation_id", "string"))
    out.add(Message(fence, (*own, *(out.field(f.name, f.type) for f in fenced))))
    request = f"{machine}{event.name}Request"
    head = (ProtoField("instance", "string"), ProtoField("fence", fence))
    out.add(Message(request, (*head, *(out.field(f.name, f.type) for f in plain)), first_line(event.doc)))
    return Method(event, request, fence, fenced, plain)


def _fixed(machine: str, fields: tuple[tuple[str, str], ...]) -> tuple[ProtoField, ...]:
    return tuple(ProtoField(name, type_.format(M=machine)) for name, type_ in fields)


def _title(type_: Type) -> str:
    if type_.kind in ("enum", "record", "id"):
        return type_.name
    return type_.kind.title() + "".join(_title(a) for a in type_.args)
