"""`sluicegate trace`: what is judged is printed, and the exit status says what came of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from trace_lines import formal, parsed
from traced_run import eventful_run, small_run

from sluicegate.cli import main


def test_an_explained_trace_prints_what_was_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "validate", str(small_run(tmp_path))]) == 0
    out = capsys.readouterr().out
    assert "Gate " in out
    assert "explained" in out
    asked = {line.split()[0]: line.split()[1] for line in out.splitlines() if line.startswith("  ") and "_" in line}
    assert asked["lease_is_admitted"] == "4"
    assert asked["poisoned_gate"] == "never", "a rule that was not asked is said so"


def test_a_killed_process_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "validate", str(eventful_run(tmp_path))]) == 0
    assert "killed, so that their logs may end early: r1.1" in capsys.readouterr().out


def test_a_refused_trace_names_the_first_line_that_nothing_explains(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = parsed(small_run(tmp_path))
    seal = next(line for line in lines if line.get("event") == "Seal" and line["instance"] == "r1")
    path = tmp_path / "changed.ndjson"
    path.write_text("".join(json.dumps(line) + "\n" for line in formal([x for x in lines if x is not seal])))
    assert main(["trace", "validate", str(path)]) == 1
    assert "refused by Gate" in capsys.readouterr().out
    assert main(["trace", "validate", "--json", str(path)]) == 1
    verdict = json.loads(capsys.readouterr().out)
    assert verdict["valid"] is False
    assert (verdict["refusal"]["instance"], verdict["refusal"]["event"]) == ("r1", "Drain")


def test_a_file_that_cannot_be_judged_is_an_error_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = small_run(tmp_path)
    path.write_text(path.read_text()[:-20])
    assert main(["trace", "validate", str(path)]) == 2
    assert "cut short" in capsys.readouterr().err


@pytest.mark.parametrize("machines", [{}, None])
def test_a_trace_of_nothing_is_not_explained(
    machines: dict[str, str] | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [header] = formal(parsed(small_run(tmp_path))[:1])
    path = tmp_path / "nothing.ndjson"
    path.write_text(json.dumps(header if machines is None else {**header, "machines": machines}) + "\n")
    assert main(["trace", "validate", str(path)]) == 2
    said = capsys.readouterr()
    assert "explained" not in said.out
    assert len(said.err.splitlines()) == 1


def test_a_line_nested_too_deeply_is_an_error_of_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "deep.ndjson"
    path.write_text("[" * 10_000 + "\n")
    assert main(["trace", "validate", str(path)]) == 2
    assert "nested too deeply" in capsys.readouterr().err


def test_a_name_that_cannot_be_printed_is_an_error_of_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = parsed(small_run(tmp_path))
    path = tmp_path / "unprintable.ndjson"
    path.write_text("".join(json.dumps(x | {"instance": "\ud800"} if "n" in x else x) + "\n" for x in lines))
    for command in (["validate"], ["show", "--instance", "r0"]):
        assert main(["trace", *command, str(path)]) == 2
        said = capsys.readouterr().err
        assert f"{path}:" in said
        assert "half a surrogate" in said


def test_one_instance_is_shown_in_its_own_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = eventful_run(tmp_path)
    assert main(["trace", "show", str(path), "--instance", "r1"]) == 0
    out = capsys.readouterr().out
    assert "Gate r1 (incarnation r1.1), killed" in out
    assert out.index("Seal(") < out.index("Drain(") < out.index("Install(")
    assert main(["trace", "show", str(path), "--instance", "nobody"]) == 1
