"""What the operators of a generated module must give, as claims that a checker can judge.

A claim is TLA+ text over constant values: what the compiled step gave is written beside the operator.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sluicegate.spec.checkers.model import Config, Model
from sluicegate.spec.checkers.tla_values import function, show
from sluicegate.spec.emitter import emit
from sluicegate.spec.graph import plain
from sluicegate.statemachines.explore import explore


def record(ir: Any, snapshot: Any) -> str:
    pairs = [(f.name, plain(getattr(snapshot, f.name), f.type)) for f in ir.fields if f.type.kind != "note"]
    return show(function([("state", snapshot.state), *pairs]))


def outputs(ir: Any, outcome: Any) -> str:
    told = []
    for value in outcome.outputs:
        declared = ir.output(type(value).__name__)
        fields = [(f.name, plain(getattr(value, f.name), f.type)) for f in declared.fields if f.type.kind != "note"]
        told.append(function([("out", declared.name), *fields]))
    return show(tuple(told))


def facts(machine: Any) -> Iterator[str]:
    """What must hold for the first time that each rule of each event is taken in each state."""
    ir = machine.ir
    for (name, _, rule), (before, event) in explore(machine).taken.items():
        declared = ir.event(name)
        after, outcome = machine.step(before, event)
        given = [show(plain(getattr(event, f.name), f.type)) for f in declared.fields if f.type.kind != "note"]
        arguments = f"({', '.join([record(ir, before), *given])})"
        operator = f"{ir.name}{name}"
        acts = after is not before or outcome.outputs
        step = f"<<{record(ir, after)}, {outputs(ir, outcome)}>>" if acts else "<<>>"
        yield f"{operator}{arguments} = {record(ir, after)}"
        yield f'{operator}_rule{arguments} = "{rule}"'
        yield f"{operator}_out{arguments} = {outputs(ir, outcome)}"
        yield f"{operator}_refused{arguments} = {show(outcome.refused)}"
        if outcome.kind in ("go", "stay"):
            yield f"{operator}_step{arguments} = {step}"
        else:
            yield f"{operator}_step{arguments} = <<>> /\\ ~{operator}_acts{arguments}"


def model(ir: Any, claims: list[str]) -> Model:
    """One invariant for each claim, and a single state."""
    lines = [f"Claim{n} == x = 0 => ({claim})" for n, claim in enumerate(claims)]
    text = "\n".join(
        [
            "---- MODULE Claims ----",
            f"EXTENDS {ir.name}, Naturals, Sequences, FiniteSets, TLC",
            "VARIABLE x",
            "Init == x = 0",
            "Next == UNCHANGED x",
            *lines,
            "====",
        ]
    )
    names = tuple(f"Claim{n}" for n in range(len(claims)))
    return Model("Claims", {"Claims": text, ir.name: emit(ir)}, Config(invariants=names))
