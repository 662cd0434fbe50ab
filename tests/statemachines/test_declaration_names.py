"""What no checker could read as it is written is an error where it is declared."""

import enum

import pytest

from sluicegate.statemachines import (
    EnumOf,
    Event,
    Machine,
    MapOf,
    Nat,
    Opt,
    SeqOf,
    State,
    Table,
    columns,
    ignore,
    row,
)
from sluicegate.statemachines.expressions import type_of
from sluicegate.statemachines.problems import DeclarationError


@pytest.mark.parametrize("hint", [SeqOf[Opt[Nat]], MapOf[Nat, Opt[Nat]], Opt[Opt[Nat]]])
def test_what_would_give_an_option_of_an_option_is_refused(hint: object) -> None:
    with pytest.raises(TypeError, match="nests what cannot be nested"):
        type_of(hint)


@pytest.mark.parametrize("value", ['"', "\n", "a\\b", "\t", "\r", "\u2028", "é", ""])
def test_an_enum_value_that_tla_cannot_hold_is_refused(value: str) -> None:
    odd = enum.StrEnum("Odd", {"ONE": value})
    with pytest.raises(TypeError, match="use printable ASCII without quotes and backslashes"):
        type_of(EnumOf[odd])


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
