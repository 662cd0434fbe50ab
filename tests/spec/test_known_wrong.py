"""What tla-checker 0.9.0 gets wrong by itself, and the guard that stands against each.

A test that fails here says that a newer release mends something: the guard that it names can then go.
The checker is asked past our guards, by its own functions.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sluicegate.spec.checkers import Config, Model, tla_checker, tlc
from sluicegate.spec.checkers.flatten import flatten
from sluicegate.spec.models import SPEC

STEPS = "INIT Init\nNEXT Next\n"
FAIR = "SPECIFICATION Spec\nPROPERTY Answered\n"
NUMBERS = "EXTENDS Naturals, Sequences\nVARIABLE x\n"


def ask(function: str, body: str, *args: Any) -> Any:
    with tla_checker.session(60.0) as host:
        return host.call(function, f"---- MODULE M ----\n{body}\n====\n", *args)


def check(body: str, cfg: str, max_states: int = 1000) -> Any:
    return ask("check_spec_with_cfg", body, cfg, "{}", max_states, 1000, True, False)


def passes(body: str, cfg: str) -> Callable[[], bool]:
    return lambda: bool(check(body, cfg)["success"])


def fails(body: str, cfg: str, error: str) -> Callable[[], bool]:
    return lambda: check(body, cfg)["error_type"] == error


def leads(steps: str, left: str, right: str) -> str:
    return (
        f"{NUMBERS}Init == x = 0\n{steps}\nSpec == Init /\\ [][Next]_x /\\ WF_x(Next)\n"
        f"Answered == ({left}) ~> ({right})\n"
    )


def options(extra: dict[str, Any]) -> Any:
    body = NUMBERS + "Init == x = 0\nNext == x < 300 /\\ x' = x + 1\nLow == x < 300\n"
    return ask("check_spec_with_options", body, json.dumps({"cfg_source": STEPS + "INVARIANT Low\n", **extra}))


def names_of_actions() -> set[str]:
    body = NUMBERS + "Init == x = 0\nUp(k) == x' = k\nDown(k) == x' = 0\nNext == \\E k \\in {1} : Up(k) \\/ Down(k)\n"
    first = ask("explore_init", body, STEPS, "{}")["states"][0]["json"]
    return {t["action"] for t in ask("explore_next", body, STEPS, "{}", json.dumps(first))["transitions"]}


REFUSES = "tla_checker.check refuses properties: TLC alone judges them"
UNIQUE = "emitted parameters have names of their own (spec/emitter/module.py)"
NAMED = "every invariant is named in the cfg and looked for in the checker's own answer"
BOUNDED = "TLC runs the same model"
BRACKETS = "models put both sides of => in brackets where they are conjunctions or disjunctions, which a test sees"

WRONG: dict[str, tuple[str, Callable[[], bool]]] = {
    "a leads-to passes where the run ends after its left side": (
        REFUSES, passes(leads("Next == x < 2 /\\ x' = x + 1", "x = 1", "x = 0"), FAIR)),
    "a leads-to passes where one branch ends": (
        REFUSES,
        passes(leads("Next ==\n  \\/ x = 0 /\\ x' \\in {1, 2}\n  \\/ x = 1 /\\ x' = 0", "x = 0", "x = 1"), FAIR)),
    "a leads-to passes where one branch loops": (
        REFUSES,
        passes(leads("Next ==\n  \\/ x = 0 /\\ x' \\in {1, 4}\n  \\/ x = 1 /\\ x' = 2\n  \\/ x = 2 /\\ x' = 1\n"
                     "  \\/ x = 4 /\\ x' = 5\n  \\/ x = 5 /\\ x' = 5", "x = 0", "x = 2"), FAIR)),
    "[]P is not taken as a property": (
        REFUSES, fails(leads("Next == x' = x", "TRUE", "TRUE").split("Answered")[0] + "Answered == [](x = 0)\n",
                       FAIR, "InvariantError")),
    "[][A]_v is not taken as a property": (
        REFUSES, fails(leads("Next == x' = x", "TRUE", "TRUE").split("Answered")[0] + "Answered == [][x' = x]_x\n",
                       FAIR, "InvariantError")),
    "a parameter is captured by a variable that the caller binds": (
        UNIQUE,
        fails("EXTENDS Integers\nVARIABLE x\nInit == x = 0\nLess(a, b) == a - b\n"
              "Next == \\E a \\in {5}, b \\in {3} : x' = Less(b, a) + 10\nRight == x \\in {0, 8}\n",
              STEPS + "INVARIANT Right\n", "InvariantViolation")),
    "an unfinished definition swallows the next one, and the module passes": (
        NAMED, passes(NUMBERS + "Init == x = 0\nNext == x' = 1 - x\nHalf == IF x = 0 THEN 1\nZero == x = 0\n", STEPS)),
    "101 is no natural": (
        BOUNDED + "; nats are bounded in models",
        fails(NUMBERS + "Init == x = 0\nNext == x' = 101\nIs == x \\in Nat\n", STEPS + "INVARIANT Is\n",
              "InvariantViolation")),
    "a number and a text are unequal, and no error": (
        BOUNDED, passes(NUMBERS + 'Init == x = 1\nNext == x\' = x\nIs == x # "a"\n', STEPS + "INVARIANT Is\n")),
    "P => A /\\ B is read as (P => A) /\\ B": (
        BRACKETS,
        fails(NUMBERS + "Init == x = 1\nNext == x' = x\nIs == x = 0 => x = 2 /\\ x = 3\n", STEPS + "INVARIANT Is\n",
              "InvariantViolation")),
    "A \\/ B => P is read as A \\/ (B => P), and passes": (
        BRACKETS,
        passes(NUMBERS + "Init == x = 1\nNext == x' = x\nIs == x = 1 \\/ x = 0 => x = 3\n", STEPS + "INVARIANT Is\n")),
    "a constraint on actions is ignored": (
        "Config has none",
        fails(NUMBERS + "Init == x = 0\nNext == x' = x + 1\nSmall == x' < 3\n", STEPS + "ACTION_CONSTRAINT Small\n",
              "MaxStatesExceeded")),
    "nested comments do not parse": (
        "flatten blanks comments",
        fails("(* a (* b *) c *)\n" + NUMBERS + "Init == x = 0\nNext == x' = x\n", STEPS, "ParseError")),
    "a function cannot be defined by F[n \\in S]": (
        "not emitted, not used in models for both",
        fails(NUMBERS + "F[n \\in 0..3] == n\nInit == x = F[1]\nNext == x' = x\n", STEPS, "ParseError")),
    "an operator cannot be an argument": (
        "not emitted, not used in models for both",
        fails(NUMBERS + "Ap(F(_), y) == F(y)\nInc(y) == y + 1\nInit == x = Ap(Inc, 1)\nNext == x' = x\n", STEPS,
              "InitError")),
    "a constant cannot be replaced by a definition": (
        "not used in models for both",
        fails("EXTENDS Naturals\nCONSTANT C\nVARIABLE x\nMM == {1}\nInit == x \\in C\nNext == x' = x\n",
              STEPS + "CONSTANT C <- MM\n", "ConfigError")),
    "a function of two arguments makes its definition vanish": (
        "not emitted, not used in models for both",
        fails(NUMBERS + "Init == x = [i \\in {1}, j \\in {1} |-> 0]\nNext == x' = [x EXCEPT ![1, 1] = 1]\n", STEPS,
              "ConfigError")),
    "exploring stops at depth 100": (
        "bounds are always given", lambda: options({})["error_type"] == "MaxDepthExceeded"),
    "an option that it does not know is ignored": (
        "only options that a test sees at work are given",
        lambda: options({"max_dept": 400}) == options({}) and options({"max_depth": 400}) != options({})),
    "a violated invariant is named by its number": (
        "translated in tla_checker.check",
        lambda: check(NUMBERS + "Init == x = 0\nNext == x' = 1\nFirst == TRUE\nSecond == x = 0\n",
                      STEPS + "INVARIANT First\nINVARIANT Second\n")["error_message"] == "Invariant 1 violated"),
    "actions in a disjunction under one quantifier have no names": (
        "one named action for each branch, with its own quantifier", lambda: names_of_actions() == {"Next"}),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_M21_a_known_wrong_answer_is_still_wrong(what: str) -> None:
    guard, still = WRONG[what]
    assert still(), f"mended: {what}. Remove the guard: {guard}"


def misread(line: str) -> bool:
    """Whether => has a bare /\\ on its right or a bare \\/ on its left; a bullet begins an item and is none."""
    line = re.sub(r"\\\\\*.*", "", line)
    for arrow in re.finditer("=>", line):
        right = re.split(r"=>|[)\]},:]|\b(?:THEN|ELSE|IN)\b", _unnested(line[arrow.end() :]))[0]
        left = re.split(
            r"=>|==|[(\[{,:]|\b(?:THEN|ELSE|IN)\b", _unnested(line[: arrow.start()].lstrip().removeprefix("\\/"))
        )[-1]
        if "/\\" in right or "\\/" in left:
            return True
    return False


def _unnested(text: str) -> str:
    """The text without what stands in brackets that open and close in it."""
    while (shorter := re.sub(r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}", " ", text)) != text:
        text = shorter
    return text


@pytest.mark.parametrize("path", sorted(SPEC.rglob("*.tla")), ids=lambda path: path.stem)
def test_no_model_has_an_implication_that_the_checkers_read_differently(path: Path) -> None:
    assert [line for line in path.read_text().splitlines() if misread(line)] == []


@pytest.mark.parametrize("line", ["A == x => y /\\ z", "A == x \\/ y => z", "  /\\ (f(x) => y /\\ z)"])
def test_an_implication_that_is_misread_is_seen(line: str) -> None:
    assert misread(line)


@pytest.mark.parametrize(
    "line",
    ["A == x => (y /\\ z)", "  \\/ x => y \\/ z", "  /\\ x => y", "A == x \\/ (y => z)", "A == x /\\ (y => z) /\\ w"],
)
def test_an_implication_that_is_read_alike_is_not(line: str) -> None:
    assert not misread(line)


def test_what_the_checker_gets_wrong_is_right_behind_the_guards() -> None:
    """The three whose guard is text: flattened and named, they are judged as TLC judges them."""
    commented = "(* a (* b *) c *)\nVARIABLE x\nInit == x = 0\nNext == x' = x"
    nested = Model("M", {"M": f"---- MODULE M ----\n{commented}\n====\n"}, Config())
    assert "(*" not in flatten(nested)
    assert tla_checker.check(nested).ok
    swallowed = NUMBERS + "Init == x = 0\nNext == x' = 1 - x\nHalf == IF x = 0 THEN 1\nZero == x = 0\n"
    named = Model("M", {"M": f"---- MODULE M ----\n{swallowed}\n====\n"}, Config(invariants=("Zero",)))
    assert tla_checker.check(named).verdict == "error"
    deep = NUMBERS + "Init == x = 0\nNext == x < 300 /\\ x' = x + 1\n"
    whole = Model("M", {"M": f"---- MODULE M ----\n{deep}\n====\n"}, Config())
    assert (tla_checker.check(whole).verdict, tla_checker.check(whole).distinct) == ("ok", 301)


def java_words(name: str, within: float = 10.0) -> list[str]:
    """The command line of the Java process that checks the module `name`, as soon as there is one."""
    until = time.monotonic() + within
    while time.monotonic() < until:
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    words = (entry / "cmdline").read_bytes().decode().split("\0")
                    if "tlc2.TLC" in words and f"{name}.tla" in words:
                        return words
        time.sleep(0.05)
    return []


@pytest.mark.parametrize(("properties", "workers"), [(("Ends",), "1"), ((), "2")])
def test_M21_properties_are_judged_by_one_worker_however_many_are_asked_for(
    properties: tuple[str, ...], workers: str
) -> None:
    """With several TLC has passed liveness wrongly: what runs is looked at, not what was asked."""
    name = f"Workers{workers}x{os.getpid()}"
    body = (
        "EXTENDS Naturals\nVARIABLES a, b, c\nvars == <<a, b, c>>\nInit == a = 0 /\\ b = 0 /\\ c = 0\n"
        "Next == a' \\in 0..400 /\\ b' \\in 0..400 /\\ c' \\in 0..400\n"
        "Spec == Init /\\ [][Next]_vars\nEnds == <>(a = 400)\n"
    )
    subject = Model(
        name, {name: f"---- MODULE {name} ----\n{body}\n====\n"}, Config(spec="Spec", properties=properties)
    )
    with ThreadPoolExecutor(1) as pool:
        looked = pool.submit(java_words, name)
        assert tlc.check(subject, workers=2, timeout=3).verdict == "incomplete"
        words = looked.result()
    assert words[words.index("-workers") + 1] == workers
