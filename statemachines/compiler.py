"""The compiled step in its two forms, made from the internal form.

Rules of this file:

- One table, two executors: *pure* over immutable snapshots, *live* in place with a method per event.
- Both are Python source written by the operator table, executed once per machine and kept in
  `linecache`, so that a debugger and a traceback show it.
- A live step evaluates every guard, value and output before it changes anything; what follows
  cannot fail. A step without outputs returns a constant.
- A live container never leaves its field: what becomes part of another value is a frozen copy.
- Names that the source makes up begin with an underscore; arguments of events keep their own.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from .annotations import class_of
from .instances import FROZEN, LIVE, Instance, LiveBase, Outcome, SnapshotBase
from .ir import Branch, Cell, Event, Ir, Node, Output, Type
from .names import HELPERS, snake
from .operators import OPERATORS

__all__ = ["Outcome", "compile_machine", "guards", "predicate"]


def _without(mapping: dict[Any, Any], key: Any) -> dict[Any, Any]:
    return {k: v for k, v in mapping.items() if k != key}


_NAMESPACE: dict[str, Any] = {"frozenset": frozenset, "set": set, "dict": dict, "list": list, "tuple": tuple,
                              "len": len, "max": max, "without": _without}  # fmt: skip
assert _NAMESPACE.keys() == HELPERS


def compile_machine(machine: Any) -> None:
    """Give `machine` its `Snapshot`, `Live` and `step`, and freeze it."""
    ir: Ir = machine.ir
    slots = ("state", *(f.name for f in ir.fields))
    common = {"machine": machine, "fields": ir.fields, "__module__": machine.__module__}
    data: type = type("Data", (Instance,), {**common, "__slots__": slots})

    def form(name: str, base: type[Instance]) -> Any:
        bases: tuple[type, ...] = (base, data)
        return type(name, bases, {**common, "__slots__": (), "__qualname__": f"{machine.__name__}.{name}"})

    snapshot, live = form("Snapshot", SnapshotBase), form("Live", LiveBase)
    writer = _Writer(ir)
    source = writer.module()
    filename = f"<compiled {machine.__module__}.{machine.__qualname__}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    namespace = {**writer.namespace(), "_Snapshot": snapshot, "_Live": live, "_new": object.__new__,
                 **{f"_output_{o.name}": getattr(machine, o.name) for o in ir.outputs}}  # fmt: skip
    exec(compile(source, filename, "exec"), namespace)
    by_type: dict[type, Any] = {}
    pure: dict[type, Any] = {}
    for event in ir.events:
        name, cls = snake(event.name), getattr(machine, event.name)
        method = namespace[f"live_{name}"]
        method.__name__, method.__qualname__, method.__doc__ = name, f"{live.__qualname__}.{name}", event.doc
        setattr(live, name, method)
        by_type[cls], pure[cls] = method, namespace[f"pure_{name}"]
    live._methods = by_type
    live.of_values, live.snapshot = staticmethod(namespace["_live_of"]), namespace["_freeze"]
    snapshot.of_values, snapshot.live = staticmethod(namespace["_snapshot_of"]), namespace["_thaw"]
    snapshot._key = namespace["_key"]

    def step(snapshot: Any, event: Any) -> tuple[Any, Outcome]:
        return pure[type(event)](snapshot, *event.__dict__.values())

    step.__doc__ = machine.step.__doc__
    machine.Snapshot, machine.Live, machine.step = snapshot, live, staticmethod(step)
    machine._pure = pure
    machine.source = source
    machine._frozen = True


def guards(machine: Any) -> Iterator[tuple[Cell, Branch, Callable[[Any, Any], bool]]]:
    """Every guarded branch with its own guard as a predicate over (snapshot, event), others not asked."""
    writer = _Writer(machine.ir)
    for cell in machine.ir.cells:
        event = machine.ir.event(cell.event)
        args = "".join(f", {f.name}" for f in event.fields)
        for branch in (*cell.fences, *cell.branches):
            code = f"lambda _m{args}: {writer.expression(branch.guard)}"
            test = eval(code, writer.namespace())
            yield cell, branch, lambda m, e, test=test: bool(test(m, *e.__dict__.values()))


class _Writer:
    """Writes the source of both executors; `_m` is the instance, live or snapshot."""

    def __init__(self, ir: Ir) -> None:
        self.ir = ir
        self.outcomes: list[Outcome] = []
        self.types: set[Type] = set()
        self.lines: list[str] = []
        self.form = "pure"

    def namespace(self) -> dict[str, Any]:
        """What the source needs, once it is written."""
        classes = {f"_type_{t.name}": class_of(t) for t in sorted(self.types, key=str)}
        outcomes = {f"_o{i}": o for i, o in enumerate(self.outcomes)}
        return {**_NAMESPACE, "_Outcome": Outcome, **outcomes, **classes}

    def module(self) -> str:
        self.constructors()
        for output in self.ir.outputs:
            self.message(output)
        for event in self.ir.events:
            for self.form in ("pure", "live"):
                self.function(event)
        return "\n".join(self.lines)

    def constructors(self) -> None:
        """From values to instances, from one form to the other, and what a snapshot is compared by."""
        fields = self.ir.fields
        args = "".join(f", {f.name}" for f in fields)
        self.line(0, f"def _live_of(state{args}):")
        self.line(1, "_m = _new(_Live)")
        for name in ("state", *(f.name for f in fields)):
            self.line(1, f"_m.{name} = {name}")
        self.line(1, "return _m")
        self.line(0, "")
        # Writing slots of the open class and then closing the object is three times faster than
        # going around the closed class's __setattr__ slot by slot.
        self.line(0, f"def _snapshot_of(state{args}):")
        self.line(1, f"_m = _live_of(state{args})")
        self.line(1, "_m.__class__ = _Snapshot")
        self.line(1, "return _m")
        self.line(0, "")
        for name, made, forms in (("_freeze", "_snapshot_of", FROZEN), ("_thaw", "_live_of", LIVE)):
            values = "".join(
                f", {forms[f.type.kind].__name__}(_m.{f.name})" if f.type.kind in forms else f", _m.{f.name}"
                for f in fields
            )
            self.line(0, f"def {name}(_m):")
            self.line(1, f"return {made}(_m.state{values})")
            self.line(0, "")
        compared = [f"frozenset(_m.{f.name}.items())" if f.type.kind == "map" else f"_m.{f.name}"
                    for f in fields if f.type.kind != "note"]  # fmt: skip
        self.line(0, "def _key(_m):")
        self.line(1, f"return ({', '.join(['_m.state', *compared])},)")
        self.line(0, "")

    def message(self, output: Output) -> None:
        """How an output is made."""
        self.line(0, f"def _make_{output.name}({', '.join(f.name for f in output.fields)}):")
        self.line(1, f"_m = _new(_output_{output.name})")
        for f in output.fields:
            self.line(1, f"_m.{f.name} = {f.name}")
        self.line(1, "return _m")
        self.line(0, "")

    def function(self, event: Event) -> None:
        args = "".join(f", {f.name}" for f in event.fields)
        self.line(0, f"def {self.form}_{snake(event.name)}(_m{args}):")
        cells = [c for c in self.ir.cells if c.event == event.name]
        for fence in cells[0].fences:
            self.line(1, f"if {self.expression(fence.guard)}:")
            self.branch(2, fence)
        groups: list[tuple[list[str], Cell]] = []
        for cell in cells:
            bare = _comparable(cell)
            for states, other in groups:
                if _comparable(other) == bare:
                    states.append(cell.state)
                    break
            else:
                groups.append(([cell.state], cell))
        if len(groups) > 1:
            self.line(1, "_s = _m.state")
        for i, (states, cell) in enumerate(groups):
            depth = 1
            if i < len(groups) - 1:
                self.line(1, f"if {' or '.join(f'_s == {s!r}' for s in states)}:")
                depth = 2
            for branch in cell.branches:
                self.line(depth, f"if {self.expression(branch.guard)}:")
                self.branch(depth + 1, branch)
            self.branch(depth, cell.otherwise)
        self.line(0, "")

    def branch(self, depth: int, b: Branch) -> None:
        result = self.outcome(depth, b)
        if self.form == "live":
            self.in_place(depth, b)
            self.line(depth, f"return {result}")
        elif b.updates or b.kind == "go":
            changed = {u.field: self.frozen(u.value) for u in b.updates}
            values = "".join(f", {changed.get(f.name, f'_m.{f.name}')}" for f in self.ir.fields)
            state = repr(b.target) if b.kind == "go" else "_m.state"
            self.line(depth, f"return _snapshot_of({state}{values}), {result}")
        else:
            self.line(depth, f"return _m, {result}")

    def outcome(self, depth: int, b: Branch) -> str:
        """The name of the branch's outcome: a constant, unless there are outputs to make."""
        if b.outputs:
            made = [f"_make_{e.output}({', '.join(self.frozen(v) for _, v in e.args)})" for e in b.outputs]
            start = f"{b.kind!r}, {b.rule!r}, {b.reason!r}, {b.text!r}, {b.retry!r}"
            self.line(depth, f"_out = _Outcome({start}, ({', '.join(made)},))")
            return "_out"
        constant = Outcome(b.kind, b.rule, b.reason, b.text, b.retry)
        if constant not in self.outcomes:
            self.outcomes.append(constant)
        return f"_o{self.outcomes.index(constant)}"

    def in_place(self, depth: int, b: Branch) -> None:
        """The updates as statements, after everything that they read."""
        late: list[str] = []
        for i, u in enumerate(b.updates):
            inplace = OPERATORS[u.value.op].inplace if u.value.op in OPERATORS else ""
            if inplace and u.value.args[0].op == "field" and u.value.args[0].value == u.field:
                args = [f"_m.{u.field}"]
                for j, arg in enumerate(u.value.args[1:]):
                    args.append(self.early(depth, f"_v{i}_{j}", arg, self.atom(arg, part=True), len(b.updates)))
                late.append(inplace.format(*args))
            elif u.value.op == "const" and u.value.type.kind in LIVE:
                late.append(f"_m.{u.field}.clear()")
            else:
                text = self.expression(u.value)
                if u.value.type.kind in LIVE:
                    text = f"{LIVE[u.value.type.kind].__name__}({text})"
                late.append(f"_m.{u.field} = {self.early(depth, f'_v{i}', u.value, text, len(b.updates))}")
        if b.kind == "go":
            late.append(f"_m.state = {b.target!r}")
        for text in late:
            self.line(depth, text)

    def early(self, depth: int, name: str, node: Node, text: str, updates: int) -> str:
        """`text` by a name, if other updates of the step could change what it reads or come before its error."""
        plain = node.op in ("const", "arg") and node.type.kind not in LIVE
        if updates > 1 and not plain:
            self.line(depth, f"{name} = {text}")
            return name
        return text

    def frozen(self, node: Node) -> str:
        """A value that leaves its field or comes from an event: never a container of either."""
        text = self.expression(node)
        foreign = node.op in ("arg", "ite", "or_else") or (node.op == "field" and self.form == "live")
        return f"{FROZEN[node.type.kind].__name__}({text})" if foreign and node.type.kind in FROZEN else text

    def expression(self, node: Node) -> str:
        match node.op:
            case "const":
                return self.constant(node)
            case "field":
                return f"_m.{node.value}"
            case "arg":
                return str(node.value)
            case "state":
                return f"_m.state == {node.value!r}"
            case "get":
                return f"{self.atom(node.args[0])}.{node.value}"
            case "record":
                self.types.add(node.type)
                fields = zip(node.type.members, node.args, strict=True)
                return f"_type_{node.type.name}({', '.join(f'{k}={self.frozen(v)}' for k, v in fields)})"
            case "and" | "or":
                return f" {node.op} ".join(self.atom(a) for a in node.args)
            case _:
                parts = _PARTS.get(node.op, ())
                sequences = node.op in ("eq", "ne") and node.args[0].type.kind == "seq"
                args = (self.atom(a, part=sequences or i in parts) for i, a in enumerate(node.args))
                return OPERATORS[node.op].python.format(*args)

    def atom(self, node: Node, part: bool = False) -> str:
        """An argument in parentheses where it needs them; frozen where it becomes part of a value."""
        if part and node.type.kind in FROZEN:
            return self.frozen(node)
        text = self.expression(node)
        return text if node.op in ("const", "field", "arg", "record", "get") else f"({text})"

    def constant(self, node: Node) -> str:
        if node.value == ():
            return {"set": "frozenset()", "map": "{}", "seq": "()"}[node.type.kind]
        if node.type.kind == "enum":
            self.types.add(node.type)
            return f"_type_{node.type.name}.{class_of(node.type)(node.value).name}"
        return repr(node.value)

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)


# The arguments that an operator puts into another value or looks up there; as live containers they
# could not be hashed, or would change with their field.
_PARTS: dict[str, tuple[int, ...]] = {
    "some": (0,),
    "in": (0,),
    "set_add": (1,),
    "set_remove": (1,),
    "map_has": (1,),
    "map_get": (1,),
    "map_put": (1, 2),
    "map_remove": (1,),
    "seq_append": (1,),
}


def _comparable(cell: Cell) -> tuple[Any, ...]:
    """What two cells must share to be one piece of code; the targets of stays do not matter."""
    return tuple(
        replace(b, target="" if b.kind != "go" else b.target, where="") for b in (*cell.branches, cell.otherwise)
    )


def predicate(machine: Any, asked: str | Node) -> Callable[[Any], bool]:
    """The Bool expression `asked`, or that `machine` declares under this name, as a function of a snapshot.

    What the table tests has one definition, so that code around it asks the same question.
    Raises TypeError if the expression is no Bool or reads an event.
    """
    node: Node = getattr(machine, asked).node if isinstance(asked, str) else asked
    if node.type.kind != "bool" or any(n.op == "arg" for n in node.walk()):
        raise TypeError(f"{machine.__name__}.{asked} is not a Bool over the fields alone")
    writer = _Writer(machine.ir)
    # The namespace has what the source needs, so the source is written first.
    source = f"lambda _m: bool({writer.expression(node)})"
    return eval(source, writer.namespace())
