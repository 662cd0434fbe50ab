"""The properties that a machine declares, judged on the machine alone: by the compiled step and by the checkers.

Rules of this file:

- Each property gets a verdict of its own from each checker: what one violation hides is judged again
  without it. A run that did not end, or an error, is never a verdict on the machine.
- A leads-to is judged by TLC alone. One that is broken only by runs which the scope cuts off is not
  proven, since nobody knows how they would go on; nor is one that holds, where a run can leave the
  scope before it comes to what was promised, or into what asks for it.
- A counterexample is told in the words of the declaration: events, rules, what each step changed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from ..statemachines.compiler import predicate
from ..statemachines.display import show
from ..statemachines.explore import Exploration, events_of
from ..statemachines.ir import Ir, Property, Scope
from ..statemachines.properties import judge, says
from ..statemachines.telling import changes, event_text, told
from .checkers import tla_checker, tlc
from .checkers.model import CheckResult, Model
from .checkers.tla_values import parse
from .claims import STEP, Claim, Judged, Said
from .counterexamples.make import loop_of
from .emitter.properties import checked_as, within
from .graph import alone, record

BEYOND = "only runs that the scope cuts off break it"
"""Why a leads-to is not proven that breaks, and does not break within what was seen."""

LEAVES = "a run leaves the scope before"
"""Why a leads-to is not proven that holds for all runs which stay in the scope."""


def judge_properties(
    machine: Any,
    scope: Scope,
    found: Exploration,
    checkers: Sequence[str],
    timeout: float,
    only: Collection[str] | None = None,
) -> tuple[Claim, ...]:
    """Every property of `machine` by the step, which `found` this exploration of `scope`, and by `checkers`.

    With `only`, those of these names. `timeout` is in seconds, for each run of a checker. Raises CheckerMissing.
    """
    asked = tuple(claim for claim in machine.ir.properties if only is None or claim.name in only)
    ir: Ir = replace(machine.ir, scope=scope, properties=asked)
    if not asked:
        return ()
    runs: list[Callable[[], dict[str, Judged]]] = []
    if "tla-checker" in checkers:
        model = alone(ir, only_changes=True)
        runs.append(lambda: _by("tla-checker", tla_checker.check, model, ir.properties, timeout))
    if "TLC" in checkers:
        whole = alone(ir)
        whole = replace(whole, config=replace(whole.config, next="Changes"))
        runs.append(lambda: _by("TLC", tlc.check, whole, ir.properties, timeout))
    witnesses = {claim.name: witness for claim, witness in judge(machine, found)}
    ours = {
        claim.name: Judged(STEP, _in_one(claim, witnesses[claim.name] is not None), len(found.states))
        for claim in ir.properties
        if claim.name in witnesses
    }
    with ThreadPoolExecutor(2) as pool:
        said = [ours, *pool.map(lambda run: run(), runs)]
    claims = []
    for claim in ir.properties:
        leaves = _leaves(machine, scope, found, claim) if claim.kind == "leads_to" else None
        judged = tuple(_doubted(by[claim.name], leaves is not None) for by in said if claim.name in by)
        witness = witnesses.get(claim.name)
        story = _endless(machine, scope, found, claim, judged)
        if witness is not None:
            story = _shown(machine, found, claim, witness)
        elif leaves is not None and any(j.detail == LEAVES for j in judged):
            story = _left(machine, found, claim, leaves)
        beyond = _beyond(machine, found, claim, witness)
        claims.append(Claim(claim.name, says(claim), judged, tuple(story), beyond=beyond))
    return tuple(claims)


def _beyond(machine: Any, found: Exploration, claim: Property, witness: Any) -> str:
    """What the end of the scope has to do with a verdict that no run shows."""
    if witness is not None or claim.kind == "leads_to" or not found.cut:
        return ""
    if claim.name in found.past:
        before, event = found.past[claim.name]
        step = f"{event_text(event)} in {before.state}, {changes(before, machine.step(before, event)[0])}"
        what = "is reached" if claim.kind == "reachable" else "fails"
        return f"only because the scope ends: one step beyond it, it {what}: {step}"
    return "more may be reached beyond the scope" if claim.kind == "reachable" else ""


def _doubted(judged: Judged, leaves: bool) -> Judged:
    if leaves and judged.verdict == "holds":
        return replace(judged, verdict="not proven", detail=LEAVES)
    return judged


def _leaves(machine: Any, scope: Scope, found: Exploration, claim: Property) -> Any:
    """A step out of the scope after which what was promised is awaited, as snapshot, event and rule, or None.

    None too where one event that can be relied on would keep the promise from wherever it is awaited, one
    step beyond the scope as well: that is taken to be so further on, as for every property.
    """
    assert claim.then is not None
    asks, kept = predicate(machine, claim.condition), predicate(machine, claim.then)
    open_ = {number for snapshot, number in found.states.items() if not kept(snapshot)}
    steps: dict[int, list[tuple[str, int]]] = {}
    for source, event, _, target in found.edges:
        if source in open_ and source != target:
            steps.setdefault(source, []).append((event, target))
    awaited = {n for snapshot, n in found.states.items() if n in open_ and asks(snapshot)}
    left = list(awaited)
    while left:
        new = {target for _, target in steps.get(left.pop(), ()) if target in open_} - awaited
        awaited |= new
        left += new
    out = {
        after: (n, *step)
        for n, beyond in found.beyond.items() for after, step in beyond.items()
        if not kept(after) and (n in awaited or asks(after))
    }  # fmt: skip
    if not out:
        return None
    for fair in (e for e in machine.ir.events if e.name in claim.fair):
        ends = [{target in open_ for name, target in steps.get(n, ()) if name == fair.name} for n in awaited]
        events = list(events_of(machine, fair, scope))
        ends += [{not kept(after) for event in events if (after := machine.step(before, event)[0]) is not before}
                 for before in out]  # fmt: skip
        if all(open_after == {False} for open_after in ends):
            return None
    number, event, rule = next(iter(out.values()))
    return next(snapshot for snapshot, n in found.states.items() if n == number), event, rule


def _in_one(claim: Property, witnessed: bool) -> Said:
    if claim.kind == "reachable":
        return "reached" if witnessed else "not reached"
    return "fails" if witnessed else "holds"


def _by(checker: str, check: Any, model: Model, claims: Sequence[Property], timeout: float) -> dict[str, Judged]:
    config = model.config
    names = {checked_as(claim): claim for claim in claims}

    def run(invariants: tuple[str, ...] = (), properties: tuple[str, ...] = ()) -> CheckResult:
        spec = "Spec" if properties else ""
        asked = replace(config, invariants=invariants, properties=properties, spec=spec)
        return check(replace(model, config=asked), timeout=timeout)

    def each(left: list[str]) -> Iterator[tuple[str, CheckResult]]:
        """The result of every invariant, the rest being judged again without one that is violated."""
        while left:
            result = run(invariants=tuple(left))
            over = [result.violated] if result.verdict == "violated" and result.violated in left else left
            yield from ((str(name), result) for name in over)
            left = [name for name in left if name not in over]

    kinds = {kind: [n for n, c in names.items() if c.kind == kind] for kind in ("reachable", "leads_to")}
    safe = [n for n, c in names.items() if c.kind in ("always", "never")]
    leads = kinds["leads_to"] if checker == "TLC" else []
    results = [(name, run(invariants=(name,))) for name in kinds["reachable"]]
    if safe and leads and (together := run(tuple(safe), tuple(leads))).ok:
        # The usual case, in one run.
        results += [(name, together) for name in (*safe, *leads)]
    else:
        results += each(safe)
        results += [(name, run(properties=(name,))) for name in leads]
    judged = {names[name].name: _judged(checker, names[name], result) for name, result in results}
    for claim in (c for c in claims if c.fair and c.name in judged and judged[c.name].verdict == "fails"):
        apart = run(properties=(within(claim),))
        if apart.ok:
            judged[claim.name] = replace(judged[claim.name], verdict="not proven", detail=BEYOND)
        elif apart.verdict == "violated":
            judged[claim.name] = replace(judged[claim.name], detail=apart.detail, trace=apart.trace)
    return judged


def _judged(checker: str, claim: Property, result: CheckResult) -> Judged:
    verdict: Said = "error"
    if result.verdict == "incomplete":
        verdict = "not proven"
    elif result.verdict == "ok" or (result.verdict == "violated" and result.violated == checked_as(claim)):
        verdict = _in_one(claim, result.verdict == "violated")
    trace = result.trace if result.verdict == "violated" else ()
    return Judged(checker, verdict, result.distinct, result.seconds, result.detail, trace)


# -- counterexamples in words ----------------------------------------------------------------------


def _shown(machine: Any, found: Exploration, claim: Property, witness: Any) -> Iterator[str]:
    """The run to a state that breaks a property, or is what it says can be reached."""
    yield from told(machine, *found.path(witness))
    yield f"here not ({show(claim.condition)})" if claim.kind == "always" else f"here {show(claim.condition)}"


def _left(machine: Any, found: Exploration, claim: Property, at: Any) -> Iterator[str]:
    """The run to where the scope ends before a promise is kept."""
    before, event, rule = at
    yield from told(machine, *found.path(before))
    yield f"here {event} ({rule}) leads out of the scope, and what comes of it there is not known"
    yield f"so it is not proven that {says(claim)}: raise the --bound, or let the table itself end such a run"


def _endless(
    machine: Any, scope: Scope, found: Exploration, claim: Property, judged: Sequence[Judged]
) -> Iterator[str]:
    """The run by which a promise is never kept, as a checker found it."""
    if claim.kind != "leads_to":
        return
    failed = next((j for j in judged if j.trace), None)
    if failed is None:
        return
    by_record = {record(snapshot): snapshot for snapshot in found.states}
    run = [by_record[parse(step.state["m"])] for step in failed.trace]
    events = [_between(machine, scope, *pair) for pair in itertools.pairwise(run)]
    yield from told(machine, run[0], events)
    loop = loop_of(failed.detail, len(run))
    yield from _ending(machine, claim, failed.detail, None if loop == len(run) - 1 else loop)


def _between(machine: Any, scope: Scope, before: Any, after: Any) -> Any:
    """An event that leads from one snapshot to the other."""
    events = (event for e in machine.ir.events for event in events_of(machine, e, scope))
    return next(event for event in events if machine.step(before, event)[0] == after)


def _ending(machine: Any, claim: Property, detail: str, loop: int | None) -> Iterator[str]:
    """How a run goes on for ever without what was promised: from its end the step `loop` comes again, or nothing."""
    assert claim.then is not None
    relied = " and ".join(claim.fair)
    if detail == BEYOND:
        yield f"here the scope ends, and what {relied} would lead to beyond it is not known"
        yield f"so it is not proven that {says(claim)}: raise the --bound, or say up to where it is meant"
        return
    yield "and then nothing comes any more" if loop is None else f"and then step {loop} comes again, and so on for ever"
    if claim.fair:
        yield f"although {relied} can be relied on: it has come, or could change nothing"
    else:
        events = ", ".join(e.name for e in machine.ir.events)
        yield f"no event is relied on: name those that always come in the end, fair=(...) with some of {events}"
    yield f"so {show(claim.condition)} does not lead to {show(claim.then)}"
