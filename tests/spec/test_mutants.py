"""Rules broken one at a time: made of the whole table, judged on the models of the whole, told as they are."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import replace

import pytest
import small_gate

from sluicegate.cli import main
from sluicegate.spec.checkers import tlc
from sluicegate.spec.emitter import emit, files
from sluicegate.spec.models import MODELS, SPEC
from sluicegate.spec.mutants import report
from sluicegate.spec.mutants.judging import Bench, Verdict
from sluicegate.spec.mutants.ledger import Ledger
from sluicegate.spec.mutants.report import Report
from sluicegate.spec.mutants.rules import RULES, RuleMutant, TextMissing
from sluicegate.spec.mutants.tables import Reached, TableMutant, mutants
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.lease import Lease
from sluicegate.statemachines.machines import MACHINES
from sluicegate.statemachines.replica import Replica
from sluicegate.statemachines.session import Session
from sluicegate.statemachines.sync import Sync
from sluicegate.statemachines.trainer import Trainer

OF_GATE = {m.name: m for m in mutants(Gate.ir)}

BROKEN = (
    "Gate.Install.installs: guard without quiet = ranks",
    "Gate.Reopen.reopens: guard without verified = ranks",
    "Gate.Seal.seals: without quiet := ∅",
)
"""Rules that must be caught, whatever else the models are changed to."""


def test_everything_of_a_table_is_dropped_once(small):
    turnstile, numbers = small[0], small[1]
    assert [m.name for m in mutants(turnstile.ir)] == [
        "Turnstile.Coin.pays: without coins := coins + 1",
        "Turnstile.Coin.pays: without the move to UNLOCKED",
        "Turnstile.Push.to_locked: without the move to LOCKED",
    ]
    assert [m.name for m in mutants(numbers.ir) if ".Lift" in m.name] == [
        "Numbers.Lift: without fence control_stale, epoch < epoch",
        "Numbers.Lift: without fence control_unknown, (epoch + 1) < epoch",
        "Numbers.Lift.lifts: guard without (held is some) or (mode ≠ mode)",
        "Numbers.Lift.lifts: without epoch := max(epoch, (held or else 0))",
        "Numbers.Lift.lifts: without mode := mode",
        "Numbers.Lift.lifts: without output Told",
        "Numbers.Lift.lifts: without the move to HIGH",
    ]


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.__name__)
def test_a_mutant_differs_from_its_table_in_one_event(machine):
    made = mutants(machine.ir)
    assert Counter(m.name for m in made).most_common(1)[0][1] == 1
    for mutant in made:
        changed = {a.event for a, b in zip(machine.ir.cells, mutant.ir.cells, strict=True) if a != b}
        assert changed == {mutant.event}, mutant.name


def test_a_fence_is_dropped_in_every_state():
    mutant = OF_GATE["Gate.Install: without fence control_stale_term, term < term"]
    assert all(len(c.fences) == 4 for c in Gate.ir.cells if c.event == "Install")
    assert all(len(c.fences) == 3 for c in mutant.ir.cells if c.event == "Install")


def test_notes_are_never_compared_and_are_not_dropped(small):
    assert not [m.name for machine in small for m in mutants(machine.ir) if "without why" in m.name]


def test_a_weaker_guard_is_asked_first():
    mutant = OF_GATE["Gate.Install.installs: guard without quiet = ranks"]
    cell = mutant.ir.cell("Install", "DRAINING")
    assert cell.branches[0].rule == "installs"
    assert emit(mutant.ir) != emit(Gate.ir)
    before = Gate.initial(ranks=frozenset({"a"})).replace(state="DRAINING")
    install = Gate.Install(term=0, epoch=0, version=1, digests={"a": "d"})
    assert Gate.step(before, install)[1].reason == "not_drained"
    after, _ = _stepped(mutant, Gate, before, install)
    assert after.state == "INSTALLING"


def _stepped(mutant: TableMutant, machine, before, event):
    from sluicegate.spec.mutants.tables import _compiled

    return _compiled(mutant.ir, machine).step(before, event)


def test_what_cannot_be_told_from_the_table_is_known_by_its_steps():
    reached = Reached(Session)
    found = {m.name: reached.difference(m) for m in mutants(Session.ir) if m.event in ("Finish", "Take")}
    assert set(found.values()) == {"steps", "words"}
    assert found["Session.Take.takes_again_ignore: guard without consumer = (some consumer)"] == "words"
    same = TableMutant("the table itself", "Session", "Finish", Session.ir)
    assert reached.difference(same) == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gate", "system", "property"),
    [
        (OF_GATE[BROKEN[0]].ir, "swap", "G2"),
        (OF_GATE[BROKEN[1]].ir, "swap", "G3"),
        (OF_GATE[BROKEN[2]].ir, "keep", "G2"),
        (small_gate.admits_while_draining(), "swap", "G6"),
    ],
    ids=["installs without quiet", "reopens before verified", "seal keeps quiet", "admits while draining"],
)
def test_a_broken_rule_of_the_gate_is_caught_by_what_the_device_really_did(gate, system, property):
    base = next(m for m in MODELS if m.name == system).model()
    result = tlc.check(replace(base, modules={**base.modules, "Gate": emit(gate)}))
    assert (result.verdict, result.violated) == ("violated", property), result
    assert result.trace[-1].action


@pytest.mark.slow
def test_a_mutant_meets_the_contract_of_its_steps_first(tmp_path):
    ledger = Ledger(tmp_path / "verdicts.jsonl")
    verdict = Bench(ledger, threading.Event()).judge(OF_GATE[BROKEN[0]])
    assert verdict.fate == "caught", verdict
    assert verdict.on.startswith("steps-")
    assert verdict.steps == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("machine", "name", "system", "property"),
    [
        (Gate, "Gate.Renew.renews: without window := window", "steps-timers", "EveryStep"),
        (Sync, "Sync.Closed.closes_old_2: without output Report", "steps-sync", "EveryStep"),
        (Session, "Session.Lose.loses_binding: without output SettleNotSent", "steps-session", "Obeys"),
        (Lease, "Lease.Gone.never_sent: without output Receipt", "steps-lease", "EveryStep"),
        (Trainer, "Trainer.Save: without fence control_stale_term, term < term", "steps-trainer", "EveryStep"),
        (Replica, "Replica.Missed.misses_serving_2: without output Replace", "steps-replica", "EveryStep"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_no_run_shows_is_held_to_the_contract_step_by_step(machine, name, system, property):
    mutant = next(m for m in mutants(machine.ir) if m.name == name)
    base = next(m for m in MODELS if m.name == system).model()
    result = tlc.check(replace(base, modules={**base.modules, machine.__name__: emit(mutant.ir)}))
    assert (result.verdict, result.violated) == ("violated", property), result


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_of_the_gate_is_drift(name):
    committed = (SPEC / "generated" / "Gate.tla").read_text()
    assert files([Gate.ir])["Gate.tla"] == committed
    assert files([OF_GATE[name].ir])["Gate.tla"] != committed


def test_a_verdict_is_asked_for_once_and_a_broken_line_is_passed_over(tmp_path):
    file = tmp_path / "some" / "verdicts.jsonl"
    first = Ledger(file)
    first.put("k", verdict="ok")
    with file.open("a") as out:
        out.write('{"key": "half')
    assert Ledger(file).get("k") == {"key": "k", "verdict": "ok"}
    assert Ledger(file).get("half") is None


def test_a_mutant_of_a_model_whose_text_is_gone_is_told_and_not_judged():
    gone = RuleMutant("nothing", "WeightSync", "no such text", "x")
    with pytest.raises(TextMissing, match=r"nothing: WeightSync\.tla has its text 0 times"):
        gone.text((SPEC / "WeightSync.tla").read_text())


@pytest.mark.parametrize("mutant", RULES, ids=lambda m: m.name)
def test_each_broken_rule_of_a_model_is_in_its_module(mutant):
    text = (SPEC / f"{mutant.module}.tla").read_text()
    assert mutant.text(text) != text


def told(*verdicts: Verdict) -> Report:
    shown = replace(OF_GATE[BROKEN[0]])
    return Report([(replace(shown, name=v.mutant), v) for v in verdicts])


def test_a_survivor_without_an_argument_fails(monkeypatch):
    many = [Verdict(f"m{n}", "caught", "G1", "swap", 5) for n in range(30)]
    monkeypatch.setattr(report, "SURVIVORS", {})
    assert told(*many).troubles() == []
    (trouble,) = told(*many, Verdict("s", "survived")).troubles()
    assert trouble.startswith("s: survives, and nothing is said for it")
    monkeypatch.setattr(report, "SURVIVORS", {"s": "nobody reads it"})
    assert told(*many, Verdict("s", "survived")).troubles() == []


def test_an_argument_for_what_is_caught_fails(monkeypatch):
    monkeypatch.setattr(report, "SURVIVORS", {"m": "nobody reads it", "nowhere": "nobody reads it"})
    found = told(Verdict("m", "caught", "G1", "swap", 5))
    (trouble,) = found.troubles()
    assert trouble.startswith("m: is argued for")
    assert found.unknown() == ["nowhere"]


def test_too_many_survivors_fail_though_each_is_argued_for(monkeypatch):
    alive = [Verdict(f"s{n}", "survived") for n in range(2)]
    many = [Verdict(f"m{n}", "caught", "G1", "swap", 5) for n in range(30)]
    monkeypatch.setattr(report, "SURVIVORS", dict.fromkeys(["s0", "s1"], "nobody reads it"))
    (trouble,) = told(*many, *alive, Verdict("e", "equal")).troubles()
    assert trouble == "2 survivors are 6.2% of what was judged, more than 5%"


def test_the_report_names_survivors_with_arguments_and_how_long_counterexamples_are(monkeypatch):
    monkeypatch.setattr(report, "SURVIVORS", {"s": "nobody reads it"})
    lines = list(told(Verdict("m", "caught", "G1", "swap", 5), Verdict("s", "survived"), Verdict("e", "equal")).lines())
    assert "shortest counterexamples: 5 to 5 steps, median 5; 5 steps 1" in lines
    assert lines[lines.index("  s") + 1].strip() == "nobody reads it"
    assert lines[lines.index("equal in all that is reached:") + 1] == "  e"


def test_mutants_of_what_has_none_are_a_wrong_use(capsys):
    assert main(["check", "--mutants", "--model", "Nothing"]) == 2
    said = capsys.readouterr().err
    assert "no mutants of Nothing; there are those of" in said
    assert "Gate" in said


@pytest.mark.slow
def test_an_interrupt_leaves_verdicts_and_no_java_behind(tmp_path):
    command = [sys.executable, "-m", "sluicegate", "check", "--mutants", "--model", "Session"]
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    run = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        env={**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(SPEC.parent)},
    )  # fmt: skip
    ledger = tmp_path / "runs" / "mutants" / "verdicts.jsonl"
    try:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and not (ledger.is_file() and '"court"' in ledger.read_text()):
            time.sleep(0.2)
        run.send_signal(signal.SIGINT)
        assert run.wait(timeout=30) == 130
    finally:
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
    assert '"court"' in ledger.read_text()
    assert list(temporary.iterdir()) == []
