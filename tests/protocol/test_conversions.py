"""Values keep their meaning through protobuf, and what means no value is refused with its place."""

from __future__ import annotations

import asyncio
from functools import cache
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluicegate.protocol.wire import WireError
from sluicegate.statemachines.ir import Type

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@cache
def values(module: ModuleType, type_: Type) -> st.SearchStrategy[Any]:
    """Every value of a type."""
    inner = [values(module, a) for a in type_.args]
    match type_.kind:
        case "bool":
            return st.booleans()
        case "nat":
            return st.integers(0, 2**64 - 1)
        case "id" | "note":
            return TEXT
        case "enum":
            return st.sampled_from(list(getattr(module, type_.name)))
        case "opt":
            return st.none() | inner[0]
        case "set":
            return st.frozensets(inner[0], max_size=2)
        case "seq":
            return st.lists(inner[0], max_size=2).map(tuple)
        case "map":
            return st.dictionaries(inner[0], inner[1], max_size=2)
        case "record":
            parts = dict(zip(type_.members, inner, strict=True))
            return st.builds(lambda **v: getattr(module, type_.name)(**v), **parts)


@cache
def arguments(module: ModuleType, event: str) -> st.SearchStrategy[dict[str, Any]]:
    fields = module.Kinds.ir.event(event).fields
    return st.fixed_dictionaries({f.name: values(module, f.type) for f in fields})


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_an_event_and_the_snapshot_after_it_keep_their_meaning_through_bytes(kinds: Any, made: Any, data: Any) -> None:
    sent = data.draw(arguments(kinds, "Keep"))
    requests: list[Any] = []

    class Capturing(made.kinds.KindsClient):
        def __init__(self) -> None:
            self._instance, self._stub = "k", self

        Keep = None

        async def _call(self, event: str, method: Any, request: Any, *_: Any) -> None:
            requests.append(request)

    asyncio.run(Capturing().keep(**sent))
    carried = type(requests[0]).FromString(requests[0].SerializeToString())
    event = made.kinds.keep_event(carried)
    expected = [sent[f.name] for f in kinds.Kinds.ir.event("Keep").fields]
    assert list(event.values()) == expected
    assert [type(v) for v in event.values()] == [type(v) for v in expected]

    live = kinds.Kinds.Live()
    assert live.step(event).kind == "go"
    wire = made.kinds.KINDS
    for form in (live, live.snapshot()):
        message = wire.snapshot.FromString(wire.to_message(form).SerializeToString())
        assert wire.value(message).values() == live.snapshot().values()


@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_equal_values_make_equal_bytes(kinds: Any, made: Any, data: Any) -> None:
    sent = data.draw(arguments(kinds, "Keep"))
    turned = {
        name: frozenset(reversed(list(v))) if isinstance(v, frozenset)
        else dict(reversed(list(v.items()))) if isinstance(v, dict)
        else v
        for name, v in sent.items()
    }  # fmt: skip
    made_bytes = []
    for given_values in (sent, turned):
        live = kinds.Kinds.Live()
        live.step(kinds.Kinds.Keep(**given_values))
        made_bytes.append(made.kinds.snapshot_message(live).SerializeToString(deterministic=True))
    assert made_bytes[0] == made_bytes[1]


def test_a_choice_that_is_not_given_is_refused_by_name(made: Any) -> None:
    message = made.kinds.snapshot_message(made.kinds.KINDS.machine.initial())
    message.colour = 0
    with pytest.raises(WireError, match="KindsColour is not given: send one of red, dark-blue"):
        made.kinds.snapshot_values(message)


def test_a_number_beyond_the_choices_is_refused_by_name(made: Any) -> None:
    message = made.kinds.snapshot_message(made.kinds.KINDS.machine.initial())
    message.state = 77
    with pytest.raises(WireError, match="KindsState 77 is unknown: send one of READY, KEPT"):
        made.kinds.snapshot_values(message)


def test_a_record_that_is_missing_is_refused_by_name(made: Any) -> None:
    request = made.kinds.pb.KindsKeepRequest(a_colour=1)
    with pytest.raises(WireError, match=r"KindsKeepRequest\.whole is missing"):
        made.kinds.keep_event(request)
