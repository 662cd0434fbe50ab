"""A model of several modules becomes one module that means the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sluicegate.spec.checkers import Config, Model
from sluicegate.spec.checkers.flatten import FlattenError, flatten
from sluicegate.spec.checkers.source import GENERATED, definitions, imports, without_comments


def module(name: str, body: str) -> str:
    return f"---- MODULE {name} ----\n{body}\n====\n"


def model(**bodies: str) -> Model:
    """The first module is the root."""
    return Model(next(iter(bodies)), {n: module(n, b) for n, b in bodies.items()}, Config())


def test_extended_modules_come_first_and_once() -> None:
    text = flatten(
        model(
            Top="EXTENDS Left, Right, Naturals\nTop1 == 1",
            Left="EXTENDS Base, Sequences\nLeft1 == 1",
            Right="EXTENDS Base\nRight1 == 1",
            Base="Base1 == 1",
        )
    )
    assert text.startswith("---- MODULE Top ----\nEXTENDS Naturals, Sequences\n")
    assert definitions(text) == ["Base1", "Left1", "Right1", "Top1"]
    assert text.count("MODULE") == text.count("EXTENDS") == 1


def test_comments_become_blanks_and_nothing_moves() -> None:
    text = 'A == 1 (* one (* inner "*) *) + \\* tail\n  B == "(* kept \\\\* *)" \\* (*\nC == 2'
    bare = without_comments(text)
    assert [len(line) for line in bare.splitlines()] == [len(line) for line in text.splitlines()]
    assert bare.split() == ["A", "==", "1", "+", "B", "==", '"(*', "kept", "\\\\*", '*)"', "C", "==", "2"]


def test_definitions_may_be_indented_and_those_between_let_and_in_are_no_names_of_the_module() -> None:
    text = """
      CONSTANT N
        Paid == LET a == 1
                    b == IF N = 1 THEN LET c == 2 IN c ELSE 3
                IN  a + b
        LOCAL Deep(x, _) ==
          LET d == "IN LET"
              e == x IN d
      Whole[i \\in 1..N] == i
    """
    assert definitions(text) == ["N", "Paid", "Deep", "Whole"]


def test_a_root_knows_the_names_of_what_it_extends_and_of_what_it_instantiates_without_a_name() -> None:
    known = model(
        Top="EXTENDS A\nINSTANCE B WITH x <- 1\nG == INSTANCE C\n\\* INSTANCE D\n",
        A="LOCAL INSTANCE E\nInA == 1",
        **{name: f"In{name} == 1" for name in "BCDE"},
    ).defined()
    assert known == {"InA", "InB", "InE", "G"}


def test_imports_in_comments_do_not_count() -> None:
    assert imports("\\* EXTENDS Gone\nEXTENDS Naturals, Mine\n(* INSTANCE Gone *)\nI == INSTANCE Other") == [
        "Mine",
        "Other",
    ]


@pytest.mark.parametrize(
    ("bodies", "said"),
    [
        ({"Top": "EXTENDS A\nX == 1", "A": "X == 2"}, "X is defined in module A and in module Top"),
        ({"Top": "VARIABLES a, b\nb(n) == 1"}, "b is defined in module Top and in module Top"),
        ({"Top": "EXTENDS A\n", "A": "EXTENDS Top\n"}, "circle: Top -> A -> Top"),
        ({"Top": "EXTENDS A\n"}, "Top -> A lacks the text of module A"),
        ({"Top": "G == INSTANCE A WITH x <- 1"}, "module Top: INSTANCE A cannot be inlined"),
    ],
)
def test_what_cannot_be_one_module_is_refused(bodies: dict[str, str], said: str) -> None:
    with pytest.raises(FlattenError, match=said):
        flatten(model(**bodies))


def test_what_is_generated_and_not_used_is_left_out_and_what_is_written_by_hand_is_not():
    made = f"{GENERATED} from the machine T; do not edit.\n---- MODULE T ----\nEXTENDS Naturals\n"
    made += "TOne(x) == x + 1\n\nTTwo(x) ==\n    TOne(x) + 1\n\n"
    made += "\\* About what nobody wants.\nTThree(x) == TTwo(x)\n====\n"
    root = module("R", "EXTENDS T\nVARIABLE v\nInit == v = 0\nNext == v < 4 /\\ v' = TTwo(v)\nUnused == 7")
    whole = Model("R", {"R": root, "T": made}, Config(invariants=("Small",)))
    lean = whole.lean().modules
    assert lean["R"] == root
    assert "TOne" in lean["T"]
    assert "TTwo" in lean["T"]
    assert "TThree" not in lean["T"]
    named = replace(whole, config=Config(invariants=("TThree",)))
    assert "TThree" in named.lean().modules["T"]
