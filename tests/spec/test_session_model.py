"""Each property of SessionAffinity is broken by a table, or by a server, that breaks one rule."""

from __future__ import annotations

from dataclasses import replace

import pytest
from broken_tables import forgetting, like, over, silent, told, unguarded

from sluicegate.spec.checkers import tlc
from sluicegate.spec.checkers.model import Model
from sluicegate.spec.models.sessions import SESSIONS
from sluicegate.statemachines.ir import Ir
from sluicegate.statemachines.session import Session

BY_NAME = {system.name: system for system in SESSIONS}
SESSION = Session.ir

# What the table does otherwise, which model shows it, and what is broken then.
TABLES: dict[str, tuple[Ir, str, str]] = {
    "a moved session keeps its binding number": (forgetting(SESSION, "Rebind", "BOUND", "binding"), "evacuated", "S1"),
    "a turn begins in a finished session": (like(SESSION, "BeginTurn", "FINISHED", "BOUND"), "evacuated", "S2"),
    "a session finishes while a turn runs": (like(SESSION, "Finish", "TURN", "BOUND"), "evacuated", "S2"),
    "anyone releases the trace": (unguarded(SESSION, "Release", "TRAINING"), "read-again", "S3"),
    "a session retires while it is read": (like(SESSION, "Retire", "TRAINING", "FINISHED"), "read-again", "S3"),
    "a consumer takes what another reads": (like(SESSION, "Take", "TRAINING", "FINISHED"), "read-again", "S3"),
    "a session retires with its turn": (like(SESSION, "Retire", "TURN", "BOUND"), "evacuated", "S4"),
    "a retired session keeps its trace": (silent(SESSION, "Release", "TRAINING", "FreeTrace"), "read-again", "Freed"),
    "a session moves whatever its policy": (unguarded(SESSION, "Rebind", "BOUND"), "policies", "Policy"),
    "a retiring session does not hear of ends": (like(SESSION, "EndTurn", "RETIRING", "RETIRED"), "retires", "L4"),
}  # fmt: skip

# What a server or a replica does otherwise: in the model's own text.
SHELLS: dict[str, tuple[tuple[str, str], str, str]] = {
    "a replica takes a request that is meant for its former life": (
        (
            'Admitted(@)] : l \\in {k \\in Doing("asked") : Lives(lease[k].at)}',
            '[Admitted(@) EXCEPT !.at = <<@[1], alive[@[1]]>>]] : l \\in Doing("asked")',
        ),
        "recovered", "S1",
    ),
    "a first request is forwarded before its session is bound": (
        ('{k \\in Doing("admitted") : lease[k].number > 0}', 'Doing("admitted")'), "recovered", "S1",
    ),
    "a turn is ended while its request is on its way": (
        ('lease[l].does = "asked" /\\ ~Lives(lease[l].at)', 'lease[l].does = "asked"'), "late-request", "S4",
    ),
    "a consumer that was said to be lost reads on": (
        ('THEN {"asks", "releases"}', 'THEN {"reads"}'), "read-again", "S3",
    ),
}  # fmt: skip

# What is broken where an answer does not wait for the disk.
UNSTORED = {
    "BeginTurn": "S2", "Bound": "S1", "Rebind": "S1", "Finish": "S2", "Take": "S3", "Release": "S3", "Retire": "S2",
    "Expire": "S2",
}  # fmt: skip


def judged(model: Model, broken: str) -> tuple[str, str | None]:
    """The verdict on the property that is to be broken, and on no other."""
    if model.config.invariants:
        model = replace(model, config=replace(model.config, invariants=(broken,)))
    result = tlc.check(model, timeout=60)
    return result.verdict, result.violated


@pytest.mark.soak
@pytest.mark.parametrize("name", TABLES)
def test_a_broken_table_breaks_its_property(name: str) -> None:
    ir, system, broken = TABLES[name]
    assert judged(over(BY_NAME[system], ir), broken) == ("violated", broken)


@pytest.mark.soak
@pytest.mark.parametrize("name", SHELLS)
def test_a_broken_server_or_replica_breaks_its_property(name: str) -> None:
    change, system, broken = SHELLS[name]
    assert judged(told(BY_NAME[system], change), broken) == ("violated", broken)


@pytest.mark.soak
@pytest.mark.parametrize("event", UNSTORED)
def test_an_answer_before_it_is_on_the_disk_breaks_a_property(event: str) -> None:
    broken = UNSTORED[event]
    change = ("IF name \\in Durable THEN", f'IF name \\in Durable \\ {{"{event}"}} THEN')
    assert judged(told(BY_NAME["sessions"], change), broken) == ("violated", broken)
