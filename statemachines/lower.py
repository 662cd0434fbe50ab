"""From a class body to the internal form, with every structural check on the way.

Rules of this file:

- Nothing here raises for a broken declaration: each problem is reported with its place and mend.
- What is lowered keeps no reference to the class body.
"""

from __future__ import annotations

from collections.abc import Iterable, Sized
from dataclasses import replace
from typing import Any

from . import ir
from .expressions import Change, is_expression, lift, node_of
from .loose import among, members
from .names import check_generated, check_names, snake
from .problems import report
from .properties import lower_properties
from .scopes import misnamed
from .table import Action, Columns, Fence, Guarded, Ignore, Refuse, Row, Rule, State, Table


def lower(name: str, body: dict[str, Any], event: type, inside: type, output: type) -> ir.Ir:
    """Lower the body of machine `name`; `event`, `inside`, `output` are the roots of the language."""
    return _Lowering(name, body, event, inside, output).run()


class _Lowering:
    def __init__(self, name: str, body: dict[str, Any], event: type, inside: type, output: type) -> None:
        self.name, self.body, self.root, self.inside = name, body, event, inside
        self.states = {k: v for k, v in body.items() if isinstance(v, State)}
        self.fields = {k: v for k, v in body.items() if is_expression(v) and v.node.op == "field"}
        classes = {k: v for k, v in body.items() if isinstance(v, type)}
        self.events = {k: v for k, v in classes.items() if issubclass(v, event)}
        self.outputs = {k: v for k, v in classes.items() if issubclass(v, output)}
        self.bases = {k for k, v in self.events.items() if any(v in o.__mro__[1:] for o in self.events.values())}
        self.table: Table | None = body.get("table") if isinstance(body.get("table"), Table) else None
        self.whole = self.table is not None
        """Whether there is a cell for every column, as far as that can be told."""
        self.rowed = self.table is not None
        """Whether there is a row for every event, as far as that can be told."""

    def run(self) -> ir.Ir:
        name = self.name
        if not self.states:
            report(name, "has no states", "declare some: A, B = State(), State()")
        if self.table is None and not any(isinstance(part, Table) for part in members(self.body.get("table"))):
            report(name, "has no table", "declare one: table = Table(columns(...), row(...), ...)")
        check_names(self.name, self.states, self.fields, self.events, self.bases, self.outputs)
        parts = self.table.parts if self.table else ()
        fences = [p for p in parts if isinstance(p, Fence)]
        rows = {r.event: r for r in self.check_rows(parts)}
        order = self.check_columns(parts) if self.table else []
        fields = tuple(
            ir.Field(k, f.node.type, f.initial, f.is_given) for k, f in self.fields.items() if f.node.value == k
        )
        cells: list[ir.Cell] = []
        ordered = self.whole
        for cls, row in rows.items():
            asked = [f for f in fences if isinstance(f.base, type) and issubclass(cls, f.base)]
            if ordered and len(row.cells) != len(order):
                what = f"has {_count(row.cells, 'cell')} for {_count(order, 'column')}"
                report(f"row {cls.__name__}", what, "write one cell for each column", row.where)
                self.whole = False
            cells += self.cells(row, order, asked)
        self.check_unused()
        events = tuple(self.event(cls, fences) for cls in rows)
        outputs = tuple(ir.Output(k, self.arguments(o), _doc(o)) for k, o in self.outputs.items())
        scope = self.scope()
        doc = _first_line(self.body.get("__doc__"))
        where = self.table.where if self.table else ""
        rowed = {cls.__name__: cls for cls in rows}
        reported = [cls for k, cls in self.events.items() if k not in self.bases]
        reported += [part.event for part in parts if isinstance(part, Row)]
        properties = lower_properties(self.body, self.states, self.fields, rowed, reported)
        states = tuple(self.states)
        lowered = ir.Ir(name, doc, states, fields, events, outputs, tuple(cells), scope, where, properties)
        check_generated(lowered)
        return lowered

    # -- rows and columns ----------------------------------------------------------------------

    def check_columns(self, parts: Iterable[Any]) -> list[State]:
        found = [p for p in parts if isinstance(p, Columns)]
        if len(found) != 1:
            where = self.table.where if self.table else ""
            report("table", f"has {len(found)} columns(...)", "give exactly one", where)
            self.whole = False
            return list(self.states.values())
        order = [s for s in found[0].states if self.own_state(s, "columns", found[0].where)]
        self.whole = self.whole and len(order) == len(self.states) == len({id(s) for s in order})
        for k, s in self.states.items():
            if sum(o is s for o in order) != 1:
                report(
                    f"state {k}",
                    "is not exactly once in columns(...)",
                    f"write {k} once in columns(...)",
                    found[0].where,
                )
        return order

    def check_rows(self, parts: Iterable[Any]) -> list[Row]:
        rows: list[Row] = []
        for part in parts:
            if isinstance(part, Fence):
                if not among(part.base, self.events.values()):
                    self.no_event("fence", part.base, part.where)
            elif isinstance(part, Row):
                if not among(part.event, self.events.values()):
                    self.no_event("row", part.event, part.where)
                elif any(r.event is part.event for r in rows):
                    report(f"row {part.event.__name__}", "is a second row of this event", "keep one", part.where)
                else:
                    rows.append(part)
            elif not isinstance(part, Columns):
                report("table", f"{part!r} is none of columns, row, fence", "take it out")
        having = {r.event for r in rows}
        for k, cls in self.events.items():
            if self.table and cls not in having and k not in self.bases:
                self.rowed = False
                report(f"event {k}", "has no row", f"add row({k}, ...) to the table", cls.where)
        return rows

    def no_event(self, place: str, named: Any, where: str) -> None:
        self.rowed = False
        name = getattr(named, "__name__", repr(named))
        if self.body.get(name) is named:
            report(place, f"{name} is no event", f"derive it from Event: class {name}(Event): ...", where)
        else:
            report(place, f"{name} is not an event of this machine", "declare it in the body", where)

    def own_state(self, state: Any, place: str, where: str) -> bool:
        if isinstance(state, State) and self.states.get(state.name) is state:
            return True
        named = getattr(state, "name", "") or repr(state)
        report(place, f"{named} is not a state of this machine", f"use one of {', '.join(self.states)}", where)
        return False

    def cells(self, row: Row, order: list[State], fences: list[Fence]) -> list[ir.Cell]:
        cls, label = row.event, row.event.__name__
        asked: list[ir.Branch] = []
        for fence in fences:
            for b in fence.branches:
                if b.kind not in ("ignore", "refuse"):
                    report(
                        f"fence {fence.base.__name__}",
                        f"a fence cannot {b.kind}",
                        "use ignore or a refusal",
                        fence.where,
                    )
                rule = f"{snake(fence.base.__name__)}_{b.name or _tail(b)}"
                asked.append(self.branch(b, rule, f"fence of {label}", cls, "", fence.where))
        cells = []
        for state, cell in zip(order, row.cells, strict=False):
            rule = self.rule(cell, label, state.name, row.where)
            here = [replace(b, target=state.name) for b in asked]
            place = f"{label} in {state.name}"
            branches = []
            for i, b in enumerate(rule.branches):
                tail = _tail(b) if b.kind in ("ignore", "refuse") else ("" if i == 0 else str(i + 1))
                name = "_".join(p for p in (rule.name, b.name or tail) if p)
                branches.append(self.branch(b, name, place, cls, state.name, row.where))
            last = rule.otherwise
            tail = last.name or _tail(last) or "otherwise"
            name = f"{rule.name}_{tail}" if rule.branches else rule.name
            otherwise = self.branch(last, name, place, cls, state.name, row.where)
            names = [b.rule for b in (*branches, otherwise)]
            if len(set(names)) != len(names):
                report(
                    place,
                    f"two branches are called {sorted(names)}",
                    "bind one of them to a name of its own",
                    row.where,
                )
            cells.append(ir.Cell(label, state.name, tuple(here), tuple(branches), otherwise))
        return cells

    def rule(self, cell: Any, event: str, state: str, where: str) -> Rule:
        """Any cell as a rule with a name."""
        inline = f"{snake(event)}_{state.lower()}"
        match cell:
            case Rule():
                return cell if cell.name else replace(cell, name=inline)
            case Action():
                return Rule((), cell, cell.where, cell.name or inline)
            case State():
                return Rule((), Action("go", target=cell, where=where), where, "to_" + cell.name.lower())
            case Ignore():
                return Rule((), Action("ignore", where=where), where, "ignore")
            case Refuse():
                return Rule((), Action("refuse", refusal=cell, where=where), where, cell.name)
            case Guarded():
                what, mend = "is guarded and says nothing for otherwise", "end it with .orelse(...)"
                report(f"{event} in {state}", what, mend, cell.where or where)
            case _:
                report(f"{event} in {state}", f"{cell!r} is no cell", "use a state, a rule, a refusal or ignore", where)
        return Rule((), Action("ignore", where=where), where, "ignore")

    # -- branches ------------------------------------------------------------------------------

    def branch(self, b: Guarded | Action, rule: str, place: str, cls: Any, state: str, row_where: str) -> ir.Branch:
        where = b.where or row_where
        target = state
        if b.kind == "go":
            self.own_state(b.target, f"{place}, rule {rule}", where)
            target = b.target.name if isinstance(b.target, State) else state
        reason = text = ""
        retry = False
        if b.refusal is not None:
            reason, text, retry = b.refusal.name, b.refusal.text, b.refusal.retry
            if self.body.get(reason) is not b.refusal:
                report(place, f"the refusal {text!r} has no name", "bind it in the body: busy = Refuse(...)", where)
        guards = [self.guard(g, f"{place}, rule {rule}", where) for g in getattr(b, "guards", ())]
        parts = tuple(p for g in guards for p in (g.args if g.op == "and" else (g,)))
        guard = ir.TRUE if not parts else parts[0] if len(parts) == 1 else ir.Node("and", parts, ir.BOOL)
        updates = []
        for change in b.changes:
            if not isinstance(change, Change):
                report(
                    f"{place}, rule {rule}", f"{change!r} is no update", "write field.set(...), .add(...), ...", where
                )
                continue
            known = self.fields.get(change.field)
            if known is None:
                report(
                    f"{place}, rule {rule}",
                    f"{change.field or '?'} is not a field of this machine",
                    "declare it",
                    change.where,
                )
            elif known.is_given:
                report(
                    f"{place}, rule {rule}",
                    f"{change.field} is given and never updated",
                    "take the update out",
                    change.where,
                )
            if any(u.field == change.field for u in updates):
                report(f"{place}, rule {rule}", f"updates {change.field} twice", "join the two into one", change.where)
            updates.append(ir.Update(change.field, self.owned(change.value, place, rule, cls, where)))
        emits = []
        for out in b.outputs:
            if not among(type(out), self.outputs.values()):
                report(
                    f"{place}, rule {rule}",
                    f"{out!r} is not an output of this machine",
                    "declare it in the body",
                    where,
                )
                continue
            args = tuple(
                (k, self.owned(lift(out.__dict__[k], t), place, rule, cls, where)) for k, t in out.arguments.items()
            )
            emits.append(ir.Emit(type(out).__name__, args))
        kind: Any = b.kind
        guard = self.owned(guard, place, rule, cls, where)
        return ir.Branch(rule, guard, kind, target, reason, text, retry, tuple(updates), tuple(emits), where)

    def guard(self, guard: Any, place: str, where: str) -> ir.Node:
        """A guard's node; True in the place of what is none."""
        if isinstance(guard, bool):
            return lift(guard, ir.BOOL)
        node = node_of(guard)
        if node is None or node.type != ir.BOOL:
            is_ = f"{guard!r}, no expression" if node is None else f"a {node.type}"
            report(place, f"the guard is {is_}", "guard with a Bool expression", where)
            return ir.TRUE
        return node

    def owned(self, node: ir.Node, place: str, rule: str, cls: Any, where: str) -> ir.Node:
        """`node` with its arguments checked to be this event's, and stripped of the event's name."""
        if node.op == "arg" and isinstance(node.value, tuple):
            event, name = node.value
            if event not in {c.__name__ for c in cls.__mro__}:
                what = f"reads {event}.{name} while the event is {cls.__name__}"
                report(f"{place}, rule {rule}", what, f"read a field of {cls.__name__} or of its base", where)
            return replace(node, value=name)
        if node.op == "state":
            what = f"asks whether the instance is in {node.value}, which its column says"
            report(f"{place}, rule {rule}", what, "take it out: states are asked for in properties only", where)
        if node.op == "field" and (node.value not in self.fields):
            report(
                f"{place}, rule {rule}",
                f"{node.value or '?'} is not a field of this machine",
                "declare it in the body",
                where,
            )
        return replace(node, args=tuple(self.owned(a, place, rule, cls, where) for a in node.args))

    def scope(self) -> ir.Scope:
        """The declared scope, every name of which must bound something."""
        scope = self.body.get("scope", ir.Scope())
        if not isinstance(scope, ir.Scope):
            report("scope", f"{scope!r} is no Scope", "write scope = Scope(nat=1, ...)")
            return ir.Scope()
        types = [(k, f.node.type) for k, f in self.fields.items()]
        for cls in (*self.events.values(), *self.outputs.values()):
            types += cls.arguments.items()
        for what, mend in misnamed(scope, types):
            report("scope", what, mend)
        return scope

    # -- what is left --------------------------------------------------------------------------

    def check_unused(self) -> None:
        """What the table does not mention; in what is missing of it, it could be meant to stand."""
        if self.table is None or not (self.whole and self.rowed):
            return
        used = {id(part) for part in _mentioned(self.table.parts)}
        for k, v in self.body.items():
            if isinstance(v, (Rule, Action, Guarded, Refuse)) and id(v) not in used:
                what = "refusal" if isinstance(v, Refuse) else "rule"
                report(f"{what} {k}", "is in no cell", "use it or take it out", v.where)

    def arguments(self, cls: Any) -> tuple[ir.Field, ...]:
        return tuple(ir.Field(k, t) for k, t in cls.arguments.items())

    def event(self, cls: Any, fences: list[Fence]) -> ir.Event:
        bases = tuple(c.__name__ for c in cls.__mro__[1:] if c in self.events.values())
        fenced = [
            a
            for f in fences
            if isinstance(f.base, type) and issubclass(cls, f.base)
            for a in f.base.arguments
            if any(
                n.op == "arg" and n.value == (f.base.__name__, a)
                for b in f.branches
                for g in map(node_of, b.guards)
                if g is not None
                for n in g.walk()
            )
        ]
        outside = not issubclass(cls, self.inside)
        return ir.Event(cls.__name__, self.arguments(cls), bases, outside, tuple(dict.fromkeys(fenced)), _doc(cls))


def _mentioned(parts: Iterable[Any]) -> Iterable[Any]:
    """All that parts of a table are made of, rows down to refusals."""
    for part in parts:
        yield part
        match part:
            case Row():
                yield from _mentioned(part.cells)
            case Fence():
                yield from _mentioned(part.branches)
            case Rule():
                yield from _mentioned((*part.branches, part.otherwise))
            case Guarded() | Action():
                yield from _mentioned((*part.of, part.refusal))


def _count(things: Sized, what: str) -> str:
    return f"{len(things)} {what}" + ("" if len(things) == 1 else "s")


def _tail(b: Guarded | Action) -> str:
    return b.refusal.name if b.refusal is not None else "ignore" if b.kind == "ignore" else ""


def _doc(cls: Any) -> str:
    return _first_line(cls.__dict__.get("__doc__"))


def _first_line(text: str | None) -> str:
    return (text or "").strip().split("\n")[0]
