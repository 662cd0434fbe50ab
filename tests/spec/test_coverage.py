"""Which rules a model takes: said by the run itself, once for each rule."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sluicegate.cli import main
from sluicegate.spec import coverage as covering
from sluicegate.spec.checkers import Config
from sluicegate.spec.coverage import NotCovered, coverage, instrumented, taken
from sluicegate.spec.emitter import emit
from sluicegate.spec.models import SystemModel
from sluicegate.statemachines.gate import Gate

DOORS = """---- MODULE Doors ----
EXTENDS Turnstile, Naturals, Sequences
CONSTANT Most
VARIABLE door
Init == door = TurnstileInit
Coin == \\E t \\in {TurnstileCoin_step(door)} : t # <<>> /\\ t[1].coins <= Most /\\ door' = t[1]
Push == door.state \\in {PUSHED} /\\ \\E t \\in {TurnstilePush_step(door)} : t # <<>> /\\ door' = t[1]
Next == Coin \\/ Push
Few == door.coins <= Most
AsksOnly == TurnstilePush_acts(door) \\in BOOLEAN
====
"""


@pytest.fixture
def doors(tmp_path: Path, turnstile):
    def make(pushed: str, *invariants: str) -> SystemModel:
        (tmp_path / "Doors.tla").write_text(DOORS.replace("PUSHED", pushed))
        config = Config(constants={"Most": "2"}, invariants=invariants)
        return SystemModel("doors", "a turnstile", "Doors", config, folder=tmp_path, machines=(turnstile,))

    return make


def test_rules_that_a_model_takes_are_told_and_those_it_does_not(doors):
    (table,) = coverage([doors('"UNLOCKED"', "Few")])
    assert table.acting == ("Turnstile.Coin.pays", "Turnstile.Push.to_locked")
    assert table.idle == ("Turnstile.Coin.ignore", "Turnstile.Push.locked")
    assert table.missing == []
    assert table.taken == {"Turnstile.Coin.pays", "Turnstile.Coin.ignore", "Turnstile.Push.to_locked"}


def test_asking_whether_a_rule_applies_does_not_take_it(doors):
    (table,) = coverage([doors('"LOCKED"', "AsksOnly")])
    assert table.missing == ["Turnstile.Push.to_locked"]
    assert table.taken == {"Turnstile.Coin.pays", "Turnstile.Coin.ignore", "Turnstile.Push.locked"}
    (trouble,) = table.troubles()
    assert trouble.startswith("Turnstile.Push.to_locked: no model of the whole takes it")


def test_a_reason_for_what_is_taken_fails(doors, monkeypatch):
    (table,) = coverage([doors('"UNLOCKED"', "Few")])
    monkeypatch.setattr(covering, "ALONE", {"Turnstile.Coin.pays": "nobody has coins"})
    (trouble,) = table.troubles()
    assert trouble.startswith("Turnstile.Coin.pays: is said never to be taken")


def test_a_rule_with_a_reason_must_be_taken_by_the_contract_of_its_steps(doors, monkeypatch):
    monkeypatch.setattr(covering, "ALONE", {"Turnstile": "nobody comes"})
    (table,) = coverage([doors('"LOCKED"', "AsksOnly")])
    (trouble,) = table.troubles()
    assert trouble == "Turnstile.Push.to_locked: no model takes it, not even the contract of its steps"
    monkeypatch.setattr(covering, "OF_STEPS", frozenset({"doors"}))
    (table,) = coverage([doors('"UNLOCKED"', "Few")])
    assert (table.taken, list(table.troubles())) == (set(), [])


def test_a_model_that_cannot_be_run_to_its_end_covers_nothing(doors, turnstile):
    system = doors('"UNLOCKED"', "Few")
    broken = replace(system.model(), config=replace(system.config, constants={"Most": "3"}, invariants=("Nowhere",)))
    with pytest.raises(NotCovered, match="Doors: error"):
        taken(broken, [turnstile.ir])


def test_only_events_are_redefined():
    text, names = instrumented(Gate.ir, 1000)
    assert len(names) == len(set(names.values()))
    ours = set(emit(Gate.ir).splitlines())
    new = [line for line in text.splitlines() if line not in ours and "Took(" not in line]
    assert all(line.startswith(("EXTENDS", "ASSUME", "Gate")) for line in new), new


def test_models_that_there_are_not_are_a_wrong_use(capsys):
    assert main(["check", "--coverage", "--model", "nothing"]) == 2
    assert "no model nothing; there are swap" in capsys.readouterr().err
