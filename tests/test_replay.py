"""Counterexamples on the real machines: followed to the end, or stopped where the real code refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import small_gate

from sluicegate import (
    Event,
    Machine,
    Nat,
    Scope,
    State,
    Table,
    always,
    columns,
    go,
    leads_to,
    never,
    row,
)
from sluicegate.cli import main
from sluicegate.replaying.cases import case
from sluicegate.replaying.replay import Replay, ReplayError, replay
from sluicegate.replaying.stage import Stage
from sluicegate.replaying.telling import lines, verdict
from sluicegate.spec.checkers import Config, Model, tla_checker, tlc
from sluicegate.spec.counterexamples import Counterexample, Moment, counterexample, load, of_run, render
from sluicegate.spec.emitter import emit
from sluicegate.spec.models import MODELS
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.sorts import Mode

ROOT = Path(__file__).resolve().parent.parent


def found(model: Any, name: str = "small", by: Any = tla_checker, **more: Any) -> Counterexample:
    return counterexample(model, by.check(model), name=name, **more)


@pytest.fixture(scope="module")
def installed() -> Counterexample:
    return found(small_gate.model("NeverNew"))


@pytest.fixture(scope="module")
def refused() -> Counterexample:
    return found(small_gate.model("Idle", gate=small_gate.installs_at_once()))


def given(done: Replay) -> list[tuple[str, str]]:
    return [(g.kind, g.outcome.rule) for step in done.steps for g in step.given]


def test_the_real_gate_follows_what_its_own_table_allows(installed: Counterexample) -> None:
    done = replay(installed)
    assert done.follows
    assert given(done) == [
        ("follows", rule) for rule in ("seals", "drains_2", "quiets", "installs", "proves_2")
    ]  # fmt: skip
    assert verdict(done) == "the real machines follow all 5 steps"
    assert [g.told for step in done.steps for g in step.given] == [(), ("quiesce",), (), ("commit 1",), ()]


def test_several_ranks_answer_one_by_one() -> None:
    done = replay(found(small_gate.model("NeverNew", ranks=2)))
    assert done.follows
    assert [rule for _, rule in given(done)].count("quiets") == 2


@pytest.mark.parametrize(
    ("gate", "property", "said"),
    [
        (small_gate.installs_at_once, "Idle", "r1 REFUSES in DRAINING: not_drained: not drained: leases or ranks"),
        (small_gate.admits_while_draining, "NeverOrphaned", "r1 REFUSES in DRAINING: closed: the gate is closed"),
        (small_gate.forgets_the_last_proof, "NeverNew", "verified: {k1}, where the model has {}"),
    ],
)
def test_a_broken_tables_counterexample_shows_the_first_step_that_the_real_code_does_not_take(
    gate: Callable[[], Any], property: str, said: str
) -> None:
    example = found(small_gate.model(property, gate=gate()))
    done = replay(example)
    assert not done.follows
    assert [kind for kind, _ in given(done)][:-1] == ["follows"] * (len(given(done)) - 1)
    assert done.steps[-1].number == len(example.steps) - 1
    assert any(line.strip().startswith(said) for line in lines(done))


def test_what_comes_after_the_first_refusal_is_not_tried(refused: Counterexample) -> None:
    more = replace(refused, steps=(*refused.steps, *refused.steps[-2:]))
    done = replay(more)
    assert len(done.steps) == len(refused.steps)
    assert verdict(done).endswith("; the 2 after it were not tried")


# -- files that were altered -----------------------------------------------------------------------


class Turn(Machine):
    """Goes round; asked for never to come to its end, and to come there where it went."""

    LEFT, RIGHT, END = State(), State(), State()
    turns = Nat(0)

    class Go(Event): ...

    class Stop(Event): ...

    table = Table(
        columns(LEFT, RIGHT, END),
        row(Go, go(RIGHT).do(turns.set(turns + 1)), LEFT, END),
        row(Stop, END, END, END),
    )
    few = always(turns < 2)
    lefty = never(RIGHT)
    begins = always(turns > 0)
    ends = leads_to(RIGHT, END)
    scope = Scope(nat=2)


def turned(*events: Event, property: str = "few") -> Counterexample:
    return of_run(Turn, Turn.initial(), events, property, "as it was declared")


GO, STOP = Turn.Go(), Turn.Stop()
FEW = turned(GO, GO, GO)


def with_step(number: int, **change: Any) -> Counterexample:
    steps = [replace(step, **change) if n == number else step for n, step in enumerate(FEW.steps)]
    return replace(FEW, steps=tuple(steps))


@pytest.mark.parametrize(
    ("altered", "said"),
    [
        (
            replace(FEW, steps=tuple(replace(step, events=()) for step in FEW.steps)),
            "no event of Turn explains what became of Turn, at step 1 of 3; the 2 after it were not tried",
        ),
        (
            with_step(3, events=(), state={"m": '[state |-> "END", turns |-> 2]'}),
            "no event of Turn explains what became of Turn, at step 3 of 3",
        ),
        (replace(FEW, steps=FEW.steps[:1]), "the real machine is born so, and few holds nevertheless"),
        (
            replace(FEW, steps=(FEW.steps[0], replace(FEW.steps[0], action="Stutter"))),
            "no real machine was given an event: nothing is shown of what they do",
        ),
        (
            with_step(0, state={"m": '[state |-> "LEFT", turns |-> 1]'}),
            "no Turn is born as the first step has it, at step 0 of 3; the 3 after it were not tried",
        ),
        (replace(FEW, steps=FEW.steps[:2]), "the real machines follow its one step, and few holds nevertheless"),
        (replace(FEW, property="ends"), "the real machines follow all 3 steps"),
        (
            replace(turned(GO, STOP, property="ends"), loop=2),
            "the real machines follow all 2 steps, and then stand still, and ends holds nevertheless",
        ),
    ],
)
def test_what_no_event_explains_and_what_breaks_nothing_is_not_followed(altered: Counterexample, said: str) -> None:
    done = replay(altered, (Turn,))
    assert verdict(done) == said
    assert done.follows is (altered.property == "ends" and altered.loop is None)
    assert list(lines(done))[-1] == said


@pytest.mark.parametrize(
    ("example", "said"),
    [
        (FEW, "the real machines follow all 3 steps"),
        (turned(GO, property="lefty"), "the real machines follow its one step"),
        (turned(property="begins"), "the real machine is born so"),
        (replace(turned(GO, property="ends"), loop=1), "the real machines follow its one step, and then stand still"),
    ],
)
def test_a_machine_alone_is_followed_where_its_property_is_broken(example: Counterexample, said: str) -> None:
    done = replay(example, (Turn,))
    assert (done.follows, verdict(done)) == (True, said)
    run_case(case(example, (Turn,)))


def test_a_property_that_nothing_claims_is_refused(installed: Counterexample) -> None:
    with pytest.raises(ReplayError, match="Turn has no property nonsense, it has few, lefty, begins, ends"):
        replay(replace(FEW, property="nonsense"), (Turn,))
    own = next(m for m in MODELS if m.violates)
    with pytest.raises(ReplayError, match=f"{own.name} has no property nonsense, it has {own.violates}"):
        replay(replace(installed, model=own.name, module=own.module, property="nonsense"))


def test_a_step_at_which_a_machine_alone_is_another_is_refused() -> None:
    with pytest.raises(ReplayError, match="step 2 of Turn is no Turn"):
        replay(with_step(2, state={"m": "1"}), (Turn,))


AROUND = """---- MODULE Around ----
EXTENDS Turn
VARIABLES turn, done
vars == <<turn, done>>
Init == turn = TurnInit /\\ done = 0
Pay == done = 0 /\\ done' = 1 /\\ UNCHANGED turn
Next == Pay \\/ (done = 1 /\\ turn' = TurnGo(turn) /\\ done' = 0)
Spec == Init /\\ [][Next]_vars
Left == turn.state = "LEFT" /\\ (done = 1 => turn.turns < 2)
====
"""


@pytest.mark.parametrize(
    ("config", "title"),
    [
        (Config(invariants=("Left",)), "2. Next: Go() [turn, done]"),
        (Config(invariants=("Left",), spec="Spec"), "2. Go() [turn, done]"),
    ],
)
def test_an_action_without_a_name_is_saved_read_and_replayed(config: Config, title: str, tmp_path: Path) -> None:
    model = Model("Around", {"Turn": emit(Turn.ir), "Around": AROUND}, config)
    example = counterexample(model, tla_checker.check(model), machines=(Turn,))
    example.save(tmp_path / "one.json")
    done = replay(load(tmp_path / "one.json"), (Turn,))
    assert done.follows
    assert title in [line.strip() for line in lines(done)]
    unnamed = replace(example, steps=tuple(replace(step, action="", events=()) for step in example.steps))
    assert "2. a step [turn, done]" in render(unnamed, "text")
    assert "2. a step" in render(unnamed, "mermaid")


def test_a_machine_that_is_gone_without_an_event_is_not_followed(installed: Counterexample) -> None:
    last = installed.steps[-1]
    done = replay(replace(installed, steps=(*installed.steps[:-1], replace(last, events=(), state={"msgs": "{}"}))))
    assert verdict(done) == "no event takes r1 away, at step 5 of 5"
    assert not done.follows


# The first key state of each module: what their actions are to the machines is not only claimed.
FIRST = {m.module: m for m in reversed(MODELS) if m.violates and m.profile == "small"}


@pytest.mark.slow
@pytest.mark.parametrize("module", FIRST)
def test_the_real_machines_follow_a_key_state_of_each_model(module: str) -> None:
    system = FIRST[module]
    example = found(system.model(), system.name, tlc, machines=system.machines)
    done = replay(example, system.machines)
    assert done.follows, "\n".join(lines(done))
    assert any(step.given for step in done.steps)
    assert [line for step in done.steps for line in step.remarks if "no event of" in line] == []


# -- the stage -------------------------------------------------------------------------------------


def test_engine_and_clock_answer_through_the_workers_own_shell() -> None:
    with Stage() as stage:
        gate = stage.machine(Gate, "r1", "OPEN", ranks=frozenset({"k1"}), version=0, resident=True)
        gate.step(Gate.Admit(lease="a", pin=None))
        gate.step(Gate.Seal(term=0, epoch=1, mode=Mode.KEEP, window=0))
        assert gate.state == "SEALED"  # no time passes, although the window is empty
        gate.step(Gate.Drain(term=0, epoch=1))
        assert gate.told() == ["freeze 1"]
        gate.step(Gate.Frozen(lease="a", epoch=1))
        assert gate.told() == ["quiesce"]
        assert gate.step(Gate.Deadline(epoch=1, timer=7)).kind == "ignore"
        assert gate.step(Gate.Deadline(epoch=1, timer=0)).rule == "expires_draining"
        assert (gate.state, gate.told()) == ("REOPENED", ["continue 1"])
        # The gate's timer began anew: what stays suspended is orphaned, and the shell tells leases so.
        assert gate.step(Gate.Deadline(epoch=1, timer=0)).rule == "expires_reopened"
        assert gate.orphaned == {"a"}
        assert gate.told() == ["lose track of a"]


def test_a_failed_install_goes_through_the_workers_own_shell() -> None:
    with Stage() as stage:
        gate = stage.machine(
            Gate,
            "r1",
            "DRAINING",
            ranks=frozenset({"k1"}),
            epoch=1,
            quiet=frozenset({"k1"}),
            suspended=frozenset({"a"}),
        )
        gate.step(Gate.Install(term=0, epoch=1, version=1, digests={"k1": "one"}))
        assert gate.told() == ["commit 1"]
        assert gate.step(Gate.InstallFailed(epoch=1, rank="k1", why="scripted")).rule == "fails"
        assert (gate.state, gate.told()) == ("POISONED", ["abort a"])


def test_a_machine_that_is_put_again_is_another_life() -> None:
    with Stage() as stage:
        first = stage.machine(Gate, "r1", "POISONED", ranks=frozenset({"k1"}))
        second = stage.machine(Gate, "r1", ranks=frozenset({"k1"}))
        assert (first.state, second.state) == ("POISONED", "SEALED")


# -- what cannot be replayed -----------------------------------------------------------------------


def test_states_without_a_machine_are_refused() -> None:
    with pytest.raises(ReplayError, match="no machine in its states"):
        replay(Counterexample("m", "M", {}, "P", "", "TLC", (Moment("Init", {"x": "1"}),)))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"event": "Sael"}, "Gate has no event Sael"),
        ({"machine": "Gata"}, "there is no machine Gata"),
        ({"arguments": {"epoch": 1}}, "takes epoch, mode, term, window"),
        ({"path": "node.r9.gate"}, "there is no machine at node.r9.gate"),
    ],
)
def test_an_event_that_no_machine_has_is_named(installed: Counterexample, change: dict[str, Any], said: str) -> None:
    step = installed.steps[1]
    wrong = replace(step, events=(replace(step.events[0], **change),))
    with pytest.raises(ReplayError, match="step 1 of small: ") as caught:
        replay(replace(installed, steps=(installed.steps[0], wrong, *installed.steps[2:])))
    assert said in str(caught.value)


# -- pytest cases ----------------------------------------------------------------------------------


def run_case(text: str) -> None:
    names: dict[str, Any] = {"__name__": "case"}
    exec(compile(text, "case.py", "exec"), names)
    (test,) = (value for name, value in names.items() if name.startswith("test_"))
    test()


def test_a_saved_case_is_green_and_fails_when_the_code_does_something_else(
    installed: Counterexample, refused: Counterexample
) -> None:
    run_case(case(installed))
    text = case(refused)
    run_case(text)
    assert "the real Gate of r1 refuses step 4 of 4" in text
    assert '    assert r1.state == "DRAINING"  # the model has INSTALLING\n' in text
    with pytest.raises(AssertionError):
        run_case(text.replace('("refuse", "not_drained")', '("refuse", "busy")'))
    with pytest.raises(AssertionError):
        run_case(text.replace('r1.state == "DRAINING"', 'r1.state == "INSTALLING"'))


def test_m20_text_of_a_model_ends_neither_a_comment_nor_a_docstring(refused: Counterexample) -> None:
    text = case(replace(refused, model='a """\nimport os', property="P\\", meaning='"""; x = 1 \n# "'))
    run_case(text)
    assert "import os" not in text.splitlines()


# -- the commands ----------------------------------------------------------------------------------

TURNSTILE = '''
from sluicegate import Event, Machine, Nat, Refuse, Scope, State, Table, columns, go, never, row


class Turnstile(Machine):
    """Lets one person through per coin, and counts backwards."""

    LOCKED, UNLOCKED = State(), State()
    coins = Nat(0)
    locked = Refuse("pay first")
    free_ride = never(UNLOCKED & (coins == 0))

    class Coin(Event): ...

    class Push(Event): ...

    table = Table(
        columns(LOCKED, UNLOCKED),
        row(Coin, go(UNLOCKED).do(coins.set(coins - 1)), UNLOCKED),
        row(Push, locked, LOCKED),
    )
    scope = Scope(nat=1)
'''


def test_check_saves_and_replay_runs_a_counterexample_of_ones_own_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "turnstile_broken.py").write_text(TURNSTILE)
    words = [
        "check",
        "turnstile_broken:Turnstile",
        "--checker",
        "tla-checker",
        "--save",
        "found",
        "--format",
        "mermaid",
    ]
    assert main(words) == 1
    said = capsys.readouterr().out
    assert "sequenceDiagram" in said
    assert "saved found/Turnstile-free_ride.json" in said
    assert "saved found/test_found_turnstile_free_ride.py" in said
    run_case((tmp_path / "found" / "test_found_turnstile_free_ride.py").read_text())
    assert main(["replay", "found/Turnstile-free_ride.json", "--pytest", "again.py"]) == 0
    assert "the real machines follow its one step" in capsys.readouterr().out
    assert (tmp_path / "again.py").read_text() == (tmp_path / "found" / "test_found_turnstile_free_ride.py").read_text()
    assert main([*words[:5], "turnstile_broken.py/found"]) == 2
    assert "cannot write to turnstile_broken.py/found" in capsys.readouterr().err


def test_an_event_that_leaves_its_machine_as_it_was_is_told_and_replayed_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    words = ["check", "examples.lock", "--model", "not-fenced", "--checker", "tla-checker", "--save", str(tmp_path)]
    assert main(words) == 0
    assert "5. Write(token=1?) [last]" in capsys.readouterr().out
    assert main(["replay", str(tmp_path / "not-fenced-NoneOverwritten.json")]) == 0
    assert "the real machines follow all 5 steps" in capsys.readouterr().out


def test_replay_ends_with_its_verdict(
    refused: Counterexample, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused.save(tmp_path / "one.json")
    assert main(["replay", str(tmp_path / "one.json")]) == 1
    assert "the real Gate of r1 refuses step 4 of 4" in capsys.readouterr().out
    (tmp_path / "one.json").write_text(json.dumps({**refused.as_json(), "machines": ["nowhere_at_all:It"]}))
    assert main(["replay", str(tmp_path / "one.json")]) == 2
    assert "there is no module nowhere_at_all" in capsys.readouterr().err
    assert main(["replay", str(tmp_path / "missing.json")]) == 2
    assert "No such file" in capsys.readouterr().err
