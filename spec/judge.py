"""Judging machines and system models by both checkers: one row each, for a person and for an exit status.

Rules of this file:

- A row is good only if every checker gave the verdict that was expected, and all counts are equal.
- An error or an incomplete run is never good, also where a violation was expected.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from ..statemachines.explore import explore
from .checkers import tla_checker, tlc
from .checkers.model import CheckResult, Step
from .checkers.tla_values import Function, parse, show
from .graph import compare
from .models import SystemModel

CHECKERS = ("tla-checker", "TLC")


@dataclass(frozen=True, slots=True)
class Row:
    """What is told of one model. `verdicts` by checker; `trouble` is empty if the row is good.

    `notes` are for whoever wrote the table: a scope may be too small to reach what they name.
    """

    name: str
    properties: str
    distinct: int
    seconds: float
    verdicts: dict[str, str]
    trouble: str = ""
    trace: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.trouble


def judge_machine(machine: Any) -> Row:
    """A machine alone, in its declared scope: three explorations that must be one, and its table's own faults.

    Raises CheckerMissing.
    """
    began = time.monotonic()
    found = explore(machine)
    trouble = ""
    if found.overlaps:
        first = found.overlaps[0]
        trouble = f"rules {' and '.join(first.rules)} overlap: {first.event} in {first.snapshot}"
    notes = [
        f"within the scope, {d.rule} is never taken ({d.event}{f' in {d.state}' if d.state else ''}, {d.where})"
        for d in found.dead
    ]
    notes += [f"within the scope, {state} is never reached" for state in found.unreached]
    report = compare(machine)
    verdicts = {"tla-checker": str(report.checker_distinct), "TLC": "equal graph" if report.ok else "differs"}
    return Row(
        machine.ir.name, "graph, guards, states", report.states, time.monotonic() - began, verdicts,
        trouble or report.difference, notes=tuple(notes),
    )  # fmt: skip


def judge_system(system: SystemModel, checkers: Sequence[str] = CHECKERS, timeout: float = 600.0) -> Row:
    """A system model by the checkers named, side by side. Raises CheckerMissing."""
    model = system.model()
    runs: dict[str, Any] = {}
    if "tla-checker" in checkers and not system.config.properties:
        runs["tla-checker"] = lambda: tla_checker.check(model, timeout=timeout)
    if "TLC" in checkers:
        runs["TLC"] = lambda: tlc.check(model, timeout=timeout)
    began = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        waiting = {name: pool.submit(run) for name, run in runs.items()}
        results: dict[str, CheckResult] = {name: w.result() for name, w in waiting.items()}
    seconds = time.monotonic() - began
    trouble = next((t for t in _troubles(system, results)), "")
    verdicts = {name: _said(system, r) for name, r in results.items()}
    worst = next((r for r in results.values() if r.verdict == "violated"), None)
    trace = worst.trace if worst is not None and trouble else ()
    distinct = max((r.distinct for r in results.values()), default=0)
    return Row(system.name, _properties(system), distinct, seconds, verdicts, trouble, trace)


def _troubles(system: SystemModel, results: dict[str, CheckResult]) -> Iterator[str]:
    for name, result in results.items():
        if result.verdict in ("error", "incomplete"):
            yield f"{name}: {result.verdict}: {result.detail}"
        elif system.violates and result.violated != system.violates:
            yield f"{name}: {system.violates} should fail and does not: the state is not reached"
        elif not system.violates and result.verdict == "violated":
            yield f"{name}: {result.violated} is violated"
    if not system.violates:
        counts = {name: result.distinct for name, result in results.items()}
        if len(set(counts.values())) > 1:
            yield "the checkers count differently: " + ", ".join(f"{n} {c}" for n, c in counts.items())
        elif system.distinct not in counts.values():
            yield (
                f"{max(counts.values())} distinct states where {system.distinct} stand in spec/models: "
                "if a table or model was changed on purpose, write the new number there"
            )


def _said(system: SystemModel, result: CheckResult) -> str:
    if result.verdict == "violated":
        return f"{result.violated} fails" + (", as it must" if result.violated == system.violates else "")
    return "holds" if result.ok else result.verdict


def _properties(system: SystemModel) -> str:
    return f"reached: {system.about}" if system.violates else " ".join(system.properties)


def changes(trace: Sequence[Step]) -> Iterator[str]:
    """A counterexample for a person: each action, and what it changed."""
    before: dict[str, str] = {}
    for number, step in enumerate(trace):
        yield f"{number}. {step.action}"
        for name, value in _flat(step.state).items():
            if before.get(name) != value:
                yield f"      {name}: {before[name]} -> {value}" if name in before else f"      {name}: {value}"
        before = _flat(step.state)


def _flat(state: Any) -> dict[str, str]:
    """Variables, and the fields of those that are records, by dotted names."""
    flat: dict[str, str] = {}

    def walk(name: str, value: Any) -> None:
        if isinstance(value, Function) and all(isinstance(key, str) for key in value):
            for key, inner in sorted(value.items(), key=lambda item: str(item[0])):
                walk(f"{name}.{key}", inner)
        else:
            flat[name] = show(value)

    for name, text in state.items():
        walk(name, parse(text))
    return flat
