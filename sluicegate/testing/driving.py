"""A Hypothesis rule-based machine out of a declared one, which drives an implementation of it.

Rules of this file:

- What an event must do is asked of the pure compiled step; after each event the implementation's
  verdict, state and fields are compared with it.
- A run first goes a shortest way to a place of the table that is drawn: a rule in a state, from all
  that an exploration finds. So the deepest places are met as often as the first ones. After that an
  event is drawn by what it does where the run is: first whether it is taken or not, then by which rule,
  those first that the run has not met, then with which arguments.
- Runs stay in the machine's declared scope, as the explorations of `check` do.
- A run that differs is made short here: Hypothesis cannot leave out an event of a way.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from ..statemachines.explore import TooLarge, events_of, explore, within
from ..statemachines.instances import Outcome, frozen
from ..statemachines.machine import Event, Machine
from ..statemachines.observing import unobserved
from ..statemachines.values import fits
from .adapters import Adapter, Verdict

_Place = tuple[str, str, str]
"""Event, state, rule."""
_Choices = dict[_Place, list[Event]]

EXPLORING = 60.0
"""Seconds that the exploration of a scope may take."""
CACHED = 4096
"""Snapshots whose events are remembered."""


def stateful(machine: type[Machine], adapter: Adapter) -> type[RuleBasedStateMachine]:
    """A rule-based machine that drives what `adapter` makes with the events of `machine`'s scope.

    Its `TestCase` is what pytest collects; `TestCase.settings` says how many runs there are, and how
    long. A run that differs from the table fails with an AssertionError that tells a short one.
    Raises TooLarge if the scope cannot be explored in a minute.
    """
    events = {e.name: list(events_of(machine, e, machine.ir.scope)) for e in machine.ir.events}
    bounded = [f for f in machine.ir.fields if not f.given and f.type.kind != "note"]
    try:
        found = explore(machine, timeout=EXPLORING)
    except TooLarge as error:
        raise TooLarge(f"{machine.__name__} cannot be driven: {error}; give it a smaller scope") from error
    goals = [_Goal(place, *way) for place, way in found.taken.items()]
    shortest: list[str] = []

    @lru_cache(CACHED)
    def choices(snapshot: Any, driven: frozenset[str]) -> tuple[_Choices, _Choices]:
        """The events that can come next, by place: those that are taken, and those that are not."""
        taken: _Choices = {}
        others: _Choices = {}
        for name in sorted(driven):
            for event in events[name]:
                after, outcome = machine.step(snapshot, event)
                if after is snapshot or all(
                    within(getattr(after, f.name), f.type, f.name, machine.ir.scope) for f in bounded
                ):
                    into = taken if outcome.kind in ("go", "stay") else others
                    into.setdefault((name, snapshot.state, outcome.rule), []).append(event)
        return taken, others

    @st.composite
    def next_events(draw: st.DrawFn) -> Event:
        run = draw(st.runner())
        if run.plan:
            return run.plan[-1]
        with unobserved():
            taken, others = choices(run.now.model, run.driven)
        among = others if others and (not taken or draw(_EITHER)) else taken
        unmet = [place for place in among if place not in run.met]
        return _one(draw, among[_one(draw, unmet or [*among])])

    class Driven(RuleBasedStateMachine):
        now: _Run
        driven: frozenset[str] = frozenset()
        plan: list[Event]
        met: set[_Place]

        @initialize(towards=st.sampled_from(goals))
        def begin(self, towards: _Goal) -> None:
            newborn, way = found.path(towards.snapshot)
            self.now, self.met = _Run(machine, adapter, newborn), set()
            self.driven = frozenset(e.name for e in machine.ir.events if adapter.drives(e))
            if not self.driven:
                raise TypeError(f"the adapter drives no event of {machine.__name__}")
            # What the adapter cannot give ends the way.
            way = itertools.takewhile(lambda e: type(e).__name__ in self.driven, [*way, towards.last])
            self.plan = [*way][::-1]
            if self.now.difference:
                raise AssertionError(self.now.difference)

        def goes_on(self) -> bool:
            with unobserved():
                return any(choices(self.now.model, self.driven))

        @precondition(goes_on)
        @rule(event=next_events())
        def step(self, event: Any) -> None:
            if self.plan:
                self.plan.pop()
            state = self.now.model.state
            rule = self.now.step(event)
            self.met.add((type(event).__name__, state, rule))
            if self.now.difference:
                if not shortest:
                    shortest.append(_told_short(self.now))
                raise AssertionError(*shortest) from self.now.error

        def teardown(self) -> None:
            if hasattr(self, "now"):
                self.now.end()

    Driven.__name__ = Driven.__qualname__ = machine.__name__
    return Driven


_EITHER = st.booleans()


@lru_cache
def _places(count: int) -> st.SearchStrategy[int]:
    """Places of a list; kept, since to make a strategy costs more than to draw from it."""
    return st.integers(0, count - 1)


def _one(draw: st.DrawFn, among: Sequence[Any]) -> Any:
    return among[0] if len(among) == 1 else among[draw(_places(len(among)))]


class _Goal:
    """A rule in a state, and where it can be taken first."""

    def __init__(self, place: _Place, snapshot: Any, last: Event) -> None:
        self.place, self.snapshot, self.last = place, snapshot, last

    def __repr__(self) -> str:
        event, state, rule = self.place
        return f"<{event} in {state}: {rule}>"


class _Run:
    """One implementation from its birth on, beside what the table says."""

    def __init__(self, machine: type[Machine], adapter: Adapter, newborn: Any) -> None:
        self.machine, self.adapter, self.newborn = machine, adapter, newborn
        self.model = newborn
        self.events: list[Event] = []
        given = {f.name: getattr(newborn, f.name) for f in machine.ir.fields if f.given}
        adapter.begin(machine, given)
        shown = adapter.snapshot()
        known = ("state", *(f.name for f in machine.ir.fields))
        if other := [name for name in shown if name not in known]:
            has = f"{machine.__name__} has not: {', '.join(known)}"
            raise TypeError(f"the implementation shows {other[0]}, which {has}")
        self.shows = tuple(shown)
        self.error: Exception | None = None
        """What the implementation raised that is no refusal."""
        self.difference = "; ".join(_shown(newborn, shown))

    def step(self, event: Event) -> str:
        """Give both an event; the rule that the table takes. `difference` tells how they differ."""
        before = self.model
        self.events.append(event)
        self.model, outcome = self.machine.step(before, event)
        try:
            verdict = self.adapter.apply(event)
        except Exception as error:
            self.error = error
            self.difference = f"{event!r} in {before!r}: raises {type(error).__name__}: {error}"
            return outcome.rule
        told = _told(outcome, verdict)
        shown = self.adapter.snapshot()
        gone = [f"{name} is not shown any more" for name in self.shows if name not in shown]
        if said := "; ".join([*told, *gone, *_shown(self.model, shown)]):
            self.difference = f"{event!r} in {before!r}: {said}"
        return outcome.rule

    def end(self) -> None:
        self.adapter.end()


def _again(run: _Run, events: Sequence[Event]) -> _Run:
    """A fresh implementation through `events`, up to the first at which it differs."""
    other = _Run(run.machine, run.adapter, run.newborn)
    try:
        for event in events:
            if other.difference:
                break
            other.step(event)
    finally:
        other.end()
    return other


def _told_short(run: _Run) -> str:
    """The difference of a run, made short by leaving out every event without which it still differs."""
    run.end()
    best, before = run, len(run.events) + 1
    # An event may become one that can be left out when another was.
    while len(best.events) < before:
        before, at = len(best.events), len(best.events) - 2
        while at >= 0:
            other = _again(best, [*best.events[:at], *best.events[at + 1 :]])
            if other.difference:
                best, at = other, min(at, len(other.events) - 1)
            at -= 1
    return "\n  ".join([f"differs after {len(best.events)} events:", *map(repr, best.events), best.difference])


def _told(outcome: Outcome, verdict: Verdict) -> Iterator[str]:
    """Where an implementation said what the table does not."""
    same = outcome.kind == verdict.kind or (verdict.kind == "taken" and not outcome.refused)
    told = {"rule": verdict.rule, "reason": verdict.reason, "outputs": verdict.outputs}
    same = same and all(value is None or value == getattr(outcome, name) for name, value in told.items())
    if not same or not all(_whole(output) for output in verdict.outputs or ()):
        yield f"the table says {_said(outcome)}, the implementation {_said(verdict)}"


def _whole(output: Any) -> bool:
    """Whether the values of an output are of its types: what is equal can be of another."""
    return all(fits(type_, getattr(output, name)) for name, type_ in output.arguments.items())


def _said(of: Outcome | Verdict) -> str:
    parts = [f"rule {of.rule}" if of.rule else "", of.reason or "", repr(of.outputs) if of.outputs else ""]
    inner = ", ".join(filter(None, parts))
    return of.kind + (f" ({inner})" if inner else "")


def _shown(snapshot: Any, shown: Mapping[str, Any]) -> Iterator[str]:
    """Where an implementation shows another state or field than the table has."""
    if "state" not in shown:
        raise TypeError("the implementation shows no `state`: give the adapter read=... that does")
    if str(shown["state"]) != snapshot.state:
        yield f"state is {shown['state']} and should be {snapshot.state}"
    for f in snapshot.fields:
        if f.name in shown and f.type.kind != "note":
            wanted = getattr(snapshot, f.name)
            try:
                seen = frozen(f.type, shown[f.name])
            except (TypeError, ValueError):
                seen = shown[f.name]
            if seen != wanted or not fits(f.type, seen):
                yield f"{f.name} is {seen!r} and should be {wanted!r}"
