"""The operators of the generated modules give what the compiled step gives: record, rule, outputs, refusal."""

from __future__ import annotations

from typing import Any

import pytest
from emitter_claims import facts, model

from sluicegate.spec.checkers import tla_checker, tlc
from sluicegate.spec.emitter.expressions import EmitError, literal
from sluicegate.statemachines.ir import Type
from sluicegate.statemachines.machines import MACHINES


def agree(machine: Any) -> None:
    claims = list(facts(machine))
    assert len(claims) >= 5 * len(machine.ir.events)
    for checker in (tlc, tla_checker):
        result = checker.check(model(machine.ir, claims), timeout=120)
        failed = claims[int(result.violated.removeprefix("Claim"))] if result.violated else ""
        assert result.ok, f"{result.checker}: {result.detail} {failed}"


def test_operators_of_small_machines_give_what_the_step_gives(machine):
    agree(machine)


@pytest.mark.slow
@pytest.mark.parametrize("declared", MACHINES, ids=lambda m: m.__name__)
def test_operators_of_every_declared_machine_give_what_the_step_gives(declared):
    agree(declared)


@pytest.mark.parametrize("checker", [tlc, tla_checker], ids=["TLC", "tla-checker"])
def test_a_wrong_claim_fails(turnstile, checker):
    claims = [*facts(turnstile), 'TurnstilePush_rule([state |-> "LOCKED", coins |-> 0]) = "to_locked"']
    result = checker.check(model(turnstile.ir, claims), timeout=120)
    assert (result.verdict, result.violated) == ("violated", f"Claim{len(claims) - 1}")


@pytest.mark.parametrize("value", ['"', "\n", "a\\b", "\t", "\r", "\u2028", "é"])
def test_a_value_that_not_every_checker_reads_is_refused(value: str) -> None:
    with pytest.raises(EmitError, match="use printable ASCII without quotes and backslashes"):
        literal(Type("enum", "Odd", members=(value,)), value)
