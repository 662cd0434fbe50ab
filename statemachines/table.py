"""The table of a machine: rules, rows and columns.

Rules of this file:

- Everything is immutable: `.when()`, `.do()`, `.emit()`, `.orelse()` give a new object.
- What a cell may hold is a type: `State | Refuse | Ignore | Action | Rule`. A guarded action is none
  of them until `.orelse()` says what happens otherwise.
- A bare state in a cell means: go there and change nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Never, TypeAlias, TypeVar

from .expressions import Bool, Change
from .ir import BOOL, Node
from .loose import made, taken
from .misuse import Asked
from .problems import caller, report

if TYPE_CHECKING:
    from .machine import Event, Output


class State(Bool):
    """A state of the machine; the first one declared is where an instance is born.

    In a property it is an expression: the instance is in this state.
    """

    def __init__(self, *_: Never, **options: Never) -> None:
        self.where = caller()
        self.bind("")
        made(self, self.where)
        if _ or options:
            mend = "write State(); the first one is initial, and what should end somewhere is a property"
            report("State", f"takes nothing, and got {', '.join(map(str, (*_, *options)))}", mend)

    def bind(self, name: str) -> None:
        """Give the state its name."""
        self.name = name
        self.node = Node("state", (), BOOL, name)


@dataclass(frozen=True, eq=False)
class Guarded(Asked):
    """What happens if all of `guards` hold. Not a cell yet: end it with `.orelse(...)`."""

    kind: str
    target: State | None = None
    refusal: Refuse | None = None
    guards: tuple[Bool, ...] = ()
    changes: tuple[Change, ...] = ()
    outputs: tuple[Output, ...] = ()
    where: str = ""
    name: str = ""
    of: tuple[Any, ...] = ()
    """What it was made of: who uses it uses those."""

    def __post_init__(self) -> None:
        made(self, self.where)

    def when(self, *guards: Bool) -> Guarded:
        return _more(self, guards=(*self.guards, *guards))

    def do(self, *changes: Change, **fields: Never) -> Guarded:
        return _more(self, changes=(*self.changes, *_changes(changes, fields)))

    def emit(self, *outputs: Output) -> Guarded:
        return _more(self, outputs=(*self.outputs, *outputs))

    def orelse(self, otherwise: Otherwise) -> Rule:
        return Rule((self,), as_action(otherwise), self.where)


@dataclass(frozen=True, eq=False)
class Action(Asked):
    """What happens in any case: `go(STATE)` or `stay()`, with effects."""

    kind: str
    target: State | None = None
    refusal: Refuse | None = None
    changes: tuple[Change, ...] = ()
    outputs: tuple[Output, ...] = ()
    where: str = ""
    name: str = ""
    of: tuple[Any, ...] = ()
    """What it was made of: who uses it uses those."""

    def __post_init__(self) -> None:
        made(self, self.where)

    def when(self, *guards: Bool) -> Guarded:
        taken(self)
        where = caller()
        return Guarded(self.kind, self.target, self.refusal, guards, self.changes, self.outputs, where, of=(self,))

    def do(self, *changes: Change, **fields: Never) -> Action:
        return _more(self, changes=(*self.changes, *_changes(changes, fields)))

    def emit(self, *outputs: Output) -> Action:
        return _more(self, outputs=(*self.outputs, *outputs))


class Ignore(Asked):
    """The event is known and changes nothing."""

    def when(self, *guards: Bool) -> Guarded:
        return Guarded("ignore", guards=guards, where=caller())


@dataclass(eq=False)
class Refuse(Asked):
    """The event is not taken: `text` says why, `retry` whether the same event may be taken later."""

    text: str
    retry: bool = False
    name: str = ""
    where: str = field(default_factory=caller)

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or not isinstance(self.retry, bool):
            given = f"Refuse({self.text!r}, retry={self.retry!r})"
            report(given, "is of a text and of True or False", 'write Refuse("not now", retry=True)', self.where)
            self.text, self.retry = str(self.text), bool(self.retry)
        made(self, self.where)

    def when(self, *guards: Bool) -> Guarded:
        taken(self)
        return Guarded("refuse", refusal=self, guards=guards, where=caller())


@dataclass(frozen=True, eq=False)
class Rule(Asked):
    """A whole cell: disjoint guarded branches and one otherwise."""

    branches: tuple[Guarded, ...]
    otherwise: Action
    where: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        taken(*self.branches, self.otherwise)
        made(self, self.where)


Otherwise: TypeAlias = State | Refuse | Ignore | Action
CellLike: TypeAlias = State | Refuse | Ignore | Action | Rule
R = TypeVar("R", Action, Guarded)

ignore = Ignore()


def go(target: State) -> Action:
    """Go to `target`."""
    return Action("go", target=target, where=caller())


def stay() -> Action:
    """Stay in the state, with effects."""
    return Action("stay", where=caller())


def choose(*branches: Guarded, orelse: Otherwise) -> Rule:
    """The one of `branches` whose guards hold (they must be disjoint), otherwise `orelse`."""
    return Rule(_guarded("choose", branches), as_action(orelse), caller())


def _guarded(place: str, branches: tuple[Any, ...]) -> tuple[Guarded, ...]:
    """Those of `branches` that are guarded; the others are reported."""
    for branch in branches:
        if not isinstance(branch, Guarded):
            what = f"{_shown(branch)} is no guarded branch"
            report(f"{place}(...)", what, "give branches as in go(OPEN).when(...) or busy.when(...)")
    return tuple(branch for branch in branches if isinstance(branch, Guarded))


def _more(rule: R, **more: Any) -> R:
    """`rule` and more, in its place; under its name only if that is all there is of it."""
    taken(rule)
    return replace(rule, **more, of=(*rule.of, rule))  # pyright: ignore[reportCallIssue]


def _changes(changes: tuple[Change, ...], fields: dict[str, Any]) -> tuple[Change, ...]:
    for name, value in fields.items():
        report(f".do({name}=...)", "is no update", f"write .do({name}.set({value}))")
    taken(*changes)
    return changes


def as_action(cell: Otherwise | Any) -> Action:
    match cell:
        case Action():
            return cell
        case State():
            return Action("go", target=cell, where=caller())
        case Ignore():
            return Action("ignore", where=caller())
        case Refuse():
            taken(cell)
            return Action("refuse", refusal=cell, where=caller())
        case _:
            what = f"{_shown(cell)} cannot end a cell"
            report("otherwise", what, "use a state, a refusal, ignore, go(...) or stay()")
            return Action("ignore", where=caller())


def _shown(cell: Any) -> str:
    """What was given, for somebody who does not know how it is kept."""
    match cell:
        case Guarded():
            return "a guarded rule"
        case Rule():
            return "a whole rule"
        case Action():
            return "a rule without a guard"
        case Refuse():
            return f"the refusal {cell.text!r}"
        case Ignore():
            return "ignore"
        case _:
            return repr(cell)


@dataclass(frozen=True, eq=False)
class Columns:
    states: tuple[State, ...]
    where: str

    def __post_init__(self) -> None:
        made(self, self.where)


@dataclass(frozen=True, eq=False)
class Row:
    event: type[Event]
    cells: tuple[CellLike, ...]
    where: str

    def __post_init__(self) -> None:
        taken(self.event, *self.cells)
        made(self, self.where)


@dataclass(frozen=True, eq=False)
class Fence:
    base: type[Event]
    branches: tuple[Guarded, ...]
    where: str

    def __post_init__(self) -> None:
        taken(self.base, *self.branches)
        made(self, self.where)


def columns(*states: State) -> Columns:
    """The states, in the order of the cells of every row."""
    return Columns(states, caller())


def row(event: type[Event], *cells: CellLike) -> Row:
    """One event: a cell for each column."""
    return Row(event, cells, caller())


def fence(base: type[Event], *branches: Guarded) -> Fence:
    """Refuse or ignore, before any cell is asked, every event that derives from `base`."""
    return Fence(base, _guarded("fence", branches), caller())


class Table:
    """Fences in the order in which they are asked, the columns, and a row for each event."""

    def __init__(self, *parts: Columns | Row | Fence) -> None:
        self.parts = parts
        self.where = caller()
        taken(*parts)
        made(self, self.where)
