"""Each property of Runs is broken by a table, or by a run, that breaks one rule."""

from __future__ import annotations

from dataclasses import replace

import pytest
from broken_tables import over, told

from sluicegate.spec.checkers import tlc
from sluicegate.spec.checkers.model import Model
from sluicegate.spec.models.runs import RUNS
from sluicegate.spec.mutants.tables import mutants
from sluicegate.statemachines.production import Production
from sluicegate.statemachines.run import Run

BY_NAME = {system.name: system for system in RUNS}
MUTANTS = {m.name: m.ir for machine in (Run, Production) for m in mutants(machine.ir)}

# Which rule of a table is broken, which model shows it, and what is broken then.
TABLES: dict[str, tuple[str, str]] = {
    "Run.Gathered.gathers: guard without colocated": ("run-trainer-lost", "Devices"),
    "Production.Rewind.rewinds: without claimed := ∅": ("run-trainer-lost", "GroupsOnce"),
    "Production.Trained.trains: without claimed := ∅": ("run-lent", "GroupsOnce"),
}

# What the run does otherwise: in the model's own text.
SHELLS: dict[str, tuple[tuple[str, str], str, str]] = {
    "a checkpoint does not record what is ready": (
        ("again |-> InFlight, gone", "again |-> prod.again \\cup prod.in_flight, gone"), "run-died", "Checkpoints",
    ),
    "a trainer that goes back does not know what was trained since": (
        ("Lacking(save) == save.again \\cup {g \\in Groups : save.next <= g /\\ g < prod.next_group}",
         "Lacking(save) == save.again"), "run-trainer-lost", "GroupsOnce",
    ),
    "the trainer begins on devices that were not lent": (
        ("!.gate = \"lent\"]", "!.gate = @]"), "run-lent", "Devices",
    ),
    "a run tells of its return before it is made": (
        ("does.at = \"done\"\n  /\\ Hears(RunSynced(run, device.version))",
         "does.at = \"asked\"\n  /\\ Hears(RunSynced(run, run.version[1]))"), "run-lent", "Devices",
    ),
    "a run that died begins with other groups than its checkpoint has": (
        ("ProductionRestore(prod, At(n).next, At(n).again)", "ProductionRestore(prod, At(n).next, {})"),
        "run-died", "GroupsOnce",
    ),
    "a checkpoint is told before it is durable": (
        ("run.state = \"SAVING\" /\\ does.at = \"done\"", "run.state = \"SAVING\""), "run-trainer-lost", "Saves",
    ),
    "weights are told to be published that are not": (
        ("run.state = \"PUBLISHING\" /\\ does.at = \"done\"\n  /\\ Hears(RunPublished(run, does.version))",
         "run.state = \"PUBLISHING\"\n  /\\ Hears(RunPublished(run, disk.next))"), "run-trainer-lost", "Serves",
    ),
    "a step begins before it has its groups": (
        ("run.state = \"PRODUCING\" /\\ Cardinality(prod.claimed) = Batch", "run.state = \"PRODUCING\""),
        "run-batch", "Steps",
    ),
    "other weights are published than were trained": (
        ("Numbered(trainer.weights, Len(disk.saves))", "Numbered({}, Len(disk.saves))"), "run-trainer-lost", "Fresh",
    ),
}  # fmt: skip


def judged(model: Model, broken: str) -> tuple[str, str | None]:
    """The verdict on the property that is to be broken, and on no other."""
    result = tlc.check(replace(model, config=replace(model.config, invariants=(broken,))), timeout=60)
    return result.verdict, result.violated


@pytest.mark.soak
@pytest.mark.parametrize("name", TABLES)
def test_a_broken_table_breaks_its_property(name: str) -> None:
    system, broken = TABLES[name]
    assert judged(over(BY_NAME[system], MUTANTS[name]), broken) == ("violated", broken)


@pytest.mark.soak
@pytest.mark.parametrize("name", SHELLS)
def test_a_broken_run_breaks_its_property(name: str) -> None:
    change, system, broken = SHELLS[name]
    assert judged(told(BY_NAME[system], change), broken) == ("violated", broken)
