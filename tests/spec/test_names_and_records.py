"""Whatever name and record a declaration may have, both checkers read as the step does."""

from enum import StrEnum
from pathlib import Path

import pytest

from sluicegate import (
    EnumOf,
    Event,
    Id,
    Machine,
    MapOf,
    Nat,
    Opt,
    Output,
    Record,
    Refuse,
    Scope,
    SeqOf,
    SetOf,
    State,
    Table,
    always,
    choose,
    columns,
    either,
    go,
    ignore,
    never,
    reachable,
    row,
    stay,
)
from sluicegate.spec.checkers import Config, Model
from sluicegate.spec.emitter import files
from sluicegate.spec.emitter.expressions import EmitError
from sluicegate.spec.judge import judge_machine
from sluicegate.spec.models import ModelError, SystemModel


class Word(StrEnum):
    LET = "LET"
    IF = "IF"


class List(Id):
    """A sort whose name is a word of Python only."""


class Span(Record):
    init: Nat
    word: EnumOf[Word]


class Pack(Record):
    span: Span
    when: Opt[Nat]


class Odd(Machine):
    """Names that mean something to TLA+, where they do no harm."""

    IF, UNION, Nat_ = State(), State(), State()
    m, domain, bound1 = Nat(0), SetOf(Span), Opt(Span)
    choose_ = SeqOf(Pack)
    let = MapOf(List, Span)
    limit = Opt(List).given()
    THEN = Refuse("no")
    first = Span(init=1, word=Word.IF)

    class Next(Event):
        m: Nat
        nokey: List
        span: Span

    class Case(Event):
        bound1: Pack

    class Nat(Event): ...

    class IF_(Output):
        m: Nat
        init: Span

    # fmt: off
    adds = stay().when(Next.span != first).do(
        domain.add(either(Next.span.init == 0, first, Next.span)), bound1.set(first), let.put(Next.nokey, Next.span),
    ).emit(IF_(m=Next.m, init=first)).orelse(go(UNION).do(bound1.set(Next.span)))
    packs = choose(
        go(Nat_).when(Case.bound1.span == bound1.or_else(first), choose_.is_empty()).do(choose_.append(Case.bound1)),
        stay().when(Case.bound1 == Pack(span=first, when=1), ~choose_.is_empty()).do(m.set(1)),
        orelse=THEN,
    )
    empties = go(IF).when(~domain.has(Span(init=0, word=Word.LET))).do(
        choose_.clear(), bound1.clear(), domain.clear(), m.set(0),
    )
    table = Table(
        columns(    IF,     UNION,                  Nat_),
        row(Next,   adds,   ignore,                 ignore),
        row(Case,   THEN,   packs,                  packs),
        row(Nat,    ignore, empties.orelse(ignore), empties.orelse(ignore)),
    )
    # fmt: on
    scope = Scope(nat=1, nats=(("choose_", 1),))
    nats = always((m == 0) | ~choose_.is_empty())
    init = never((m == 1) & IF)
    spec = reachable((choose_.first() == Pack(span=first, when=1)) & (m == 1))


def test_odd_names_and_record_values_mean_the_same_to_the_step_and_to_both_checkers() -> None:
    row_ = judge_machine(Odd)
    assert row_.trouble == "", row_.trouble
    assert row_.verdicts["TLC"] == "equal graph"
    assert row_.verdicts["tla-checker"] == str(row_.distinct)


def test_two_machines_that_make_one_file_are_refused() -> None:
    class Door(Machine):
        ON = State()

        class Push(Event): ...

        table = Table(columns(ON), row(Push, ignore))

    class MCDoor(Machine):
        ON = State()

        class Push(Event): ...

        table = Table(columns(ON), row(Push, ignore))

    with pytest.raises(EmitError, match=r"two machines make MCDoor\.tla, one of them MCDoor: give one another name"):
        files([Door.ir, MCDoor.ir])
    with pytest.raises(ModelError, match="two machines make"):
        SystemModel("doors", "", "Doors", Config(), machines=(Door, MCDoor)).model()


ROOT = "---- MODULE Root ----\nEXTENDS Parts\nCONSTANTS Most, Op(_, _),\n    Few \\* not Many\n====\n"
PARTS = "---- MODULE Parts ----\nCONSTANT Inner\nKnown == 3\n====\n"


@pytest.mark.parametrize("unknown", ["Typo", "Many", "Known", "Init"])
def test_a_value_for_what_is_no_constant_is_an_error(tmp_path: Path, unknown: str) -> None:
    """Both checkers would go on without it."""
    sound = {"Most": "1", "Few": "2", "Inner": "3"}
    said = f"{unknown} is no constant of Root: it has Most, Op, Few, Inner; take it out of the Config"
    Model("Root", {"Root": ROOT, "Parts": PARTS}, Config(constants=sound))
    with pytest.raises(ValueError, match=said):
        Model("Root", {"Root": ROOT, "Parts": PARTS}, Config(constants={**sound, unknown: "1"}))
    (tmp_path / "Root.tla").write_text(ROOT)
    (tmp_path / "Parts.tla").write_text(PARTS)
    config = Config(constants={**sound, unknown: "1"})
    with pytest.raises(ModelError, match=said):
        SystemModel("root", "", "Root", config, folder=tmp_path, machines=()).model()
