"""Settings from a mapping: every problem is named with its place and its mend, and nothing is bent to fit."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal

import pytest

from sluicegate.runtime.config import ConfigError, from_mapping, require


class Road(StrEnum):
    SHM = "shm"
    FILES = "files"


@dataclass(frozen=True)
class Inner:
    size: int
    rate: float = 0.5


@dataclass(frozen=True)
class Outer:
    name: str
    inner: Inner = field(default_factory=lambda: Inner(1))
    many: tuple[Inner, ...] = ()
    pair: tuple[int, int] = (1, 2)
    mode: Literal["wait", "abort"] = "wait"
    road: Road = Road.SHM
    limit: int | None = None
    folder: Path = Path("runs")
    on: bool = False
    labels: dict[str, int] = field(default_factory=dict)
    low: int = 0
    high: int = 10

    def __post_init__(self) -> None:
        require((self.low <= self.high, f"low: {self.low} must not be above high={self.high}"))


def problems(mapping) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        from_mapping(Outer, mapping, "demo.yaml")
    return caught.value.problems


def test_values_are_read_into_their_types():
    got = from_mapping(
        Outer,
        {
            "name": "x",
            "inner": {"size": 3, "rate": 1},
            "many": [{"size": 1}, {"size": 2}],
            "pair": [3, 4],
            "mode": "abort",
            "road": "files",
            "limit": 5,
            "folder": "here",
            "on": True,
            "labels": {"a": 1},
        },
        "demo.yaml",
    )
    assert got == Outer(
        name="x",
        inner=Inner(3, 1.0),
        many=(Inner(1), Inner(2)),
        pair=(3, 4),
        mode="abort",
        road=Road.FILES,
        limit=5,
        folder=Path("here"),
        on=True,
        labels={"a": 1},
    )
    assert isinstance(got.inner.rate, float)
    assert isinstance(got.road, Road)


def test_what_is_not_said_takes_its_default():
    assert from_mapping(Outer, {"name": "x", "limit": None}, "demo.yaml") == Outer("x")


def test_an_unknown_key_is_named_with_its_place_and_the_nearest_known_one():
    assert problems({"name": "x", "inner": {"size": 1, "raet": 2}}) == (
        "demo.yaml.inner: there is no key 'raet': did you mean 'rate'?",
    )
    assert problems({"name": "x", "inner": {"size": 1, "zzz": 2}}) == (
        "demo.yaml.inner: there is no key 'zzz'; the keys are size, rate",
    )


def test_all_problems_are_reported_together():
    assert problems({"nam": 1, "inner": {}, "on": 1, "mode": "wiat", "many": [{"size": "3"}]}) == (
        "demo.yaml: there is no key 'nam': did you mean 'name'?",
        "demo.yaml.inner: the key 'size' is missing and has no default",
        "demo.yaml.on: expected true or false, got 1: write true or false",
        "demo.yaml.mode: expected one of wait, abort, got 'wiat': did you mean 'wait'?",
        "demo.yaml.many[0].size: expected a whole number, got '3': "
        "write a number without quotes, an exponent with its point, as in 1.0e-3",
        "demo.yaml: the key 'name' is missing and has no default",
    )


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("low", True, "demo.yaml.low: expected a whole number, got True"),
        ("low", 1.5, "demo.yaml.low: expected a whole number, got 1.5"),
        ("name", 3, "demo.yaml.name: expected text, got 3: put it in quotes"),
        ("inner", 3, "demo.yaml.inner: expected keys and values, got 3"),
        ("pair", [1], "demo.yaml.pair: expected 2 items, got 1"),
        ("many", "ab", "demo.yaml.many: expected a list, got 'ab'"),
        ("labels", {"a": "b"}, "demo.yaml.labels.a: expected a whole number, got 'b'"),
        ("road", "shn", "demo.yaml.road: expected one of shm, files, got 'shn': did you mean 'shm'?"),
        ("limit", "no", "demo.yaml.limit: expected a whole number, got 'no'"),
    ],
)
def test_a_value_of_another_type_is_refused(key, value, says):
    (problem,) = problems({"name": "x", key: value})
    assert problem.startswith(says)


def test_contradictory_values_name_the_field_and_the_place():
    assert problems({"name": "x", "low": 11}) == ("demo.yaml.low: 11 must not be above high=10",)


def test_a_mapping_that_is_none_is_refused():
    assert problems(None) == ("demo.yaml: expected keys and values, got None",)
