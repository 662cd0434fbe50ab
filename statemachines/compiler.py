"""The compiled step in its two forms, made from the internal form.

Rules of this file:

- One table, two executors: *pure* over immutable snapshots, *live* in place with a method per event.
- Both are Python source written by the operator table, executed once per machine and kept in
  `linecache`, so that a debugger and a traceback show it.
- A live step evaluates every guard, value and output before it changes anything; what follows
  cannot fail. A step without outputs returns a constant.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from .ir import Branch, Cell, Event, Field, Ir, Kind, Node, Type
from .lower import snake
from .operators import OPERATORS


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an event: the kind and rule of the branch, the refusal, the outputs in order."""

    kind: Kind
    rule: str
    reason: str = ""
    text: str = ""
    retry: bool = False
    outputs: tuple[Any, ...] = ()

    @property
    def refused(self) -> bool:
        return self.kind == "refuse"


class Instance:
    """Plain data of one instance: `state` and the machine's fields."""

    __slots__ = ("state",)
    machine: ClassVar[Any]
    fields: ClassVar[tuple[Field, ...]]
    state: str

    def values(self) -> tuple[Any, ...]:
        """The state and the fields in order of declaration."""
        return (self.state, *(getattr(self, f.name) for f in self.fields))

    def __repr__(self) -> str:
        inner = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in self.fields)
        return f"{type(self).__qualname__}({self.state}{', ' if inner else ''}{inner})"

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _rebuild, (self.machine, type(self).__name__, self.values())


def _rebuild(machine: Any, form: str, values: tuple[Any, ...]) -> Any:
    instance = getattr(machine, form).__new__(getattr(machine, form))
    for name, value in zip(("state", *(f.name for f in machine.ir.fields)), values, strict=True):
        object.__setattr__(instance, name, value)
    return instance


class _Snapshot(Instance):
    """An instance that never changes: compared by content, notes left out."""

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a snapshot does not change: step it, or change a live instance ({name})")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.key() == other.key()  # pyright: ignore[reportAttributeAccessIssue]

    def __hash__(self) -> int:
        return hash(self.key())

    def key(self) -> tuple[Any, ...]:
        """What is compared, hashable."""
        return (self.state, *(_hashable(getattr(self, f.name)) for f in self.fields if f.type.kind != "note"))

    def live(self) -> Any:
        """A live instance with this content."""
        values = (_thawed(f.type, getattr(self, f.name)) for f in self.fields)
        return _rebuild(self.machine, "Live", (self.state, *values))

    def replace(self, **changes: Any) -> Any:
        """A snapshot with other values in the fields (or `state`) that are named."""
        names = ("state", *(f.name for f in self.fields))
        if unknown := changes.keys() - set(names):
            raise TypeError(f"{self.machine.__name__} has no field {', '.join(sorted(unknown))}")
        return _rebuild(self.machine, "Snapshot", tuple(changes.get(n, getattr(self, n)) for n in names))


class _Live(Instance):
    """An instance that steps in place."""

    __slots__ = ()
    _methods: ClassVar[dict[type, Callable[..., Outcome]]]

    def __init__(self, **given: Any) -> None:
        wanted = {f.name for f in self.fields if f.given}
        if given.keys() != wanted:
            got = ", ".join(sorted(given)) or "nothing"
            raise TypeError(f"{self.machine.__name__} is born with {', '.join(sorted(wanted)) or 'nothing'}; got {got}")
        self.state = self.machine.ir.states[0]
        for f in self.fields:
            setattr(self, f.name, _thawed(f.type, given[f.name] if f.given else f.initial))

    def step(self, event: Any) -> Outcome:
        """Step by an event value."""
        return self._methods[type(event)](self, *event.__dict__.values())

    def snapshot(self) -> Any:
        """An immutable copy."""
        values = (_frozen(f.type, getattr(self, f.name)) for f in self.fields)
        return _rebuild(self.machine, "Snapshot", (self.state, *values))

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.snapshot() == other.snapshot()  # pyright: ignore[reportAttributeAccessIssue]


def _thawed(type_: Type, value: Any) -> Any:
    return _LIVE[type_.kind](value) if type_.kind in _LIVE else value


def _frozen(type_: Type, value: Any) -> Any:
    return _FROZEN[type_.kind](value) if type_.kind in _FROZEN else value


_LIVE: dict[str, Callable[[Any], Any]] = {"set": set, "map": dict, "seq": list}
_FROZEN: dict[str, Callable[[Any], Any]] = {"set": frozenset, "map": dict, "seq": tuple}


def _hashable(value: Any) -> Any:
    return frozenset(value.items()) if isinstance(value, dict) else value


def _without(mapping: dict[Any, Any], key: Any) -> dict[Any, Any]:
    return {k: v for k, v in mapping.items() if k != key}


_NAMESPACE: dict[str, Any] = {"frozenset": frozenset, "set": set, "dict": dict, "list": list, "tuple": tuple,
                              "len": len, "max": max, "without": _without}  # fmt: skip


def compile_machine(machine: Any) -> None:
    """Give `machine` its `Snapshot`, `Live` and `step`, and freeze it."""
    ir: Ir = machine.ir
    names = tuple(f.name for f in ir.fields)
    common = {"machine": machine, "fields": ir.fields, "__slots__": names, "__module__": machine.__module__}
    snapshot = type("Snapshot", (_Snapshot,), {**common, "__qualname__": f"{machine.__name__}.Snapshot"})
    live = type("Live", (_Live,), {**common, "__qualname__": f"{machine.__name__}.Live"})
    writer = _Writer(ir)
    source = writer.module()
    filename = f"<compiled {machine.__module__}.{machine.__qualname__}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    made = {c.__name__: c.of_values for k, c in vars(machine).items() if isinstance(c, type) and hasattr(c, "of_values")}
    records = writer.records(machine)
    namespace = {**_NAMESPACE, "Snapshot": snapshot, "new": _rebuild, "machine": machine, "replace": replace, "OUT": made,
                 "OUTCOMES": writer.outcomes, **records}  # fmt: skip
    exec(compile(source, filename, "exec"), namespace)
    by_type: dict[type, Any] = {}
    pure: dict[type, Any] = {}
    for event in ir.events:
        method = namespace[f"live_{snake(event.name)}"]
        method.__doc__ = event.doc
        method.__name__ = snake(event.name)
        setattr(live, snake(event.name), method)
        cls = getattr(machine, event.name)
        by_type[cls], pure[cls] = method, namespace[f"pure_{snake(event.name)}"]
    live._methods = by_type

    def step(snapshot: Any, event: Any) -> tuple[Any, Outcome]:
        return pure[type(event)](snapshot, *event.__dict__.values())

    step.__doc__ = machine.step.__doc__
    machine.Snapshot, machine.Live, machine.step = snapshot, live, staticmethod(step)
    machine.source = source
    machine._frozen = True


def guards(machine: Any) -> Iterator[tuple[Cell, Branch, Callable[[Any, Any], bool]]]:
    """Every guarded branch with its own guard as a predicate over (snapshot, event), others not asked."""
    writer = _Writer(machine.ir)
    for cell in machine.ir.cells:
        event = machine.ir.event(cell.event)
        args = "".join(f", {f.name}" for f in event.fields)
        for branch in (*cell.fences, *cell.branches):
            code = f"lambda m{args}: {writer.expression(branch.guard, 'm')}"
            test = eval(code, {**_NAMESPACE, **writer.records(machine)})
            yield cell, branch, lambda m, e, test=test: bool(test(m, *e.__dict__.values()))


class _Writer:
    """Writes the source of both executors."""

    def __init__(self, ir: Ir) -> None:
        self.ir = ir
        self.outcomes: list[Outcome] = []
        self.lines: list[str] = []

    def records(self, machine: Any) -> dict[str, Any]:
        from .expressions import _classes

        used = {n.type for c in self.ir.cells for n in _nodes(c) if n.op == "record"}
        return {t.name: _classes[t] for t in used}

    def module(self) -> str:
        for event in self.ir.events:
            for form in ("pure", "live"):
                self.function(event, form)
        head = [f"o{i} = OUTCOMES[{i}]" for i in range(len(self.outcomes))]
        head += [f"make_{o.name} = OUT[{o.name!r}]" for o in self.ir.outputs]
        return "\n".join([*head, "", *self.lines])

    def function(self, event: Event, form: str) -> None:
        m = "self" if form == "live" else "m"
        args = "".join(f", {f.name}" for f in event.fields)
        self.line(0, f"def {form}_{snake(event.name)}({m}{args}):")
        cells = [c for c in self.ir.cells if c.event == event.name]
        for fence in cells[0].fences:
            self.line(1, f"if {self.expression(fence.guard, m)}:")
            self.branch(2, fence, form)
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
            self.line(1, f"s = {m}.state")
        for i, (states, cell) in enumerate(groups):
            depth = 1
            if i < len(groups) - 1:
                self.line(1, f"if {' or '.join(f's == {s!r}' for s in states)}:")
                depth = 2
            for branch in cell.branches:
                self.line(depth, f"if {self.expression(branch.guard, m)}:")
                self.branch(depth + 1, branch, form)
            self.branch(depth, cell.otherwise, form)
        self.line(0, "")

    def branch(self, depth: int, b: Branch, form: str) -> None:
        m = "self" if form == "live" else "m"
        constant = Outcome(b.kind, b.rule, b.reason, b.text, b.retry)
        if constant not in self.outcomes:
            self.outcomes.append(constant)
        result = f"o{self.outcomes.index(constant)}"
        if b.outputs:
            made = []
            for emit in b.outputs:
                values = ", ".join(self.copied(v, m) for _, v in emit.args)
                made.append(f"make_{emit.output}({values})")
            self.line(depth, f"out = replace({result}, outputs=({', '.join(made)},))")
            result = "out"
        if form == "pure":
            if b.kind in ("go", "stay") and (b.updates or b.kind == "go"):
                changed = {u.field: self.copied(u.value, m, own=False) for u in b.updates}
                state = repr(b.target) if b.kind == "go" else f"{m}.state"
                values = ", ".join(changed.get(f.name, f"{m}.{f.name}") for f in self.ir.fields)
                self.line(depth, f"return new(machine, 'Snapshot', ({state}, {values})), {result}")
            else:
                self.line(depth, f"return {m}, {result}")
            return
        late: list[str] = []
        for i, u in enumerate(b.updates):
            inplace = OPERATORS[u.value.op].inplace if u.value.op in OPERATORS else ""
            if inplace and u.value.args[0].op == "field" and u.value.args[0].value == u.field:
                args = [f"self.{u.field}"]
                for j, arg in enumerate(u.value.args[1:]):
                    args.append(self.early(depth, f"v{i}_{j}", arg, len(b.updates)))
                late.append(inplace.format(*args))
            elif u.value.op == "const" and u.value.type.kind in _LIVE:
                late.append(f"self.{u.field}.clear()")
            else:
                value = self.expression(u.value, "self")
                if u.value.type.kind in _LIVE:
                    value = f"{_LIVE[u.value.type.kind].__name__}({value})"
                if len(b.updates) > 1 and any(n.op == "field" for n in u.value.walk()):
                    self.line(depth, f"v{i} = {value}")
                    value = f"v{i}"
                late.append(f"self.{u.field} = {value}")
        if b.kind == "go":
            late.append(f"self.state = {b.target!r}")
        for text in late:
            self.line(depth, text)
        self.line(depth, f"return {result}")

    def early(self, depth: int, name: str, node: Node, updates: int) -> str:
        """An argument of an in-place update, evaluated before any update of the step."""
        text = self.expression(node, "self")
        if updates > 1 and any(n.op == "field" for n in node.walk()):
            self.line(depth, f"{name} = {text}")
            return name
        return text

    def copied(self, node: Node, m: str, own: bool = True) -> str:
        """A value that leaves the instance: never one of its live containers."""
        text = self.expression(node, m)
        if node.type.kind in _FROZEN and (own or node.op == "arg"):
            return f"{_FROZEN[node.type.kind].__name__}({text})"
        return text

    def expression(self, node: Node, m: str) -> str:
        match node.op:
            case "const":
                return self.constant(node)
            case "field":
                return f"{m}.{node.value}"
            case "arg":
                return str(node.value)
            case "get":
                return f"{self.atom(node.args[0], m)}.{node.value}"
            case "record":
                fields = zip(node.type.members, node.args, strict=True)
                return f"{node.type.name}({', '.join(f'{k}={self.expression(v, m)}' for k, v in fields)})"
            case "and" | "or":
                return f" {node.op} ".join(self.atom(a, m) for a in node.args)
            case _:
                return OPERATORS[node.op].python.format(*(self.atom(a, m) for a in node.args))

    def atom(self, node: Node, m: str) -> str:
        text = self.expression(node, m)
        return text if node.op in ("const", "field", "arg", "record", "get") else f"({text})"

    def constant(self, node: Node) -> str:
        if node.value == ():
            return {"set": "frozenset()", "map": "{}", "seq": "()"}[node.type.kind]
        return repr(str(node.value)) if isinstance(node.value, str) else repr(node.value)

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)


def _comparable(cell: Cell) -> tuple[Any, ...]:
    """What two cells must share to be one piece of code; the targets of stays do not matter."""
    return tuple(replace(b, target="" if b.kind != "go" else b.target, where="") for b in (*cell.branches, cell.otherwise))


def _nodes(cell: Cell) -> Iterator[Node]:
    for b in cell.all():
        yield from b.guard.walk()
        for u in b.updates:
            yield from u.value.walk()
        for e in b.outputs:
            for _, v in e.args:
                yield from v.walk()


def predicate(machine: Any, name: str) -> Callable[[Any], bool]:
    """The Bool expression that `machine` declares as `name`, as a function of a snapshot.

    What the table tests has one definition, so that code around it asks the same question.
    Raises TypeError if the expression is no Bool or reads an event.
    """
    node: Node = getattr(machine, name).node
    if node.type.kind != "bool" or any(n.op == "arg" for n in node.walk()):
        raise TypeError(f"{machine.__name__}.{name} is not a Bool over the fields alone")
    writer = _Writer(machine.ir)
    return eval(f"lambda m: {writer.expression(node, 'm')}", {**_NAMESPACE, **writer.records(machine)})
