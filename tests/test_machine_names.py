"""Machines named as MODULE:CLASS: `check` and `generate` say alike what is wrong with a name."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import pytest

from sluicegate.cli import main

NUMBERS = itertools.count()

DOOR = """
from sluicegate import Event, Machine, State, Table, columns, row

class Door(Machine):
    OPEN, SHUT = State(), State()
    class Push(Event): ...
    table = Table(columns(OPEN, SHUT), row(Push, SHUT, OPEN))
"""
BROKEN = """
from sluicegate import Event, Machine, State, Table, columns, row

class Door(Machine):
    OPEN, SHUT = State(), State()
    class Push(Event): ...
    table = Table(columns(OPEN, SHUT), row(Push, SHUT))
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module name that nothing has imported, for a file in the working directory of the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return f"named_machines_{next(NUMBERS)}"


@pytest.fixture(params=["check", "generate"])
def command(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    return ["check"] if request.param == "check" else ["generate", "--out", str(tmp_path / "made")]


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        ("", ":Door", "write MODULE{form}, as in mypkg.orders:Order"),
        ("", "{m}:", "write MODULE{form}, as in mypkg.orders:Order"),
        ("", ".{m}:Door", "write MODULE{form}, as in mypkg.orders:Order"),
        ("", "{m}.py/x:Door", "write MODULE{form}, as in mypkg.orders:Order"),
        ("", "absent_{m}:Door", "there is no module absent_{m}: run from the folder"),
        ("", "{m}.inner:Door", "there is no module {m}.inner: run from the folder"),
        ("import absent_part", "{m}:Door", "(ModuleNotFoundError: No module named 'absent_part')"),
        ("", "{m}:Door", "{m} has no Door"),
        ("Door = 3", "{m}:Door", "is not a machine"),
        ("class Door: ir = 1", "{m}:Door", "is not a machine"),
        ("from sluicegate import Machine", "{m}:Machine", "is the base of all machines"),
        ("def (", "{m}:Door", "{m} cannot be imported (SyntaxError: "),
        ("import sys; sys.exit(0)", "{m}:Door", "{m} cannot be imported (SystemExit: 0)"),
        ("raise ValueError('one\\ntwo')", "{m}:Door", "{m} cannot be imported (ValueError: one two)"),
        ("raise AttributeError('inside')", "{m}:Door", "{m} cannot be imported (AttributeError: inside)"),
        ("raise GeneratorExit", "{m}:Door", "{m} cannot be imported (GeneratorExit)"),
        ("Door = Door", "{m}:Door", "{m} cannot be imported (NameError: "),
    ],
)
def test_a_name_that_leads_to_no_machine_is_told_in_one_line(
    text: str, name: str, said: str, command: list[str], module: str, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    (tmp_path / f"{module}.py").write_text(text)
    assert main([*command, name.format(m=module)]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("sluicegate: ")
    assert said.format(m=module, form=":CLASS" if command[0] == "generate" else " or MODULE:NAME") in line
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [(["check"], "there is no module Door: run from"), (["generate", "--out", "made"], "write MODULE:CLASS")],
    ids=["check", "generate"],
)
def test_a_name_alone_is_a_module_to_check_and_nothing_to_generate(
    words: list[str], said: str, module: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "Door"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert said in line


def test_a_broken_declaration_prints_its_problems(
    command: list[str], module: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / f"{module}.py").write_text(BROKEN)
    assert main([*command, f"{module}:Door"]) == 2
    error = capsys.readouterr().err
    assert "machine Door: 1 problem" in error
    assert f"{module}.py:7" in error
    assert "mend: " in error


def test_a_machine_in_the_working_directory_is_found(
    command: list[str], module: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / f"{module}.py").write_text(DOOR)
    assert main([*command, f"{module}:Door"]) == 0
    assert capsys.readouterr().err == ""


def test_a_configuration_of_the_library_is_drawn_as_the_machine_that_it_becomes(
    module: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flow = "{'states': ['a', 'b'], 'initial': 'a', 'transitions': [['go', 'a', 'b']]}"
    (tmp_path / f"{module}.py").write_text(f"FLOW = {flow}\nTYPO = {flow.replace('states', 'state')}\n")
    assert main(["diagram", f"{module}:FLOW"]) == 0
    assert 'state "A"' in capsys.readouterr().out
    assert main(["diagram", f"{module}:TYPO"]) == 2
    assert "is a dict without `states` and `transitions`" in capsys.readouterr().err
