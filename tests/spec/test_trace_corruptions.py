"""Two hundred corruptions of a recorded run: what is let pass is legal, by a judge that shares nothing with the first.

The run was recorded from the demo: `sluicegate demo` with two replicas and three updates, unchanged
but for the marks of the tables, which are those of today: that its tables mean what they meant is
what its replay shows. A corrupted file is numbered and counted anew, so that only what its lines say
can give it away.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import legal_run
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from trace_lines import formal, judge, track_of, variants

from sluicegate.spec.traces import TraceError, fingerprint
from sluicegate.spec.traces.reading import read
from sluicegate.spec.traces.tla import explain_together
from sluicegate.statemachines.machines import MACHINES

Line = dict[str, Any]
RECORDED = Path(__file__).parent / "data" / "demo.ndjson.gz"
COUNT, BY_TLC = 200, 20

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def recorded() -> list[Line]:
    lines = [json.loads(line) for line in gzip.decompress(RECORDED.read_bytes()).splitlines()]
    lines[0]["machines"] = {m.ir.name: fingerprint(m.ir) for m in MACHINES}
    return lines


@dataclass(frozen=True)
class Corrupted:
    """A corruption of the recorded run, and what was said against it by its tables and rules."""

    kind: str
    what: str
    lines: list[Line]
    refusal: str = ""


@st.composite
def corruption(draw: st.DrawFn, lines: list[Line]) -> Corrupted:
    """One change of one kind, at any line of a track."""
    places = [i for i, line in enumerate(lines) if track_of(line)]
    kind = draw(st.sampled_from(("drop", "swap", "alter", "duplicate", "move")))
    at = draw(st.sampled_from(places))
    line = lines[at]
    changed = list(lines)
    if kind == "drop":
        del changed[at]
    elif kind == "duplicate":
        changed.insert(at + draw(st.integers(1, 20)), dict(line))
    elif kind == "swap":
        own = [i for i in places if i != at and track_of(lines[i]) == track_of(line)] or places
        other = draw(st.sampled_from(own))
        changed[at], changed[other] = changed[other], changed[at]
    elif kind == "move":
        del changed[at]
        changed.insert(min(len(changed), max(1, at + draw(st.integers(-40, 40)))), line)
    else:
        name = draw(st.sampled_from([k for k in line if k not in ("line", "n", "machine", "instance", "incarnation")]))
        others = [v for v in variants(line[name]) if shape(v) == shape(line[name])]
        changed[at] = {**line, name: draw(st.sampled_from(others or [line[name]]))}
    what = f"line {at + 1}: {line['machine']} {line.get('event') or line.get('fact') or 'new'}"
    return Corrupted(kind, what, formal(changed))


def shape(value: Any) -> Any:
    """What kind of JSON value it is: the names of an object's members with their shapes, of a list only that."""
    return {name: shape(v) for name, v in value.items()} if isinstance(value, dict) else type(value)


@pytest.fixture(scope="module")
def corrupted(recorded: list[Line], tmp_path_factory: pytest.TempPathFactory) -> list[Corrupted]:
    """So many different corruptions, formally intact, and judged by replay and rules."""
    folder = tmp_path_factory.mktemp("corrupted")
    found: dict[str, Corrupted] = {}
    for one in candidates(recorded):
        key = json.dumps(one.lines)
        if one.lines == recorded or key in found:
            continue
        try:
            refusal = str(judge(one.lines, folder).refusal or "")
        except TraceError:  # not formally intact: a value of another type, or a line of no process
            continue
        found[key] = Corrupted(one.kind, one.what, one.lines, refusal)
        if len(found) == COUNT:
            break
    return list(found.values())


def candidates(lines: list[Line]) -> Iterator[Corrupted]:
    drawn: list[Corrupted] = []

    @settings(max_examples=3 * COUNT // 2, derandomize=True, database=None, deadline=None, phases=[Phase.generate],
              suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])  # fmt: skip
    @given(corruption(lines))
    def draw(one: Corrupted) -> None:
        drawn.append(one)

    draw()
    yield from drawn


def test_the_recorded_run_is_legal_by_every_judge(recorded: list[Line], tmp_path: Path) -> None:
    assert str(judge(recorded, tmp_path).refusal or "") == ""
    assert legal_run.refusal(recorded) == ""


def test_what_passes_is_legal_by_an_independent_judge(corrupted: list[Corrupted]) -> None:
    assert len(corrupted) == COUNT
    passed = [c for c in corrupted if not c.refusal]
    assert [(c.kind, c.what, why) for c in passed if (why := legal_run.refusal(c.lines))] == []
    assert {c.kind for c in corrupted if c.refusal} == {"drop", "swap", "alter", "duplicate", "move"}
    # Most corruptions are told; of those that pass most have changed the order of lines that do not depend on another.
    assert len(passed) < COUNT / 2, Counter(c.kind for c in passed)


def test_the_independent_judge_is_one(corrupted: list[Corrupted]) -> None:
    refused = [c for c in corrupted if c.refusal]
    missed = [(c.kind, c.what, c.refusal) for c in refused if not legal_run.refusal(c.lines)]
    assert missed == []


def test_no_run_that_passes_is_unexplained_by_the_models(
    recorded: list[Line], corrupted: list[Corrupted], tmp_path: Path
) -> None:
    chosen = corrupted[:: COUNT // BY_TLC]
    assert len(chosen) == BY_TLC
    traces = []
    for number, lines in enumerate([recorded, *(c.lines for c in chosen)]):
        path = tmp_path / f"{number}.ndjson"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        traces.append(read(path, MACHINES))
    unexplained = {
        number for model in ("WeightSync", "SessionAffinity")
        for number, entry in enumerate(explain_together(traces, model)) if entry is not None
    }  # fmt: skip
    assert 0 not in unexplained, "the recorded run itself is explained"
    passed = {number for number, c in enumerate(chosen, 1) if not c.refusal}
    assert unexplained & passed == set(), [chosen[n - 1].what for n in unexplained & passed]
    assert len(unexplained) >= BY_TLC / 4, "the models tell some corruptions by themselves"
