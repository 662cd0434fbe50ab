"""What an instance of a machine is at run time: plain slotted data, and the outcome of a step.

Rules of this file:

- A snapshot never changes, is compared by content and is hashable; a live instance steps in place.
- Both have the same layout, and neither has a place for an attribute that the machine does not declare.
- A snapshot never shares a container with a live instance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from .ir import Field, Kind, Type


class Outcome(NamedTuple):
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
    """Plain data of one instance: `state` and the machine's fields, which the compiler adds as slots."""

    __slots__ = ()
    machine: ClassVar[Any]
    fields: ClassVar[tuple[Field, ...]]
    of_values: ClassVar[Callable[..., Any]]
    """An instance of the state and the fields in order of declaration, unchecked and not copied."""

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
    """How a pickle is read: by the machine's own constructor, not by slot."""
    return getattr(machine, form).of_values(*values)


class SnapshotBase(Instance):
    """An instance that never changes: compared by content, notes left out."""

    __slots__ = ()
    _key: ClassVar[Callable[[Any], tuple[Any, ...]]]

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a snapshot does not change: step it, or change a live instance ({name})")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a snapshot does not change ({name})")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._key() == other._key()  # pyright: ignore[reportAttributeAccessIssue]

    def __hash__(self) -> int:
        return hash(self._key())

    def live(self) -> Any:
        """A live instance with this content."""
        raise NotImplementedError  # every machine gets its own from the compiler

    def replace(self, **changes: Any) -> Any:
        """A snapshot with other values in the fields (or `state`) that are named."""
        names = ("state", *(f.name for f in self.fields))
        if unknown := changes.keys() - set(names):
            raise TypeError(f"{self.machine.__name__} has no field {', '.join(sorted(unknown))}")
        return self.of_values(*(changes.get(n, getattr(self, n)) for n in names))


class LiveBase(Instance):
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
            setattr(self, f.name, thawed(f.type, given[f.name] if f.given else f.initial))

    def step(self, event: Any) -> Outcome:
        """Step by an event value."""
        return self._methods[type(event)](self, *event.__dict__.values())

    def snapshot(self) -> Any:
        """An immutable copy."""
        raise NotImplementedError  # every machine gets its own from the compiler

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.snapshot() == other.snapshot()  # pyright: ignore[reportAttributeAccessIssue]

    def __copy__(self) -> Any:
        return self.snapshot().live()


LIVE: dict[str, Callable[[Any], Any]] = {"set": set, "map": dict, "seq": list}
FROZEN: dict[str, Callable[[Any], Any]] = {"set": frozenset, "map": dict, "seq": tuple}


def thawed(type_: Type, value: Any) -> Any:
    """`value` as a live instance holds it in a field."""
    return LIVE[type_.kind](value) if type_.kind in LIVE else value


def frozen(type_: Type, value: Any) -> Any:
    """`value` as snapshots, events and outputs hold it."""
    return FROZEN[type_.kind](value) if type_.kind in FROZEN else value
