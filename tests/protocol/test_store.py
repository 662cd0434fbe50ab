"""Every store keeps its promises: all or none, conditional writes, numbers, and what is forgotten when."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing as closing_of
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluicegate.protocol.sqlite import SqliteStore, open_store
from sluicegate.protocol.store import Add, Change, Drop, Durability, Keep, MemoryStore, Put, Store


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


Make = Callable[[Keep], Store]


@pytest.fixture(params=["memory", "strict", "process"])
def make(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Make]:
    made: list[Store] = []

    def make(keep: Keep) -> Store:
        if request.param == "memory":
            made.append(MemoryStore(keep, clock))
        else:
            made.append(SqliteStore(tmp_path / f"s{len(made)}", Durability(request.param), keep=keep, clock=clock))
        return made[-1]

    yield make
    for store in made:
        store.close()


@pytest.fixture
def store(make: Make) -> Store:
    return make(Keep())


def test_a_key_has_the_parts_that_were_written(store: Store) -> None:
    assert (store.get("s", "k"), store.has("s", "k"), store.keys("s")) == ({}, False, [])
    store.write([Put("s", "k", "a", b"1"), Add("s", "k", "b", b""), Put("s", "j", "b", b"3"), Put("t", "k", "a", b"4")])
    assert store.get("s", "k") == {"a": b"1", "b": b""}
    assert (store.has("s", "k"), store.has("s", "x"), store.has("t", "j")) == (True, False, False)
    assert (store.keys("s"), store.keys("s", without="a"), store.keys("s", without="b")) == (["j", "k"], ["j"], [])
    assert store.values("s", "b") == [("j", b"3"), ("k", b"")]


def test_a_put_replaces_and_an_add_does_not(store: Store) -> None:
    store.write([Add("s", "k", "p", b"1"), Add("s", "k", "p", b"2")])
    assert store.get("s", "k") == {"p": b"1"}
    store.write([Put("s", "k", "p", b"3"), Add("s", "k", "p", b"4")])
    assert store.get("s", "k") == {"p": b"3"}
    store.write([Put("s", "k", "p", b"5"), Put("s", "k", "p", b"6")])
    assert store.get("s", "k") == {"p": b"6"}


def test_a_number_is_given_once_and_never_falls(store: Store) -> None:
    assert store.number("term") == 0
    assert [store.advance("term") for _ in range(3)] == [1, 2, 3]
    assert store.raise_to("term", 9)
    assert not store.raise_to("term", 9)
    assert not store.raise_to("term", 4)
    assert not store.raise_to("other", 0)
    assert (store.number("term"), store.number("other"), store.advance("term")) == (9, 0, 10)


def test_numbers_are_raised_together_and_none_falls(store: Store) -> None:
    store.raise_to("term", 9)
    store.raise_all({"term": 4, "epoch": 7, "other": 0})
    assert [store.number(name) for name in ("term", "epoch", "other")] == [9, 7, 0]
    store.raise_all({"term": 10})
    assert store.number("term") == 10


def test_where_one_number_cannot_be_raised_none_is(tmp_path: Path) -> None:
    with closing_of(SqliteStore(tmp_path / "s")) as store:
        with pytest.raises(OverflowError):
            store.raise_all({"term": 4, "epoch": 1 << 70})
        assert (store.number("term"), store.number("epoch")) == (0, 0)


def test_a_number_is_raised_only_while_its_ruler_allows_it(store: Store) -> None:
    assert store.raise_to("published", 1, ruled_by=("ruling", 0))
    store.raise_to("ruling", 2)
    assert not store.raise_to("published", 5, ruled_by=("ruling", 1))
    assert store.number("published") == 1
    assert store.raise_to("published", 5, ruled_by=("ruling", 2))
    assert not store.raise_to("published", 4, ruled_by=("ruling", 3))
    assert store.number("published") == 5


def closing(key: str) -> Add:
    return Add("s", key, "closed", b"", closes=True)


def test_what_is_closed_is_forgotten_when_it_is_old_and_what_is_open_is_not(make: Make, clock: Clock) -> None:
    store = make(Keep(longest=100, most=1000, least=10))
    store.write([Put("s", "open", "p", b""), Put("s", "k", "p", b""), closing("k")])
    clock.now += 99
    store.write([closing("later")])
    assert store.keys("s") == ["k", "later", "open"]
    clock.now += 2
    store.write([Put("s", "open", "p", b"1")])
    assert store.keys("s") == ["later", "open"]


def test_what_is_closed_is_forgotten_when_there_is_more_of_it_but_not_too_soon(make: Make, clock: Clock) -> None:
    store = make(Keep(longest=100, most=3, least=10))
    store.write([closing(f"k{n}") for n in range(6)])
    store.write([Put("s", "open", "p", b"")])
    assert len(store.keys("s")) == 7
    clock.now += 11
    store.write([closing("k6")])
    # A few with each write: two for every change.
    assert store.keys("s") == ["k2", "k3", "k4", "k5", "k6", "open"]
    store.write([closing("k7")])
    assert store.keys("s") == ["k4", "k5", "k6", "k7", "open"]
    store.write([closing("k8")])
    assert store.keys("s") == ["k6", "k7", "k8", "open"]
    store.write([closing("k9")])
    assert store.keys("s") == ["k6", "k7", "k8", "k9", "open"]


def test_what_is_closed_in_memory_takes_no_more_room_than_it_has(clock: Clock) -> None:
    store = MemoryStore(Keep(longest=100, most=1000, least=50), clock, room=10_000)
    store.write([Put("s", "open", "p", bytes(50_000))])
    for n in range(40):
        store.write([Add("s", f"k{n:02}", "p", bytes(2000), closes=True)])
    assert store.keys("s") == ["k37", "k38", "k39", "open"]
    store.write([Add("s", "large", "p", bytes(20_000), closes=True)])
    assert store.keys("s") == ["large", "open"]
    clock.now += 101
    store.write([Add("s", f"l{n}", "p", bytes(2000), closes=True) for n in range(3)])
    assert store.keys("s") == ["l0", "l1", "l2", "open"]


def test_a_second_closing_does_not_keep_a_key_longer(make: Make, clock: Clock) -> None:
    store = make(Keep(longest=100, most=3, least=10))
    store.write([closing("k")])
    clock.now += 99
    store.write([closing("k")])
    clock.now += 2
    store.write([Put("s", "open", "p", b"")])
    assert store.keys("s") == ["open"]


def test_a_dropped_key_is_gone_whole_whether_it_was_closed_or_not(make: Make, clock: Clock) -> None:
    store = make(Keep(longest=100, most=2, least=10))
    store.write([Put("s", "k", "p", b"1"), closing("k"), Put("s", "open", "p", b"2"), Put("t", "k", "p", b"3")])
    store.write([Drop("s", "k"), Drop("s", "open"), Drop("s", "never"), Add("s", "open", "q", b"4")])
    assert (store.get("s", "k"), store.get("s", "open"), store.get("t", "k")) == ({}, {"q": b"4"}, {"p": b"3"})
    assert (store.count("s"), store.count("t"), store.count("u")) == (1, 1, 0)
    # What is dropped counts no longer: of three closed ones only two are kept.
    store.write([closing(f"k{n}") for n in range(3)])
    clock.now += 11
    store.write([Put("s", "open", "p", b"")])
    assert store.keys("s") == ["k1", "k2", "open"]


names = st.text(max_size=3)
changes = st.one_of(
    st.builds(Put, st.sampled_from("st"), names, st.sampled_from("pq"), st.binary(max_size=5)),
    st.builds(Add, st.sampled_from("st"), names, st.sampled_from("pq"), st.binary(max_size=5)),
    st.builds(Drop, st.sampled_from("st"), names),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(changes, max_size=70), max_size=5))
def test_stores_in_a_file_and_in_memory_hold_the_same(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[Change]]
) -> None:
    memory, file = MemoryStore(), SqliteStore(tmp_path_factory.mktemp("s") / "s", Durability.PROCESS)
    for batch in batches:
        memory.write(batch)
        file.write(batch)
    for space in "st":
        assert set(file.keys(space)) == set(memory.keys(space))
        assert set(file.keys(space, without="p")) == set(memory.keys(space, without="p"))
        assert dict(file.values(space, "q")) == dict(memory.values(space, "q"))
        assert file.count(space) == memory.count(space)
        for key in memory.keys(space):
            assert file.get(space, key) == memory.get(space, key)
    file.close()


@pytest.mark.parametrize(
    "wrong", [{"longest": 1.0, "least": 2.0}, {"most": -1}, {"least": -1.0}], ids=lambda w: ",".join(w)
)
def test_a_retention_that_contradicts_itself_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="least is at most longest"):
        Keep(**wrong)


def test_the_durability_says_where_things_lie(tmp_path: Path) -> None:
    assert isinstance(open_store(tmp_path / "s", Durability.OFF), MemoryStore)
    assert list(tmp_path.iterdir()) == []
    for durability in (Durability.STRICT, Durability.PROCESS):
        store = open_store(tmp_path / durability, durability)
        assert isinstance(store, SqliteStore)
        assert store.durability is durability
        store.close()
    with pytest.raises(ValueError, match="use MemoryStore"):
        SqliteStore(tmp_path / "s", Durability.OFF)


def test_a_long_run_does_not_grow_its_file_without_bound(tmp_path: Path) -> None:
    """After the first eighth the file has the size that it keeps."""
    clock, path = Clock(), tmp_path / "s"
    store = SqliteStore(path, Durability.PROCESS, keep=Keep(longest=300, most=1000, least=50), clock=clock)
    sizes: list[int] = []
    for n in range(4000):
        clock.now += 1
        store.write([Add("s", f"k{n}", "admitted", bytes(700)), Add("s", f"k{n}", "closed", b"", closes=True)])
        if n % 500 == 499:
            sizes.append(sum(file.stat().st_size for file in tmp_path.iterdir()))
            assert len(store.keys("s")) <= 302
    store.close()
    assert max(sizes) <= 1.25 * sizes[0]
