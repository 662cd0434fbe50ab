"""Properties of a machine alone: every judge says the same, and none says what it cannot know."""

import itertools
from dataclasses import replace
from typing import Any

import pytest

from sluicegate.spec.alone import judge_properties
from sluicegate.spec.checkers import tla_checker, tlc
from sluicegate.spec.claims import STEP, Claim
from sluicegate.spec.emitter import emit_alone
from sluicegate.spec.graph import alone
from sluicegate.spec.judge import CHECKERS, judge_machine
from sluicegate.statemachines import (
    Event,
    Id,
    Machine,
    Nat,
    Refuse,
    Scope,
    SetOf,
    State,
    Table,
    always,
    columns,
    go,
    ignore,
    leads_to,
    never,
    reachable,
    row,
    stay,
)
from sluicegate.statemachines.compiler import predicate
from sluicegate.statemachines.explore import explore
from sluicegate.statemachines.ir import BOOL, Node, Property


class Passenger(Id):
    """Somebody who wants to fly."""


class Gate(Machine):
    """Boards passengers; has properties that hold and properties that do not."""

    CLOSED, BOARDING, GONE, LOST = State(), State(), State(), State()
    aboard = SetOf(Passenger)
    calls = Nat(0)
    late = Refuse("the plane is gone")

    class Open(Event): ...

    class Board(Event):
        passenger: Passenger

    class Call(Event): ...

    class Leave(Event): ...

    boards = stay().when(~aboard.has(Board.passenger)).do(aboard.add(Board.passenger)).orelse(ignore)
    calls_up = stay().do(calls.set(calls + 1))
    leaves = go(GONE).when(~aboard.is_empty()).orelse(ignore)

    nobody_left_behind = always(~GONE | ~aboard.is_empty())
    quiet_when_closed = never(CLOSED & (calls > 0))
    all_aboard = always(~GONE | (aboard.size() == 2))
    calls_once = always(calls <= 1)
    goes = reachable(GONE & (aboard.size() == 2))
    gets_lost = reachable(LOST)
    leaves_in_the_end = leads_to(BOARDING & ~aboard.is_empty(), GONE, fair=(Leave,))
    leaves_by_itself = leads_to(BOARDING, GONE)
    is_called_often = leads_to(BOARDING, GONE | (calls > 3), fair=(Call,))

    scope = Scope(nat=2, ids=(("Passenger", 2),))
    # fmt: off
    table = Table(columns(CLOSED,   BOARDING,   GONE,   LOST),
                  row(Open,   BOARDING, ignore,   late,   ignore),
                  row(Board,  ignore,   boards,   late,   ignore),
                  row(Call,   ignore,   calls_up, ignore, ignore),
                  row(Leave,  ignore,   leaves,   ignore, ignore))
    # fmt: on


@pytest.fixture(scope="module")
def claims() -> dict[str, Claim]:
    judged = judge_properties(Gate, Gate.ir.scope, explore(Gate), CHECKERS, 100.0)
    return {claim.name: claim for claim in judged}


def test_every_property_has_the_same_verdict_from_all_who_judge_it(claims: dict[str, Claim]) -> None:
    assert list(claims) == [claim.name for claim in Gate.ir.properties]
    said = {name: {judged.verdict for judged in claim.judged} for name, claim in claims.items()}
    assert said == {
        "nobody_left_behind": {"holds"},
        "quiet_when_closed": {"holds"},
        "all_aboard": {"fails"},
        "calls_once": {"fails"},
        "goes": {"reached"},
        "gets_lost": {"not reached"},
        "leaves_in_the_end": {"holds"},
        "leaves_by_itself": {"fails"},
        "is_called_often": {"not proven"},
    }


def test_what_holds_over_runs_is_judged_by_tlc_alone(claims: dict[str, Claim]) -> None:
    for claim in Gate.ir.properties:
        by = [judged.checker for judged in claims[claim.name].judged]
        assert by == (["TLC"] if claim.kind == "leads_to" else [STEP, "tla-checker", "TLC"])


class Ticking(Machine):
    """May tick for ever between two states, in one of which alone it could end."""

    A, B, DONE = State(), State(), State()
    ticks = Nat(0)

    class Tick(Event): ...

    class Finish(Event): ...

    back = go(A).do(ticks.set(ticks + 1))
    ends = leads_to(A | B, DONE, fair=(Tick, Finish))
    scope = Scope(nat=2)
    # fmt: off
    table = Table(columns(A,      B,    DONE),
                  row(Tick,   B,      back, ignore),
                  row(Finish, ignore, DONE, ignore))
    # fmt: on


def test_a_promise_is_not_proven_where_a_run_leaves_the_scope_before_it_is_kept() -> None:
    (claim,) = judge_properties(Ticking, Ticking.ir.scope, explore(Ticking), CHECKERS, 100.0)
    assert (claim.verdict, claim.ok) == ("not proven", False)
    assert claim.story[-2].startswith("here Tick (back) leads out of the scope")
    assert claim.story[-1].startswith("so it is not proven that A or B leads to DONE, if Tick and Finish")


def test_a_counterexample_is_told_step_by_step(claims: dict[str, Claim]) -> None:
    story = claims["all_aboard"].story
    assert story[0] == "0. a new Gate: CLOSED, aboard = {}, calls = 0"
    assert story[1].startswith("1. Open in CLOSED, by to_boarding (test_alone.py:")
    assert story[2].startswith("2. Board(passenger=Passenger1) in BOARDING, by boards (test_alone.py:")
    assert story[2].endswith("aboard {} -> {Passenger1}")
    assert story[3].endswith("BOARDING -> GONE")
    assert story[4:] == ("here not ((not GONE) or ((size of aboard) = 2))",)


def test_a_run_that_never_keeps_a_promise_says_how_it_goes_on(claims: dict[str, Claim]) -> None:
    alone_ = claims["leaves_by_itself"].story
    assert alone_[-3] == "and then nothing comes any more"
    assert alone_[-2].endswith("fair=(...) with some of Open, Board, Call, Leave")
    assert alone_[-1] == "so BOARDING does not lead to GONE"


def test_a_promise_that_only_the_edge_of_the_scope_breaks_is_not_proven(claims: dict[str, Claim]) -> None:
    claim = claims["is_called_often"]
    assert not claim.ok
    assert "here the scope ends, and what Call would lead to beyond it is not known" in claim.story
    assert any(line.endswith("calls 1 -> 2") for line in claim.story)


class Caller(Machine):
    """Calls, and calls again."""

    CALLING = State()
    calls = Nat(0)

    class Call(Event): ...

    calls_up = stay().do(calls.set(calls + 1))
    often = leads_to(CALLING, calls > 2, fair=(Call,))
    table = Table(columns(CALLING), row(Call, calls_up))


def test_with_a_larger_bound_the_promise_is_proven() -> None:
    said = {}
    for bound in (2, 3):
        scope = Scope(nat=bound)
        (claim,) = judge_properties(Caller, scope, explore(Caller, scope), ("TLC",), 100.0)
        said[bound] = claim.verdict
    assert said == {2: "not proven", 3: "holds"}


def test_a_row_of_a_machine_fails_with_the_names_of_what_fails() -> None:
    row = judge_machine(Gate, checkers=("tla-checker",))
    assert not row.ok
    assert row.verdicts == {"tla-checker": str(row.distinct)}
    failed = [claim.name for claim in row.claims if not claim.ok]
    assert failed == [
        "all_aboard", "calls_once", "gets_lost", "leaves_in_the_end", "leaves_by_itself", "is_called_often"
    ]  # fmt: skip
    assert all(name in row.trouble for name in failed)
    assert [claim.verdict for claim in row.claims if claim.name == "is_called_often"] == ["not judged"]


def test_the_generated_module_has_each_property_under_its_name_and_in_words() -> None:
    text = emit_alone(Gate.ir)
    assert "\\* never CLOSED and (0 < calls)\nquiet_when_closed == " in text
    assert 'Never_goes == ~((m.state = "GONE") /\\ (Cardinality(m.aboard) = 2))' in text
    assert "Fair_Leave == WF_m(GateLeaveLeaves)" in text
    assert 'leaves_by_itself == (m.state = "BOARDING") ~> (m.state = "GONE")' in text
    assert "~>" not in emit_alone(Gate.ir, temporal=False)


def test_an_invariant_that_did_not_reach_a_checker_is_an_error() -> None:
    model = alone(Gate.ir)
    asked = replace(model, config=replace(model.config, invariants=("calls_once", "not_there")))
    assert tla_checker.check(asked).verdict == "error"
    assert tlc.check(asked).verdict == "error"


def conditions(machine: Any) -> list[Node]:
    """Conditions over the fields alone: every guard's parts, each state, and each with the one before it."""
    parts = [n for c in machine.ir.cells for b in c.branches for n in b.guard.walk() if n.type == BOOL]
    parts = [n for n in parts if n.op != "const" and not any(inner.op == "arg" for inner in n.walk())]
    parts += [Node("state", (), BOOL, state) for state in machine.ir.states]
    found = list(dict.fromkeys(parts))
    return found + [Node("or", (a, Node("not", (b,), BOOL)), BOOL) for a, b in itertools.pairwise(found)]


def test_every_condition_means_the_same_to_the_step_and_to_the_checkers(machine: type[Machine]) -> None:
    """Each as an invariant of its own: which hold is the same for Python, tla-checker and TLC."""
    found = explore(machine)
    claims = tuple(Property(f"claim{i}", "always", node) for i, node in enumerate(conditions(machine)))
    ours = [c.name for c in claims if all(map(predicate(machine, c.condition), found.states))]
    model = alone(replace(machine.ir, properties=claims), only_changes=True)

    def holding(check: Any) -> list[str]:
        left = [c.name for c in claims]
        while left:
            result = check(replace(model, config=replace(model.config, invariants=tuple(left))))
            if result.ok:
                return left
            assert result.verdict == "violated", result.detail
            left.remove(result.violated)
        return left

    assert holding(tla_checker.check) == ours
    # TLC starts a process for each call: once for what holds, once for what does not.
    if ours:
        assert tlc.check(replace(model, config=replace(model.config, invariants=tuple(ours)))).ok
    broken = tuple(c.name for c in claims if c.name not in ours)
    if broken:
        assert tlc.check(replace(model, config=replace(model.config, invariants=broken))).violated in broken


def counting(fin: Any) -> type[Machine]:
    """A machine that counts while it is busy, and does `fin` when it is told to end."""

    class Counting(Machine):
        IDLE, BUSY, DONE = State(), State(), State()
        n = Nat(0)

        class Begin(Event): ...

        class More(Event): ...

        class Fin(Event): ...

        more = stay().do(n.set(n + 1))
        ends = leads_to(BUSY, DONE, fair=(Fin,))
        three_ends = leads_to(n >= 3, DONE)
        scope = Scope(nat=2)
        table = Table(
            columns(IDLE, BUSY, DONE),
            row(Begin, BUSY, ignore, ignore),
            row(More, ignore, more, ignore),
            row(Fin, ignore, fin(DONE, n), ignore),
        )

    return Counting


def test_a_promise_that_only_the_end_of_the_scope_keeps_is_not_proven():
    row = judge_machine(counting(lambda done, n: go(done).when(n <= 2).orelse(ignore)), checkers=("TLC",))
    assert [claim.verdict for claim in row.claims] == ["not proven", "not proven"]
    for claim in row.claims:
        assert "here More (more) leads out of the scope, and what comes of it there is not known" in claim.story


def test_a_promise_that_what_is_relied_on_keeps_beyond_the_scope_holds():
    row = judge_machine(counting(lambda done, n: go(done)), checkers=("TLC",))
    assert [claim.verdict for claim in row.claims] == ["holds", "not proven"]


class Juggling(Machine):
    """Goes round for ever."""

    IDLE, BUSY = State(), State()
    held = SetOf(Passenger)

    class Take(Event):
        passenger: Passenger

    class Give(Event): ...

    takes = go(BUSY).do(held.add(Take.passenger))
    takes_more = stay().do(held.add(Take.passenger))
    gives = stay().do(held.clear())
    back = leads_to(BUSY, IDLE, fair=(Give,))
    scope = Scope(ids=(("Passenger", 1),))
    table = Table(columns(IDLE, BUSY), row(Take, takes, takes_more), row(Give, ignore, gives))


class Waiting(Machine):
    """Stands still in the end."""

    IDLE, BUSY = State(), State()

    class Begin(Event): ...

    class Wait(Event): ...

    back = leads_to(BUSY, IDLE, fair=(Wait,))
    table = Table(columns(IDLE, BUSY), row(Begin, BUSY, ignore), row(Wait, ignore, ignore))


def test_a_run_that_goes_round_and_one_that_stands_still_are_told_as_their_replays_tell_them():
    row = judge_machine(Juggling, checkers=("TLC",))
    loop = row.examples["back"]().loop
    assert f"and then step {loop} comes again, and so on for ever" in row.claims[0].story
    row = judge_machine(Waiting, checkers=("TLC",))
    assert row.examples["back"]().loop == 1
    assert "and then nothing comes any more" in row.claims[0].story
