"""Each property of Training is broken by a table, or by a run, that breaks one rule."""

from __future__ import annotations

from dataclasses import replace

import pytest
from broken_tables import like, over, told, unfenced, unguarded

from sluicegate.spec.checkers import tlc
from sluicegate.spec.checkers.model import Model
from sluicegate.spec.models.training import TRAINING
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.ir import Ir
from sluicegate.statemachines.trainer import Trainer

BY_NAME = {system.name: system for system in TRAINING}
GATE, TRAINER = Gate.ir, Trainer.ir

# What the table does otherwise, which model shows it, and what is broken then.
TABLES: dict[str, tuple[Ir, str, str]] = {
    "the trainer publishes while it trains": (like(TRAINER, "Publish", "TRAINING", "IDLE"), "versions", "T1"),
    "the trainer trains while it publishes": (like(TRAINER, "Train", "PUBLISHING", "IDLE"), "versions", "Versions"),
    "the trainer loads while it trains": (like(TRAINER, "Load", "TRAINING", "IDLE"), "run-dies", "T1"),
    "the trainer rests when one rank has answered": (unguarded(TRAINER, "Trained", "TRAINING"), "ranks", "T1"),
    "the trainer takes a step from an earlier term": (unfenced(TRAINER, "Train"), "run-dies", "T3"),
    "a gate lends what is not drained": (unguarded(GATE, "Lend", "DRAINING"), "lent", "T2"),
    "a lent gate reopens at its deadline": (unguarded(GATE, "Deadline", "DRAINING"), "lent", "T2"),
}  # fmt: skip

# What the run or the trainer's process does otherwise: in the model's own text.
SHELLS: dict[str, tuple[tuple[str, str], str, str]] = {
    "a device is given to a new replica while the trainer may use it": (
        ("/\\ Colocated => AtRest", "/\\ TRUE"), "lent", "T2",
    ),
    "a device is taken back while the trainer may use it": (
        ("SendReturned ==\n  /\\ AtRest", "SendReturned =="), "lent", "T2",
    ),
    "a checkpoint is asked for while a step is under way": (
        ("/\\ Ready /\\ ~run.lost /\\ store.done < MaxSave", "/\\ ~run.lost /\\ store.done < MaxSave"), "saved", "T3",
    ),
    "a save begins by dropping the last checkpoint": (
        (
            "/\\ UNCHANGED <<run, store, node>>\n\nJobs(",
            '/\\ store\' = [store EXCEPT !.saves = IF \\E j \\in trainer\'.jobs : j.ev = "Save" THEN <<>> ELSE @]\n'
            "  /\\ UNCHANGED <<run, node>>\n\nJobs(",
        ),
        "saved-twice", "T3",
    ),
    "a restored run does not know what was in flight": (
        ("!.part = store.saves[j.of].part", "!.part = [store.saves[j.of].part EXCEPT !.pending = {}]"), "saved", "T3",
    ),
    "the number of a version is used again": (
        ("store' = [store EXCEPT !.next = @ + 1]", "store' = store"), "versions", "Versions",
    ),
    "a checkpoint is complete without a rank's part": (("{o.rank : o \\in of} = Member", "TRUE"), "ranks", "T3"),
    "a version is written of ranks that differ": (
        ("Cardinality({o.drawn : o \\in of}) = 1", "TRUE"), "ranks-differ", "Versions",
    ),
    "a gate opens before its version is published": (("!.register = <<t[3]>>", "!.register = @"), "lent", "Serves"),
}  # fmt: skip


def judged(model: Model, broken: str) -> tuple[str, str | None]:
    """The verdict on the property that is to be broken, and on no other."""
    result = tlc.check(replace(model, config=replace(model.config, invariants=(broken,))), timeout=60)
    return result.verdict, result.violated


@pytest.mark.soak
@pytest.mark.parametrize("name", TABLES)
def test_a_broken_table_breaks_its_property(name: str) -> None:
    ir, system, broken = TABLES[name]
    assert judged(over(BY_NAME[system], ir), broken) == ("violated", broken)


@pytest.mark.soak
@pytest.mark.parametrize("name", SHELLS)
def test_a_broken_run_breaks_its_property(name: str) -> None:
    change, system, broken = SHELLS[name]
    assert judged(told(BY_NAME[system], change), broken) == ("violated", broken)
