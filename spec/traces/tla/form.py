"""What a run is to TLC: logged steps as records, in parts that are judged one after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..reading import Entry
from .text import record


@dataclass(slots=True)
class Told:
    """A logged step as a model has it: the entry that it is, and the members of its record."""

    entry: Entry
    members: dict[str, Any]


class Window(Protocol):
    """A part of a run, or parts of several: `logs` are explained each by itself, over the same constants."""

    @property
    def logs(self) -> list[list[Told]]: ...

    @property
    def constants(self) -> Constants: ...

    def module(self, which: int = 1, reached: int = 0) -> str:
        """The module `LoggedRun`; `reached` explained steps of log `which` are what its NotReached denies."""
        ...


Constants = dict[str, Any]
"""Values of a model's constants: numbers and sets are bounds, of which the larger may be taken."""


def joined(all_of_them: Sequence[Constants]) -> Constants:
    """Constants that hold for several runs. Raises ValueError where they cannot be the same."""
    found: Constants = {}
    for constants in all_of_them:
        for name, value in constants.items():
            held = found.setdefault(name, value)
            if isinstance(value, frozenset):
                found[name] = held | value
            elif isinstance(value, int):
                found[name] = max(held, value)
            elif held != value:
                raise ValueError(f"runs with another {name} ({held}, {value}) cannot be judged together")
    return found


def run_module(extends: str, **definitions: str) -> str:
    """The text of a module `LoggedRun` that defines these."""
    body = "\n".join(f"{name} == {text}" for name, text in definitions.items())
    return f"{' MODULE LoggedRun ':-^78}\nEXTENDS {extends}\n{body}\n{'=' * 78}\n"


def sequence(logged: list[Told]) -> str:
    """Steps as a sequence in TLA+."""
    return "<<\n  " + ",\n  ".join(record(told.members.items()) for told in logged) + ">>"
