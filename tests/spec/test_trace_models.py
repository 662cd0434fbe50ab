"""Runs held to the system models: what is logged is a behaviour of each, or the first step that is none is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from trace_lines import formal, parsed
from traced_run import World, eventful_run, small_run

from sluicegate.cli import main
from sluicegate.spec.traces.reading import Trace, read
from sluicegate.spec.traces.tla import explain_run
from sluicegate.spec.traces.tla.line import believe, in_order
from sluicegate.spec.traces.tla.weight_sync import WeightSyncLog
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.machines import MACHINES
from sluicegate.statemachines.sync import Sync

Line = dict[str, Any]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def eventful(tmp_path_factory: pytest.TempPathFactory) -> list[Line]:
    return parsed(eventful_run(tmp_path_factory.mktemp("eventful")))


def as_trace(lines: list[Line], folder: Path) -> Trace:
    path = folder / "trace.ndjson"
    path.write_text("".join(json.dumps(line) + "\n" for line in formal(lines)))
    return read(path, MACHINES)


def without(lines: list[Line], machine: str, event: str, number: int) -> list[Line]:
    """The lines but for one: the `number`-th step of this event."""
    found = [i for i, line in enumerate(lines) if line.get("machine") == machine and line.get("event") == event]
    return [*lines[: found[number]], *lines[found[number] + 1 :]]


def test_a_run_with_a_kill_an_orphan_a_poison_and_a_restart_is_a_behaviour_of_both_models(
    eventful: list[Line], tmp_path: Path
) -> None:
    found = list(explain_run(as_trace(eventful, tmp_path), None))
    assert [(e.model, e.said("")) for e in found if not e.ok] == []
    assert {e.model: e.steps > 30 for e in found} == {"WeightSync": True, "SessionAffinity": True}


def test_a_window_begins_with_what_the_snapshots_before_it_imply(eventful: list[Line], tmp_path: Path) -> None:
    [found] = explain_run(as_trace(eventful, tmp_path), 60, models=["WeightSync"])
    assert found.ok, found.said("")
    assert found.windows >= 3


def test_windows_cover_every_step_once(eventful: list[Line], tmp_path: Path) -> None:
    trace = as_trace(eventful, tmp_path)
    believe(trace)
    log = WeightSyncLog(in_order(trace), trace.killed)
    for size in (1, 7, None):
        windows = list(log.windows(size))
        assert [told for window in windows for told in window.logs[0]] == log.told
        assert size is None or max(len(window.logs[0]) for window in windows) <= size


def test_a_gate_that_is_told_to_install_before_all_have_drained_is_the_first_that_nothing_explains(
    eventful: list[Line], tmp_path: Path
) -> None:
    changed = without(eventful, "Sync", "Drained", 4)
    [found] = explain_run(as_trace(changed, tmp_path), None, models=["WeightSync"])
    assert found.refused is not None
    assert (found.refused.track.name, found.refused.name) in {("Gate", "Install"), ("Sync", "Installed")}
    told = found.said("the run")
    assert f"the run: line {found.refused.line}: {found.refused}" in told
    assert "Quiesced(" in told
    assert ".gate.quiet: {} → " in told


def test_a_request_forwarded_before_its_session_was_bound_is_no_behaviour(eventful: list[Line], tmp_path: Path) -> None:
    [found] = explain_run(
        as_trace(without(eventful, "Session", "Bound", 0), tmp_path), None, models=["SessionAffinity"]
    )
    assert found.refused is not None
    assert (found.refused.track.name, found.refused.name) == ("Lease", "Forward")


@pytest.mark.parametrize("lent_after", [False, True])
def test_a_pause_lends_to_nobody_before_it_ends_and_after(lent_after: bool, tmp_path: Path) -> None:
    world = World(tmp_path)
    for replica in ("r0", "r1"):
        world.start(replica)
    world.update(1)
    members = world.pause()
    if lent_after:
        world.on_sync(Sync.Trained())
        world.command(members[0], Gate.Lend(term=1, epoch=world.epoch, lend="l1"))
    else:
        world.resume(members)
        world.update(2)
    [found] = explain_run(read(world.merge(), MACHINES), None, models=["WeightSync"])
    assert found.ok is not lent_after, found.said("")
    if lent_after:
        assert found.refused is not None
        assert found.refused.name in ("Lend", "Trained")


def test_the_command_holds_a_run_to_the_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(small_run(tmp_path))
    assert main(["trace", "validate", path, "--tla"]) == 0
    said = capsys.readouterr().out
    assert "WeightSync (86 steps in 3 windows, " in said
    assert said.count("explained by a behaviour of the model") == 2


def test_a_size_of_windows_asks_for_the_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(small_run(tmp_path))
    assert main(["trace", "validate", path, "--window", "10"]) == 2
    assert "add --tla" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stopped:
        main(["trace", "validate", path, "--tla", "--window", "0"])
    assert stopped.value.code == 2
    assert "above 0" in capsys.readouterr().err
