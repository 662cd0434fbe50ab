"""What no checker could read as it is written is an error where it is declared."""

import pytest

from sluicegate.statemachines import (
    Event,
    Machine,
    Nat,
    Opt,
    SeqOf,
    State,
    Table,
    columns,
    ignore,
    row,
    stay,
)
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
