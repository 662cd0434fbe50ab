"""What no checker could read as it is written is an error where it is declared."""

import types
from typing import Any

import pytest

from sluicegate.statemachines import (
    Event,
    Id,
    Machine,
    Nat,
    Opt,
    Output,
    Record,
    SeqOf,
    State,
    Table,
    columns,
    ignore,
    row,
    stay,
)
from sluicegate.statemachines.names import EXPLORED, OPERATORS
from sluicegate.statemachines.problems import DeclarationError


def test_what_would_be_an_option_of_an_option_is_refused() -> None:
    with pytest.raises(DeclarationError, match=r"would be an Opt of an Opt"):

        class Queue(Machine):
            ONLY = State()
            waiting = SeqOf(Opt[Nat])

            class Tick(Event): ...

            goes = stay().when(waiting.first().is_some()).orelse(ignore)
            table = Table(columns(ONLY), row(Tick, goes))


def test_names_beyond_ascii_are_refused() -> None:
    with pytest.raises(DeclarationError) as refused:

        class Tür(Machine):
            ÖFFEN = State()
            zähler = Nat(0)

            class Stoß(Event): ...

            table = Table(columns(ÖFFEN), row(Stoß, ignore))

    said = str(refused.value)
    for name in ("Tür", "ÖFFEN", "zähler", "Stoß"):
        assert f"{name}: is no name that a checker reads" in said


def test_a_machine_is_not_named_like_a_module_of_tla() -> None:
    with pytest.raises(DeclarationError, match="Naturals: is a module of TLA"):

        class Naturals(Machine):
            ONLY = State()

            class Tick(Event): ...

            table = Table(columns(ONLY), row(Tick, ignore))


def declared(name: str, events: dict[str, dict[str, Any]], **parts: Any) -> type[Machine]:
    """A machine of these events, with their arguments, each with one rule of its own."""

    def body(names: dict[str, Any]) -> None:
        names["ON"] = State()
        for part, value in parts.items():
            names[part] = value
        rows = []
        for event, arguments in events.items():
            made = names[event] = type(event, (Event,), {"__annotations__": arguments})
            rows.append(row(made, stay().do()))
        names["table"] = Table(columns(names["ON"]), *rows)

    return types.new_class(name, (Machine,), exec_body=body)


@pytest.mark.parametrize("name", [*sorted(OPERATORS | EXPLORED | {"IF", "UNION", "TLC"}), "worker", "Wörker"])
def test_an_id_sort_is_not_named_like_what_tla_calls_something_else(name: str) -> None:
    with pytest.raises(DeclarationError, match=rf"{name}: is (a word or an operator of TLA\+, and )?no name for an id"):
        declared("Door", {"Push": {"by": type(name, (Id,), {})}})


@pytest.mark.parametrize(
    ("machine", "events", "parts", "said"),
    [
        ("IF", {"Push": {}}, {}, r"IF: is a word of TLA\+"),
        ("TLC", {"Push": {}}, {}, r"TLC: is a module of TLA\+"),
        ("I", {"F": {}}, {}, r"event F: is called IF in the generated modules, and so is a word of TLA\+"),
        ("Is", {"FiniteSet": {}}, {}, "event FiniteSet: is called IsFiniteSet"),
        ("Type", {"OK": {}}, {}, "event OK: is called TypeOK in the generated modules, and so is what explores"),
        ("In", {"It": {}}, {}, ""),
        ("Door", {"Init": {}}, {}, "event Init: is called DoorInit in the generated modules, and so is how it begins"),
        ("Door", {"States": {}}, {}, "event States: is called DoorStates"),
        ("d", {"Push": {}}, {}, "dPush in the generated modules"),
        ("Door", {"Push": {}, "PushPushOn": {}}, {}, "is called DoorPushPushOn in the generated modules, and so is"),
        ("Door", {"Push": {"by": type("DoorPush", (Id,), {})}}, {}, "event Push: is called DoorPush"),
        ("Door", {"Push": {"by": type("Fair_Push", (Id,), {})}}, {}, "is called Fair_Push"),
        ("Door", {"Push": {"IF": Nat}}, {}, "Push.IF: is no name for an argument"),
        ("Door", {"Push": {"_by": Nat}}, {}, "Push._by: is no name for an argument"),
        ("Door", {"AB": {}, "A_b": {}}, {}, "A_b: needs the method a_b, as event AB does"),
        ("Door", {"1st": {}}, {}, "1st: is no name that a checker reads"),
        ("Door", {"True": {}}, {}, "True: is no name that a checker reads"),
        ("Door", {"Push": {}}, {"m": Nat().given()}, "m: is no name for a given field"),
        ("Door", {"Push": {}}, {"bound2": Nat().given()}, "bound2: is no name for a given field"),
        ("Door", {"Push": {}}, {"_key": Nat(0)}, "_key: is no name for a field"),
    ],
)  # fmt: skip
def test_a_name_that_means_something_else_elsewhere_is_refused(
    machine: str, events: dict[str, dict[str, Any]], parts: dict[str, Any], said: str
) -> None:
    if not said:
        assert declared(machine, events, **parts).ir.name == machine
        return
    with pytest.raises(DeclarationError, match=said) as refused:
        declared(machine, events, **parts)
    assert all(problem.mend and problem.where for problem in refused.value.problems)


def test_the_argument_of_an_output_is_not_called_as_the_output_is() -> None:
    class Ring(Output):
        out: Nat

    with pytest.raises(DeclarationError, match=r"Ring\.out: is what a record of outputs calls the output itself"):
        declared("Door", {"Push": {}}, Ring=Ring)


@pytest.mark.parametrize("name", ["IF", "Size", "_size", "größe", "raise", "node"])
def test_a_record_has_no_member_that_a_checker_or_python_reads_as_something_else(name: str) -> None:
    with pytest.raises(DeclarationError, match=rf"Span\.{name}: (is no name|hides a name)"):
        type("Span", (Record,), {"__annotations__": {name: Nat}})
