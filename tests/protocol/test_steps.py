"""What the host keeps of its machines: answers, snapshots, and how they are written down."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.protocol import steps
from sluicegate.protocol.codec import join, split
from sluicegate.protocol.sqlite import SqliteStore
from sluicegate.protocol.steps import Answer, Record, Saved, Steps
from sluicegate.protocol.store import Drop, Durability, Keep, MemoryStore, Put, Store, StoreError


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "s")
    yield made
    made.close()


def record(operation: str, number: int, instance: str = "i") -> Record:
    return Record(
        "M", instance, operation, Answer(b"p" + operation.encode(), b"reply"), Saved("life", number, b"s%d" % number)
    )


def test_an_answer_and_its_snapshot_are_stored_together(store: Store) -> None:
    kept = Steps(store)
    assert kept.answer("M", "i", "a") is None
    assert kept.saved("M", "i") is None
    kept.write([record("a", 1), record("b", 2)])
    assert kept.answer("M", "i", "a") == Answer(b"pa", b"reply")
    assert kept.saved("M", "i") == Saved("life", 2, b"s2")
    assert kept.answer("M", "other", "a") is None
    assert (kept.saved("N", "i"), kept.instances("M"), kept.instances("N")) == (None, ["i"], [])


def test_a_record_without_a_change_leaves_the_snapshot(store: Store) -> None:
    kept = Steps(store)
    kept.write([record("a", 1)])
    kept.write([Record("M", "i", "b", Answer(b"p", b"r"), None)])
    assert kept.saved("M", "i") == Saved("life", 1, b"s1")


def test_answers_are_kept_for_their_time_and_snapshots_for_ever(tmp_path: Path) -> None:
    now = [1000.0]
    store = SqliteStore(tmp_path / "s", keep=Keep(longest=100, least=10), clock=lambda: now[0])
    kept = Steps(store)
    kept.write([record("a", 1)])
    now[0] += 99
    kept.write([record("b", 2, "j")])
    assert kept.answer("M", "i", "a") is not None
    now[0] += 50
    kept.write([record("c", 3, "j")])
    assert kept.answer("M", "i", "a") is None
    assert kept.answer("M", "j", "b") is not None
    assert kept.saved("M", "i") == Saved("life", 1, b"s1")
    store.close()


def test_sqlite_restores_what_it_held(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s")
    Steps(store).write([record("a", 1)])
    store.advance("term")
    store.close()
    again = SqliteStore(tmp_path / "s")
    assert Steps(again).answer("M", "i", "a") == Answer(b"pa", b"reply")
    assert Steps(again).saved("M", "i") == Saved("life", 1, b"s1")
    assert again.number("term") == 1
    again.close()


@given(st.lists(st.binary(max_size=40), max_size=6))
def test_fields_are_read_as_they_were_joined(fields: list[bytes]) -> None:
    assert split(join(*fields), len(fields)) == fields


@given(st.lists(st.binary(max_size=9), min_size=1, max_size=4), st.data())
def test_a_value_that_is_cut_short_or_too_long_is_told_as_damaged(fields: list[bytes], data: st.DataObject) -> None:
    whole = join(*fields)
    cut = data.draw(st.integers(0, len(whole) - 1))
    for damaged in (whole[:cut], whole + b"x"):
        with pytest.raises(StoreError, match="damaged"):
            split(damaged, len(fields))


@given(st.binary(), st.binary(), st.text(), st.integers(0, 2**63 - 1))
def test_answers_and_snapshots_are_read_as_they_were_written(
    payload: bytes, reply: bytes, life: str, number: int
) -> None:
    answer, saved = Answer(payload, reply), Saved(life, number, reply)
    assert steps.decode_answer(steps.encode_answer(answer)) == answer
    assert steps.decode_saved(steps.encode_saved(saved)) == saved


@given(st.tuples(st.text(), st.text()), st.tuples(st.text(), st.text()))
def test_two_operations_never_share_a_key(one: tuple[str, str], two: tuple[str, str]) -> None:
    assert (steps.operation_key(*one) == steps.operation_key(*two)) == (one == two)


def test_what_its_owner_stores_beside_steps_is_in_one_order_with_them(tmp_path: Path) -> None:
    steps = Steps(SqliteStore(tmp_path / "s", Durability.PROCESS))
    saved = Record("Gate", "g", "", None, Saved("g.1", 3, b"snapshot"))
    steps.write([(Put("mine", "k", "", b"1"),), saved])
    assert (steps.saved("Gate", "g"), steps.store.get("mine", "k")) == (saved.saved, {"": b"1"})
    # What forgets an instance comes after its last step, also in one write.
    steps.write([saved, (Drop("instances Gate", "g"), Put("mine", "k", "", b"2"))])
    assert (steps.saved("Gate", "g"), steps.store.get("mine", "k")) == (None, {"": b"2"})
    steps.store.close()
