"""What is recorded of leases: written once, read as it was written, kept while it is open and for a while after."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.protocol.codec import join, split
from sluicegate.protocol.sqlite import SqliteStore
from sluicegate.protocol.store import Add, Durability, Keep, MemoryStore, StoreError
from sluicegate.runtime.workers import records
from sluicegate.runtime.workers.records import (
    Admission,
    Closure,
    Forwarding,
    LeaseRecord,
    LeaseStore,
    OpenLease,
    StoredAnswer,
    Terminal,
)
from sluicegate.statemachines.sorts import Ending


@pytest.fixture(params=[Durability.STRICT, Durability.PROCESS, Durability.OFF])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LeaseStore]:
    made = LeaseStore(tmp_path / "leases", request.param)
    yield made
    made.close()


def admission(lease: str) -> Admission:
    return Admission(lease, "s", "life", 3, 7, [1, 2, 3], {"k": "v"})


def terminal(lease: str) -> Terminal:
    return Terminal(lease, Ending.COMPLETED, "stopped", [4, 5, 6], [-0.5, -1.0, 0.0], [(7, 1), (8, 1), (7, 1)])


def write(store: LeaseStore, *written: LeaseRecord) -> None:
    store.write([records.encode(record) for record in written])


def test_a_lease_is_open_from_its_admission_to_its_closure(store: LeaseStore) -> None:
    assert (store.is_known("a"), store.open_leases(), store.answer("a")) == (False, [], None)
    write(store, admission("b"), admission("a"))
    assert store.is_known("a")
    assert store.open_leases() == [OpenLease(lease, "s", "life", False, None, {}) for lease in ("a", "b")]
    write(store, Forwarding("a"))
    assert store.open_leases()[0] == OpenLease("a", "s", "life", True, None, {})
    write(store, terminal("a"))
    assert store.open_leases()[0] == OpenLease("a", "s", "life", True, Ending.COMPLETED, {7: 2, 8: 1})
    write(store, Closure("a", Ending.COMPLETED), Closure("b", None))
    assert (store.open_leases(), store.is_known("a")) == ([], True)
    assert store.counts() == {"completed": 1, "lost": 1}


def test_the_answer_of_a_lease_is_what_was_recorded(store: LeaseStore) -> None:
    write(store, admission("a"), Forwarding("a"))
    assert store.answer("a") == StoredAnswer("a", "s", "life", "", "", [1, 2, 3], [], [], [], {"k": "v"})
    write(store, terminal("a"), Closure("a", Ending.COMPLETED))
    assert store.answer("a") == StoredAnswer(
        "a", "s", "life", "completed", "stopped", [1, 2, 3], [4, 5, 6], [-0.5, -1.0, 0.0], [(7, 1), (8, 1), (7, 1)],
        {"k": "v"},
    )  # fmt: skip
    assert store.counts() == {"completed": 1}


def test_each_record_of_a_lease_is_written_once(store: LeaseStore) -> None:
    write(store, admission("a"), terminal("a"), Closure("a", Ending.COMPLETED))
    first = store.answer("a")
    again: list[LeaseRecord] = [
        Admission("a", "other", "life 2", 9, None, [9], {}),
        Terminal("a", Ending.FAILED, "no", [], [], []),
        Closure("a", None),
    ]
    write(store, *again)
    assert store.answer("a") == first
    assert (store.open_leases(), store.counts()) == ([], {"completed": 1})


def test_leases_outlive_their_process(tmp_path: Path) -> None:
    store = LeaseStore(tmp_path / "a" / "leases")
    write(store, admission("a"), Forwarding("a"), admission("b"))
    store.close()
    again = LeaseStore(tmp_path / "a" / "leases")
    assert [(lease.lease, lease.forwarded) for lease in again.open_leases()] == [("a", True), ("b", False)]
    again.close()


def test_closed_leases_are_forgotten_in_time_and_open_ones_never() -> None:
    now = [0.0]
    store = LeaseStore(MemoryStore(Keep(longest=100, most=2, least=10), lambda: now[0]))
    write(store, admission("open"), Forwarding("open"))
    for n in range(6):
        now[0] += 20
        write(store, admission(f"k{n}"), terminal(f"k{n}"), Closure(f"k{n}", Ending.COMPLETED))
    assert [lease.lease for lease in store.open_leases()] == ["open"]
    assert store.counts() == {"": 1, "completed": 2}
    assert (store.answer("k1"), store.is_known("k1"), store.is_known("k5")) == (None, False, True)


def test_a_damaged_record_is_told_as_such(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "leases")
    leases = LeaseStore(store)
    whole = records.encode(admission("a"))
    store.write([whole._replace(value=whole.value[:-3])])
    with pytest.raises(StoreError, match="damaged"):
        leases.answer("a")
    facts, prompt = split(whole.value, 2)
    ended = records.encode(terminal("b"))
    for number, (part, value) in enumerate([
        ("admitted", join(b"{", prompt)), ("admitted", join(b"[1]", prompt)), ("admitted", join(facts, b"12345")),
        ("admitted", join(b"[7, 8, 3, 7, {}]", prompt)), ("admitted", join(b"\xff", prompt)),
        ("admitted", join(b"[" * 100_000, prompt)), ("forwarded", b""), ("ended", join(b"0", b"", b"")),
        ("ended", join(b'["gone", "", []]', b"", b"")), ("ended", join(b'["failed", "", [1]]', b"", b"")),
        ("ended", ended.value[:-1]),
    ]):  # fmt: skip
        name = f"x{number}"
        if part == "ended":
            write(leases, admission(name))
        store.write([Add("leases", name, part, value)])
        with pytest.raises(StoreError, match="damaged"):
            leases.answer(name)
        with pytest.raises(StoreError, match="damaged"):
            leases.open_leases()
        store.write([Add("leases", name, "closed", b"lost", True)])
    store.write([Add("leases", "y", "closed", b"\xff", True)])
    with pytest.raises(StoreError, match="damaged"):
        leases.counts()
    leases.close()
    assert store.has("leases", "a"), "a store that was given is not closed with what uses it"
    store.close()


ids = st.integers(0, 2**32 - 1)
small = st.integers(0, 2**62)


@given(
    st.text(), st.text(), small, st.none() | small, st.lists(ids, max_size=20), st.dictionaries(st.text(), st.text())
)
def test_admissions_are_read_as_they_were_written(
    session: str, life: str, epoch: int, version: int | None, prompt: list[int], labels: dict[str, str]
) -> None:
    written = Admission("l", session, life, epoch, version, prompt, labels)
    assert records.decode_admission("l", records.encode(written).value) == written


@given(
    st.sampled_from(Ending),
    st.text(),
    st.lists(st.tuples(ids, st.floats(width=32, allow_nan=False)), max_size=20),
    st.lists(st.tuples(small, small), max_size=5),
)
def test_answers_are_read_as_they_were_written(
    ending: Ending, why: str, tokens: list[tuple[int, float]], spans: list[tuple[int, int]]
) -> None:
    written = Terminal("l", ending, why, [t for t, _ in tokens], [p for _, p in tokens], spans)
    assert records.decode_terminal("l", records.encode(written).value) == written
