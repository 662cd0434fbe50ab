"""What exploring a machine in its scope finds: overlaps, dead guards, unreached states, witnesses."""

from collections.abc import Callable

import pytest

from sluicegate.statemachines import (
    Bool,
    Event,
    Id,
    Machine,
    Nat,
    Refuse,
    Scope,
    SetOf,
    State,
    Table,
    choose,
    columns,
    fence,
    go,
    ignore,
    row,
    stay,
)
from sluicegate.statemachines.explore import Exploration, TooLarge, explore, values
from sluicegate.statemachines.ir import BOOL, NAT, Type


class Part(Id):
    """Something countable."""


class Faulty(Machine):
    """Guards that overlap, one that never holds, a fence that never holds, a state without a way in."""

    LOW, HIGH, NOWHERE = State(), State(), State()
    level = Nat(0)
    seen = SetOf(Part)
    odd = Bool(False)
    never = Refuse("cannot be")

    class Control(Event):
        by: Nat

    class Rise(Control):
        part: Part

    class Fall(Event): ...

    rises = choose(
        go(HIGH).when(Rise.by > 0).do(level.set(level + Rise.by), seen.add(Rise.part)),
        stay().when(level < 2).do(seen.add(Rise.part)),
        orelse=ignore,
    )
    falls = choose(go(LOW).when(level > 0).do(level.set(0)), never.when(level > 5), orelse=ignore)
    leaves = go(LOW).do(odd.set(~odd))

    scope = Scope(nat=2, ids=(("Part", 2),))
    table = Table(
        fence(Control, never.when(Control.by > 7)),
        columns(LOW, HIGH, NOWHERE),
        row(Rise, rises, rises, leaves),
        row(Fall, ignore, falls, ignore),
    )


def test_two_guards_of_a_cell_that_hold_together_are_found_with_a_witness() -> None:
    overlaps = explore(Faulty).overlaps
    assert {o.rules for o in overlaps} == {("rises", "rises_2")}
    for overlap in overlaps:
        assert overlap.event.by > 0
        assert overlap.snapshot.level < 2


def test_what_is_never_taken_is_found_with_its_place() -> None:
    dead = explore(Faulty).dead
    assert [(d.event, d.state, d.rule) for d in dead] == [
        ("Rise", "", "control_never"),
        ("Rise", "LOW", "rises_ignore"),
        ("Fall", "HIGH", "falls_never"),
        ("Fall", "HIGH", "falls_ignore"),
    ]
    assert all(d.where.startswith("test_explore.py:") for d in dead)


def test_a_state_without_a_way_in_is_found() -> None:
    assert explore(Faulty).unreached == ["NOWHERE"]


def test_a_step_out_of_the_scope_is_taken_and_not_followed() -> None:
    found = explore(Faulty, Scope(nat=1, ids=(("Part", 1),)))
    assert max(s.level for s in found.states) == 1
    assert ("Rise", "HIGH", "rises") in found.taken


def test_the_way_to_a_snapshot_is_a_shortest_run() -> None:
    found = explore(Faulty)
    (target,) = [
        s for s in found.states if s.level == 2 and len(s.seen) == 1 and "Part2" in s.seen and s.state == "HIGH"
    ]
    snapshot, events = found.path(target)
    assert events == [Faulty.Rise(by=2, part="Part2")]
    for event in events:
        snapshot, _outcome = Faulty.step(snapshot, event)
    assert snapshot == target


def test_the_domain_of_a_type_is_every_value_in_scope() -> None:
    scope = Scope(nat=1, ids=(("Part", 2),))
    part = Type("id", "Part")
    assert list(values(Type("opt", args=(BOOL,)), "x", scope)) == [None, False, True]
    assert set(values(Type("set", args=(part,)), "x", scope)) == {
        frozenset(),
        frozenset({"Part1"}),
        frozenset({"Part2"}),
        frozenset({"Part1", "Part2"}),
    }
    assert list(values(Type("seq", args=(NAT,)), "x", scope)) == [(), (0,), (1,)]
    assert list(values(Type("map", args=(part, BOOL)), "x", scope)) == [
        {},
        {"Part1": False, "Part2": False},
        {"Part1": False, "Part2": True},
        {"Part1": True, "Part2": False},
        {"Part1": True, "Part2": True},
    ]


def test_the_protocol_has_no_overlaps_and_every_state_is_reached(
    protocol_machine: type[Machine], explored: Callable[[type[Machine]], Exploration]
) -> None:
    found = explored(protocol_machine)
    assert found.overlaps == []
    assert found.unreached == []


def test_every_event_has_an_outcome_in_every_reachable_state(
    protocol_machine: type[Machine], explored: Callable[[type[Machine]], Exploration]
) -> None:
    """No event is dropped without a word (M16); the exploration would have raised."""
    asked = {(event, state) for event, state, _rule in explored(protocol_machine).taken}
    assert asked == {(e.name, s) for e in protocol_machine.ir.events for s in protocol_machine.ir.states}


class Early(Machine):
    """Born with a number above a small bound, and for each part of a sort."""

    A, B = State(), State()
    level = Nat(5)

    class Turn(Event):
        part: Part

    table = Table(columns(A, B), row(Turn, B, A))


def test_an_instance_that_is_born_beyond_the_scope_is_refused() -> None:
    with pytest.raises(TooLarge, match="level = 5 of a newborn instance is beyond its bound"):
        explore(Early, Scope(nat=3))
    assert len(explore(Early, Scope(nat=5)).states) == 2


def test_an_argument_without_a_value_in_the_scope_is_refused() -> None:
    with pytest.raises(TooLarge, match="argument part of Turn has no value in this scope"):
        explore(Early, Scope(nat=5, ids=(("Part", 0),)))
