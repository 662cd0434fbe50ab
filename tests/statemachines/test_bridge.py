"""The way into and out of the `transitions` library."""

import subprocess
import sys

import pytest
import transitions
from transitions.extensions import HierarchicalMachine

from sluicegate.statemachines import DeclarationError
from sluicegate.statemachines.bridge import Reference, from_transitions, to_transitions
from sluicegate.statemachines.explore import explore
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.sorts import Mode

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


def test_the_library_runs_the_table_by_its_own_triggers() -> None:
    library = to_transitions(Gate)
    assert isinstance(library, transitions.Machine)
    assert set(library.events) == {e.name for e in Gate.ir.events}
    one, two = Reference(Gate, library, ranks=frozenset({"r"})), Reference(Gate, library, ranks=frozenset({"r"}))
    assert library.events["Seal"].trigger(one, Gate.Seal(term=0, epoch=1, mode=Mode.WAIT, window=9)) is True
    assert one.outcome is not None
    assert one.outcome.rule == "reseals"
    assert (one.fields["epoch"], two.fields["epoch"]) == (1, 0)


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


def test_conditions_are_refused_unless_they_may_be_opaque() -> None:
    with pytest.raises(ValueError, match=r"push asks is_light, push asks is_locked.*pass opaque=True"):
        from_transitions(DOOR, "Door")


@pytest.mark.parametrize("light", [False, True])
@pytest.mark.parametrize("locked", [False, True])
def test_opaque_conditions_are_asked_in_the_librarys_order(light: bool, locked: bool) -> None:
    class Model:
        is_light = is_locked = False

        def push(self) -> bool:
            raise NotImplementedError

    machine = from_transitions(DOOR, "Door", opaque=True)
    assert [f.name for f in machine.ir.event("Push").fields] == ["is_light", "is_locked"]
    assert explore(machine).overlaps == []
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


def test_nested_states_are_refused() -> None:
    nested = ["a", {"name": "b", "children": ["c"]}]
    with pytest.raises(ValueError, match="'b' has states of its own"):
        from_transitions({"states": nested, "initial": "a"})
    with pytest.raises(ValueError, match="states within states"):
        from_transitions(HierarchicalMachine(states=nested, initial="a"))


def test_names_that_a_machine_cannot_have_are_reported() -> None:
    config = {"states": ["a b", "a_b"], "initial": "a b", "transitions": [["step", "a b", "a_b"]]}
    with pytest.raises(DeclarationError) as error:
        from_transitions(config)
    assert {"A_B", "Step"} <= {p.place for p in error.value.problems}


def test_without_the_library_the_error_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['transitions'] = None\n"
        "from sluicegate.statemachines.bridge import to_transitions\n"
        "from sluicegate.statemachines.gate import Gate\n"
        "to_transitions(Gate)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr.strip().endswith(
        "ImportError: this needs the transitions library: pip install 'sluicegate[dev]'"
    )
