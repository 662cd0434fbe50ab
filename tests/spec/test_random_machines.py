"""The generated module of a random machine means what its compiled step does, to both checkers."""

import re

import pytest
from emitter_claims import facts, model
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from random_machines import machines

from sluicegate.spec import graph
from sluicegate.spec.checkers import Config, Model, tla_checker, tlc
from sluicegate.spec.checkers.model import Graph
from sluicegate.spec.emitter import emit, emit_alone
from sluicegate.statemachines import Machine
from sluicegate.statemachines.explore import explore

BATCH = 12
"""Machines that TLC explores in one run: starting it takes longer than all of them."""

ITEMS = '{"Item1", "Item2"}'


def several(batch: list[type[Machine]]) -> Model:
    """One model of the stand-alone modules of several machines, whose states have different names.

    The modules' own text is kept, but for the names that all of them define.
    """
    names = [m.ir.name for m in batch]
    bodies = []
    for machine in batch:
        text = emit_alone(machine.ir).split("VARIABLE m\n")[1].split("=" * 80)[0]
        bodies.append(re.sub(r"\b(Init|Next|Changes|Spec|TypeOK)\b", rf"Of{machine.ir.name}\1", text))
    either = {part: " \\/ ".join(f"Of{n}{part}" for n in names) for part in ("Init", "Next")}
    typed = "\n".join(rf"    /\ m.state \in {n}States => Of{n}TypeOK" for n in names)
    text = "\n".join(
        [
            "---- MODULE Several ----",
            f"EXTENDS {', '.join(names)}, Naturals, Sequences, FiniteSets",
            "CONSTANTS Item",
            "VARIABLE m",
            *bodies,
            *(f"{part} == {all_of}" for part, all_of in either.items()),
            f"TypeOK ==\n{typed}",
            "====",
        ]
    )
    config = Config(constants={"Item": ITEMS}, invariants=("TypeOK",))
    return Model("Several", {"Several": text, **{m.ir.name: emit(m.ir) for m in batch}}, config)


def union(graphs: list[Graph]) -> Graph:
    return Graph(
        frozenset().union(*(g.initial for g in graphs)),
        frozenset().union(*(g.states for g in graphs)),
        frozenset().union(*(g.edges for g in graphs)),
    )


def steps(found: Graph) -> set[tuple[object, object]]:
    """The steps without their names, which tla-checker does not tell."""
    return {(a, b) for a, _, b in found.edges}


def agree(batch: list[type[Machine]]) -> None:
    ours = [graph.explore(m) for m in batch]
    theirs = tlc.graph(several(batch))
    difference = graph.differ(union(ours), theirs)
    named = [m for m in batch if m.ir.states[0] in difference or f"{m.ir.name}E" in difference]
    assert difference == "", "\n".join([difference, *(emit(m.ir) for m in named)])
    for machine, found in zip(batch, ours, strict=True):
        other = tla_checker.graph(graph.alone(machine.ir))
        assert other.initial == found.initial, machine.ir
        assert other.states == found.states, machine.ir
        # What the operators give beside the record: rule, outputs, refusal.
        claims = list(facts(machine))
        said = tla_checker.check(model(machine.ir, claims))
        assert said.ok, claims[int(said.violated.removeprefix("Claim"))] if said.violated else said.detail
        assert steps(other) == steps(found), machine.ir


def lively(machine: type[Machine]) -> bool:
    return len(explore(machine).states) > 2


@st.composite
def batches(draw: st.DrawFn) -> list[type[Machine]]:
    return [draw(machines(f"M{i}").filter(lively)) for i in range(BATCH)]


RUNS = settings(
    max_examples=3, deadline=None, derandomize=True, database=None, phases=(Phase.generate,),
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large),
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(300)
@RUNS
@given(batches())
def test_graphs_of_random_machines_are_equal(batch: list[type[Machine]]) -> None:
    agree(batch)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@settings(RUNS, max_examples=60, derandomize=False, phases=(Phase.generate, Phase.shrink))
@given(batches())
def test_graphs_of_many_random_machines_are_equal(batch: list[type[Machine]]) -> None:
    agree(batch)
