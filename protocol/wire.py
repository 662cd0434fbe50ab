"""What a generated service module and the hand-written wire share: a machine's messages in one value.

Rules of this file:

- A message that does not mean a value of the machine is a `WireError`; nothing else of a message is
  looked at twice.
- Messages are made straight from a live instance: no copy of it is taken first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

from google.protobuf.message import Message

from ..statemachines.compiler import Outcome
from ..statemachines.ir import Ir, Kind
from ..statemachines.names import snake

T = TypeVar("T")
H = TypeVar("H")

GO, STAY, IGNORE, REFUSE = 1, 2, 3, 4
KINDS = ("", "go", "stay", "ignore", "refuse")
"""`Reply.Kind` by number."""
KIND_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}
DOMAIN = "sluicegate"
"""The `ErrorInfo.domain` of every refusal."""


STRING_LIMIT = 4096
"""The longest id or note that an event brings, in bytes: every reply shows those that the instance keeps."""


class WireError(ValueError):
    """A message does not mean a value of the machine; says which part and what it should be."""


class Choices(dict[int, T]):
    """Enum members by number; a number without a member is a WireError."""

    def __init__(self, name: str, members: dict[int, T]) -> None:
        super().__init__(members)
        self.name = name

    def __missing__(self, number: int) -> T:
        names = ", ".join(map(str, self.values()))
        said = "is not given" if number == 0 else f"{number} is unknown"
        raise WireError(f"a {self.name} {said}: send one of {names}")


def given(message: Message, name: str) -> Any:
    """A part that must be there. Raises WireError if it is missing."""
    if not message.HasField(name):
        raise WireError(f"{message.DESCRIPTOR.name}.{name} is missing: send it")
    return getattr(message, name)


def require_short(message: Message) -> None:
    """Raises WireError for a message with a string longer than `STRING_LIMIT`, at any depth."""
    for part, held in message.ListFields():
        values = held if part.is_repeated else (held,)
        if part.message_type is not None and part.message_type.GetOptions().map_entry:
            values = (*held, *held.values())
        for value in values:
            if isinstance(value, Message):
                require_short(value)
            elif isinstance(value, str) and len(value.encode()) > STRING_LIMIT:
                raise WireError(f"{message.DESCRIPTOR.name}.{part.name}: a string has at most {STRING_LIMIT} bytes")


@dataclass(frozen=True, slots=True)
class Wire(Generic[H]):
    """A machine and its messages; `H` is the protocol of its handlers.

    `states` are the names of the states by their number; `to_message` makes the message of a snapshot
    or a live instance, `to_values` reads its state and fields in order of declaration.
    """

    machine: Any
    reply: Any
    transition: Any
    snapshot: Any
    states: Mapping[int, str]
    to_message: Callable[[Any], Any]
    to_values: Callable[[Any], tuple[Any, ...]]
    name: str = field(init=False)
    handlers: tuple[tuple[Any, str], ...] = field(init=False)
    """Output class -> name of the method that handles it."""
    fences: frozenset[str] = field(init=False)
    """Rules that are a fence's."""

    def __post_init__(self) -> None:
        ir: Ir = self.machine.ir
        outputs = tuple((getattr(self.machine, o.name), snake(o.name)) for o in ir.outputs)
        object.__setattr__(self, "name", ir.name)
        object.__setattr__(self, "handlers", outputs)
        object.__setattr__(self, "fences", frozenset(f.rule for c in ir.cells for f in c.fences))

    def value(self, message: Any) -> Any:
        """The snapshot that a message means. Raises WireError."""
        return self.machine.Snapshot.of_values(*self.to_values(message))

    def answer(self, instance: str, incarnation: str, number: int, snapshot: Any, outcome: Outcome) -> Any:
        """The reply to a step."""
        if outcome.kind != "refuse":
            return self.reply(
                instance=instance,
                incarnation=incarnation,
                number=number,
                snapshot=snapshot,
                kind=KIND_NUMBERS[outcome.kind],
                rule=outcome.rule,
            )
        return self.reply(
            instance=instance,
            incarnation=incarnation,
            number=number,
            snapshot=snapshot,
            kind=REFUSE,
            rule=outcome.rule,
            reason=outcome.reason,
            text=outcome.text,
            retry=outcome.retry,
        )


def outcome_of(reply: Any) -> Outcome:
    """The outcome that a reply tells of; its outputs were the host's own affair."""
    return Outcome(cast(Kind, KINDS[reply.kind]), reply.rule, reply.reason, reply.text, reply.retry)
