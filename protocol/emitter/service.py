"""A machine's service module: its names and types around the hand-written servicer, client and host.

Rules of this file:

- What is written is names, types and straight-line conversions; whatever all machines do alike is in
  the hand-written modules that it imports.
- A line longer than the house's length is broken, so that the module reads like a hand-written one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from textwrap import dedent

from ...statemachines.ir import Field
from ...statemachines.names import snake
from .conversions import Conversions
from .layout import Layout, LayoutError, Method, constant, first_line, proto_name
from .proto import PACKAGE

WIDTH = 110
ABSTRACT = ("AsyncGenerator", "AsyncIterator", "Mapping", "Sequence", "Set")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a generated module stands: what it imports the wire's parts and the machine from.

    `wire` is the protocol package as an import prefix (".." inside the house, "sluicegate.protocol"
    elsewhere), `machine` the module that declares the machine, `stubs` the package of the stubs.
    """

    wire: str
    machine: str
    stubs: str = "."


def service(layout: Layout, place: Place, header: str) -> str:
    """The source of `<machine>_service.py`. Raises LayoutError for a name that it cannot use."""
    writer = _Writer(layout)
    parts = [
        writer.choices(),
        *writer.records(),
        *writer.snapshot(),
        *(writer.event(method) for method in layout.methods),
        writer.wire(),
        writer.handlers(),
        writer.servicer(),
        writer.client(),
    ]
    body = "\n\n\n".join(parts)
    return f"{writer.head(place, header, body)}\n\n{body}\n"


class _Writer:
    def __init__(self, layout: Layout) -> None:
        self.layout, self.ir, self.machine = layout, layout.ir, layout.ir.name
        self.convert = Conversions(layout)
        self.types = sorted({t.name for t in (*layout.choices.values(), *layout.records.values())})
        if len({name.lower() for name in self.types}) != len(self.types):
            raise LayoutError(f"{self.machine}: two types differ in case only ({self.types}): rename one")

    def head(self, place: Place, header: str, body: str) -> str:
        abstract = [name for name in ABSTRACT if f"{name}[" in body]
        package = place.wire if place.wire.endswith(".") else f"{place.wire}."
        tools = [name for name in ("Choices", "Wire", "given") if f"{name}(" in body]
        stem = self.machine.lower()
        return (
            dedent(f'''\
            # {header}
            """{self.machine} on the wire: conversions, handlers, servicer and client."""

            from __future__ import annotations

            ''')
            + (f"from collections.abc import {', '.join(abstract)}\n" if abstract else "")
            + dedent(f"""\
            from typing import Any, Protocol

            from grpc import aio

            from {place.machine} import {", ".join(sorted({self.machine, *self.types}))}
            from {package}client import Client, Reply, Seen
            from {package}servicer import Context, Servicer
            from {package}wire import {", ".join(tools)}
            from {place.stubs} import {stem}_pb2 as pb
            from {place.stubs} import {stem}_pb2_grpc as rpc""")
        )

    # -- conversions -----------------------------------------------------------------------------

    def choices(self) -> str:
        state = f"{self.machine}State"
        lines = [
            *self.numbers("_STATE", state, self.ir.states),
            f'_STATE_OF: Choices[str] = Choices("{state}", {{n: s for s, n in _STATE.items()}})',
        ]
        for name, type_ in self.layout.choices.items():
            own = f"_{constant(type_.name)}"
            pairs = f"{{n: {type_.name}(m) for m, n in {own}.items()}}"
            lines += self.numbers(own, name, type_.members)
            lines += self.call(f"{own}_OF: Choices[{type_.name}] = Choices", [f'"{name}"', pairs], depth=0)
        return "\n".join(lines)

    def numbers(self, name: str, enum: str, members: Iterable[str]) -> list[str]:
        values = [f'    "{m}": pb.{constant(enum)}_{constant(m)},' for m in members]
        return [f"{name}: dict[str, pb.{enum}] = {{", *values, "}"]

    def records(self) -> list[str]:
        parts: list[str] = []
        for name, type_ in self.layout.records.items():
            own = type_.name.lower()
            fields = list(zip(type_.members, type_.args, strict=True))
            sent = [f"{proto_name(m)}={self.convert.to_message(t, f'value.{m}')}" for m, t in fields]
            read = [f"{m}={self.convert.to_value(t, 'message', m)}" for m, t in fields]
            head = f"def _{own}_message(value: {type_.name}) -> pb.{name}:"
            parts.append("\n".join([head, *self.call(f"return pb.{name}", sent)]))
            head = f"def _{own}_value(message: pb.{name}) -> {type_.name}:"
            parts.append("\n".join([head, *self.call(f"return {type_.name}", read)]))
        return parts

    def snapshot(self) -> list[str]:
        machine, fields = self.machine, self.ir.fields
        view = [
            f"class {machine}View(Protocol):",
            f'    """What a reader sees of one {machine}."""',
            "",
            "    state: str",
            *(f"    {f.name}: {self.convert.annotation(f.type)}" for f in fields),
        ]
        sent = [f"{proto_name(f.name)}={self.convert.to_message(f.type, f'instance.{f.name}')}" for f in fields]
        message = [
            f"def snapshot_message(instance: Any) -> pb.{machine}Snapshot:",
            '    """The message of a snapshot or of a live instance."""',
            *self.call(f"return pb.{machine}Snapshot", ["state=_STATE[instance.state]", *sent]),
        ]
        read = [self.convert.to_value(f.type, "message", f.name) for f in fields]
        values = [
            f"def snapshot_values(message: pb.{machine}Snapshot) -> tuple[Any, ...]:",
            '    """The state and the fields in order of declaration. Raises WireError."""',
            "    return (",
            *(f"        {value}," for value in ["_STATE_OF[message.state]", *read]),
            "    )",
        ]
        return ["\n".join(lines) for lines in (view, message, values)]

    def event(self, method: Method) -> str:
        event, made = method.event, f"{self.machine}.{method.event.name}"
        values = [
            self.convert.to_value(f.type, "request.fence" if f in method.fenced else "request", f.name)
            for f in event.fields
        ]
        head = f"def {snake(event.name)}_event(request: pb.{method.request}) -> {made}:"
        return "\n".join([head, *self.call(f"return {made}.of_values", values)])

    # -- parts -----------------------------------------------------------------------------------

    def wire(self) -> str:
        return dedent(f"""\
            {constant(self.machine)}: Wire[{self.machine}Handlers] = Wire(
                machine={self.machine},
                reply=pb.{self.machine}Reply,
                transition=pb.{self.machine}Transition,
                snapshot=pb.{self.machine}Snapshot,
                states=_STATE_OF,
                to_message=snapshot_message,
                to_values=snapshot_values,
            )""")

    def handlers(self) -> str:
        lines = [
            f"class {self.machine}Handlers(Protocol):",
            f'    """What a shell does for {self.machine}: a method per output, after the step, in order."""',
        ]
        for output in self.ir.outputs:
            if any(f.name in ("self", "instance") for f in output.fields):
                where = f"{self.machine}.{output.name}"
                raise LayoutError(f"{where}: a handler's first argument is `instance`: rename the field")
            args = [f"{f.name}: {self.convert.annotation(f.type)}" for f in output.fields]
            name = proto_name(snake(output.name))
            doc = f'"""{first_line(output.doc)}"""' if output.doc else "..."
            lines += ["", *self.signature(name, ["self", "instance: str", *args], "None"), f"        {doc}"]
        return "\n".join(lines)

    def servicer(self) -> str:
        machine = self.machine
        lines = [
            f"class {machine}Servicer(Servicer, rpc.{machine}Servicer):",
            f'    """Serves the instances of one host; its wire must be `{constant(machine)}`."""',
            "",
            f'    SERVICE = "{PACKAGE}.{machine}"',
            "",
            "    def add_to(self, server: aio.Server) -> None:",
            f"        rpc.add_{machine}Servicer_to_server(self, server)",
        ]
        for method in self.layout.methods:
            name = method.event.name
            body = f'return await self._apply("{name}", {snake(name)}_event, request, context)'
            lines += self.served(name, method.request, f"pb.{machine}Reply", [body])
        lines += self.served(
            "Get", f"{machine}GetRequest", f"pb.{machine}Reply", ["return await self._get(request, context)"]
        )
        stream = ["async for transition in self._watch(request, context):", "    yield transition"]
        lines += self.served("Watch", f"{machine}WatchRequest", f"AsyncIterator[pb.{machine}Transition]", stream)
        return "\n".join(lines)

    def served(self, name: str, request: str, result: str, body: list[str]) -> list[str]:
        head = self.signature(name, ["self", f"request: pb.{request}", "context: Context"], result)
        return ["", *head, *(f"        {line}" for line in body)]

    def client(self) -> str:
        machine = self.machine
        view = f"{machine}View"
        lines = [
            f"class {machine}Client(Client[{view}]):",
            f'    """Speaks to one life of one {machine}."""',
            "",
            f"    WIRE = {constant(machine)}",
            f"    STUB = rpc.{machine}Stub",
        ]
        for method in self.layout.methods:
            lines += ["", *self.called(method)]
        lines += [
            "",
            f"    async def get(self, *, deadline: float | None = None) -> Seen[{view}]:",
            '        """The instance as it is now. Raises Stale if it is not the client\'s life of it."""',
            f"        return await self._get(pb.{machine}GetRequest(instance=self._instance), deadline)",
            "",
            f"    def watch(self) -> AsyncGenerator[Seen[{view}], None]:",
            '        """The instance as it is now, then each change. Raises Unreachable if it breaks off."""',
            f"        return self._watch(pb.{machine}WatchRequest(instance=self._instance))",
        ]
        return "\n".join(lines)

    def called(self, method: Method) -> list[str]:
        event = method.event
        args = [f"{f.name}: {self.convert.annotation(f.type, argument=True)}" for f in event.fields]
        args += ["operation_id: str | None = None", "deadline: float | None = None"]
        lines = self.signature(proto_name(snake(event.name)), ["self", "*", *args], f"Reply[{self.machine}View]")
        if event.doc:
            lines.append(f'        """{first_line(event.doc)}"""')
        fence = f"fence=pb.{method.fence}({', '.join(self.sent(method.fenced))})"
        parts = ["instance=self._instance", fence, *self.sent(method.plain)]
        lines += self.call(f"request = pb.{method.request}", parts, depth=2)
        asked = [f'"{event.name}"', f"self._stub.{event.name}", "request", "operation_id", "deadline"]
        return [*lines, f"        return await self._call({', '.join(asked)})"]

    def sent(self, fields: tuple[Field, ...]) -> list[str]:
        return [f"{proto_name(f.name)}={self.convert.to_message(f.type, f.name)}" for f in fields]

    # -- layout ----------------------------------------------------------------------------------

    def call(self, opening: str, arguments: list[str], depth: int = 1) -> list[str]:
        """A call, on one line if it fits."""
        indent = "    " * depth
        flat = f"{indent}{opening}({', '.join(arguments)})"
        if len(flat) <= WIDTH:
            return [flat]
        return [f"{indent}{opening}(", *(f"{indent}    {a}," for a in arguments), f"{indent})"]

    def signature(self, name: str, arguments: list[str], result: str) -> list[str]:
        """The head of an async method, on one line if it fits; a stream's is not awaited but iterated."""
        flat = f"    async def {name}({', '.join(arguments)}) -> {result}:"
        if len(flat) <= WIDTH:
            return [flat]
        inner = f"        {', '.join(arguments)}"
        body = [inner] if len(inner) <= WIDTH else [f"        {a}," for a in arguments]
        return [f"    async def {name}(", *body, f"    ) -> {result}:"]
