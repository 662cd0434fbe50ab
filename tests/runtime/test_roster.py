"""The roster and the ledger: durable facts of lives, orders by term, and outcomes of operation ids."""

from __future__ import annotations

from pathlib import Path

from sluicegate.protocol.sqlite import SqliteStore
from sluicegate.runtime.controller.ledger import Ledger, Outcome
from sluicegate.runtime.controller.register import Register
from sluicegate.runtime.controller.roster import Life, Roster


def test_a_life_is_known_from_before_its_process_starts_until_it_is_gone(tmp_path: Path) -> None:
    with Roster(tmp_path / "r.db") as launcher, Roster(tmp_path / "r.db") as controller:
        first = launcher.begin("a", "rollout")
        assert controller.living("rollout") == [Life("a.1", "a", "rollout")]
        launcher.enlist(first, "127.0.0.1:1", "127.0.0.1:2", 77)
        assert controller.living() == [Life("a.1", "a", "rollout", "127.0.0.1:1", "127.0.0.1:2", 77)]
        launcher.end(first, "signal 9")
        launcher.end(first, "status 0")
        assert controller.living() == []
        found = controller.life("a.1")
        assert found is not None
        assert found.ended == "signal 9"
        assert launcher.begin("a", "rollout") == "a.2"
        assert controller.living("controller") == []
        assert [life.incarnation for life in controller.lives("rollout")] == ["a.1", "a.2"]


def test_an_order_of_an_overruled_controller_does_not_stand(tmp_path: Path) -> None:
    with Register(tmp_path / "r.db") as register, Roster(tmp_path / "r.db") as roster:
        assert roster.ruler() is None
        life = roster.begin("a", "rollout")
        first = register.new_term()
        roster.rule(first, "controller.1", "127.0.0.1:1")
        assert roster.order_end(life, first, "it is dead")
        second = register.new_term()
        roster.rule(second, "controller.2", "127.0.0.1:2")
        other = roster.begin("b", "rollout")
        assert not roster.order_end(other, first, "it is dead")
        assert not roster.order_retirement(other, first, "it leaves")
        assert roster.ends_ordered() == {"a.1": "it is dead"}
        assert not roster.is_retired(other)
        assert roster.order_retirement(other, second, "it leaves")
        assert roster.order_retirement(other, second, "again")
        assert roster.is_retired(other)
        ruler = roster.ruler()
        assert ruler is not None
        assert (ruler.term, ruler.control) == (second, "127.0.0.1:2")
        roster.end(life, "signal 9")
        assert roster.ends_ordered() == {}


def test_a_name_is_held_with_its_reason_until_it_is_released(tmp_path: Path) -> None:
    with Roster(tmp_path / "r.db") as roster:
        roster.hold("a", "it died 3 times")
        assert roster.holds() == {"a": "it died 3 times"}
        assert roster.release("a")
        assert not roster.release("a")
        assert roster.holds() == {}


def test_an_operation_id_has_one_request_and_one_outcome(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "r.db")
    ledger = Ledger(store)
    assert ledger.begin("o", "sync 3", 1).term == 1
    again = ledger.begin("o", "sync 4", 2)
    assert (again.request, again.term, again.outcome) == ("sync 3", 1, None)
    outcome = Outcome("published", epoch=4, version=3, left_behind={"b": "it did not drain"})
    assert ledger.finish("o", outcome) == outcome
    assert ledger.finish("o", Outcome("failed")) == outcome
    store.close()
    store = SqliteStore(tmp_path / "r.db")
    next_life = Ledger(store)
    known = next_life.entry("o")
    assert known is not None
    assert known.outcome == outcome
    assert next_life.entry("p") is None
    store.close()
