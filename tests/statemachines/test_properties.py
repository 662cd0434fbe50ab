"""Properties declared beside a table: what they mean, and every way in which one can be wrong."""

from collections.abc import Callable
from typing import Any

import pytest

from sluicegate.statemachines import (
    DeclarationError,
    Event,
    Machine,
    Nat,
    Refuse,
    Scope,
    State,
    Table,
    always,
    columns,
    go,
    ignore,
    leads_to,
    never,
    reachable,
    row,
    stay,
)
from sluicegate.statemachines.explore import explore
from sluicegate.statemachines.interpreter import evaluate
from sluicegate.statemachines.problems import Problem
from sluicegate.statemachines.properties import judge, says
from sluicegate.statemachines.scopes import UnknownBound, bounded, refuse_unknown


class Turnstile(Machine):
    """Lets one person through per coin, and a second one, which it should not."""

    LOCKED, UNLOCKED, BROKEN = State(), State(), State()
    coins = Nat(0)
    people = Nat(0)
    locked = Refuse("pay first")

    class Coin(Event):
        worth: Nat

    class Push(Event): ...

    class Kick(Event): ...

    pays = go(UNLOCKED).when(Coin.worth > 0).do(coins.set(coins + Coin.worth)).orelse(ignore)
    passes = go(LOCKED).do(people.set(people + 1))
    squeezes = stay().do(people.set(people + 1))

    paid = always(people <= coins)
    never_free = never(UNLOCKED & (coins == 0))
    opens = reachable(UNLOCKED)
    breaks = reachable(BROKEN)
    closes = leads_to(UNLOCKED, LOCKED | BROKEN, fair=(Push,))

    scope = Scope(nat=2)
    # fmt: off
    table = Table(columns(LOCKED,  UNLOCKED, BROKEN),
                  row(Coin,   pays,    ignore,   ignore),
                  row(Push,   locked,  passes,   ignore),
                  row(Kick,   ignore,  squeezes, ignore))
    # fmt: on


def test_properties_are_part_of_the_internal_form_in_order() -> None:
    assert [(p.name, p.kind, p.fair) for p in Turnstile.ir.properties] == [
        ("paid", "always", ()),
        ("never_free", "never", ()),
        ("opens", "reachable", ()),
        ("breaks", "reachable", ()),
        ("closes", "leads_to", ("Push",)),
    ]
    assert all(p.where.startswith("test_properties.py:") for p in Turnstile.ir.properties)


def test_a_property_is_shown_in_words() -> None:
    assert [says(p) for p in Turnstile.ir.properties] == [
        "always people ≤ coins",
        "never UNLOCKED and (coins = 0)",
        "reachable UNLOCKED",
        "reachable BROKEN",
        "UNLOCKED leads to LOCKED or BROKEN, if Push can be relied on",
    ]


def test_the_exploration_judges_with_a_first_witness() -> None:
    found = explore(Turnstile)
    witness = {claim.name: snapshot for claim, snapshot in judge(Turnstile, found)}
    assert witness.keys() == {"paid", "never_free", "opens", "breaks"}
    assert witness["never_free"] is None
    assert witness["breaks"] is None
    assert witness["paid"].people > witness["paid"].coins
    born, events = found.path(witness["paid"])
    assert [type(e).__name__ for e in events] == ["Coin", "Kick", "Push"]
    for event in events:
        born, _ = Turnstile.step(born, event)
    assert born == witness["paid"]
    assert found.path(witness["opens"])[1] == [Turnstile.Coin(worth=1)]


def test_a_property_means_what_the_interpreter_says() -> None:
    found = explore(Turnstile)
    for claim, witness in judge(Turnstile, found):
        fields = [{"state": s.state, "coins": s.coins, "people": s.people} for s in found.states]
        values = [evaluate(claim.condition, f, {}) for f in fields]
        wanted = claim.kind != "always"
        first = next((s for s, value in zip(found.states, values, strict=True) if value is wanted), None)
        assert first == witness


def problems_of(declare: Callable[[dict[str, Any]], Any]) -> tuple[Problem, ...]:
    """The problems of a small machine with the property `claim` that `declare` gives."""
    with pytest.raises(DeclarationError) as error:

        class M(Machine):
            ON, OFF = State(), State()
            count = Nat(0)

            class Flip(Event):
                by: Nat

            table = Table(columns(ON, OFF), row(Flip, OFF, ON))
            claim = declare({"ON": ON, "OFF": OFF, "count": count, "Flip": Flip})

    return error.value.problems


def only(declare: Callable[[dict[str, Any]], Any]) -> Problem:
    (problem,) = problems_of(declare)
    assert problem.mend
    assert problem.where.startswith("test_properties.py:")
    return problem


def test_a_property_that_names_nothing_is_an_error() -> None:
    problem = only(lambda _: never(True))  # pyright: ignore[reportArgumentType]
    assert problem.place == "property claim"
    assert problem.what == "'true' names no state and no field, so that it says nothing of the machine"


def test_both_sides_of_a_leads_to_must_name_something() -> None:
    problem = only(lambda m: leads_to(m["ON"], True))  # pyright: ignore[reportArgumentType]
    assert "names no state and no field" in problem.what


def test_a_property_over_an_events_argument_is_an_error() -> None:
    problem = only(lambda m: always(m["Flip"].by > 0))
    assert problem.what == "reads Flip.by, which is gone when the step is done"


def test_a_property_over_a_field_of_another_machine_is_an_error() -> None:
    problem = only(lambda m: always(Turnstile.coins > 0))
    assert (problem.what, problem.mend) == ("coins is not a field of this machine", "speak of count")


def test_a_property_over_a_state_of_another_machine_is_an_error() -> None:
    problem = only(lambda m: never(Turnstile.BROKEN))
    assert (problem.what, problem.mend) == ("BROKEN is not a state of this machine", "use one of ON, OFF")


def test_a_property_of_a_wrong_type_is_an_error() -> None:
    assert only(lambda m: always(m["ON"] & (m["count"] == m["ON"]))).what == "is a Bool where a Nat is needed"
    assert problems_of(lambda m: always(m["count"]))[0].what == "is a Nat where a Bool is needed"


def test_a_function_is_no_property() -> None:
    problem = problems_of(lambda m: always(lambda s: s.count > 0))[0]  # pyright: ignore[reportArgumentType]
    assert "is no expression over states and fields" in problem.what


def test_what_is_relied_on_is_an_event_with_a_row() -> None:
    problem = only(lambda m: leads_to(m["ON"], m["OFF"], fair=(Turnstile.Push,)))
    assert (problem.what, problem.mend) == ("Push is no event of this machine with a row", "name one of Flip")


def test_what_is_relied_on_is_an_event_and_not_its_name() -> None:
    problem = only(lambda m: leads_to(m["ON"], m["OFF"], fair=("Flip",)))  # pyright: ignore[reportArgumentType]
    assert problem.what == "'Flip' is no event of this machine with a row"


def test_one_event_to_rely_on_needs_no_tuple() -> None:
    assert leads_to(Turnstile.UNLOCKED, Turnstile.LOCKED, fair=Turnstile.Push).fair == (Turnstile.Push,)


def test_and_between_states_says_how_to_write_it() -> None:
    with pytest.raises(TypeError, match="write a & b"):
        never(Turnstile.LOCKED and Turnstile.UNLOCKED)


def test_a_rule_does_not_ask_for_the_state() -> None:
    with pytest.raises(DeclarationError) as error:

        class M(Machine):
            ON, OFF = State(), State()

            class Flip(Event): ...

            flips = go(OFF).when(ON).orelse(ignore)
            table = Table(columns(ON, OFF), row(Flip, flips, ON))

    (problem,) = error.value.problems
    assert problem.what == "asks whether the instance is in ON, which its column says"


@pytest.mark.parametrize("name", ["m", "a_count", "bound1", "Upper"])
def test_a_name_of_the_generated_module_is_refused(name: str) -> None:
    import types

    def body(names: dict[str, Any]) -> None:
        class Flip(Event): ...

        names["ON"] = State()
        names["Flip"] = Flip
        names["table"] = Table(columns(names["ON"]), row(Flip, names["ON"]))
        names[name] = always(names["ON"])

    with pytest.raises(DeclarationError, match="is no name for a property"):
        types.new_class("M", (Machine,), exec_body=body)


def test_bounds_take_the_place_of_the_declared_ones() -> None:
    scope = bounded(Turnstile.ir, {"nat": 5, "coins": 7, "elsewhere": 1})
    assert (scope.nat, scope.nats, scope.ids) == (5, (("coins", 7),), ())
    assert max(s.coins for s in explore(Turnstile, bounded(Turnstile.ir, {"coins": 1})).states) == 1


def test_an_unknown_bound_is_refused_with_those_there_are() -> None:
    refuse_unknown([Turnstile.ir], {"nat": 1, "coins": 2, "worth": 1})
    with pytest.raises(UnknownBound, match=r"no bound coinz: there are coins, nat, people, worth"):
        refuse_unknown([Turnstile.ir], {"coinz": 1})
