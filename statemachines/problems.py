"""Structural errors of declarations: collected while a class body runs, reported together at its end.

A problem says where it is, what is wrong and how to mend it. Expressions meet theirs while the body
still runs; they note them here and go on with a value of the right type, so that one import shows
all of them and not only the first.
"""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import NoReturn

_HERE = os.path.dirname(os.path.abspath(__file__))
_FILES = (
    "annotations.py", "compiler.py", "containers.py", "display.py", "expressions.py", "instances.py",
    "ir.py", "loose.py", "lower.py", "machine.py", "misuse.py", "names.py", "operators.py",
    "problems.py", "properties.py", "records.py", "scopes.py", "table.py", "values.py",
)  # fmt: skip
LANGUAGE = frozenset((*(os.path.join(_HERE, f) for f in _FILES), types.__file__))
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
        return type(self), (self.machine, list(self.problems))


class Misused(DeclarationError, AttributeError, TypeError):
    """What is no value was used as one.

    Where Python itself asks (`hasattr`, `hash`), it goes on as after its own error.
    """


@dataclass(frozen=True, slots=True)
class _Body:
    """The class body that runs, and the frame that runs it."""

    machine: str
    problems: list[Problem]
    frame: FrameType


_running: ContextVar[_Body | None] = ContextVar("running", default=None)


def collect(machine: str) -> list[Problem]:
    """Begin the class body of `machine`: what is reported from now on goes to the list that is returned."""
    problems: list[Problem] = []
    _running.set(_Body(machine, problems, _outside()))
    return problems


def end() -> None:
    """End a class body: what is reported after this is raised at once."""
    _running.set(None)


def declaring() -> bool:
    """Whether a class body runs."""
    return _body() is not None


def _body() -> _Body | None:
    """The class body that runs. One that an error of Python's has ended could not say so."""
    body = _running.get()
    if body is not None and not any(frame is body.frame for frame in _frames()):
        end()
        return None
    return body


def misused(place: str, what: str, mend: str) -> Misused:
    """The error of a use that has no meaning, with the problems before it; raise it."""
    body = _body()
    before = body.problems if body else []
    return Misused(body.machine if body else place, [*before, Problem(caller(), place, what, mend)])


def stop(place: str, what: str, mend: str) -> NoReturn:
    """End a class body at once with this problem, and those before it."""
    report(place, what, mend)
    give_up(place)


def give_up(place: str) -> NoReturn:
    """End a class body at once, with what was reported so far."""
    body = _body()
    end()
    raise DeclarationError(body.machine if body else place, body.problems if body else [])


def report(place: str, what: str, mend: str, where: str = "") -> None:
    """Note a problem of the class body that runs; without one, raise it."""
    problem = Problem(where or caller(), place, what, mend)
    body = _body()
    if body is None:
        raise DeclarationError(place, [problem])
    body.problems.append(problem)


def caller() -> str:
    """ "file:line" of the declaration that is being read: the first frame outside the language."""
    frame = _outside()
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


def _outside() -> FrameType:
    frame = None
    for frame in _frames():
        if frame.f_code.co_filename not in LANGUAGE and not _is_dataclass_init(frame.f_code):
            break
    assert frame is not None
    return frame


def _frames() -> Iterator[FrameType]:
    """The frames of the stack, innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_dataclass_init(code: CodeType) -> bool:
    """The constructor that `dataclass` writes lies between the language and its caller."""
    return code.co_filename == "<string>" and code.co_name == "__init__"
