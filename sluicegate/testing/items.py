"""Declared machines and models as test items, one for each property.

Rules of this file:

- A machine or model is judged once, when the first of its items runs; the others read the result. Of
  what no item of the run asks for, nothing is done.
- An item passes only on a verdict of its own: what was not judged fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest

from ..cli._machines import UnknownName, load_declared
from ..spec.checkers import CheckerMissing
from ..statemachines import DeclarationError
from ..statemachines.observing import unobserved

if TYPE_CHECKING:
    from ..spec.judge import Row

TABLE, GRAPH, CHECKERS = "table", "graph", "checkers"
"""Beside the properties: the table's own faults; the explorations of a machine; what the checkers make of a model."""


class DeclaredFile(pytest.File):
    """The project's file, with what it names."""

    def __init__(self, *, names: Sequence[str], **rest: Any) -> None:
        super().__init__(**rest)
        self.names = names

    def collect(self) -> Iterator[pytest.Collector]:
        for name in self.names:
            try:
                machines, models = load_declared(name)
            except (UnknownName, DeclarationError) as error:
                raise self.CollectError(str(error)) from error
            for machine in machines:
                yield Subject.from_parent(self, name=machine.__name__, machine=machine)
            for model in models:
                yield Subject.from_parent(self, name=model.name, model=model)


def items_of(names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The items of each machine and model that a project names. Raises UsageError where one cannot be loaded."""
    found: dict[str, tuple[str, ...]] = {}
    for name in names:
        try:
            machines, models = load_declared(name)
        except (UnknownName, DeclarationError) as error:
            raise pytest.UsageError(str(error)) from error
        found.update({machine.__name__: _items(machine, None) for machine in machines})
        found.update({model.name: _items(None, model) for model in models})
    return found


def _items(machine: Any, model: Any) -> tuple[str, ...]:
    if machine is not None:
        return TABLE, GRAPH, *(claim.name for claim in machine.ir.properties)
    return *model.properties, CHECKERS


class Subject(pytest.Collector):
    """One machine or model."""

    def __init__(self, *, machine: Any = None, model: Any = None, **rest: Any) -> None:
        super().__init__(**rest)
        self.machine, self.model = machine, model

    def collect(self) -> Iterator[pytest.Item]:
        for name in _items(self.machine, self.model):
            yield Verdict.from_parent(self, name=name)

    @cached_property
    def row(self) -> Row:
        from ..spec.judge import judge_machine, judge_system

        asked = {item.name for item in self.session.items if item.parent is self}
        with unobserved():
            if self.machine is None:
                return judge_system(self.model)
            only = None if GRAPH in asked else asked - {TABLE}
            return judge_machine(self.machine, only=only)


class NotGood(Exception):
    """What is told of an item that fails."""


class Verdict(pytest.Item):
    """One property of a machine or model."""

    def runtest(self) -> None:
        assert isinstance(self.parent, Subject)
        try:
            said = list(_said(self.parent.row, self.name))
        except CheckerMissing as error:
            raise NotGood(str(error)) from error
        if said:
            raise NotGood("\n".join(said))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, NotGood):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        return self.path, None, f"{getattr(self.parent, 'name', '')}: {self.name}"


def _said(row: Row, name: str) -> Iterator[str]:
    """Why an item is not good, line by line; nothing if it is."""
    faults = [finding for finding in row.findings if finding.fault]
    if not (row.verdicts or row.distinct):
        yield row.trouble or "nothing was judged"
    elif name == TABLE:
        for finding in faults:
            yield str(finding)
            yield from (f"  {line}" for line in finding.run)
    elif name in (GRAPH, CHECKERS):
        if row.trouble and not faults and all(claim.ok for claim in row.claims):
            yield row.trouble
    else:
        claim = next((claim for claim in row.claims if claim.name == name), None)
        if claim is None or not claim.judged:
            yield f"{name} was not judged"
        elif not claim.ok:
            yield f"{name} {claim.verdict}{f': {claim.says}' if claim.says else ''}"
            # How a run ends, in a checker's own words, is told by the story; why there is no verdict is not.
            details = {j.checker: "" if j.verdict in ("fails", "not reached") else j.detail for j in claim.judged}
            yield from (f"  {j.checker} {j.verdict} {details[j.checker]}".rstrip() for j in claim.judged)
            yield from (f"  {line}" for line in claim.story)
            if name in row.examples and not claim.story and claim.verdict == "fails":
                from ..spec.counterexamples import render

                yield from (f"  {line}" for line in render(row.examples[name](), "text").splitlines())
