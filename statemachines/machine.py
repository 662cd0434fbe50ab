"""Machines, events and outputs as classes: the part of the language that binds names.

Rules of this file:

- The class body of a machine runs in a namespace that names what is bound in it, at once, and
  refuses to bind a name twice. What the body makes and neither binds nor uses is refused at its end.
- A machine's class is its definition: immutable, shared, and lowered to `Ir` when the body ends.
- Events and outputs are classes; called with values they are values, compared by content.
"""

from __future__ import annotations

import keyword
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from . import loose, problems
from .annotations import annotations_of, type_of
from .expressions import Change, Expr, is_expression, wrap
from .instances import frozen
from .ir import Ir, Node, Scope, Type
from .lower import lower
from .names import HELPERS, RESERVED
from .properties import Claimed
from .table import Action, Columns, Fence, Guarded, Refuse, Row, Rule, State, Table

if TYPE_CHECKING:
    from .instances import Instance, Outcome


class Argument:
    """A field of an event: `Seal.epoch` is an expression, `Seal(epoch=3).epoch` is a value."""

    def __init__(self, name: str, type_: Type) -> None:
        self.name, self.type = name, type_

    def __get__(self, event: Event | None, owner: type[Event]) -> Any:
        if event is not None:
            return event.__dict__[self.name]
        return wrap(Node("arg", (), self.type, (owner.__name__, self.name)))


class _MessageType(type):
    """The class of events and outputs: what is asked of one, and is none of its arguments, is told."""

    if not TYPE_CHECKING:

        def __getattr__(cls, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(f"{cls.__name__} has no {name}")
            has = ", ".join(cls.arguments) or "none"
            raise problems.misused(f"{cls.__name__}.{name}", f"{cls.__name__} has no {name}", f"its arguments: {has}")


class _Message(metaclass=_MessageType):
    """What events and outputs share: named values with declared types, comparable and hashable."""

    arguments: ClassVar[dict[str, Type]] = {}
    own: ClassVar[dict[str, Type]] = {}

    def __init_subclass__(cls) -> None:
        own: dict[str, Type] = {}
        for name, hint in annotations_of(cls).items():
            try:
                own[name] = type_of(hint)
            except TypeError as error:
                problems.report(f"{cls.__name__}.{name}", str(error), "give it a type of the language")
                if isinstance(hint, str):
                    # The rules below would ask for this argument in vain, which would hide the reason.
                    problems.give_up(cls.__name__)
        for name, value in vars(cls).items():
            if is_expression(value) and value.is_unbound_field:
                loose.taken(value)
                kind = type(value).__name__
                what, mend = f"is a field, {kind}, in the place of an argument", f"write {name}: {kind}"
                problems.report(f"{cls.__name__}.{name}", what, mend)
        for name in own:
            if name in cls.arguments:
                problems.report(f"{cls.__name__}.{name}", "hides the field of its base", "give it another name")
            if name in vars(cls) and not (is_expression(vars(cls)[name]) and vars(cls)[name].is_unbound_field):
                what, mend = "has a value, and an argument has none of its own", "take the value out"
                problems.report(f"{cls.__name__}.{name}", what, mend)
            taken = keyword.iskeyword(name) or name in RESERVED | HELPERS
            if taken or name != name.lower() or name.startswith("_") or not name.isascii():
                mend = "give it a lower-case ASCII name that the language does not use"
                problems.report(f"{cls.__name__}.{name}", "is no name for an argument", mend)
        cls.own, cls.arguments = own, {**cls.arguments, **own}
        cls.where = problems.caller()
        loose.made(cls, cls.where)

    where: ClassVar[str] = ""

    def __init__(self, /, **values: Any) -> None:
        name = type(self).__name__
        if values.keys() != self.arguments.keys():
            given, wanted = ", ".join(values) or "nothing", ", ".join(self.arguments) or "nothing"
            what = f"takes exactly {wanted}; got {given}"
            if problems.declaring():
                problems.stop(f"{name}(...)", what, "give each of its arguments a value")
            raise TypeError(f"{name} {what}")
        for key, type_ in self.arguments.items():
            value = values[key]
            try:
                vars(self)[key] = value if isinstance(value, Expr) else frozen(type_, value)
            except (TypeError, ValueError) as error:
                if problems.declaring():
                    problems.stop(f"{name}.{key}", f"{value!r} is not a {type_}", f"give a {type_}")
                raise TypeError(f"{name}.{key}: {value!r} is not a {type_}") from error

    def values(self) -> tuple[Any, ...]:
        """The values in order of declaration."""
        return tuple(self.__dict__.values())

    @classmethod
    def of_values(cls, *values: Any) -> Self:
        """A message of values in order of declaration, unchecked."""
        self = cls.__new__(cls)
        vars(self).update(zip(cls.arguments, values, strict=True))
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Message):
            return NotImplemented
        return type(self) is type(other) and self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash((type(self), *(frozenset(v.items()) if isinstance(v, dict) else v for v in self._compared())))

    def _compared(self) -> tuple[Any, ...]:
        return tuple(self.__dict__[n] for n, t in self.arguments.items() if t.kind != "note")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.__dict__.items())})"


class Event(_Message):
    """Something that happens to an instance; on the wire unless it derives from `Inside`."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, type_ in cls.arguments.items():
            if name not in RESERVED:
                setattr(cls, name, Argument(name, type_))


class Inside(Event):
    """An event raised within the process (by the engine, a timer, the data plane): not on the wire."""


class Output(_Message):
    """Something that the shell must do after a step."""


class _Body(dict[str, Any]):
    """The namespace of a machine's class body: names what is bound and refuses rebinding."""

    def __init__(self, machine: str) -> None:
        super().__init__()
        self.problems = problems.collect(machine)
        loose.begin()

    def __setitem__(self, name: str, value: Any) -> None:
        if name in self and not name.startswith("__"):
            problems.report(name, "is bound a second time", "give one of the two another name")
            loose.taken(value)
            return
        if name in RESERVED and name != "scope":
            problems.report(name, "is a name that every machine has", "give it another name")
        match value:
            case State() | Refuse() | Claimed():
                if value.name:
                    problems.report(name, f"is the same object as {value.name}", "declare one for each name")
                elif isinstance(value, State):
                    value.bind(name)
                else:
                    value.name = name
            case Expr() if is_expression(value) and value.is_unbound_field:
                value.bind(name)
            case Rule() | Action() | Guarded() if value.name != name and value is not self.get(value.name):
                loose.taken(value)
                value = replace(value, name=name)
        super().__setitem__(name, value)


def _told(part: Any) -> str:
    """What a part of a machine is, for somebody who has lost it."""
    match part:
        case Claimed():
            return f"property {part}"
        case State():
            return "a State"
        case Expr():
            return f"a field, {part.node.type}"
        case Change():
            return f"an update of {part.field or 'a field'}"
        case Refuse():
            return f"the refusal {part.text!r}"
        case Rule() | Action() | Guarded():
            return f"a rule{f', of {part.name}' if part.name else ''}"
        case Table():
            return "a Table"
        case Columns() | Row() | Fence():
            return f"{type(part).__name__.lower()}(...)"
        case _:
            return f"event or output {part.__name__}"


class _MachineType(type):
    """Collects the body's problems and lowers the table when the body ends."""

    @classmethod
    def __prepare__(cls, name: str, bases: tuple[type, ...], /, **_: Any) -> dict[str, Any]:
        return _Body(name) if bases else {}

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any], /, imported: Any = None) -> Any:
        if not isinstance(body, _Body):
            return super().__new__(cls, name, bases, body)
        found = body.problems
        try:
            loose.refuse_unbound(body, _told)
            ir = lower(name, body, Event, Inside, Output)
        finally:
            loose.end()
            problems.end()
        if found:
            raise problems.DeclarationError(name, found)
        machine = super().__new__(cls, name, bases, {**body, "ir": ir, "imported": imported})
        from .compiler import compile_machine

        compile_machine(machine)
        return machine

    def __setattr__(cls, name: str, value: Any) -> None:
        if "_frozen" in cls.__dict__:
            raise AttributeError(f"{cls.__name__} is a definition and cannot be changed ({name})")
        super().__setattr__(name, value)

    def __delattr__(cls, name: str) -> None:
        raise AttributeError(f"{cls.__name__} is a definition and cannot be changed ({name})")


class Machine(metaclass=_MachineType):
    """A protocol declared as a table of states and events.

    After the body: `ir`, the two executors (`step` over immutable snapshots, `Live` in place) and
    `initial(**given)`. The class itself is immutable.

    Raises:
        DeclarationError: at the end of the class body, with every structural problem.
    """

    ir: ClassVar[Ir]
    Snapshot: ClassVar[type[Instance]]
    Live: ClassVar[type[Any]]
    scope: ClassVar[Scope] = Scope()
    imported: ClassVar[Any] = None
    """What `from_transitions` left out of the table and knows beside it; None for a declared machine."""
    table: ClassVar[Table]

    @classmethod
    def initial(cls, **given: Any) -> Any:
        """The snapshot of a newborn instance; `given` are the fields declared `.given()`."""
        return cls.Live(**given).snapshot()

    @classmethod
    def step(cls, snapshot: Any, event: Event) -> tuple[Any, Outcome]:
        """The pure step: the snapshot after `event`, and what came of it. Never fails, never changes `snapshot`."""
        raise NotImplementedError  # every machine gets its own from the compiler
