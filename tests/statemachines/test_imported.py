"""What `from_transitions` makes of configurations of the `transitions` library, and what checking them finds."""

import random
from typing import Any, ClassVar

import pytest
import transitions
from hypothesis import given, settings
from hypothesis import strategies as st
from transitions.extensions import GraphMachine, HierarchicalMachine

from sluicegate.statemachines import Machine
from sluicegate.statemachines.explore import explore
from sluicegate.statemachines.findings import Finding, findings
from sluicegate.statemachines.imported import from_transitions, is_configuration

MATTER = {
    "states": ["gas", "solid", "liquid"],
    "initial": "solid",
    "transitions": [
        ["melt", "solid", "liquid"],
        ["evaporate", "liquid", "gas"],
        {"trigger": "sublimate", "source": "solid", "dest": "gas"},
        {"trigger": "cool_down", "source": "*", "dest": "solid"},
        {"trigger": "shake", "source": ["liquid", "gas"], "dest": None},
    ],
}


def test_a_configuration_becomes_a_machine_that_can_be_checked() -> None:
    machine = from_transitions(MATTER, "Matter")
    assert machine.__name__ == "Matter"
    assert machine.ir.states == ("SOLID", "GAS", "LIQUID")
    assert [e.name for e in machine.ir.events] == ["Melt", "Evaporate", "Sublimate", "CoolDown", "Shake"]
    cells = {(c.event, c.state): (c.otherwise.kind, c.otherwise.target) for c in machine.ir.cells}
    assert cells["Melt", "SOLID"] == ("go", "LIQUID")
    assert cells["Melt", "GAS"] == ("refuse", "GAS")
    assert cells["CoolDown", "SOLID"] == ("go", "SOLID")
    assert cells["Shake", "LIQUID"] == ("stay", "LIQUID")
    assert explore(machine).unreached == []


def test_what_the_library_ignores_is_ignored() -> None:
    machine = from_transitions({**MATTER, "ignore_invalid_triggers": True})
    assert machine.ir.cell("Melt", "GAS").otherwise.kind == "ignore"


def test_an_existing_machine_and_its_import_go_the_same_way() -> None:
    library = transitions.Machine(**MATTER)
    machine = from_transitions(library)
    live = machine.Live()
    assert {e.name for e in machine.ir.events} == {"Melt", "Evaporate", "Sublimate", "CoolDown", "Shake"}
    triggers = ["melt", "shake", "evaporate", "shake", "melt", "cool_down", "sublimate", "cool_down"]
    for trigger in triggers:
        try:
            library.trigger(trigger)
            legal = True
        except transitions.MachineError:
            legal = False
        assert getattr(live, trigger)().refused is not legal
        assert live.state == library.state.upper()


DOOR = {
    "states": ["shut", "open"],
    "initial": "shut",
    "transitions": [
        {"trigger": "push", "source": "shut", "dest": "open", "conditions": "is_light", "unless": "is_locked"},
        {"trigger": "push", "source": "shut", "dest": "shut", "conditions": ["is_light"]},
        {"trigger": "push", "source": "open", "dest": "shut"},
        {"trigger": "push", "source": "open", "dest": "open"},
    ],
}


@pytest.mark.parametrize("light", [False, True])
@pytest.mark.parametrize("locked", [False, True])
def test_conditions_are_asked_in_the_librarys_order(light: bool, locked: bool) -> None:
    class Model:
        is_light = is_locked = False

        def push(self) -> bool:
            raise NotImplementedError

    machine = from_transitions(DOOR, "Door")
    assert [f.name for f in machine.ir.event("Push").fields] == ["is_light", "is_locked"]
    model, live = Model(), machine.Live()
    model.is_light, model.is_locked = light, locked
    library = transitions.Machine(
        model=model,  # pyright: ignore[reportArgumentType]
        **{
            **DOOR,
            "transitions": [
                {
                    **t,
                    "conditions": [lambda n=n: getattr(model, n) for n in _names(t.get("conditions"))],
                    "unless": [lambda n=n: getattr(model, n) for n in _names(t.get("unless"))],
                }
                for t in DOOR["transitions"]
            ],
        },
        model_override=True,
    )
    for _ in range(3):
        taken = library.events["push"].trigger(model)
        outcome = live.push(is_light=light, is_locked=locked)
        assert (outcome.kind in ("go", "stay")) is taken
        assert live.state == model.state.upper()  # pyright: ignore[reportAttributeAccessIssue]


def _names(names: str | list[str] | None) -> list[str]:
    return [names] if isinstance(names, str) else names or []


NESTED = {
    "states": [
        "off",
        {
            "name": "on",
            "initial": "idle",
            "children": ["idle", {"name": "busy", "children": ["a", "b"], "initial": "a"}],
            "transitions": [["work", "idle", "busy"], ["work", "busy_a", "busy_b"], ["rest", "busy", "idle"]],
        },
    ],
    "initial": "off",
    "transitions": [
        ["start", "off", "on"],
        ["stop", "on", "off"],
        ["kick", "*", "="],
        ["jump", "on_busy", "on_busy_b"],
    ],
}


def test_nested_states_are_flattened_as_the_library_runs_them() -> None:
    library = HierarchicalMachine(**NESTED)
    for machine in (from_transitions(NESTED, "Nested"), from_transitions(library, "Nested")):
        assert machine.ir.states == ("OFF", "ON_IDLE", "ON_BUSY_A", "ON_BUSY_B")
        assert faults(machine) == []
        live, rng = machine.Live(), random.Random(1)
        library.set_state("off")
        for _ in range(500):
            trigger = rng.choice(["start", "stop", "kick", "jump", "work", "rest"])
            try:
                library.trigger_event(library, trigger)
                legal = True
            except transitions.MachineError:
                legal = False
            assert getattr(live, trigger)().refused is not legal
            assert live.state == library.state.upper()


def test_what_an_inner_state_decides_is_not_asked_further_out() -> None:
    inner = {"trigger": "go", "source": "x", "dest": "y", "conditions": "ready"}
    outer = {"trigger": "go", "source": "p", "dest": "end", "conditions": "tired"}
    states = [{"name": "p", "initial": "x", "children": ["x", "y"], "transitions": [inner]}, "end"]
    machine = from_transitions({"states": states, "initial": "p", "transitions": [outer]}, final=["end"])
    live = machine.Live()
    assert (live.go(ready=True, tired=True).kind, live.state) == ("go", "P_Y")
    assert explore(machine).overlaps == []


@pytest.mark.parametrize("parts", [{"parallel": ["c", "d"]}, {"children": ["c", "d"], "initial": ["c", "d"]}])
def test_parallel_states_are_refused_with_the_reason(parts: dict[str, Any]) -> None:
    config: dict[str, Any] = {"states": ["a", {"name": "b", **parts}], "initial": "a"}
    for form in ({**config, "transitions": []}, HierarchicalMachine(**config)):
        with pytest.raises(ValueError, match=r"b is parallel, in several states at once.*make a machine of each part"):
            from_transitions(form)


def test_the_keywords_of_a_machine_that_draws_itself_are_taken() -> None:
    config = {**MATTER, "title": "Matter", "show_conditions": True, "graph_engine": "mermaid"}
    assert from_transitions(config).ir.states == ("SOLID", "GAS", "LIQUID")
    drawing = GraphMachine(**config)
    assert from_transitions(drawing).ir.states == ("SOLID", "GAS", "LIQUID")


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({**MATTER, "initial": None}, "no initial state"),
        ({**MATTER, "initial": "sollid"}, "initial is sollid, which is no state; there are gas, solid, liquid"),
        ({k: v for k, v in MATTER.items() if k != "initial"}, "no initial state; give initial=...; there are gas"),
        ({**MATTER, "colour": "red"}, "transitions.Machine takes no colour"),
        ({**MATTER, "transitions": [["melt", "solid", "nowhere"]]}, r"goes to nowhere, which is no state; there"),
        ({**MATTER, "transitions": [["melt", "solidd", "liquid"]]}, r"starts in solidd, which is no state"),
        ({**MATTER, "initial": 3}, "the transitions library cannot read it"),
        ({**MATTER, "transitions": [["melt"]]}, "transition .'melt'.: give .trigger, source, dest"),
        (3, "3 is no configuration"),
    ],
)  # fmt: skip
def test_what_is_no_configuration_is_refused_in_one_line(config: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said) as error:
        from_transitions(config)
    assert "\n" not in str(error.value)


def test_final_states_that_are_not_there_are_refused() -> None:
    with pytest.raises(ValueError, match="no state vapour to be final; there are solid, gas, liquid"):
        from_transitions(MATTER, final=["vapour"])


def faults(machine: type[Machine]) -> list[Finding]:
    return [finding for finding in findings(machine, explore(machine)) if finding.fault]


ORDERS: dict[str, Any] = {
    "states": ["open", "paid", "held", "looped", {"name": "sent", "final": True}, "lost"],
    "initial": "open",
    "transitions": [
        {"trigger": "pay", "source": "open", "dest": "paid", "conditions": "is_full"},
        {"trigger": "pay", "source": "open", "dest": "held", "conditions": "is_late"},
        {"trigger": "send", "source": "paid", "dest": "sent", "after": "tell_customer"},
        {"trigger": "send", "source": "lost", "dest": "sent"},
        {"trigger": "turn", "source": "open", "dest": "looped"},
        {"trigger": "turn", "source": "looped", "dest": "looped"},
        {"trigger": "turn", "source": "looped", "dest": "open"},
    ],
}


def test_each_fault_is_named_with_a_run_that_shows_it() -> None:
    machine = from_transitions(ORDERS, "Orders")
    found = {finding.kind: finding for finding in faults(machine)}
    assert found.keys() == {"nondeterminism", "unreachable state", "deadlock", "dead state", "rule never taken"}
    assert found["nondeterminism"].text == (
        "in OPEN, Pay(is_full=true, is_late=true) fits two rules: pay_open: if is_full, go to PAID; "
        "and pay_open_2: if is_late, go to HELD. The first is taken"
    )
    assert found["unreachable state"].text == "LOST is never reached: nothing goes there"
    assert found["deadlock"].text.startswith("no event does anything in HELD")
    assert found["deadlock"].run == (
        "0. a new Orders: OPEN",
        "1. Pay(is_full=false, is_late=true) in OPEN, by pay_open_2: OPEN -> HELD",
    )
    assert found["dead state"].text == "no final state (SENT) can be reached from LOOPED any more"
    assert found["dead state"].run[-1] == "1. Turn in OPEN, by to_looped: OPEN -> LOOPED"
    assert found["rule never taken"].text == (
        "turn in LOOPED never goes to OPEN: an earlier transition has no conditions"
    )


def test_what_was_left_out_is_noted() -> None:
    machine = from_transitions(ORDERS, "Orders")
    notes = [finding.text for finding in findings(machine, explore(machine)) if finding.kind == "left out"]
    assert notes == [
        "conditions are Python functions: each may answer either way (is_full, is_late)",
        "callbacks are no part of a table, and not looked at (tell_customer)",
    ]


def test_a_last_transition_without_conditions_is_the_otherwise() -> None:
    config = {
        "states": ["a", "b", "c"],
        "initial": "a",
        "transitions": [
            {"trigger": "go", "source": "a", "dest": "b", "conditions": "ready"},
            {"trigger": "go", "source": "a", "dest": "c"},
        ],
    }
    assert faults(from_transitions(config, final=["b", "c"])) == []


def test_two_functions_of_one_name_are_two_conditions() -> None:
    config = {
        "states": ["a", "b"],
        "initial": "a",
        "transitions": [
            {"trigger": "go", "source": "a", "dest": "b", "conditions": [lambda: True, lambda: False]},
        ],
    }
    assert [f.name for f in from_transitions(config).ir.event("Go").fields] == ["condition", "condition_2"]


def test_configurations_are_known_without_the_library() -> None:
    assert is_configuration(MATTER)
    assert is_configuration(transitions.Machine(**MATTER))
    assert is_configuration(HierarchicalMachine(**NESTED))
    assert not is_configuration({"states": []})
    assert not is_configuration(faults)


AB: dict[str, Any] = {"states": ["a", "b"], "initial": "a"}
ITSELF: dict[str, Any] = {"name": "x"}
ITSELF["children"] = [ITSELF]
OUTER: dict[str, Any] = {"name": "p"}
OUTER["children"] = ["r", {"name": "q", "parallel": [OUTER]}]


def nested(depth: int) -> Any:
    inner: Any = "z"
    for number in range(depth):
        inner = {"name": f"s{number}", "children": [inner]}
    return inner


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"states": ["a b", "a_b"], "initial": "a b", "transitions": []}, "states a b and a_b would both be A_B"),
        ({**AB, "transitions": [["go_on", "a", "b"], ["goOn", "b", "a"]]}, "triggers go_on and goOn would both be"),
        ({**AB, "transitions": [["1st", "a", "b"]]}, "'1st' of the triggers is no name in a machine"),
        ({**AB, "transitions": [["?!", "a", "b"]]}, "'[?]!' of the triggers is no name in a machine"),
        ({"states": ["größe"], "initial": "größe", "transitions": []}, "'größe' of the states is no name"),
        ({**AB, "transitions": [["go", "a", ["a", "b"]]]}, "transition 'go' from 'a' goes to .* one goes to one state"),
        ({**AB, "transitions": [["go", "a", 3]]}, "transition 'go' from 'a' goes to 3, which is no name of a state"),
        ({**AB, "transitions": [["go", 3, "b"]]}, "transition 'go' from 3 starts in no state"),
        ({**AB, "transitions": [["go", None, "b"]]}, "transition 'go' from None starts in no state"),
        ({**AB, "transitions": [[["x"], "a", "b"]]}, r"transition \['x'\] from 'a' has no name for a trigger"),
        ({**AB, "transitions": [["", "a", "b"]]}, "transition '' from 'a' has no name for a trigger"),
        ({**AB, "transitions": [{"trigger": "go", "source": "a"}]}, "transition 'go' from 'a' has no dest"),
        (
            {**AB, "transitions": [{"trigger": "go", "source": "a", "dest": "b", "colour": 1}]},
            "transition 'go' from 'a' has colour; there are after,",
        ),
        (
            {**AB, "transitions": [{"trigger": "go", "source": "a", "dest": "b", "conditions": [3]}]},
            "transition 'go' from 'a' has 3 in its conditions, which is no function and no name of one",
        ),
        ({**AB, "transitions": 3}, "the transitions are 3: give a list"),
        ({**AB, "transitions": ["abc"]}, "transition 'abc': give"),
        ({**AB, "states": 3, "transitions": []}, "3 is no state: give its name"),
        ({**AB, "states": [{"name": "a", "colour": 1}], "transitions": []}, "state a has colour; there are children,"),
        ({**AB, "states": [{"children": ["a"]}], "transitions": []}, "a state has no name"),
        ({**AB, "states": [{"name": "a", "children": 3}], "transitions": []}, "3 is no state in a"),
        (
            {**AB, "states": [{"name": "a", "children": ["x"], "transitions": [["go", "x", 3]]}], "transitions": []},
            "transition 'go' from 'x' in state a goes to 3",
        ),
        ({"states": [ITSELF], "initial": "x", "transitions": []}, "state x is its own child, by way of x"),
        ({"states": [OUTER], "initial": "p", "transitions": []}, "state p is its own child, by way of q"),
        ({"states": [nested(2000)], "initial": "s0", "transitions": []}, "is nested 50 deep: nest states less"),
    ],
)
def test_a_state_or_transition_that_is_none_is_named(config: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said) as error:
        from_transitions(config)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["two words", "lower", "", 3])
def test_a_machine_that_is_taken_over_has_a_name(name: Any) -> None:
    with pytest.raises(ValueError, match="is no name for a machine"):
        from_transitions(MATTER, name)


def test_what_is_a_name_of_something_else_in_a_machine_is_renamed() -> None:
    said = {"trigger": "a", "source": "a", "dest": "404", "conditions": ["class", "1st", "max", "mod.größe", "out"]}
    config = {
        "states": ["a", "404"],
        "initial": "a",
        "transitions": [said, ["init", "404", "a"], ["a_to_a", "404", "a"], ["states", "404", "404"]],
    }
    machine = from_transitions(config)
    assert machine.ir.states == ("A", "S_404")
    assert [e.name for e in machine.ir.events] == ["AEvent", "InitEvent", "AToAEvent", "StatesEvent"]
    assert [f.name for f in machine.ir.event("AEvent").fields] == ["is_class", "is_1st", "is_max", "mod_gr_e", "out"]
    assert faults(machine) == []


def test_a_rule_and_an_event_that_would_be_called_the_same_are_kept_apart() -> None:
    machine = from_transitions({**AB, "transitions": [["go", "a", "b"], ["go_to_b", "a", "b"], ["go", "b", "a"]]})
    assert [e.name for e in machine.ir.events] == ["Go", "GoToBEvent"]


def test_a_trigger_with_a_name_of_the_language_gets_another() -> None:
    config = {"states": ["a", "b"], "initial": "a", "transitions": [["step", "a", "b"], ["replace", "b", "a"]]}
    machine = from_transitions(config)
    assert [e.name for e in machine.ir.events] == ["StepEvent", "ReplaceEvent"]
    assert machine.Live().step_event().kind == "go"


FLAT = ["a", "b", "c"]
DEEP = ["a", "b_x", "b_y_p", "b_y_q", "b", "b_y"]
TREE = ["a", {"name": "b", "initial": "x", "children": ["x", {"name": "y", "initial": "p", "children": ["p", "q"]}]}]
ASKED = ["ready", "tired"]


@st.composite
def configurations(draw: st.DrawFn) -> dict[str, Any]:
    """A flat or nested configuration of three triggers, with conditions, of which some apply together."""
    nested = draw(st.booleans())
    names = st.sampled_from(DEEP if nested else FLAT)
    asked = st.lists(st.sampled_from(ASKED), max_size=1)
    transition = st.fixed_dictionaries(
        {
            "trigger": st.sampled_from(["go", "turn", "stop"]),
            "source": names,
            "dest": names | st.just("=") | st.none(),
            "conditions": asked,
            "unless": asked,
        }
    )
    transitions_ = draw(st.lists(transition, min_size=4, max_size=10))
    ignoring = draw(st.booleans())
    return {
        "states": TREE if nested else FLAT,
        "initial": draw(st.sampled_from("ab")),
        "transitions": transitions_,
        "ignore_invalid_triggers": ignoring,
    }


@settings(max_examples=100, deadline=None)
@given(
    configurations(),
    st.lists(st.tuples(st.sampled_from(["go", "turn", "stop"]), st.booleans(), st.booleans()), min_size=4, max_size=12),
)
def test_any_configuration_goes_as_the_library_goes(config: dict[str, Any], run: list[tuple[str, bool, bool]]) -> None:
    class Model:
        answers: ClassVar[dict[str, bool]] = {}
        state = ""

        def ready(self) -> bool:
            return self.answers["ready"]

        def tired(self) -> bool:
            return self.answers["tired"]

    nested = config["states"] is TREE
    model: Any = Model()
    (HierarchicalMachine if nested else transitions.Machine)(model=model, **config)
    machine = from_transitions(config)
    live = machine.Live()
    for trigger, ready, tired in run:
        event = next((e for e in machine.ir.events if e.name == trigger.capitalize()), None)
        if event is None:
            continue
        model.answers = {"ready": ready, "tired": tired}
        before = model.state
        try:
            taken = getattr(model, trigger)()
        except transitions.MachineError:
            taken = None
        outcome = getattr(live, trigger)(**{f.name: model.answers[f.name] for f in event.fields})
        assert live.state == model.state.upper(), (before, trigger, model.answers)
        assert outcome.refused is (taken is None)
        assert (outcome.kind in ("go", "stay")) is bool(taken)
