"""The three executors of one table are equal: pure, in place, and `transitions` by the interpreter."""

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sluicegate.statemachines import Machine
from sluicegate.statemachines.bridge import Reference
from sluicegate.statemachines.explore import Exploration
from sluicegate.statemachines.ir import Ir
from sluicegate.statemachines.operators import OPERATORS

Choices = Callable[[bytes], Any]
BYTES = st.binary(min_size=40, max_size=150)
RUNS = settings(max_examples=100, deadline=None, derandomize=True)


def written(outcome: Any) -> Any:
    """An outcome with the notes of its outputs, which equality leaves out."""
    return outcome, [o.values() for o in outcome.outputs]


@RUNS
@given(data=BYTES)
def test_pure_in_place_and_transitions_go_the_same_way(machine: type[Machine], choices: Choices, data: bytes) -> None:
    live: Any = None
    reference: Any = None
    for snapshot, event in choices(data).run(machine):
        live, reference = live or snapshot.live(), reference or Reference.of_snapshot(snapshot)
        assert live.snapshot().values() == snapshot.values() == reference.snapshot().values()
        after, outcome = machine.step(snapshot, event)
        assert written(live.step(event)) == written(outcome) == written(reference.step(event))
        assert live.snapshot().values() == after.values() == reference.snapshot().values()


def test_every_rule_that_can_be_taken_is_taken_alike_by_all_three(
    protocol_machine: type[Machine], explored: Callable[[type[Machine]], Exploration]
) -> None:
    for snapshot, event in explored(protocol_machine).taken.values():
        live, reference = snapshot.live(), Reference.of_snapshot(snapshot)
        after, outcome = protocol_machine.step(snapshot, event)
        assert written(live.step(event)) == written(outcome) == written(reference.step(event))
        assert live.snapshot().values() == after.values() == reference.snapshot().values()


@RUNS
@given(data=BYTES)
def test_an_outcome_is_what_its_cell_says(machine: type[Machine], choices: Choices, data: bytes) -> None:
    for snapshot, event in choices(data).run(machine):
        after, outcome = machine.step(snapshot, event)
        cell = machine.ir.cell(type(event).__name__, snapshot.state)
        (branch,) = [b for b in cell.all() if b.rule == outcome.rule]
        said = (branch.kind, branch.reason, branch.text, branch.retry)
        assert (outcome.kind, outcome.reason, outcome.text, outcome.retry) == said
        assert after.state == branch.target
        assert [type(o).__name__ for o in outcome.outputs] == [e.output for e in branch.outputs]
        if outcome.kind in ("ignore", "refuse"):
            assert after is snapshot


@RUNS
@given(data=BYTES)
def test_the_pure_step_leaves_its_snapshot_and_event_as_they_were(
    machine: type[Machine], choices: Choices, data: bytes
) -> None:
    for snapshot, event in choices(data).run(machine):
        kept = copy.deepcopy((snapshot.values(), event.values()))
        machine.step(snapshot, event)
        assert (snapshot.values(), event.values()) == kept


@RUNS
@given(data=BYTES)
def test_a_snapshot_is_plain_data(machine: type[Machine], choices: Choices, data: bytes) -> None:
    """It hashes, pickles, compares, and comes back from a live instance (M18)."""
    *_, (snapshot, event) = choices(data).run(machine)
    back = snapshot.live().snapshot()
    again = pickle.loads(pickle.dumps(snapshot))
    for other in (back, again, copy.copy(snapshot), copy.deepcopy(snapshot)):
        assert other == snapshot
        assert hash(other) == hash(snapshot)
        assert other.values() == snapshot.values()
    live = pickle.loads(pickle.dumps(snapshot.live()))
    assert live.snapshot().values() == snapshot.values()
    same = pickle.loads(pickle.dumps(event))
    assert (same, hash(same)) == (event, hash(event))


@RUNS
@given(data=BYTES)
def test_nothing_outside_shares_a_container_with_a_live_instance(
    machine: type[Machine], choices: Choices, data: bytes
) -> None:
    held = [f.name for f in machine.ir.fields if f.type.kind in ("set", "map", "seq")]
    live: Any = None
    for snapshot, event in choices(data).run(machine):
        live = live or snapshot.live()
        outcome = live.step(event)
        outside = {id(c) for value in (snapshot, live.snapshot(), event, *outcome.outputs) for c in containers(value)}
        inside = [getattr(live, name) for name in held]
        assert not any(id(container) in outside for container in inside)
        assert len({id(container) for container in inside}) == len(inside)
        for container in inside:
            nested = container.values() if isinstance(container, dict) else container
            assert all(isinstance(hash(value), int) for value in nested)


def containers(message: Any) -> Iterator[Any]:
    """The mutable containers in a snapshot, an event or an output."""
    return (value for value in message.values() if isinstance(value, (set, dict, list)))


def test_the_machine_of_everything_uses_every_operator(everything: type[Machine]) -> None:
    ir: Ir = everything.ir
    nodes = [
        node
        for cell in ir.cells
        for branch in cell.all()
        for root in (branch.guard, *(u.value for u in branch.updates), *(v for e in branch.outputs for _, v in e.args))
        for node in root.walk()
    ]
    assert {n.op for n in nodes} == OPERATORS.keys() | {"const", "field", "arg"}
    kinds = {t.kind for f in ir.fields for t in (f.type, *f.type.args)}
    assert kinds == {"bool", "nat", "enum", "id", "opt", "set", "map", "seq", "record", "note"}


def test_every_expression_reads_the_state_before_the_step(everything: type[Machine]) -> None:
    live = everything.Live(owner="o", crew=frozenset(), limit=3)
    live.here.add("a")
    live.queue.append("q")
    (told,) = live.swap(epoch=1).outputs
    assert (live.left, live.right, live.here, live.there, live.queue, live.other) == (2, 1, set(), {"a"}, [], ["q"])
    assert (told.left, told.here, told.queue, told.first) == (1, {"a"}, ("q",), "q")
