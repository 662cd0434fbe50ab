"""Values as JSON: there and back without loss, the same text every time, and nothing believed."""

import json
from collections.abc import Callable
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from names import stable

from sluicegate.statemachines import EnumOf, Id, Machine, MapOf, Nat, Opt, Record, SeqOf, SetOf
from sluicegate.statemachines.annotations import type_of
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.ir import BOOL, NAT, NOTE
from sluicegate.statemachines.sorts import Mode
from sluicegate.statemachines.values import (
    decode,
    decode_event,
    decode_snapshot,
    encode,
    encode_event,
    encode_snapshot,
    fits,
)


class Part(Id):
    """Something countable."""


class Size(StrEnum):
    SMALL = "small"
    LARGE = "large"


class Span(Record):
    part: Part
    sizes: SetOf[Nat]
    best: Opt[EnumOf[Size]]


PART, SIZE, SPAN = type_of(Part), type_of(EnumOf[Size]), type_of(Span)
SPAN_VALUE = Span(part="p", sizes=frozenset({10, 9}), best=Size.LARGE)


@pytest.mark.parametrize(
    ("type_", "value", "data"),
    [
        (BOOL, True, True),
        (NAT, 7, 7),
        (NOTE, "because", "because"),
        (PART, "p1", "p1"),
        (SIZE, Size.LARGE, "large"),
        (type_of(Opt[Nat]), None, None),
        (type_of(Opt[Nat]), 0, 0),
        (type_of(Opt[SetOf[Part]]), frozenset(), []),
        (type_of(SetOf[Nat]), frozenset({10, 9, 2}), [2, 9, 10]),
        (type_of(SetOf[SetOf[Part]]), frozenset({frozenset({"b", "a"}), frozenset()}), [["a", "b"], []]),
        (type_of(SeqOf[Part]), ("b", "a", "b"), ["b", "a", "b"]),
        (type_of(MapOf[Part, Nat]), {"b": 1, "a": 2}, {"a": 2, "b": 1}),
        (type_of(MapOf[EnumOf[Size], Nat]), {Size.SMALL: 1}, {"small": 1}),
        (type_of(MapOf[Nat, Part]), {10: "x", 9: "y"}, [[9, "y"], [10, "x"]]),
        (SPAN, SPAN_VALUE, {"part": "p", "sizes": [9, 10], "best": "large"}),
        (type_of(MapOf[Span, Nat]), {SPAN_VALUE: 1}, [[{"part": "p", "sizes": [9, 10], "best": "large"}, 1]]),
    ],
    ids=lambda v: stable(v)[:40],
)
def test_a_value_has_one_form_and_comes_back(type_: Any, value: Any, data: Any) -> None:
    text = json.dumps(encode(type_, value))
    assert text == json.dumps(data)
    back = decode(type_, json.loads(text))
    assert (back, type(back)) == (value, type(value))


@pytest.mark.parametrize(
    ("type_", "data", "message"),
    [
        (BOOL, 1, "value: needs a Bool, got 1"),
        (NAT, True, "value: needs a Nat, got True"),
        (NAT, -1, "value: needs a Nat, got -1"),
        (NAT, 1.0, "value: needs a Nat, got 1.0"),
        (PART, 3, "value: needs a Part, got 3"),
        (SIZE, "huge", "value: needs one of small, large, got 'huge'"),
        (type_of(Opt[Nat]), "x", "value: needs a Nat, got 'x'"),
        (type_of(SetOf[Nat]), {"a": 1}, "value: needs a Set[Nat], got {'a': 1}"),
        (type_of(SetOf[Nat]), [1, 2, 1], "value: 1 is there twice"),
        (type_of(SeqOf[Nat]), [1, "x"], "value[1]: needs a Nat, got 'x'"),
        (type_of(MapOf[Part, Nat]), [["a", 1]], "value: needs a Map[Part, Nat], got [['a', 1]]"),
        (type_of(MapOf[Part, Nat]), {"a": None}, 'value["a"]: needs a Nat, got None'),
        (type_of(MapOf[Nat, Nat]), [[1, 2], [1, 3]], "value: 1 is there twice"),
        (type_of(MapOf[Nat, Nat]), [[1]], "value[0]: needs a pair [key, value], got [1]"),
        (SPAN, {"part": "p", "sizes": []}, "value: best missing"),
        (SPAN, {"part": "p", "sizes": ["x"], "best": None}, "value.sizes[0]: needs a Nat, got 'x'"),
        (NAT, "x" * 100, "value: needs a Nat, got '" + "x" * 56 + "..."),
    ],
    ids=lambda v: stable(v)[:40],
)
def test_what_does_not_fit_is_refused_with_its_path(type_: Any, data: Any, message: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the whole message is compared
        decode(type_, data)
    assert str(error.value) == message


@settings(max_examples=50, deadline=None, derandomize=True)
@given(data=st.binary(min_size=40, max_size=150))
def test_events_and_snapshots_come_back(machine: type[Machine], choices: Callable[[bytes], Any], data: bytes) -> None:
    for snapshot, event in choices(data).run(machine):
        text = json.dumps([encode_snapshot(snapshot), encode_event(machine, event)])
        first, second = json.loads(text)
        assert decode_snapshot(machine, first).values() == snapshot.values()
        assert decode_event(machine, second).values() == event.values()
        assert json.dumps([encode_snapshot(snapshot.live().snapshot()), encode_event(machine, event)]) == text


RENEW = {"event": "Renew", "fields": {"term": 0, "epoch": 1, "window": 5}}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "event: needs an object, got []"),
        ({}, "event: event missing"),
        ({**RENEW, "extra": 1}, "event: unknown extra; the fields are event"),
        ({**RENEW, "event": "Renewed"}, "event: needs an event of Gate, got 'Renewed'"),
        ({"event": "Renew"}, "Renew: needs an object, got None"),
        ({"event": "Renew", "fields": {"term": 0}}, "Renew: epoch, window missing"),
        (
            {"event": "Renew", "fields": {**RENEW["fields"], "to": 1}},
            "Renew: unknown to; the fields are term, epoch, window",
        ),
        ({"event": "Renew", "fields": {**RENEW["fields"], "term": "0"}}, "Renew.term: needs a Nat, got '0'"),
    ],
)
def test_what_is_no_event_is_refused(data: Any, message: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the whole message is compared
        decode_event(Gate, data)
    assert str(error.value) == message


def test_what_is_no_snapshot_is_refused() -> None:
    data = encode_snapshot(Gate.initial(ranks=frozenset({"r"})))
    with pytest.raises(ValueError, match=r"snapshot\.state: needs one of SEALED, .*, got 'AJAR'"):
        decode_snapshot(Gate, {**data, "state": "AJAR"})
    with pytest.raises(ValueError, match=r"Gate\.mode: needs one of wait, abort, keep, got 'x'"):
        decode_snapshot(Gate, {**data, "fields": {**data["fields"], "mode": "x"}})


def test_enums_come_back_as_members() -> None:
    event = decode_event(Gate, encode_event(Gate, Gate.Seal(term=0, epoch=1, mode=Mode.KEEP, window=5)))
    assert event.mode is Mode.KEEP
    assert Gate.step(Gate.initial(ranks=frozenset({"r"})), event)[0].mode is Mode.KEEP


def test_records_of_two_modules_are_one_type_if_named_and_made_alike() -> None:
    made = [type("Pair", (Record,), {"__annotations__": {"one": Nat, "two": Nat}}) for _ in range(2)]
    first, second = (cls(one=1, two=2) for cls in made)
    assert first == second
    assert hash(first) == hash(second)
    assert first != made[1](one=1, two=3)


@pytest.mark.parametrize(
    ("type_", "value", "others"),
    [
        (BOOL, True, [1, 0, 1.0, None, "true"]),
        (NAT, 1, [True, 1.0, -1, None, "1"]),
        (SIZE, Size.LARGE, ["huge", 1, None]),
        (PART, "p", [1, None]),
        (type_of(Opt[Nat]), 1, [True, (1,)]),
        (type_of(SetOf[Nat]), frozenset({1}), [frozenset({True}), 1]),
        (type_of(SeqOf[Nat]), (1, 0), [(1, False), 1, None]),
        (type_of(MapOf[Nat, Opt[Nat]]), {1: 1}, [{True: 1}, {1: True}, 1]),
        (SPAN, SPAN_VALUE, [Span(part="p", sizes=frozenset({True}), best=None), 1]),
    ],
)
def test_a_value_fits_its_type_and_what_is_only_equal_does_not(type_: Any, value: Any, others: list[Any]) -> None:
    assert fits(type_, value)
    assert not any(fits(type_, other) for other in others)
