"""Structural errors of declarations: collected while a class body runs, reported together at its end.

A problem says where it is, what is wrong and how to mend it. Expressions meet theirs while the body
still runs; they note them here and go on with a value of the right type, so that one import shows
all of them and not only the first.
"""

from __future__ import annotations

import os
import sys
from contextvars import ContextVar
from dataclasses import dataclass
from types import CodeType
from typing import NoReturn

_HERE = os.path.dirname(os.path.abspath(__file__))
_FILES = (
    "compiler.py", "display.py", "expressions.py", "instances.py", "ir.py", "loose.py", "lower.py", "machine.py",
    "operators.py", "problems.py", "properties.py", "scopes.py", "table.py", "values.py",
)  # fmt: skip
LANGUAGE = frozenset(os.path.join(_HERE, f) for f in _FILES)
"""The files in which no declaration stands: a place in one of them says nothing to anybody."""


@dataclass(frozen=True, slots=True)
class Problem:
    """`place` names what it is about (a rule, a cell, a field); `where` is "file:line"."""

    where: str
    place: str
    what: str
    mend: str

    def __str__(self) -> str:
        return f"{self.where}: {self.place}: {self.what}\n    mend: {self.mend}"


class DeclarationError(Exception):
    """A machine's declaration is broken; `problems` lists every one that was found."""

    def __init__(self, machine: str, problems: list[Problem]) -> None:
        self.machine = machine
        self.problems = tuple(problems)
        count = f"{len(problems)} problem" + ("s" if len(problems) > 1 else "")
        super().__init__(f"machine {machine}: {count}\n" + "\n".join(f"  {p}" for p in problems))

    def __reduce__(self) -> tuple[type[DeclarationError], tuple[str, list[Problem]]]:
        return DeclarationError, (self.machine, list(self.problems))


_collector: ContextVar[list[Problem] | None] = ContextVar("problems", default=None)
_machine: ContextVar[str] = ContextVar("machine", default="")


def collect(machine: str) -> list[Problem]:
    """Begin the class body of `machine`: what is reported from now on goes to the list that is returned."""
    problems: list[Problem] = []
    _collector.set(problems)
    _machine.set(machine)
    return problems


def end() -> None:
    """End a class body: what is reported after this is raised at once."""
    _collector.set(None)


def stop(place: str, what: str, mend: str) -> NoReturn:
    """End a class body at once with this problem, and those before it."""
    report(place, what, mend)
    give_up(_machine.get())


def give_up(machine: str) -> NoReturn:
    """End a class body at once, with what was reported so far."""
    problems = _collector.get() or []
    end()
    raise DeclarationError(machine, problems)


def report(place: str, what: str, mend: str, where: str = "") -> None:
    """Note a problem of the class body that runs; without one, raise it."""
    problem = Problem(where or caller(), place, what, mend)
    problems = _collector.get()
    if problems is None:
        raise DeclarationError(place, [problem])
    problems.append(problem)


def caller() -> str:
    """ "file:line" of the declaration that is being read: the first frame outside the language."""
    frame = sys._getframe(1)
    while frame.f_back is not None and (frame.f_code.co_filename in LANGUAGE or _is_dataclass_init(frame.f_code)):
        frame = frame.f_back
    name = frame.f_code.co_filename
    return f"{os.path.basename(name)}:{frame.f_lineno}"


def _is_dataclass_init(code: CodeType) -> bool:
    """The constructor that `dataclass` writes lies between the language and its caller."""
    return code.co_filename == "<string>" and code.co_name == "__init__"
