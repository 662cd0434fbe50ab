"""A run tells its steps with rates and the time left, notes them through its lives, and reports on all of them."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from sluicegate.runtime.runs.board import Board
from sluicegate.runtime.runs.notes import Noted, Notes, StepFigures, read_notes
from sluicegate.runtime.runs.report import RunReport
from sluicegate.runtime.runs.telling import Telling, spelled


class Clock:
    """A clock that is set."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def figures(step: int, **changes: Any) -> StepFigures:
    return StepFigures(
        **{
            "step": step, "version": step, "reward": step / 10, "staleness": 0.5, "metrics": {"loss": 0.25},
            "gather_s": 4.0, "train_s": 3.0, "publish_s": 1.0, "window_s": 2.0, "still_s": 1.0, "tokens": 100,
            "groups": (2 * step - 2, 2 * step - 1), **changes,
        }
    )  # fmt: skip


@pytest.fixture
def lines() -> Iterator[tuple[Telling, Clock, io.StringIO]]:
    clock, out = Clock(), io.StringIO()
    with Telling(10, console=Console(file=out, width=200), clock=clock) as telling:
        yield telling, clock, out


def test_a_step_is_told_with_its_rate_and_the_time_that_is_left(lines: tuple[Telling, Clock, io.StringIO]):
    telling, clock, out = lines
    telling.phase("training [1]")
    for step in (1, 2, 3):
        clock.now += 10.0
        telling.update(figures(step))
    assert telling.seconds_left(3) == pytest.approx(70)
    assert telling.rate() == pytest.approx(10)
    told = out.getvalue().splitlines()
    assert told[0] == "training [1]"
    assert told[-1] == "  step 3/10: version 3, reward 0.300, staleness 0.50, 10 tokens/s, 1 min 10 s left"


def test_lines_come_no_more_often_than_is_read_but_the_last_step_is_told(lines: tuple[Telling, Clock, io.StringIO]):
    telling, clock, out = lines
    for step in range(1, 11):
        clock.now += 1.0
        telling.update(figures(step))
    told = [line.strip().partition(":")[0] for line in out.getvalue().splitlines()]
    assert told == ["step 1/10", "step 10/10"]
    assert "left" not in out.getvalue().splitlines()[-1]


def test_a_run_without_an_end_has_no_time_left(lines: tuple[Telling, Clock, io.StringIO]):
    telling = Telling(None, console=Console(file=io.StringIO()))
    telling.update(figures(1))
    assert telling.seconds_left(1) is None
    telling.close()


def test_a_terminal_shows_a_bar_of_the_steps():
    out = io.StringIO()
    with Telling(4, console=Console(file=out, force_terminal=True, width=160)) as telling:
        telling.phase("training")
        telling.update(figures(3))
        telling.incident("r0 was lost [bold]")
    assert "3/4" in out.getvalue()
    assert "r0 was lost [bold]" in out.getvalue()


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0 s"), (59, "59 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")])
def test_spans_are_spelled_in_two_units(seconds: float, text: str):
    assert spelled(seconds) == text


def test_notes_of_all_lives_are_one_and_a_later_line_of_a_step_holds(tmp_path: Path):
    path = tmp_path / "figures.ndjson"
    first = Notes(path)
    first.evaluated(0, [0.0, 0.5])
    for step in (1, 2, 3):
        first.step(figures(step))
    with path.open("a") as file:
        file.write('{"note": "step", "at": 1')
    with path.open("a") as file:
        file.write("\n")
    second = Notes(path)
    second.incident("the trainer was lost")
    second.step(figures(3, reward=0.75))
    second.evaluated(3, [1.0, 1.0])
    noted = read_notes(path)
    assert (noted.lives, list(noted.steps), noted.incidents) == (2, [1, 2, 3], ["the trainer was lost"])
    assert (noted.steps[3].reward, noted.steps[2]) == (0.75, figures(2))
    assert noted.held_out == {0: [0.0, 0.5], 3: [1.0, 1.0]}


def test_what_cannot_be_noted_or_charted_is_told_once_and_ends_nothing(tmp_path: Path):
    out = io.StringIO()
    notes = Notes(tmp_path / "figures.ndjson")
    notes.path.unlink()
    notes.path.mkdir()
    with Telling(3, console=Console(file=out, width=200), notes=notes) as telling:
        for step in (1, 2, 3):
            telling.update(figures(step))
    assert out.getvalue().count("nothing more is noted") == 1


def test_a_run_whose_output_nobody_takes_is_noted_and_goes_on(tmp_path: Path):
    notes = Notes(tmp_path / "figures.ndjson")
    with open("/dev/full", "wb", buffering=0) as full:
        console = Console(file=io.TextIOWrapper(full, write_through=True))
        with Telling(3, console=console, notes=notes) as telling:
            telling.phase("begun")
            telling.incident("r0: signal 9")
            telling.evaluated(1, [0.5])
            telling.update(figures(3))
    assert list(read_notes(notes.path).steps) == [3]


def test_the_board_has_every_figure_and_the_next_life_goes_on_behind_its_step(tmp_path: Path):
    from tensorboardX.proto.event_pb2 import Event  # pyright: ignore[reportAttributeAccessIssue]

    for life, (begin, steps) in enumerate(((0, (1, 2)), (1, (2, 3)))):
        with Telling(3, console=Console(file=io.StringIO()), board=Board(tmp_path, step=begin)) as telling:
            telling.evaluated(begin, [0.25, 0.75])
            for step in steps:
                telling.update(figures(step, reward=0.5 + life))
    told: dict[tuple[str, int], float] = {}
    purged = []
    for path in sorted(tmp_path.iterdir()):
        content = path.read_bytes()
        while content:
            # A record is its length, a checksum, itself, a checksum.
            size = int.from_bytes(content[:8], "little")
            event = Event.FromString(content[12 : 12 + size])
            content = content[16 + size :]
            if event.session_log.status == event.session_log.START:
                purged.append(event.step)
            told |= {(value.tag, event.step): value.simple_value for value in event.summary.value}
    assert told["held_out/reward", 1] == 0.5
    assert [told["run/reward", step] for step in (1, 2, 3)] == [0.5, 1.5, 1.5]
    assert told["train/loss", 3] == 0.25
    assert purged == [2]


def report(noted: Noted, **changes: Any) -> RunReport:
    config = {"updates": 4, "placement": "disaggregated"}
    return RunReport(**{"name": "run-1", "config": config, "noted": noted, **changes})


def test_the_report_has_checks_gains_and_times(tmp_path: Path):
    noted = Noted(lives=2, seconds=40.0, steps={step: figures(step) for step in (1, 2, 3, 4)})
    noted.held_out = {0: [0.0, 0.0, 0.2], 4: [0.5, 0.7, 0.9]}
    noted.incidents.append("r0 was lost")
    made = report(noted)
    page = made.write(tmp_path / "report")
    told = json.loads((page.parent / "report.json").read_text())
    assert made.has_passed
    assert told["passed"]
    assert told["held_out_gain"] == {"mean": pytest.approx(19 / 30), "standard_error": pytest.approx(0.0666, abs=1e-3)}
    assert (told["tokens_per_second"], told["still_share"]) == (pytest.approx(10), pytest.approx(0.1))
    assert (told["reward_first"], told["reward_last"], told["lives"]) == (0.1, pytest.approx(0.4), 2)
    assert {path.name for path in page.parent.iterdir()} == {"report.json", "report.md", "reward.png", "time.png"}
    assert "4 steps in 40 s and 2 lives, disaggregated." in page.read_text()
    assert "r0 was lost" in page.read_text()
    lent = report(noted, config={"updates": 4, "placement": "colocated"}).as_json()
    assert lent["still_share"] == pytest.approx(1 / 6)


@pytest.mark.parametrize(
    ("steps", "failed"),
    [
        ([1, 2, 3], "every step was made"),
        ([1, 2, 4], "every step was made"),
        ([1, 2, 3, (4, (0, 9))], "no group was trained on twice"),
    ],
)
def test_a_run_that_lacks_a_step_or_trained_twice_has_not_passed(steps: list[Any], failed: str):
    made = [figures(s) if isinstance(s, int) else figures(s[0], groups=s[1]) for s in steps]
    told = report(Noted(lives=1, steps={each.step: each for each in made}))
    assert [check.name for check in told.checks() if not check.passed] == [failed]
