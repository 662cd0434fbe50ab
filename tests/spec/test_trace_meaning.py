"""The judgement is about meaning: what is changed in a trace and formally intact is refused, unless it changes nothing.

Every changed file is numbered and counted anew, so that only what the lines say can give it away.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trace_lines import formal, judge, parsed, track_of, variants
from traced_run import BY_NAME, eventful_run, small_run

from sluicegate.spec.traces import TraceError
from sluicegate.statemachines.values import decode, decode_event

Line = dict[str, Any]
Lines = list[Line]
RUNS = {"small": small_run, "eventful": eventful_run}
AGAIN = settings(
    deadline=None,
    derandomize=True,
    max_examples=30,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module", params=sorted(RUNS))
def lines(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Lines:
    return parsed(RUNS[request.param](tmp_path_factory.mktemp(request.param)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("changed")


def refusal(lines: Lines, folder: Path) -> str:
    """What is said against a trace; nothing if it is explained."""
    try:
        return str(judge(lines, folder).refusal or "")
    except TraceError as error:
        return str(error)


def in_tracks(lines: Lines) -> list[int]:
    return [i for i, line in enumerate(lines) if track_of(line)]


def changes_state(line: Line) -> bool:
    return line["line"] == "step" and bool(line["set"] or line["before"] != line["after"])


def following(lines: Lines, index: int) -> Iterator[Line]:
    """What comes after a line in its own track."""
    return (line for line in lines[index + 1 :] if track_of(line) == track_of(lines[index]))


# -- reorderings -----------------------------------------------------------------------------------


def shuffled(lines: Lines, order: list[Any]) -> Lines:
    """The lines below the header by `order`, one entry of it a line; each track stays in its own order."""
    queues: dict[Any, list[Line]] = {}
    for number, line in enumerate(lines[1:]):
        queues.setdefault(track_of(line) or number, []).append(line)
    keys = list(queues)
    return [lines[0], *(queues[keys[k % len(keys)]].pop(0) for k in order if queues[keys[k % len(keys)]])]


@AGAIN
@given(data=st.data())
def test_independent_lines_may_stand_in_any_order(lines: Lines, folder: Path, data: st.DataObject) -> None:
    tracks = Counter(track_of(line) or number for number, line in enumerate(lines[1:]))
    places = [place for place, (_, count) in enumerate(tracks.items()) for _ in range(count)]
    order = data.draw(st.randoms(use_true_random=False).map(lambda r: r.sample(places, len(places))))
    moved = shuffled(lines, order)
    assert Counter(map(str, moved)) == Counter(map(str, lines))
    assert refusal(moved, folder) == ""


def test_tracks_may_stand_one_after_another_in_either_order(lines: Lines, folder: Path) -> None:
    body = sorted(lines[1:], key=lambda line: str(track_of(line)))
    assert refusal([lines[0], *body], folder) == ""
    body = sorted(lines[1:], key=lambda line: str(track_of(line)), reverse=True)
    assert refusal([lines[0], *body], folder) == ""


# -- lines that are missing ------------------------------------------------------------------------

UNUSED = {
    ("Replica", "Synced"): "the controller's note of a version: the next note of it does not depend on it",
    ("Replica", "Poisoned"): "the last that is said of an incarnation",
    ("Session", "Release"): "the last that is said of a session",
    ("Lease", "Progress"): "on a killed worker: there is no receipt that counts its tokens",
    ("Gate", "Install"): "the last that a killed worker has said",
    ("Trainer", "Published"): "the last that is said of a version, which nobody installs",
}
"""(machine, event) -> why nothing in these runs depends on the step, where it may be missing unnoticed."""


@pytest.mark.slow
def test_a_state_changing_step_is_missed_by_what_depends_on_it(lines: Lines, folder: Path) -> None:
    unnoticed = []
    for index in in_tracks(lines):
        line = lines[index]
        if line["line"] == "step" and not changes_state(line):
            continue
        if not refusal(formal(lines[:index] + lines[index + 1 :]), folder):
            unnoticed.append((line["machine"], line.get("event") or line.get("fact")))
    assert set(unnoticed) <= UNUSED.keys()


def test_the_first_step_that_depends_on_a_missing_one_is_named(lines: Lines, folder: Path) -> None:
    """Of a gate, whose steps all depend on its epoch or its leases: the very next step that changes anything."""
    seal = next(i for i in in_tracks(lines) if lines[i].get("event") == "Seal")
    after = next(line for line in following(lines, seal) if line["line"] == "step")
    verdict = judge(formal(lines[:seal] + lines[seal + 1 :]), folder)
    assert verdict.refusal is not None
    assert verdict.refusal.entry.track.instance == after["instance"]
    assert verdict.as_json()["refusal"]["event"] == after["event"]
    assert "the table, in" in str(verdict.refusal)


# -- lines that have changed places ----------------------------------------------------------------


def outcomes(machine: Any, snapshot: Any, steps: list[Line]) -> tuple[Any, list[Any]]:
    """The snapshot after the events of some lines, and what came of each."""
    found = []
    for line in steps:
        event = decode_event(machine, {"event": line["event"], "fields": line["fields"]})
        snapshot, outcome = machine.step(snapshot, event)
        found.append((line["event"], outcome))
    return snapshot, found


def commute(lines: Lines, first: int, second: int) -> bool:
    """Whether two neighbours of a track are the same in either order, by the pure step alone."""
    a, b = lines[first], lines[second]
    if a["line"] != "step" or b["line"] != "step":
        # A fact is before or after the step that makes it true; others stand where they like.
        return a["line"] != "new" and "catch_up" in (a.get("fact"), b.get("fact"))
    machine = BY_NAME[a["machine"]]
    track = [line for line in lines[:first] if track_of(line) == track_of(a)]
    if track[0]["restored"]:
        return False
    born = track[0]["fields"]
    values = {f.name: decode(f.type, born[f.name]) for f in machine.ir.fields if f.given}
    before, _ = outcomes(machine, machine.initial(**values), [s for s in track if s["line"] == "step"])
    one, came = outcomes(machine, before, [a, b])
    other, came_swapped = outcomes(machine, before, [b, a])
    return one == other and Counter(map(str, came)) == Counter(map(str, came_swapped))


@pytest.mark.slow
def test_dependent_neighbours_cannot_be_swapped(lines: Lines, folder: Path) -> None:
    last: dict[Any, int] = {}
    swapped = 0
    for index in in_tracks(lines):
        before = last.get(track_of(lines[index]))
        last[track_of(lines[index])] = index
        if before is None:
            continue
        changed = list(lines)
        changed[before], changed[index] = lines[index], lines[before]
        if not refusal(formal(changed), folder):
            assert commute(lines, before, index), (lines[before], lines[index])
            swapped += 1
    assert swapped < 8, "nearly all neighbours of a track depend on each other"


# -- members that have changed ---------------------------------------------------------------------

UNJUDGED = {
    ("new", "Sync", "fields"): "the minimum of a cohort matters only where an operation comes near it",
    ("new", "Replica", "fields"): "a patience matters only where probes are missed",
    ("new", "Session", "fields"): "a policy matters only where a session is moved",
    ("new", "Gate", "cause"): "what made an instance is for a reader",
    ("new", "Sync", "cause"): "what made an instance is for a reader",
    ("new", "Session", "cause"): "what made an instance is for a reader",
    ("new", "Trainer", "cause"): "what made an instance is for a reader",
    ("new", "Replica", "cause"): "what made an instance is for a reader",
    ("new", "Lease", "cause"): "a lease may have been let in when its gate reopened, by that operation",
    ("step", "Session", "cause"): "who finished, read or lost a session is outside of the declared machines",
    ("step", "Trainer", "cause"): "of operations only the last part is free; what follows them is the trainer's own",
}
"""(kind of line, machine, member) -> why the protocol says nothing of it in these runs."""


def means_the_same(line: Line, name: str, value: Any) -> bool:
    """Whether the altered member is one that the table never looks at in this step."""
    if (line["line"], line["machine"], name) in UNJUDGED:
        return True
    if line["line"] != "step" or name != "fields":
        return False
    changed = {field for field in value if value[field] != line["fields"][field]}
    event = BY_NAME[line["machine"]].ir.event(line["event"])
    notes = {f.name for f in event.fields if f.type.kind == "note"}
    # A pin that the version meets, and anything of an event that changed nothing, decide nothing.
    return changed <= notes or (line["event"] == "Admit" and changed == {"pin"}) or not changes_state(line)


@AGAIN
@given(data=st.data())
def test_no_member_of_a_line_can_be_altered(lines: Lines, folder: Path, data: st.DataObject) -> None:
    index = data.draw(st.sampled_from(in_tracks(lines)))
    line = lines[index]
    name = data.draw(st.sampled_from([k for k in line if k not in ("line", "n")]))
    others = [v for v in variants(line[name]) if v != line[name]]
    if not others:
        return
    value = data.draw(st.sampled_from(others))
    changed = formal([*lines[:index], {**line, name: value}, *lines[index + 1 :]])
    if not refusal(changed, folder):
        assert means_the_same(line, name, value), (line, name, value)


@pytest.mark.slow
def test_no_member_of_any_kind_of_line_can_be_altered(lines: Lines, folder: Path) -> None:
    """Every member of the first line of each kind, machine and event, with its first variant."""
    kinds: dict[Any, int] = {}
    for index in in_tracks(lines):
        line = lines[index]
        kinds.setdefault((line["line"], line["machine"], line.get("event"), line.get("fact")), index)
    for index in kinds.values():
        line = lines[index]
        for name in (k for k in line if k not in ("line", "n")):
            for value in [v for v in variants(line[name]) if v != line[name]][:1]:
                changed = formal([*lines[:index], {**line, name: value}, *lines[index + 1 :]])
                if not refusal(changed, folder):
                    assert means_the_same(line, name, value), (line, name, value)
