"""Every structural error is found when the class body ends: its place, its line, how to mend it."""

import subprocess
import sys
import types
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any, cast

import pytest

from sluicegate.statemachines import (
    Bool,
    DeclarationError,
    EnumOf,
    Event,
    Id,
    Machine,
    Nat,
    Note,
    Opt,
    Output,
    Record,
    Refuse,
    Scope,
    SetOf,
    State,
    Table,
    choose,
    columns,
    fence,
    go,
    ignore,
    row,
    stay,
)
from sluicegate.statemachines.names import RESERVED
from sluicegate.statemachines.problems import Problem

HERE = Path(__file__)


class Thing(Id):
    """An opaque name."""


class Elsewhere(Machine):
    """A sound machine, whose parts do not belong to another."""

    FAR, AWAY = State(), State()
    distance = Nat(0)

    class Leave(Event):
        by: Nat

    table = Table(columns(FAR, AWAY), row(Leave, AWAY, ignore))


def line_of(mark: str) -> str:
    """ "file:line" of the line of this file that ends with the comment `mark`."""
    (number,) = [n for n, line in enumerate(HERE.read_text().splitlines(), 1) if line.endswith(f"# <- {mark}")]
    return f"{HERE.name}:{number}"


def problems_of(declare: Callable[[], Any]) -> tuple[Problem, ...]:
    with pytest.raises(DeclarationError) as error:
        declare()
    return error.value.problems


def only(declare: Callable[[], Any]) -> Problem:
    (problem,) = problems_of(declare)
    assert problem.mend
    return problem


def test_an_event_without_a_row() -> None:
    def declare() -> Any:
        class M(Machine):
            ON, OFF = State(), State()

            class Flip(Event): ...

            class Press(Event): ...  # <- no row

            table = Table(columns(ON, OFF), row(Flip, OFF, ON))

        return M

    problem = only(declare)
    assert (problem.place, problem.what, problem.where) == ("event Press", "has no row", line_of("no row"))
    assert "row(Press, ...)" in problem.mend


def test_a_row_of_another_length() -> None:
    def declare() -> Any:
        class M(Machine):
            ON, OFF = State(), State()

            class Flip(Event): ...

            table = Table(
                columns(ON, OFF),
                row(Flip, OFF),  # <- short row
            )

        return M

    problem = only(declare)
    assert (problem.place, problem.what, problem.where) == (
        "row Flip",
        "has 1 cell for 2 columns",
        line_of("short row"),
    )


def test_a_second_row_of_an_event() -> None:
    def declare() -> Any:
        class M(Machine):
            ON, OFF = State(), State()

            class Flip(Event): ...

            table = Table(
                columns(ON, OFF),
                row(Flip, OFF, ON),
                row(Flip, ON, OFF),  # <- second row
            )

        return M

    problem = only(declare)
    assert (problem.place, problem.where) == ("row Flip", line_of("second row"))


def test_a_target_that_is_another_machines_state() -> None:
    """A mistyped target is no silent internal transition (M14)."""

    def declare() -> Any:
        class M(Machine):
            ON, OFF = State(), State()

            class Flip(Event): ...

            flips = go(Elsewhere.AWAY)  # <- foreign target
            table = Table(columns(ON, OFF), row(Flip, flips, ON))

        return M

    problem = only(declare)
    assert problem.where == line_of("foreign target")
    assert problem.place == "Flip in ON, rule flips"
    assert problem.what == "AWAY is not a state of this machine"
    assert "ON, OFF" in problem.mend


def test_a_cell_that_is_no_cell() -> None:
    def declare() -> Any:
        class M(Machine):
            ON, OFF = State(), State()

            class Flip(Event): ...

            table = Table(
                columns(ON, OFF),
                row(Flip, "OFF", ON),  # pyright: ignore[reportArgumentType] # <- text for a state
            )

        return M

    problem = only(declare)
    assert (problem.place, problem.what) == ("Flip in ON", "'OFF' is no cell")
    assert problem.where == line_of("text for a state")


def test_columns_that_lack_a_state_or_have_it_twice() -> None:
    def declare() -> Any:
        class M(Machine):
            ON, OFF, BROKEN = State(), State(), State()

            class Flip(Event): ...

            table = Table(
                columns(ON, OFF, OFF),  # <- columns
                row(Flip, OFF, ON, ON),
            )

        return M

    problems = problems_of(declare)
    assert [p.place for p in problems] == ["state OFF", "state BROKEN"]
    assert {p.where for p in problems} == {line_of("columns")}


def test_a_value_of_another_type() -> None:
    def declare() -> Any:
        class M(Machine):
            ON = State()
            count = Nat(0)
            flag = Bool(False)

            class Flip(Event): ...

            flips = stay().do(
                count.set(flag),  # <- type
            )
            table = Table(columns(ON), row(Flip, flips))

        return M

    problem = only(declare)
    assert (problem.place, problem.what, problem.where) == ("flag", "is a Bool where a Nat is needed", line_of("type"))
    assert problem.mend == "give a Nat"


def test_a_number_below_zero_and_a_bool_for_a_number() -> None:
    def declare() -> Any:
        class M(Machine):
            ON = State()
            count = Nat(0)

            class Flip(Event): ...

            flips = stay().when(count == True).do(count.set(-1))  # noqa: E712 - the mistake under test
            table = Table(columns(ON), row(Flip, flips.orelse(ignore)))

        return M

    assert [p.place for p in problems_of(declare)] == ["True", "-1"]


def test_a_guard_that_is_no_bool() -> None:
    def declare() -> Any:
        class M(Machine):
            ON = State()
            count = Nat(0)

            class Flip(Event): ...

            flips = stay().when(count).orelse(ignore)  # pyright: ignore[reportArgumentType] # <- guard
            table = Table(columns(ON), row(Flip, flips))

        return M

    problem = only(declare)
    assert (problem.place, problem.what, problem.where) == (
        "Flip in ON, rule flips",
        "the guard is a Nat",
        line_of("guard"),
    )


def test_a_field_of_another_event() -> None:
    def declare() -> Any:
        class M(Machine):
            ON = State()
            count = Nat(0)

            class Set(Event):
                to: Nat

            class Add(Event):
                by: Nat

            sets = stay().do(count.set(Set.to))  # <- other event
            table = Table(columns(ON), row(Set, sets), row(Add, sets))

        return M

    problem = only(declare)
    assert problem.place == "Add in ON, rule sets"
    assert problem.what == "reads Set.to while the event is Add"
    assert problem.where == line_of("other event")


def test_a_field_of_another_machine() -> None:
    def declare() -> Any:
        class M(Machine):
            ON = State()

            class Flip(Event): ...

            flips = stay().when(Elsewhere.distance == 0).orelse(ignore)  # <- foreign field
            table = Table(columns(ON), row(Flip, flips))

        return M

    problem = only(declare)
    assert (problem.what, problem.where) == ("distance is not a field of this machine", line_of("foreign field"))


def test_an_output_of_another_machine() -> None:
    class Foreign(Output): ...

    def declare() -> Any:
        class M(Machine):
            ON = State()

            class Flip(Event): ...

            flips = stay().emit(Foreign())  # <- foreign output
            table = Table(columns(ON), row(Flip, flips))

        return M

    problem = only(declare)
    assert problem.what == "Foreign() is not an output of this machine"
    assert problem.where == line_of("foreign output")


def test_two_updates_of_one_field() -> None:
    def declare() -> Any:
        class M(Machine):
            ON = State()
            count = Nat(0)

            class Flip(Event): ...

            flips = stay().do(
                count.set(1),
                count.set(count + 1),  # <- twice
            )
            table = Table(columns(ON), row(Flip, flips))

        return M

    problem = only(declare)
    assert (problem.place, problem.what, problem.where) == (
        "Flip in ON, rule flips",
        "updates count twice",
        line_of("twice"),
    )


def test_an_update_of_a_given_field() -> None:
    def declare() -> Any:
        class M(Machine):
            ON = State()
            limit = Nat().given()

            class Flip(Event): ...

            flips = stay().do(limit.set(1))  # <- given
            table = Table(columns(ON), row(Flip, flips))

        return M

    problem = only(declare)
    assert (problem.what, problem.where) == ("limit is given and never updated", line_of("given"))


def test_an_update_of_what_is_no_field() -> None:
    def declare() -> Any:
        class M(Machine):
            ON = State()
            count = Nat(0)

            class Flip(Event):
                to: Nat

            flips = stay().do((count + 1).set(2), Flip.to.set(3))  # <- no field
            table = Table(columns(ON), row(Flip, flips))

        return M

    problems = problems_of(declare)
    assert {"count + 1", "to"} <= {p.place for p in problems}
    assert {p.where for p in problems} == {line_of("no field")}


def test_a_name_bound_twice() -> None:
    def declare() -> Any:
        class M(Machine):
            ON = State()
            count = Nat(0)
            count = Nat(1)  # <- rebound

            class Flip(Event): ...

            table = Table(columns(ON), row(Flip, ON))

        return M

    problem = only(declare)
    assert (problem.place, problem.what, problem.where) == ("count", "is bound a second time", line_of("rebound"))


def test_one_object_under_two_names() -> None:
    def declare() -> Any:
        class M(Machine):
            ON = OFF = State()  # <- two names

            class Flip(Event): ...

            table = Table(columns(ON), row(Flip, OFF))

        return M

    problem = only(declare)
    assert (problem.place, problem.what, problem.where) == ("OFF", "is the same object as ON", line_of("two names"))


@pytest.mark.parametrize("name", ["state", "step", "ir", "machine", "values", "Live", "source"])
def test_a_field_with_a_name_of_the_language(name: str) -> None:
    def body(names: dict[str, Any]) -> None:
        names["ON"] = State()
        names[name] = Nat(0)
        names["table"] = Table(columns(names["ON"]))

    problem = problems_of(lambda: types.new_class("M", (Machine,), exec_body=body))[0]
    assert (problem.place, problem.what) == (name, "is a name that every machine has")


def test_every_name_of_an_instance_is_reserved() -> None:
    """A model's own method can never be hidden by a field, nor win over an event (M15)."""
    events = {"leave"}
    for form in (Elsewhere.Live, Elsewhere.Snapshot, Elsewhere.Leave):
        public = {n for n in dir(form) if not n.startswith("_")} - events - {"distance", "by"}
        assert public <= RESERVED


def test_an_event_whose_method_is_a_name_of_the_language() -> None:
    def declare() -> Any:
        class M(Machine):
            ON = State()

            class Snapshot(Event): ...  # pyright: ignore[reportIncompatibleVariableOverride]

            class Raise(Event): ...  # <- keyword

            table = Table(columns(ON), row(Raise, ON))

        return M

    found = {(p.place, p.what): p.where for p in problems_of(declare)}
    assert ("Snapshot", "is a name that every machine has") in found
    assert found["Raise", "needs the method raise, a reserved name"] == line_of("keyword")


def test_an_event_whose_method_is_a_field() -> None:
    """A model's own attribute never silently wins over an event (M15)."""

    def declare() -> Any:
        class M(Machine):
            ON = State()
            lift = Nat(0)

            class Lift(Event): ...  # <- clash

            table = Table(columns(ON), row(Lift, ON))

        return M

    problem = only(declare)
    assert (problem.place, problem.what) == ("lift", "is a field and the method of event Lift")
    assert problem.where == line_of("clash")


def test_an_argument_that_would_hide_what_the_compiled_step_calls() -> None:
    def declare() -> Any:
        class M(Machine):
            ON = State()

            class Lift(Event):  # <- argument
                max: Nat
                Size: Nat
                where: Nat  # pyright: ignore[reportIncompatibleVariableOverride]

            table = Table(columns(ON), row(Lift, ON))

        return M

    problems = problems_of(declare)
    assert [p.place for p in problems] == ["Lift.max", "Lift.Size", "Lift.where"]
    assert {p.where for p in problems} == {line_of("argument")}


def test_a_refusal_without_a_name() -> None:
    def declare() -> Any:
        class M(Machine):
            ON = State()

            class Flip(Event): ...

            table = Table(
                columns(ON),
                row(Flip, Refuse("not now")),  # <- unnamed
            )

        return M

    problem = only(declare)
    assert (problem.place, problem.what) == ("Flip in ON", "the refusal 'not now' has no name")
    assert problem.where == line_of("unnamed")
    assert "= Refuse(...)" in problem.mend


def test_a_guarded_action_without_an_otherwise() -> None:
    def declare() -> Any:
        class M(Machine):
            ON, OFF = State(), State()
            count = Nat(0)

            class Flip(Event): ...

            flips = go(OFF).when(count == 0)  # <- no orelse
            table = Table(columns(ON, OFF), row(Flip, flips, ON))  # pyright: ignore[reportArgumentType]

        return M

    problem = only(declare)
    assert (problem.place, problem.what) == ("Flip in ON", "is guarded and says nothing for otherwise")
    assert problem.where == line_of("no orelse")
    assert problem.mend == "end it with .orelse(...)"


@pytest.mark.parametrize("kind", ["rule", "refusal"])
def test_a_rule_that_no_cell_uses(kind: str) -> None:
    def declare() -> Any:
        class M(Machine):
            ON, OFF = State(), State()
            if kind == "rule":
                flips = go(OFF).do()  # <- unused rule
            else:
                never = Refuse("never")  # <- unused refusal

            class Flip(Event): ...

            table = Table(columns(ON, OFF), row(Flip, OFF, ON))

        return M

    problem = only(declare)
    assert problem.what == "is in no cell"
    assert problem.where == line_of(f"unused {kind}")


def test_a_fence_that_goes_somewhere() -> None:
    def declare() -> Any:
        class M(Machine):
            ON, OFF = State(), State()
            epoch = Nat(0)

            class Flip(Event):
                epoch: Nat

            table = Table(
                fence(Flip, go(OFF).when(Flip.epoch > epoch)),  # <- fence
                columns(ON, OFF),
                row(Flip, OFF, ON),
            )

        return M

    problem = only(declare)
    assert (problem.place, problem.what, problem.where) == ("fence Flip", "a fence cannot go", line_of("fence"))


def test_a_note_that_is_compared() -> None:
    def declare() -> Any:
        class M(Machine):
            ON = State()
            why = Note()

            class Flip(Event): ...

            flips = stay().when(why == "rain").orelse(ignore)  # <- note
            table = Table(columns(ON), row(Flip, flips))

        return M

    problem = only(declare)
    assert (problem.place, problem.what, problem.where) == ("why", "a Note is never compared", line_of("note"))


def test_an_argument_of_no_type_of_the_language() -> None:
    def declare() -> Any:
        class M(Machine):
            ON = State()

            class Flip(Event):
                to: int

            table = Table(columns(ON), row(Flip, ON))

        return M

    problem = only(declare)
    assert problem.place == "Flip.to"
    assert "is not a type of the language" in problem.what


def test_types_that_cannot_be_nested() -> None:
    def declare() -> Any:
        class M(Machine):
            ON = State()

            class Flip(Event):
                deep: Opt[Opt[Nat]]
                notes: SetOf[Note]

            table = Table(columns(ON), row(Flip, ON))

        return M

    assert [p.place for p in problems_of(declare)] == ["Flip.deep", "Flip.notes"]
    with pytest.raises(DeclarationError, match=r"Bad\.why: is a Note, and a record holds no map"):

        class Bad(Record):
            why: Note


def test_two_types_of_one_name() -> None:
    one, two = (cast("type[StrEnum]", StrEnum("Mode", {m.upper(): m for m in members})) for members in ("ab", "ac"))

    def declare() -> Any:
        class M(Machine):
            ON = State()
            mode = EnumOf(one["A"])
            other = EnumOf(two["A"])

            class Flip(Event): ...

            table = Table(columns(ON), row(Flip, ON))

        return M

    problem = only(declare)
    assert (problem.place, problem.what) == ("Mode", "is the name of two types")


def test_annotations_that_are_text(tmp_path: Path) -> None:
    file = tmp_path / "lamp.py"
    file.write_text(
        "from __future__ import annotations\n"
        "from sluicegate.statemachines import *\n"
        "class Lamp(Machine):\n"
        "    ON = State()\n"
        "    class Dim(Event):\n"
        "        to: Nat\n"
        "    table = Table(columns(ON), row(Dim, ON))\n"
    )
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "lamp.py:5: Dim.to:" in done.stderr
    assert "take `from __future__ import annotations` out of the module" in done.stderr


def test_a_machine_without_states_or_table() -> None:
    def declare() -> Any:
        class M(Machine):
            """Nothing."""

        return M

    assert [p.what for p in problems_of(declare)] == ["has no states", "has no table"]


def test_two_branches_that_cannot_be_told_apart() -> None:
    def declare() -> Any:
        class M(Machine):
            ON = State()
            count = Nat(0)
            no = Refuse("no")

            class Flip(Event): ...

            flips = choose(no.when(count == 1), no.when(count == 2), orelse=ignore)
            table = Table(columns(ON), row(Flip, flips))

        return M

    problem = only(declare)
    assert problem.place == "Flip in ON"
    assert "two branches are called" in problem.what


def test_several_problems_are_reported_together() -> None:
    def declare() -> Any:
        class M(Machine):
            ON, OFF = State(), State()
            count = Nat(0)
            flag = Bool(False)

            class Flip(Event): ...

            class Press(Event): ...

            flips = go(Elsewhere.FAR).do(count.set(flag))
            unused = stay().do(count.set(1))
            table = Table(columns(ON, OFF), row(Flip, flips))

        return M

    with pytest.raises(DeclarationError) as error:
        declare()
    text = str(error.value)
    assert text.startswith("machine M: 4 problems")
    for part in ("event Press: has no row", "has 1 cell for 2 columns", "FAR is not", "is a Bool where"):
        assert part in text
    assert text.count("mend: ") == 4
    assert "rule unused" not in text, "it may be meant for a cell that is missing"


def test_a_broken_declaration_leaves_the_next_one_alone() -> None:
    def broken() -> Any:
        class M(Machine):
            ON = State()
            count = Nat(0)
            count = Nat(0)
            raise RuntimeError("in the body")

        return M

    with pytest.raises(RuntimeError, match="in the body"):
        broken()

    class Sound(Machine):
        ON = State()

        class Flip(Event): ...

        table = Table(columns(ON), row(Flip, ON))

    assert Sound.ir.states == ("ON",)


def test_a_definition_cannot_be_changed() -> None:
    for name in ("step", "ir", "Live", "extra"):
        with pytest.raises(AttributeError, match="is a definition and cannot be changed"):
            setattr(Elsewhere, name, None)
    with pytest.raises(AttributeError, match="is a definition and cannot be changed"):
        del Elsewhere.table
    with pytest.raises(AttributeError):
        Elsewhere.ir.states = ()  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("scope", "said"),
    [
        (lambda: Scope(nats=(("coinz", 3),)), "nats bounds coinz"),
        (lambda: Scope(ids=(("Coinz", 3),)), "ids sizes Coinz"),
        (lambda: Scope(nat="3"), "'3' is no natural"),  # pyright: ignore[reportArgumentType]
        (lambda: Scope(nat=True), "True is no natural"),
        (lambda: Scope(nats=3), "3 is not one natural for each"),  # pyright: ignore[reportArgumentType]
        (lambda: Scope(nats=(("coins", -1),)), "is not one natural for each"),
        (lambda: Scope(nats=(("coins", 1), ("coins", 2))), "is not one natural for each"),
        (lambda: 3, "is no Scope"),
    ],
)
def test_a_scope_bounds_only_what_the_machine_has(scope: Callable[[], Any], said: str) -> None:
    bound = scope
    with pytest.raises(DeclarationError, match=said):

        class Door(Machine):
            SHUT, OPEN = State(), State()
            coins = Nat(0)

            class Push(Event): ...

            table = Table(columns(SHUT, OPEN), row(Push, go(OPEN).do(coins.set(coins + 1)), SHUT))
            scope = bound()


TURNSTILE = """
from sluicegate.statemachines import *

class Worker(Id): ...

class Turnstile(Machine):
    LOCKED, UNLOCKED = State(), State()
    coins, people = Nat(0), Nat(0)
    locked = Refuse("pay first")
    class Coin(Event): ...
    class Push(Event): ...
    pays = go(UNLOCKED).do(coins.set(coins + 1))
    passes = go(LOCKED).do(people.set(people + 1))
    table = Table(columns(LOCKED, UNLOCKED), row(Coin, pays, UNLOCKED), row(Push, locked, passes))
    paid = always(people <= coins)
    scope = Scope(nat=3)
"""
PAID, FIELDS, TABLE = "paid = always(people <= coins)", "coins, people = Nat(0), Nat(0)", "    table = Table("


def told(old: str, new: str) -> list[tuple[str, str]]:
    """Line and text of each problem that the turnstile has with `new` in the place of `old`."""
    assert old in TURNSTILE
    code = compile(TURNSTILE.replace(old, new, 1), "turnstile.py", "exec", dont_inherit=True)
    problems: tuple[Problem, ...] = ()
    try:
        exec(code, {"__name__": "turnstile"})
    except DeclarationError as error:
        problems = error.problems
    assert all(p.mend for p in problems)
    return [(p.where, f"{p.place}: {p.what}") for p in problems]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (PAID, f"{PAID},", ["property always(people ≤ coins): is in the tuple paid"]),
        (PAID, "always(people <= coins)", ["property always(people ≤ coins): is bound to no name"]),
        (PAID, "paid = [never(people > coins)]", ["property never(coins < people): is in the list paid"]),
        (PAID, "paid = {'a': ((reachable(UNLOCKED),),)}", ["property reachable(UNLOCKED): is in the dict paid"]),
        (
            PAID, "paid = leads_to(UNLOCKED, LOCKED), reachable(UNLOCKED)",
            ["property leads_to(UNLOCKED, LOCKED): is in the tuple paid", "property reachable(UNLOCKED): is in the tu"],
        ),
        (FIELDS, f"{FIELDS}; extra = Nat(0),", ["a field, Nat: is in the tuple extra"]),
        (FIELDS, f"{FIELDS}; SetOf(Worker)", ["a field, Set[Worker]: is bound to no name"]),
        (FIELDS, f"{FIELDS}; Refuse('no'); MORE = State(),", ["a State: is in the tuple", "the refusal 'no': is"]),
        (PAID, f"{PAID}; stay().do(coins.set(0)); coins.set(1)", ["a rule: is bound to", "an update of coins: is"]),
        (PAID, f"{PAID}; more = go(LOCKED).when(coins == 0).orelse(ignore),", ["a rule: is in the tuple more"]),
        (PAID, f"{PAID}; row(Coin, LOCKED, LOCKED)", ["row(...): is bound to no name"]),
        (PAID, f"{PAID}; more = [type('Late', (Event,), {{}})]", ["event or output Late: is in the list more"]),
        (TABLE, "    table = Table(columns(LOCKED)),\n    other = Table(", ["a Table: is in the tuple table"]),
    ],
)  # fmt: skip
def test_what_the_body_makes_and_neither_binds_nor_uses_is_an_error(old: str, new: str, said: list[str]) -> None:
    found = sorted(text for _, text in told(old, new))
    assert [text[: len(start)] for text, start in zip(found, sorted(said), strict=True)] == sorted(said)
    assert {where for where, _ in told(old, new)} <= {f"turnstile.py:{n}" for n in (8, 14, 15)}


def test_what_is_bound_in_parts_or_used_from_a_list_is_sound() -> None:
    held = "    held = (pays, UNLOCKED)\n    both = [go(LOCKED), go(UNLOCKED)]\n    home, out = both\n"
    unused = [text for _, text in told(TABLE, held + TABLE)]
    assert unused == ["rule home: is in no cell", "rule out: is in no cell"]
    assert told("row(Coin, pays, UNLOCKED)", "row(Coin, *[pays, UNLOCKED])") == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("row(Coin, pays,", "row(Coin, pays.when(coins < 3).orelse(ignore),", []),
        ("row(Coin, pays,", "row(Coin, pays.do(people.set(people)),", []),
        ("row(Push, locked, passes)", "row(Push, locked)", ["row Push: has 1 cell for 2 columns"]),
        (
            "row(Push, locked, passes)", "row(Push, locked, passes.when(coins > 1))",
            ["Push in UNLOCKED: is guarded and says nothing for otherwise"],
        ),
        (TABLE, "    tabel = Table(", ["Turnstile: has no table"]),
        ("class Push(Event)", "class Push", ["row: Push is no event"]),
        ("columns(LOCKED, UNLOCKED)", "columns(LOCKED)", ["state UNLOCKED: is not exactly once in columns(...)"]),
        (PAID, "paid = always(people)", ["people: is a Nat where a Bool is needed"]),
        (PAID, "paid = never('x')", ["'x': is no expression over states and fields"]),
        (
            "row(Push, locked, passes))\n    " + PAID, "row(Coin, UNLOCKED, UNLOCKED))\n    gone = leads_to(UNLOCKED, "
            "LOCKED, fair=Push)", ["event Push: has no row", "row Coin: is a second row of this event"],
        ),
    ],
)  # fmt: skip
def test_nothing_is_told_that_only_follows_from_another_error(old: str, new: str, said: list[str]) -> None:
    assert sorted(text for _, text in told(old, new)) == sorted(said)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (FIELDS, f"{FIELDS}; of = Opt(Worker)(None)", "Opt(...)(None): calls a field"),
        (FIELDS, f"{FIELDS}; of = Opt(Worker())", "a field, Opt: Worker(...) is a value where its type is needed"),
        (FIELDS, f"{FIELDS}; of = SetOf(int)", "a field, SetOf: <class 'int'> is not a type of the language"),
        (FIELDS, f"{FIELDS}; of = EnumOf('wait')", "EnumOf: 'wait' is no member of a StrEnum"),
        (FIELDS, f"{FIELDS}; of = Nat('3')", "Nat: '3' is no natural number"),
        ("State(), State()", "State(), State(final=True)", "State: takes nothing, and got final"),
        ("Scope(nat=3)", "Scope(natt=3)", "Scope: has no natt: it has nat, nats and ids"),
        (".do(people.set(people + 1))", ".do(people=people + 1)", ".do(people=...): is no update"),
    ],
)
def test_a_declaration_in_the_words_of_another_language_is_told_how_to_be_written(
    old: str, new: str, said: str
) -> None:
    ((where, text),) = told(old, new)
    assert text.startswith(said)
    assert where.startswith("turnstile.py:")
