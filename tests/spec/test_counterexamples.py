"""Counterexamples: what a step was, files that come back as they were, texts and charts without gaps."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import small_gate

from sluicegate.spec.checkers import tla_checker, tlc
from sluicegate.spec.checkers.model import CheckResult
from sluicegate.spec.checkers.tla_values import parse
from sluicegate.spec.counterexamples import (
    Counterexample,
    CounterexampleError,
    MachineStep,
    Moment,
    counterexample,
    load,
    of_run,
    render,
)
from sluicegate.spec.counterexamples.actions import ACTIONS, SENDERS
from sluicegate.spec.counterexamples.infer import Pool, steps_of
from sluicegate.spec.models import MODELS, SPEC
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.machines import MACHINES
from sluicegate.statemachines.values import decode

BY_NAME = {machine.__name__: machine for machine in MACHINES}


def found(model: Any) -> Counterexample:
    return counterexample(model, tla_checker.check(model), name="small")


@pytest.fixture(scope="module")
def installed() -> Counterexample:
    return found(small_gate.model("NeverNew", ranks=2))


def events(example: Counterexample) -> list[str]:
    return [" ".join(map(str, step.events)) or step.action for step in example.steps]


def test_each_step_is_an_event_with_the_arguments_that_the_states_determine(installed: Counterexample) -> None:
    assert events(installed) == [
        "Init",
        "Seal(term=0, epoch=1, mode=wait, window=0)",
        "Drain(term=0, epoch=1)",
        "Quiesced(epoch=1, rank=k1)",
        "Quiesced(epoch=1, rank=k2)",
        "Install(term=0, epoch=1, version=1, digests={k1: 1, k2: 1})",
        "Installed(epoch=1, rank=k1, digest=1)",
        "Installed(epoch=1, rank=k2, digest=1)",
    ]
    assert all(event.follows and not event.guessed for step in installed.steps for event in step.events)
    assert installed.steps[1].actors == ("r1", "network")
    assert [(c.before, c.after) for c in installed.steps[1].changes if c.path == "node.r1.gate.state"] == [
        ('"OPEN"', '"SEALED"')
    ]


def test_both_checkers_counterexamples_say_the_same(installed: Counterexample) -> None:
    model = small_gate.model("NeverNew", ranks=2)
    theirs = counterexample(model, tlc.check(model), name="small")
    assert sorted(events(theirs)) == sorted(events(installed))


@pytest.mark.parametrize(
    ("gate", "property", "event"),
    [
        (small_gate.admits_while_draining, "NeverOrphaned", "Admit(lease=s1, pin=none?)"),
        (small_gate.installs_at_once, "Idle", "Install(term=0?, epoch=1, version=1, digests={k1: 1})"),
        (small_gate.forgets_the_last_proof, "NeverNew", "Installed(epoch=1, rank=k1, digest=1)"),
    ],
)
def test_the_step_of_a_broken_table_is_told_from_those_that_the_real_one_takes(
    gate: Callable[[], Any], property: str, event: str
) -> None:
    example = found(small_gate.model(property, gate=gate()))
    follows = [done.follows for step in example.steps for done in step.events]
    assert follows == [True] * (len(follows) - 1) + [False]
    assert str(example.steps[-1].events[-1]) == event


def test_the_meaning_of_a_property_is_the_comment_above_it() -> None:
    example = found(small_gate.model("Idle", gate=small_gate.installs_at_once()))
    assert example.property == "Idle"
    assert example.meaning == "While installing the device is idle, and no request runs."
    assert example.constants == {"Replica": '{"r1"}', "Rank": '{"k1"}', "Slot": '{"s1"}'}


def test_a_behaviour_that_never_ends_says_where_it_loops() -> None:
    stays = small_gate.model(properties=("Ends",))
    example = counterexample(stays, tlc.check(stays))
    assert example.loop == len(example.steps) - 1
    assert "nothing happens any more" in render(example, "text")
    turns = small_gate.model(properties=("Arrives",), spec="Busy")
    example = counterexample(turns, tlc.check(turns))
    assert example.loop is not None
    assert example.loop < len(example.steps) - 1
    assert f"leads back to step {example.loop}" in render(example, "text")
    chart = render(example, "mermaid").splitlines()
    assert chart.count("    loop for ever") == chart.count("    end") == 1


def test_a_result_without_a_trace_has_no_counterexample() -> None:
    model = small_gate.model("Idle")
    with pytest.raises(ValueError, match="Small is ok: there is no counterexample"):
        counterexample(model, CheckResult("TLC", "Small", "ok", 1, 0.0))


def test_a_run_of_a_machine_alone_is_a_counterexample_too() -> None:
    seal = Gate.Seal(term=0, epoch=1, mode=Gate.initial(ranks={"0"}).mode, window=5)
    example = of_run(Gate, Gate.initial(ranks={"0"}), [seal, Gate.Fault(why="test")], "alive", "never poisoned")
    assert events(example) == ["Init", "Seal(term=0, epoch=1, mode=wait, window=5)", "Fault()"]
    assert "m.state" in [change.path for change in example.steps[2].changes]
    assert render(example, "text").startswith("Gate: alive fails: never poisoned\n")


# -- files -----------------------------------------------------------------------------------------


def test_a_saved_counterexample_comes_back_as_it_was(installed: Counterexample, tmp_path: Path) -> None:
    installed.save(tmp_path / "one.json")
    assert load(tmp_path / "one.json") == installed
    assert render(installed, "json") == (tmp_path / "one.json").read_text()
    event = installed.steps[5].events[0]
    kinds = {f.name: f.type for f in Gate.ir.event(event.event).fields}
    assert {k: decode(kinds[k], v) for k, v in event.arguments.items()}["digests"] == {"k1": "1", "k2": "1"}


def broken(change: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], str]:
    def write(data: dict[str, Any]) -> str:
        change(data)
        return json.dumps(data)

    return write


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (lambda data: "{", "is not JSON"),
        (lambda data: "[" * 100_000, "is not JSON"),
        (lambda data: "[]", "is no counterexample"),
        (broken(lambda d: d.update(format="other")), "is no counterexample"),
        (broken(lambda d: d.update(version=2)), "is of version 2, and this reads version 1"),
        (broken(lambda d: d.pop("property")), "property is missing"),
        (broken(lambda d: d.update(steps=[])), "steps is not a list of at least one step"),
        (broken(lambda d: d.update(loop=99)), "loop is not a step from 0 to 7"),
        (broken(lambda d: d["steps"][2].update(action="\ud800")), "half a surrogate"),
        (broken(lambda d: d["steps"][1]["state"].update({"\udfff": "1"})), "half a surrogate"),
        (broken(lambda d: d["steps"][2].pop("action")), "steps[2].action is missing"),
        (broken(lambda d: d["steps"][1]["state"].update(node="[gate |->")), "steps[1].state.node is not a TLA+ value"),
        (broken(lambda d: d["steps"][1]["events"][0].update(arguments=3)), "steps[1].events[0].arguments is not dict"),
        (broken(lambda d: d["steps"][1]["changes"].append(7)), "changes[3].path is missing"),
    ],
)
def test_what_is_no_counterexample_is_refused_with_the_place(
    installed: Counterexample, tmp_path: Path, write: Callable[[dict[str, Any]], str], said: str
) -> None:
    path = tmp_path / "bad.json"
    path.write_text(write(json.loads(installed.text())))
    with pytest.raises(CounterexampleError, match=re.escape(said)) as caught:
        load(path)
    assert "\n" not in str(caught.value)
    assert "check --save" in str(caught.value)


# -- texts and charts ------------------------------------------------------------------------------


def test_the_text_tells_every_change_of_every_step(installed: Counterexample) -> None:
    text = render(installed, "text")
    for number, step in enumerate(installed.steps[1:], 1):
        assert f"\n{number}. {step.events[0]} [" in text
    assert '      node.r1.gate.state: "OPEN" -> "SEALED"' in text
    assert '      node.r1.gate.quiet: + "k2"' in text


def test_m20_the_chart_read_back_has_every_event(installed: Counterexample) -> None:
    example = found(small_gate.model("NeverOrphaned", gate=small_gate.admits_while_draining()))
    for drawn in (installed, example):
        head, *lines = render(drawn, "mermaid").splitlines()
        assert head == "sequenceDiagram"
        names = {m[1]: m[2] for line in lines if (m := re.fullmatch(r"    participant (p\d+) as (.*)", line))}
        taken = [m.groups() for line in lines if (m := re.fullmatch(r"    (p\d+)->>(p\d+): (\d+)\. (.*)", line))]
        wanted = [(number, str(e)) for number, step in enumerate(drawn.steps) for e in step.events]
        assert [(int(number), plain(label)) for _, _, number, label in taken] == wanted
        assert {names[to] for _, to, _, _ in taken} == {"r1"}
        assert {names[source] for source, _, _, _ in taken} <= {"controller 0", "r1 engine", "request s1"}
        rest = [line for line in lines if not re.match(r"    (participant|p\d+->>|Note over p\d+)", line)]
        assert rest == []


def test_m20_the_chart_read_back_has_every_message() -> None:
    system = next(m for m in MODELS if m.violates == "NeverExpires")
    model = system.model()
    drawn = counterexample(model, tla_checker.check(model), name=system.name)
    network: list[Any] = [parse(step.state["msgs"]) for step in drawn.steps]
    sent = [m for before, after in pairwise(network) for m in after - before]
    assert sent
    lines = render(drawn, "mermaid").splitlines()
    names = {m[1]: m[2] for line in lines if (m := re.fullmatch(r"    participant (p\d+) as (.*)", line))}
    arrows = [m.groups() for line in lines if (m := re.fullmatch(r"    (p\d+)-\)(p\d+): (\w+)\(.*\) sent", line))]
    assert sorted((names[to], event) for _, to, event in arrows) == sorted((m["to"], m["ev"]) for m in sent)
    assert all(names[source].startswith("controller") for source, _, _ in arrows)


def plain(label: str) -> str:
    return re.sub(r"#(\d+);", lambda sign: chr(int(sign[1])), label)


def test_m20_names_that_mean_something_to_the_renderer_are_only_labels() -> None:
    state = {"x": '"a; end --> %% <b>"'}
    step = MachineStep("node.end; x->>y.gate", "Gate", "end", {"a": "loop\nend", "b": None})
    moment = Moment("alt", state, ("end",), (), (step,))
    example = Counterexample("m", "M", {}, "end", "note over p0: end", "TLC", (Moment("Init", state), moment))
    lines = render(example, "mermaid").splitlines()
    assert len(lines) == 4
    for line in lines[1:]:
        label = line.split(" as ")[-1].split(": ", 1)[-1]
        assert not re.search(r"""[:"'<>{}&|`%\\]|--|\bend\b|(?<!\d);""", label), line


# -- the table of actions --------------------------------------------------------------------------


def test_the_table_of_actions_names_events_that_there_are() -> None:
    for meanings in ACTIONS.values():
        for meaning in meanings.values():
            assert meaning.events or meaning.says
            for name in meaning.events:
                machine, event = name.split(".")
                assert event in [e.name for e in BY_NAME[machine].ir.events]
    for name, form in SENDERS.items():
        machine, event = name.split(".")
        fields = [f.name for f in BY_NAME[machine].ir.event(event).fields]
        assert set(re.findall(r"\{(\w+)\}", form)) <= {*fields, "actor"}


def of_machines() -> list[str]:
    """The modules of the system models that have machines in them."""
    first = {m.module: m for m in MODELS}
    return sorted(module for module, m in first.items() if m.model().modules.keys() & BY_NAME.keys())


@pytest.mark.parametrize("module", of_machines())
def test_the_table_of_actions_knows_every_action_of_a_model(module: str) -> None:
    text = (SPEC / f"{module}.tla").read_text()
    following = re.search(r"^Next ==\n((?:  .*\n)+)", text, re.MULTILINE)
    if following is not None:
        assert set(re.findall(r"\\/ (\w+)", following[1])) <= ACTIONS[module].keys()


def test_an_action_of_several_events_is_told_as_all_that_act() -> None:
    gate = Gate.initial(ranks={"k1"}).replace(state="OPEN", version=0, resident=True)
    pool = Pool({0, 1, 2})
    sealed = gate.replace(state="SEALED", epoch=1)
    drained = sealed.replace(state="DRAINING")
    both = steps_of(Gate, ("m",), gate, drained, ["Seal", "Drain"], pool)
    assert both is not None
    assert [str(step) for step in both] == ["Seal(term=0, epoch=1, mode=wait, window=0)", "Drain(term=0, epoch=1)"]
    first = steps_of(Gate, ("m",), gate, sealed, ["Seal", "Drain"], pool)
    assert first is not None
    assert [step.event for step in first] == ["Seal"]
    assert steps_of(Gate, ("m",), gate, gate.replace(state="INSTALLING"), ["Seal", "Drain"], pool) is None
