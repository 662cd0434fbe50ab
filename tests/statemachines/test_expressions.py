"""Expressions are objects, not values: what would look at one raises, and says what to write instead."""

import operator
from enum import StrEnum
from typing import Any

import pytest

from sluicegate.statemachines import (
    Bool,
    EnumOf,
    Event,
    Id,
    Machine,
    MapOf,
    Nat,
    Opt,
    Record,
    SeqOf,
    SetOf,
    either,
    none,
)
from sluicegate.statemachines.display import show
from sluicegate.statemachines.ir import NAT, Node


class Part(Id):
    """Something countable."""


class Speed(StrEnum):
    SLOW = "slow"
    FAST = "fast"


class Span(Record):
    part: Part
    size: Nat


class Turn(Event):
    by: Nat
    part: Part
    span: Span
    best: Opt[Nat]


def field(expression: Any, name: str) -> Any:
    expression.bind(name)
    return expression


COUNT = field(Nat(0), "count")
FLAG = field(Bool(), "flag")
BEST = field(Opt(Nat), "best")
PARTS = field(SetOf(Part), "parts")
LINE = field(SeqOf(Part), "line")
MARKS = field(MapOf(Part, Nat), "marks")
SPEED = field(EnumOf(Speed.SLOW), "speed")


@pytest.mark.parametrize("expression", [COUNT, FLAG, BEST, PARTS, LINE, MARKS, Turn.by, COUNT == 1], ids=str)
def test_an_expression_has_no_truth(expression: Any) -> None:
    with pytest.raises(TypeError, match=r"write a & b, a \| b, ~a instead of and, or, not"):
        bool(expression)


@pytest.mark.parametrize(
    "look", [lambda e: 1 < e < 3, lambda e: e == 1 and e == 2, lambda e: not e, lambda e: 1 if e else 2]
)
def test_python_operators_that_ask_for_the_truth_raise(look: Any) -> None:
    with pytest.raises(TypeError, match="has no truth"):
        look(COUNT)


def test_an_expression_has_no_members_and_no_hash() -> None:
    with pytest.raises(TypeError, match=r"write parts.has\(x\) instead of x in parts"):
        operator.contains(PARTS, "a")
    for look in (list, set, sorted, lambda e: [*e], lambda e: {e: 1}):
        with pytest.raises(TypeError):
            look(PARTS)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (COUNT + 1, "count + 1"),
        (COUNT - Turn.by, "count ∸ by"),
        (COUNT.max(3), "max(count, 3)"),
        (COUNT > 2, "2 < count"),
        (COUNT >= 2, "2 ≤ count"),
        (~FLAG & (COUNT == 1) & (COUNT != 2), "(not flag) and (count = 1) and (count ≠ 2)"),
        (FLAG | (FLAG & ~FLAG), "flag or (flag and (not flag))"),
        (BEST == COUNT, "best = (some count)"),
        (COUNT == BEST, "(some count) = best"),
        (Turn.best == none, "best = none"),
        (BEST.or_else(0), "best or else 0"),
        (PARTS.has(Turn.part), "part ∈ parts"),
        (PARTS.including(Turn.part) <= PARTS, "(parts with part) ⊆ parts"),
        ((PARTS | PARTS) - PARTS, "(parts ∪ parts) ∖ parts"),
        (MARKS.get(Turn.part), "marks[part]"),
        (MARKS.keys() == PARTS, "(keys of marks) = parts"),
        (LINE.first().is_some(), "(first of line) is some"),
        (SPEED == Speed.FAST, "speed = fast"),
        (Turn.span.size, "span.size"),
        (Span(part=Turn.part, size=COUNT), "Span(part: part, size: count)"),
        (either(FLAG, COUNT, 0), "count if flag else 0"),
    ],
    ids=str,
)
def test_an_expression_is_shown_for_a_reader(expression: Any, text: str) -> None:
    assert str(expression) == text
    assert show(expression.node) == text


def test_expressions_are_immutable_builders() -> None:
    before = COUNT.node
    _ = COUNT + 1, COUNT.max(2), COUNT == 3
    assert COUNT.node == before == Node("field", (), NAT, "count")


def test_a_record_is_a_value_of_values_and_an_expression_of_expressions() -> None:
    value = Span(part="p", size=2)
    assert (value.part, value.size) == ("p", 2)
    assert value == Span(part="p", size=2) != Span(part="p", size=3)
    assert len({value, Span(part="p", size=2)}) == 1
    with pytest.raises(TypeError, match="Span takes exactly part, size; got part"):
        Span(part="p")


def test_an_event_is_a_value_of_its_arguments() -> None:
    class Load(Event):
        parts: SetOf[Part]
        line: SeqOf[Part]
        marks: MapOf[Part, Nat]

    one = Load(parts={"a", "b"}, line=["a"], marks={"a": 1, "b": 2})
    two = Load(parts=frozenset({"b", "a"}), line=("a",), marks={"b": 2, "a": 1})
    assert (one, hash(one)) == (two, hash(two))
    assert (type(one.parts), type(one.line)) == (frozenset, tuple)
    with pytest.raises(TypeError, match="Load takes exactly parts, line, marks; got parts"):
        Load(parts=frozenset())


def test_a_field_of_a_machine_is_an_expression_of_its_name() -> None:
    from sluicegate.statemachines.gate import Gate

    assert issubclass(Gate, Machine)
    assert str(Gate.drained) == "(active is empty) and (orphaned is empty) and (quiet = ranks)"
