"""Instances are plain data, cheap by the hundred thousand; the definition is shared."""

import copy
import gc
import pickle
import sys
import tracemalloc
from typing import Any

import pytest

from sluicegate.statemachines import Machine, Nat
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.sorts import Mode

RANKS = frozenset({"r1", "r2"})


def test_a_snapshot_does_not_change() -> None:
    snapshot = Gate.initial(ranks=RANKS)
    with pytest.raises(AttributeError, match="a snapshot does not change"):
        snapshot.epoch = 3
    with pytest.raises(AttributeError, match="a snapshot does not change"):
        del snapshot.epoch
    with pytest.raises(AttributeError):
        snapshot.extra = 1


def test_an_instance_takes_no_attribute_that_is_not_declared() -> None:
    """Nothing can be hung on an instance, so nothing can silently win over an event (M15)."""
    live = Gate.Live(ranks=RANKS)
    with pytest.raises(AttributeError):
        live.extra = 1
    with pytest.raises(AttributeError):
        live.seal = None
    assert not hasattr(live, "__dict__")


def test_an_instance_is_born_with_exactly_what_is_given() -> None:
    with pytest.raises(TypeError, match="Gate is born with ranks; got nothing"):
        Gate.Live()
    with pytest.raises(TypeError, match="Gate is born with ranks; got epoch, ranks"):
        Gate.initial(ranks=RANKS, epoch=3)


def test_a_replaced_snapshot_is_another_one() -> None:
    snapshot = Gate.initial(ranks=RANKS)
    changed = snapshot.replace(state="OPEN", epoch=3)
    assert (changed.state, changed.epoch, snapshot.epoch) == ("OPEN", 3, 0)
    assert changed != snapshot
    with pytest.raises(TypeError, match="Gate has no field epochs"):
        snapshot.replace(epochs=1)


def test_a_copied_live_instance_goes_its_own_way() -> None:
    live = Gate.Live(ranks=RANKS)
    live.active.add("l1")
    for other in (copy.copy(live), copy.deepcopy(live), pickle.loads(pickle.dumps(live)), live.snapshot().live()):
        assert other == live
        other.active.add("l2")
        assert live.active == {"l1"}
        assert other != live


def test_an_instance_pickles_without_its_definition() -> None:
    """Plain data: no lock, no closure, no table goes into the pickle (M18)."""
    live = Gate.Live(ranks=RANKS)
    assert len(pickle.dumps(live)) < 500


def test_notes_are_carried_and_not_compared(everything: type[Machine]) -> None:
    made: dict[str, Any] = {"owner": "o", "crew": frozenset(), "limit": 3}
    rain, sun = (everything.Lift(epoch=1, by=0, why=why) for why in ("rain", "sun"))  # pyright: ignore[reportAttributeAccessIssue]
    assert (rain, hash(rain)) == (sun, hash(sun))
    start = everything.initial(**made).replace(state="ONE")
    (one, _), (two, _) = everything.step(start, rain), everything.step(start, sun)
    assert (one.why, two.why) == ("rain", "sun")
    assert (one, hash(one)) == (two, hash(two))


def test_a_hundred_thousand_instances_hold_their_fields_and_nothing_else() -> None:
    """The definition is shared: an instance brings no closure, no dict, no method of its own (M19)."""
    live = Gate.Live(ranks=RANKS)
    expected = sys.getsizeof(live) + sum(
        sys.getsizeof(getattr(live, f.name)) for f in Gate.ir.fields if f.type.kind in ("set", "map", "seq")
    )
    reached = [r for r in gc.get_referents(live) if r is not type(live) and not isinstance(r, (str, int, set, dict))]
    assert [r for r in reached if r is not None] == []
    count = 100_000
    gc.collect()
    tracemalloc.start()
    try:
        many = [Gate.Live(ranks=RANKS) for _ in range(count)]
        size, _peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(many) == count
    # 16 bytes of the collector's header for each object, 8 for its place in the list.
    assert size / count < expected + 16 * (1 + len(Gate.ir.fields)) + 8
    assert many[0].step(Gate.Claim(term=1)).kind == "stay"
    assert many[1].term == 0


def test_a_step_without_outputs_makes_no_outcome() -> None:
    live = Gate.Live(ranks=RANKS)
    one, two = live.claim(term=1), live.claim(term=2)
    assert one is two
    assert one.rule == "claims"


def test_a_compiled_step_is_shown_in_a_traceback() -> None:
    live = Gate.Live(ranks=RANKS)
    with pytest.raises(TypeError) as error:
        live.seal(term="x", epoch=1, mode=Mode.WAIT, window=5)
    last = error.traceback[-1]
    assert "gate" in str(last.frame.code.path)
    assert "term" in str(last.statement)
    assert live == Gate.Live(ranks=RANKS)


def test_the_machines_field_is_declared_once() -> None:
    assert isinstance(Gate.epoch, Nat)
    assert Gate.Live(ranks=RANKS).epoch == 0
