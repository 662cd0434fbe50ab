"""The register's numbers: given once, never lower, and moved by the highest term only, by any number of controllers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.protocol.store import MemoryStore, StoreError
from sluicegate.runtime.controller.register import Register


def test_two_controllers_of_one_file_never_get_one_number(tmp_path: Path) -> None:
    with Register(tmp_path / "r.db") as one, Register(tmp_path / "r.db") as two:
        assert (one.epoch, one.published) == (0, None)
        assert [one.new_term(), two.new_term(), one.new_term()] == [1, 2, 3]
        assert [one.next_epoch(), two.next_epoch()] == [1, 2]
        assert [two.next_version(), one.next_version()] == [0, 1]
        assert two.epoch == one.epoch == 2


def test_what_is_published_outlives_every_controller(tmp_path: Path) -> None:
    with Register(tmp_path / "r.db") as register:
        assert register.publish(0, register.new_term())
    with Register(tmp_path / "r.db") as register:
        assert register.published == 0
        assert register.new_term() == 2


def test_a_controller_that_was_superseded_publishes_nothing(tmp_path: Path) -> None:
    with Register(tmp_path / "r.db") as register:
        old, new = register.new_term(), register.new_term()
        assert not register.publish(3, old)
        assert register.published is None
        assert register.publish(3, new)
        assert register.publish(3, new), "a repeat stands"
        assert not register.publish(2, new)
        assert not register.publish(3, old), "what another has published is not its own"
        assert register.published == 3


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5), st.integers(0, 3))))
def test_published_never_falls_and_moves_for_the_ruling_term_only(
    writes: list[tuple[bool, int, int]],
) -> None:
    register, ruling, published = Register(MemoryStore()), 0, -1
    for takes_over, version, behind in writes:
        if takes_over:
            ruling = register.new_term()
        term = ruling - behind
        stands = register.publish(version, term)
        assert stands == (term == ruling and version >= published)
        published = max(published, version) if stands else published
        assert register.published == (published if published >= 0 else None)


def test_a_register_that_cannot_be_used_is_told_with_its_mend(tmp_path: Path) -> None:
    (tmp_path / "r.db").write_bytes(b"something else" * 1000)
    with pytest.raises(StoreError, match=r"r\.db: not a store .*: give a path of its own"):
        Register(tmp_path / "r.db")
