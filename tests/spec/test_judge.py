"""`sluicegate check` and what it judges by: good is only what every checker found as expected."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from sluicegate.cli import main
from sluicegate.spec.checkers.model import Config
from sluicegate.spec.counterexamples import render
from sluicegate.spec.judge import judge_machine, judge_system
from sluicegate.spec.models import MODELS, SystemModel

GATE_OF_ONE = next(m for m in MODELS if m.name == "published")

ORDER = '''
from sluicegate import Event, Machine, Nat, Refuse, Scope, State, Table, columns, go, ignore, row, stay, choose


class Order(Machine):
    """An order that is paid, then sent."""

    OPEN, PAID, SENT = State(), State(), State()
    paid = Nat(0)
    unpaid = Refuse("pay first")

    class Pay(Event):
        amount: Nat

    class Send(Event): ...

    pays = PAYS
    scope = Scope(nat=2)
    table = Table(columns(OPEN, PAID, SENT), row(Pay, pays, ignore, ignore), row(Send, unpaid, SENT, ignore))
'''


@pytest.fixture
def order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest):
    """Writes a module with the machine Order whose rule `pays` is as given, and gives its name."""

    def write(pays: str) -> str:
        module = f"orders_{request.node.name.split('[')[0]}"
        (tmp_path / f"{module}.py").write_text(ORDER.replace("PAYS", pays))
        return f"{module}:Order"

    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return write


def test_a_machine_of_ones_own_is_checked(order, capsys):
    name = order("go(PAID).when(Pay.amount > 0).do(paid.set(paid + Pay.amount)).orelse(ignore)")
    assert main(["check", name]) == 0
    said = capsys.readouterr().out
    assert "Order" in said
    assert "equal graph" in said
    assert "1 good, 0 failed" in said


def test_overlapping_rules_fail_with_a_witness(order, capsys):
    name = order(
        "choose(go(PAID).when(Pay.amount > 0).do(paid.set(1)), stay().when(Pay.amount > 1).do(paid.set(2)),"
        " orelse=ignore)"
    )
    assert main(["check", name]) == 1
    said = capsys.readouterr().out
    assert "FAILED: nondeterminism: in OPEN, Pay(amount=2) fits two rules: pays (" in said
    assert "if 0 < amount, go to PAID; and pays_2 (" in said
    assert " only: " not in said


def test_a_rule_that_is_never_taken_is_noted(order, capsys):
    name = order("go(PAID).when(Pay.amount > 5).do(paid.set(1)).orelse(ignore)")
    assert main(["check", name]) == 0
    assert "note: rule never taken: within the scope, pays is never taken (Pay in OPEN" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["nowhere_to_be_found:Order", "no_colon", "json:loads"])
def test_what_is_no_machine_is_named(name, capsys):
    assert main(["check", name]) == 2
    assert name.split(":")[0] in capsys.readouterr().err


def test_an_unknown_model_is_told_with_those_there_are(capsys):
    assert main(["check", "--model", "qqq"]) == 2
    said = capsys.readouterr().err
    assert "no model qqq: there are " in said
    assert "swap" in said


def test_a_violation_fails_and_its_trace_names_actions_and_changes():
    wrong = replace(GATE_OF_ONE, violates="", distinct=1)
    row = judge_system(wrong)
    assert row.trouble.endswith("NeverPublishes is violated")
    assert set(row.verdicts.values()) == {"NeverPublishes fails"}
    lines = render(row.examples["NeverPublishes"](), "text").splitlines()
    assert any(re.match(r"\d+\. Record: Recorded\(\) ", line) for line in lines)
    assert "      durable.published: <<0>> -> <<1>>" in lines
    assert '      node.r1.gate.state: "OPEN" -> "SEALED"' in lines


def test_a_key_state_that_is_not_reached_fails():
    waits = replace(
        GATE_OF_ONE, violates="NeverSuspends", config=replace(GATE_OF_ONE.config, invariants=("NeverSuspends",))
    )
    row = judge_system(waits)
    assert "NeverSuspends should fail and does not: the state is not reached" in row.trouble


def test_an_error_is_never_the_expected_violation():
    broken = replace(
        GATE_OF_ONE, violates="Nowhere", config=Config(GATE_OF_ONE.config.constants, invariants=("Nowhere",))
    )
    row = judge_system(broken)
    assert row.trouble == "error: Nowhere names nothing: WeightSync.tla does not define it"


def test_a_count_that_changed_fails_and_says_where_it_stands():
    config = replace(GATE_OF_ONE.config, invariants=("G2",))
    row = judge_system(replace(GATE_OF_ONE, violates="", config=config, distinct=1))
    assert "distinct states where 1 stand with the model" in row.trouble
    assert judge_system(replace(GATE_OF_ONE, violates="", config=config, distinct=row.distinct)).ok


def test_a_small_machine_is_good(turnstile):
    row = judge_machine(turnstile)
    assert row.ok
    assert (row.distinct, row.verdicts) == (7, {"tla-checker": "7", "TLC": "equal graph"})


def test_random_behaviours_find_a_fault_and_show_how_it_comes_about():
    orphaned = next(m for m in MODELS if m.name == "orphaned")
    seeded = replace(orphaned, violates="", profile="simulate", behaviours=200, depth=60)
    row = judge_system(seeded)
    assert row.trouble == "TLC: NeverOrphans is violated"
    assert any(step.action == "Orphan" for step in row.examples["NeverOrphans"]().steps)


def test_random_behaviours_are_told_with_their_number_and_no_count_is_asked_of_them():
    config = replace(GATE_OF_ONE.config, invariants=("G2",))
    row = judge_system(replace(GATE_OF_ONE, config=config, violates="", distinct=0, behaviours=20, depth=30))
    assert row.ok
    assert row.verdicts.keys() == {"TLC"}
    assert row.verdicts["TLC"].startswith("holds: 20 runs, ")


def test_a_model_for_tlc_alone_is_not_given_to_the_other_checker():
    alone = replace(GATE_OF_ONE, tlc_only=True)
    assert judge_system(alone).verdicts.keys() == {"TLC"}
    row = judge_system(alone, checkers=("tla-checker",))
    assert (row.verdicts, row.ok, row.unjudged) == ({}, False, True)
    assert row.trouble.startswith("not judged: TLC alone judges this")


def test_a_run_out_of_time_is_not_proven_and_says_what_to_do():
    full = next(m for m in MODELS if m.name == "swap")
    row = judge_system(full, checkers=("TLC",), timeout=1.5)
    assert row.trouble == "TLC: not proven: stopped at its time limit of 1.5 s; give it more, or smaller bounds"


def test_of_a_model_with_both_each_checker_judges_what_it_can(mixed):
    row = judge_system(mixed)
    assert row.ok
    assert row.verdicts == {"tla-checker": "holds", "TLC": "holds"}
    by = {claim.name: [judged.checker for judged in claim.judged] for claim in row.claims}
    assert by == {"G2": ["tla-checker", "TLC"], "L1": ["TLC"]}


def test_a_property_over_runs_is_not_judged_where_its_checker_is_not_asked(mixed):
    row = judge_system(mixed, checkers=("tla-checker",))
    assert (row.verdicts, row.ok, row.unjudged) == ({"tla-checker": "holds"}, False, True)
    assert row.trouble.startswith("L1 not judged: TLC alone judges this")


def test_a_property_over_runs_that_must_fail_is_asked_of_its_checker(mixed):
    config = replace(mixed.config, invariants=())
    row = judge_system(replace(mixed, violates="L1", config=config))
    assert row.verdicts == {"TLC": "holds"}
    assert "L1 should fail and does not" in row.trouble


def test_a_model_that_must_fail_claims_that_alone(mixed):
    row = judge_system(replace(mixed, violates="L1"))
    assert row.trouble == "error: G2: a run ends where L1 fails; ask it in a model of its own"
    assert row.verdicts == {}


def test_a_property_over_runs_is_not_asked_of_random_behaviours(mixed):
    row = judge_system(replace(mixed, behaviours=5, depth=10))
    assert row.trouble.startswith("error: L1: random behaviours are cut off")


def test_of_somebody_elses_model_both_checkers_look_for_what_must_fail(tmp_path):
    module = "---- MODULE One ----\nEXTENDS Integers\nVARIABLE x\nInit == x = 0\nNext == x < 3 /\\ x' = x + 1\n"
    (tmp_path / "One.tla").write_text(f"{module}Rounds == (-3) \\div 2 = -2\nSmall == x < 3\n====\n")
    one = SystemModel("one", "x", "One", Config(invariants=("Small",)), violates="Small", folder=tmp_path, machines=())
    row = judge_system(one)
    assert row.ok
    assert set(row.verdicts.values()) == {"Small fails, as it must"}
    assert len(row.verdicts) == 2
    # tla-checker divides as no mathematician does.
    row = judge_system(replace(one, violates="Rounds", config=Config(invariants=("Rounds",))))
    assert "Rounds should fail and does not" in row.trouble


def test_a_constraint_is_for_tlc_alone(tmp_path):
    module = "---- MODULE One ----\nEXTENDS Naturals\nVARIABLE x\nInit == x = 0\nNext == x < 3 /\\ x' = x + 1\n"
    (tmp_path / "One.tla").write_text(f"{module}Small == x < 2\nFew == x < 2\n====\n")
    config = Config(invariants=("Small",), constraints=("Few",))
    row = judge_system(SystemModel("one", "x", "One", config, folder=tmp_path, machines=()))
    assert row.verdicts == {"TLC": "Small fails"}


def test_a_constraint_makes_promises_hollow_and_is_refused_beside_them():
    with pytest.raises(ValueError, match="constraint Few with properties Live: a run that a constraint cuts off"):
        Config(properties=("Live",), constraints=("Few",))


@pytest.fixture
def mixed():
    config = replace(GATE_OF_ONE.config, spec="FairSpec", invariants=("G2",), properties=("L1",))
    return replace(GATE_OF_ONE, violates="", config=config)
