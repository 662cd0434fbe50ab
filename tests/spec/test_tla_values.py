"""Values that two checkers print differently are one value here."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.spec.checkers.tla_values import Function, ModelValue, function, normal, parse, show

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,4}", fullmatch=True).filter(lambda n: n not in ("true", "false"))
LEAVES = st.one_of(st.booleans(), st.integers(-9, 9), st.text(alphabet='ab \\"/', max_size=4), NAMES.map(ModelValue))


def nested(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.one_of(
        st.frozensets(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(NAMES, inner, max_size=3).map(lambda d: function(d.items())),
        st.dictionaries(st.integers(1, 4), inner, max_size=3).map(lambda d: function(d.items())),
        st.dictionaries(NAMES.map(ModelValue), inner, max_size=3).map(lambda d: function(d.items())),
    )


@given(st.recursive(LEAVES, nested, max_leaves=12))
def test_a_shown_value_parses_to_itself(value: object) -> None:
    assert parse(show(value)) == value


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("TRUE", "true"),
        ("{2, 1}", "{1, 2}"),
        ("1..3", "{1, 2, 3}"),
        ("<<>>", "[]"),
        ("<<7, 8>>", "(1 :> 7 @@ 2 :> 8)"),
        ('[b |-> 1, a |-> "x"]', '("a" :> "x" @@ "b" :> 1)'),
        ("(r2 :> 0 @@ r1 :> 1)", "( r1 :> 1 @@\n  r2 :> 0 )"),
    ],
)
def test_two_printed_forms_of_one_value_are_equal(one: str, other: str) -> None:
    assert parse(one) == parse(other)
    assert normal(one) == normal(other)


def test_a_model_value_is_no_string() -> None:
    assert parse("r1") == ModelValue("r1")
    assert parse("r1") != parse('"r1"')


def test_a_record_is_read_by_its_names() -> None:
    record = parse('[a |-> {1}, b |-> [k |-> <<"s">>]]')
    assert isinstance(record, Function)
    assert record["a"] == frozenset({1})
    assert record["b"] == function([("k", ("s",))])
    with pytest.raises(KeyError):
        record["c"]


@pytest.mark.parametrize("text", ["", "{1", "<<1 2>>", "[a |->]", "(a :> 1 @@)", "1 2", "#", "[a -> 1]"])
def test_what_is_no_value_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(ValueError, match="TLA\\+ value"):
        parse(text)
