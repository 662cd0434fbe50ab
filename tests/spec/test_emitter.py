"""What the emitter writes, as text. What it means is held by the graph and operator tests."""

from dataclasses import replace

import pytest

from sluicegate import Event, Machine, Nat, Scope, SetOf, State, Table, always, columns, go, ignore, row, stay
from sluicegate.spec.emitter import emit, emit_alone, files
from sluicegate.spec.emitter.expressions import EmitError
from sluicegate.statemachines.operators import OPERATORS


def test_small_machines_use_every_operator(small):
    used = {
        node.op
        for machine in small
        for cell in machine.ir.cells
        for branch in cell.all()
        for root in [
            branch.guard,
            *(u.value for u in branch.updates),
            *(n for e in branch.outputs for _, n in e.args),
        ]
        for node in root.walk()
    }
    assert used >= set(OPERATORS)


def test_a_module_says_in_its_first_line_what_made_it(machine):
    for text in files([machine.ir]).values():
        assert text.splitlines()[0].startswith("\\* Made by `sluicegate generate` from the machine ")


def test_a_rule_is_an_action_of_its_own_name(turnstile):
    text = emit(turnstile.ir)
    assert 'TurnstileCoinPays_when(tCoin) == tCoin.state = "LOCKED"' in text
    assert 'TurnstileCoinPays_next(tCoin) == [tCoin EXCEPT !.state = "UNLOCKED", !.coins = tCoin.coins + 1]' in text
    assert "TurnstileCoinIgnore_next" not in text
    assert "TurnstilePush_refused(tPush) == TurnstilePushLocked_when(tPush)" in text


def test_a_branch_is_tried_only_past_the_fences_and_the_otherwise_only_past_the_branches(small):
    numbers = next(m for m in small if m.__name__ == "Numbers")
    text = emit(numbers.ir)
    full = text.split("NumbersLiftLiftsFull_when(nLift, nLift_epoch, nLift_mode) ==")[1].split("\n\n")[0]
    assert [line.strip() for line in full.strip().splitlines()] == [
        r'/\ nLift.state = "LOW"',
        r"/\ nLift_epoch >= nLift.epoch",
        r"/\ (nLift.epoch + 1) >= nLift_epoch",
        r"/\ nLift.held = <<>>",
        r"/\ nLift_mode = nLift.mode",
    ]


def test_notes_are_erased_from_fields_arguments_and_outputs(small):
    numbers = next(m for m in small if m.__name__ == "Numbers")
    assert any(f.name == "why" for f in numbers.ir.fields)
    text = emit(numbers.ir) + emit_alone(numbers.ir)
    assert "why" not in text.replace("Lower(epoch, by, why)", "")


def test_one_name_for_two_rules_is_an_error_that_names_them(turnstile):
    cells = list(turnstile.ir.cells)
    other = replace(cells[0].otherwise, target="LOCKED", where="elsewhere:1")
    cells[1] = replace(cells[1], otherwise=other)
    with pytest.raises(EmitError, match=r"Turnstile\.Coin: rule 'pays' means one thing at .* another at elsewhere:1"):
        emit(replace(turnstile.ir, cells=tuple(cells)))


def test_names_that_differ_only_in_spelling_are_an_error(turnstile):
    cells = list(turnstile.ir.cells)
    cells[1] = replace(cells[1], otherwise=replace(cells[1].otherwise, rule="p_ays"))
    cells[0] = replace(cells[0], otherwise=replace(cells[0].otherwise, rule="pAys"))
    with pytest.raises(EmitError, match="generated names are used twice: TurnstileCoinPAys"):
        emit(replace(turnstile.ir, cells=tuple(cells)))


def test_a_docstring_may_say_what_looks_like_a_definition(turnstile):
    doc = "n == 1 is meant.\n\nn == 2 is not.\n\n" + "TurnstileCoin == told again and again. " * 9
    text = emit(replace(turnstile.ir, doc=doc))
    assert "\\* n == 1 is meant.\n" in text
    assert text.count("TurnstileCoin == told") > 1


class Far(Machine):
    """Numbers beyond what a checker counts to."""

    NEAR, THERE = State(), State()
    steps = Nat(0)

    class Go(Event): ...

    there = go(THERE).when(steps < 3_000_000_000).orelse(ignore)
    table = Table(columns(NEAR, THERE), row(Go, there, ignore))
    few = always(steps < 4_000_000_000)


def test_a_number_beyond_those_of_the_checkers_is_refused_with_its_place():
    mend = "is more than 2147483647, to which TLC counts: use a smaller number"
    with pytest.raises(EmitError, match=rf"Far.Go: rule 'there' at .*test_emitter.py:\d+: 3000000000 {mend}"):
        emit(Far.ir)
    with pytest.raises(EmitError, match=rf"few at .*test_emitter.py:\d+: 4000000000 {mend}"):
        emit_alone(Far.ir)
    with pytest.raises(EmitError, match=rf"^the bound of seen: 2147483648 {mend}"):
        emit_alone(replace(Levels.ir, scope=Scope(nats=(("seen", 2**31),))))
    fields = (replace(Levels.ir.fields[0], type=Far.ir.fields[0].type, initial=2**31),)
    with pytest.raises(EmitError, match=rf"^Levels.seen: 2147483648 {mend}"):
        emit(replace(Levels.ir, fields=fields))
    assert "2147483647" in emit(replace(Levels.ir, fields=(replace(fields[0], initial=2**31 - 1),)))


class Levels(Machine):
    """A set of naturals comes from outside: all subsets of an interval."""

    ONLY = State()
    seen = SetOf(Nat)

    class Put(Event):
        levels: SetOf[Nat]

    puts = stay().do(seen.set(Put.levels))
    table = Table(columns(ONLY), row(Put, puts))


def test_an_interval_is_bracketed_where_it_is_an_argument():
    assert r"a_levels \in SUBSET (0..1) :" in emit_alone(Levels.ir)
