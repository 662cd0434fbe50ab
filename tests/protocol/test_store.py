"""Both stores keep their promises; SQLite's are kept over a restart."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from sluicegate.protocol.sqlite import SqliteStore
from sluicegate.protocol.store import Answer, MemoryStore, Record, Saved, Store, StoreError


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Store]:
    made = MemoryStore(100, clock) if request.param == "memory" else SqliteStore(tmp_path / "s", 100, clock)
    yield made
    made.close()


def record(operation: str, number: int, instance: str = "i") -> Record:
    return Record(
        "M", instance, operation, Answer(b"p" + operation.encode(), b"reply"), Saved("life", number, b"s%d" % number)
    )


def test_an_answer_and_its_snapshot_are_stored_together(store: Store) -> None:
    assert store.answer("M", "i", "a") is None
    assert store.saved("M", "i") is None
    store.write([record("a", 1), record("b", 2)])
    assert store.answer("M", "i", "a") == Answer(b"pa", b"reply")
    assert store.saved("M", "i") == Saved("life", 2, b"s2")
    assert store.answer("M", "other", "a") is None
    assert store.instances("M") == ["i"]


def test_a_record_without_a_change_leaves_the_snapshot(store: Store) -> None:
    store.write([record("a", 1)])
    store.write([Record("M", "i", "b", Answer(b"p", b"r"), None)])
    assert store.saved("M", "i") == Saved("life", 1, b"s1")


def test_a_forgotten_instance_keeps_its_answers(store: Store) -> None:
    store.write([record("a", 1)])
    store.forget("M", "i")
    assert store.saved("M", "i") is None
    assert store.answer("M", "i", "a") is not None


def test_answers_are_kept_for_their_time_and_not_for_ever(store: Store, clock: Clock) -> None:
    store.write([record("a", 1)])
    clock.now += 99
    store.write([record("b", 2)])
    assert store.answer("M", "i", "a") is not None
    clock.now += 50
    store.write([record("c", 3)])
    assert store.answer("M", "i", "a") is None
    assert store.answer("M", "i", "b") is not None


def test_a_counter_gives_each_number_once_and_never_falls(store: Store) -> None:
    assert store.counter("term") == 0
    assert [store.advance("term") for _ in range(3)] == [1, 2, 3]
    assert store.raise_to("term", 9)
    assert not store.raise_to("term", 9)
    assert not store.raise_to("term", 4)
    assert store.counter("term") == 9
    assert store.advance("term") == 10


def test_two_users_of_one_file_never_get_one_number(tmp_path: Path) -> None:
    one, two = SqliteStore(tmp_path / "s"), SqliteStore(tmp_path / "s")
    got = [s.advance("epoch") for s in (one, two, two, one, two)]
    assert got == [1, 2, 3, 4, 5]
    one.close()
    two.close()


def test_sqlite_waits_for_the_disk_with_every_transaction(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s")
    mode = store._writer.execute("PRAGMA journal_mode").fetchone()[0]
    synchronous = store._writer.execute("PRAGMA synchronous").fetchone()[0]
    store.close()
    assert (mode, synchronous) == ("wal", 2)


def test_sqlite_restores_what_it_held(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s")
    store.write([record("a", 1)])
    store.advance("term")
    store.close()
    again = SqliteStore(tmp_path / "s")
    assert again.answer("M", "i", "a") == Answer(b"pa", b"reply")
    assert again.saved("M", "i") == Saved("life", 1, b"s1")
    assert again.counter("term") == 1
    again.close()


def test_a_full_store_writes_all_of_a_batch_or_none(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s")
    store.write([record("a", 1)])
    pages = store._writer.execute("PRAGMA page_count").fetchone()[0]
    store._writer.execute(f"PRAGMA max_page_count = {pages}")
    big = Record("M", "j", "big", Answer(b"p", b"x" * 100_000), Saved("life", 1, b"s"))
    with pytest.raises(StoreError, match=r"cannot write .*full"):
        store.write([record("b", 2), big])
    assert store.answer("M", "i", "b") is None
    assert store.saved("M", "i") == Saved("life", 1, b"s1")
    store._writer.execute("PRAGMA max_page_count = 1000000")
    store.write([record("b", 2), big])
    assert store.answer("M", "j", "big") is not None
    store.close()


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s"
    path.write_bytes(b"this is no database, and long enough to be looked at" * 100)
    with pytest.raises(StoreError, match="not a usable store"):
        SqliteStore(path)


def test_a_store_of_another_version_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "s") as connection:
        connection.execute("PRAGMA user_version = 7")
    connection.close()
    with pytest.raises(StoreError, match="version 7; this program reads 1"):
        SqliteStore(tmp_path / "s")
