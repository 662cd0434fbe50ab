"""Judging machines and system models by both checkers: one row each, for a person and for an exit status.

Rules of this file:

- A row is good only if every checker gave the verdict that was expected, and all counts are equal.
- Of a state that must be reached, in a module of this project, one witness is enough: the checker that is named
  first looks alone.
- A model that must fail claims that alone: what else it asked would go unjudged.
- An error, an incomplete run, or one that judges not everything is never good, also where a violation
  was expected.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ..statemachines import scopes
from ..statemachines.explore import Exploration, TooLarge, explore
from ..statemachines.findings import Finding, findings
from ..statemachines.ir import Ir, Scope
from ..statemachines.observing import unobserved
from .alone import judge_properties
from .checkers import tla_checker, tlc
from .checkers.ending import endable
from .checkers.model import CheckerMissing, CheckResult, Model
from .claims import Claim, Judged, judged_claims, one_line
from .counterexamples import Counterexample, counterexample
from .graph import alone, compare
from .models import SPEC, ModelError, SystemModel

CHECKERS = ("tla-checker", "TLC")
ALONE = "TLC alone judges this: ask it too, or both checkers"
"""What is told where the other checker was asked alone."""


@dataclass(frozen=True, slots=True)
class Row:
    """What is told of one model. `verdicts` by checker; `trouble` is empty if the row is good.

    Of a machine alone, `claims` are its declared properties and `findings` what is wrong with its
    table, or may be, and `scope` says how far it was looked at. `examples` make the counterexamples, by
    the property that is violated. `unjudged` says that nothing is wrong and something was not judged.
    """

    name: str
    properties: str
    distinct: int
    seconds: float
    verdicts: dict[str, str]
    trouble: str = ""
    examples: Mapping[str, Callable[[], Counterexample]] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    claims: tuple[Claim, ...] = ()
    scope: str = ""
    unjudged: bool = False

    @property
    def ok(self) -> bool:
        return not self.trouble


@unobserved()
def judge_machine(
    machine: Any,
    scope: Scope | None = None,
    checkers: Sequence[str] = CHECKERS,
    timeout: float = 600.0,
    only: Collection[str] | None = None,
) -> Row:
    """A machine alone, in `scope`, by default its declared one.

    Its explorations must be one, its table must be without faults, and its properties must hold. Where rules
    overlap, faults of the table are all that is said. With
    `only` the checkers explore nothing, and no property is judged but these: the row has no verdicts.
    `timeout` is in seconds, for each exploration. Raises CheckerMissing.
    """
    ir, began = machine.ir, time.monotonic()
    within = scope or ir.scope
    about = " ".join(claim.name for claim in ir.properties) or "graph, guards, states"

    def row(distinct: int = 0, verdicts: dict[str, str] | None = None, trouble: str = "", **more: Any) -> Row:
        return Row(ir.name, about, distinct, time.monotonic() - began, verdicts or {}, trouble, **more)

    try:
        ended = threading.Event()
        with endable(ended.set):
            found = explore(machine, within, timeout=timeout, stopped=ended.is_set)
        if found.overlaps:
            # Whoever explores such a table goes on by another of the rules: no verdict would be about one machine.
            told = tuple(finding for finding in findings(machine, found) if finding.fault)
            trouble = "; ".join(map(str, told))
            return row(len(found.states), trouble=trouble, findings=told, scope=_scope(ir, within, found))
        report = compare(machine, timeout, within, found, checkers) if only is None else None
    except (TooLarge, RuntimeError) as error:
        if isinstance(error, CheckerMissing):
            raise
        return row(trouble=f"not proven: {error}")
    verdicts: dict[str, str] = {}
    if report is not None:
        verdicts = {"tla-checker": str(report.checker_distinct), "TLC": "equal graph" if report.ok else "differs"}
        verdicts = {name: said for name, said in verdicts.items() if name in checkers}
    told = findings(machine, found)
    claims = judge_properties(machine, within, found, checkers, timeout, only)
    troubles = [str(finding) for finding in told if finding.fault]
    troubles += [report.difference] if report and report.difference else []
    troubles += [f"{claim.name} {claim.verdict}: {claim.says}" for claim in claims if not claim.ok and claim.judged]
    left = [claim.name for claim in claims if not claim.judged]
    unjudged = bool(left) and not troubles
    troubles += [f"{', '.join(left)} not judged: {ALONE}"] if left else []
    return row(
        len(found.states),
        verdicts,
        "; ".join(troubles),
        examples=_of_claims(machine, within, claims),
        findings=told,
        claims=claims,
        scope=_scope(ir, within, found),
        unjudged=unjudged,
    )


def _scope(ir: Ir, scope: Scope, found: Exploration) -> str:
    """How far a machine was looked at, and whether its steps lead further."""
    said = scopes.told(ir, scope)
    if not said:
        return "nothing in it needs a bound: this is all that it can do"
    if not found.cut:
        return f"within {said}; no step leads out of it"
    return f"within {said}; steps that take {', '.join(sorted(found.cut))} out of it are not followed"


def _of_claims(machine: Any, scope: Scope, claims: Sequence[Claim]) -> dict[str, Callable[[], Counterexample]]:
    """Makes the counterexample of each property that fails."""

    def make(claim: Claim, by: Judged) -> Counterexample:
        model = alone(replace(machine.ir, scope=scope))
        result = CheckResult(
            by.checker, model.name, "violated", by.distinct, by.seconds, claim.name, by.trace, by.detail
        )
        found = counterexample(model, result, name=machine.__name__, machines=(machine,), meaning=claim.says)
        return replace(found, constants=scopes.constants(machine.ir, scope))

    failed = [(claim, next((by for by in claim.judged if not by.good and by.trace), None)) for claim in claims]
    return {claim.name: partial(make, claim, by) for claim, by in failed if by is not None}


def judge_system(system: SystemModel, checkers: Sequence[str] = CHECKERS, timeout: float = 600.0) -> Row:
    """A system model by the checkers named, side by side; random behaviours where it has them, by TLC.

    An interrupt ends TLC at once, tla-checker at its time limit. Raises CheckerMissing.
    """
    try:
        model = system.model()
        _refuse_unclaimed(system)
    except ModelError as error:
        return Row(system.name, _properties(system), 0, 0.0, {}, f"error: {error}")
    began = time.monotonic()
    results = _results(system, model, checkers, timeout)
    if not results:
        return Row(system.name, _properties(system), 0, 0.0, {}, f"not judged: {ALONE}", unjudged=True)
    seconds = time.monotonic() - began
    trouble = next((t for t in _troubles(system, results)), "")
    claims = judged_claims(system, model, results)
    left = [claim.name for claim in claims if not claim.judged]
    unjudged = bool(left) and not trouble
    trouble = trouble or (f"{', '.join(left)} not judged: {ALONE}" if left else "")
    verdicts = {name: _said(system, r) for name, r in results.items()}
    # TLC names the actions; the other checker may name an operator inside.
    worst = next((results[c] for c in reversed(CHECKERS) if c in results and results[c].verdict == "violated"), None)
    examples: dict[str, Callable[[], Counterexample]] = {}
    if worst is not None and worst.trace and worst.violated:
        about = system.about if system.violates else ""
        make = partial(counterexample, model, worst, name=system.name, machines=system.machines, meaning=about)
        examples[worst.violated] = make
    distinct = max((r.distinct for r in results.values()), default=0)
    return Row(
        system.name, _properties(system), distinct, seconds, verdicts, trouble, examples, claims=claims,
        unjudged=unjudged,
    )  # fmt: skip


def _refuse_unclaimed(system: SystemModel) -> None:
    """Raises ModelError where a model claims nothing, or what its run would not judge."""
    claims = (*system.properties, *(["no deadlock"] if system.config.check_deadlock else []))
    if not claims:
        raise ModelError("nothing is claimed: name invariants or properties in its Config")
    if system.violates and system.violates not in system.properties:
        raise ModelError(f"{system.violates} should fail and is not asked: name it in its Config")
    if system.violates and len(claims) > 1:
        others = ", ".join(name for name in claims if name != system.violates)
        raise ModelError(f"{others}: a run ends where {system.violates} fails; ask it in a model of its own")
    if system.behaviours and system.config.properties:
        over_runs = ", ".join(system.config.properties)
        raise ModelError(f"{over_runs}: random behaviours are cut off, and break no promise; ask it in another profile")


def _results(system: SystemModel, model: Model, checkers: Sequence[str], timeout: float) -> dict[str, CheckResult]:
    stop = threading.Event()
    runs: dict[str, Callable[[], CheckResult]] = {}
    # What tla-checker says of states on the edge of a constraint is not what TLC says of them.
    alone = system.tlc_only or system.behaviours or system.config.constraints or not _safety(system)
    # The modules of this project are judged by both in all other models, those of others nowhere else.
    if system.violates and system.folder == SPEC and not alone:
        checkers = checkers[:1]
    if tla_checker.NAME in checkers and not alone:
        runs[tla_checker.NAME] = partial(tla_checker.check, model.safety_only(), timeout=timeout)
    if tlc.NAME in checkers and system.behaviours:
        runs[tlc.NAME] = partial(
            tlc.simulate, model, behaviours=system.behaviours, depth=system.depth, timeout=timeout, stop=stop
        )
    elif tlc.NAME in checkers:
        runs[tlc.NAME] = partial(tlc.check, model, timeout=timeout, stop=stop)
    with ThreadPoolExecutor(2) as pool:
        waiting = {name: pool.submit(run) for name, run in runs.items()}
        try:
            return {name: w.result() for name, w in waiting.items()}
        except BaseException:
            stop.set()
            raise


def _safety(system: SystemModel) -> bool:
    """Whether a model has what both checkers judge."""
    return bool(system.config.invariants) or system.config.check_deadlock


def _troubles(system: SystemModel, results: dict[str, CheckResult]) -> Iterator[str]:
    # TLC first: it says at which line a module does not parse.
    for name, result in sorted(results.items()):
        if result.verdict in ("error", "incomplete"):
            said = "not proven" if result.verdict == "incomplete" else "error"
            mend = "; give it more, or smaller bounds" if result.verdict == "incomplete" else ""
            yield f"{name}: {said}: {one_line(result.detail)}{mend}"
        elif system.violates and result.violated != system.violates:
            yield f"{name}: {system.violates} should fail and does not: the state is not reached"
        elif not system.violates and result.verdict == "violated":
            yield f"{name}: {result.violated} is violated"
    if not system.violates and not system.behaviours:
        counts = {name: result.distinct for name, result in results.items()}
        if len(set(counts.values())) > 1:
            yield "the checkers count differently: " + ", ".join(f"{n} {c}" for n, c in counts.items())
        elif system.distinct and system.distinct not in counts.values():
            yield (
                f"{max(counts.values())} distinct states where {system.distinct} stand with the model: "
                "if a table or model was changed on purpose, write the new number there"
            )


def _said(system: SystemModel, result: CheckResult) -> str:
    if result.verdict == "violated":
        return f"{result.violated} fails" + (", as it must" if result.violated == system.violates else "")
    if result.ok and system.behaviours:
        return f"holds: {system.behaviours} runs, {result.detail}"
    return "holds" if result.ok else result.verdict


def _properties(system: SystemModel) -> str:
    return system.about if system.violates else " ".join(system.properties)
