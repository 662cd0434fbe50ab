"""A file that cannot be judged is told: which line, what is wrong, how to mend it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from trace_lines import formal, judge, parsed
from traced_run import small_run

from sluicegate.spec.traces import VERSION, TraceError, fingerprint, validate
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.ir import BOOL, Node, Property

Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Lines:
    return parsed(small_run(tmp_path_factory.mktemp("run")))


def first(lines: Lines, kind: str, machine: str = "") -> dict[str, Any]:
    return next(m for m in lines if m["line"] == kind and machine in ("", m.get("machine")))


def changed(index: int, **members: Any) -> Callable[[Lines], Lines]:
    return lambda lines: [{**m, **members} if i == index else m for i, m in enumerate(lines)]


def without(kind: str) -> Callable[[Lines], Lines]:
    return lambda lines: formal([m for m in lines if m["line"] != kind])


def twice(kind: str) -> Callable[[Lines], Lines]:
    return lambda lines: formal([*lines, first(lines, kind)])


def edited(kind: str, of: str = "", **members: Any) -> Callable[[Lines], Lines]:
    def edit(lines: Lines) -> Lines:
        target = first(lines, kind, of)
        return [{**m, **members} if m is target else m for m in lines]

    return edit


BROKEN: dict[str, tuple[Callable[[Lines], Lines], str]] = {
    "another format": (changed(0, format="other"), "is not a trace"),
    "another version": (changed(0, version=VERSION + 1), f"a trace of version {VERSION + 1}; this program reads"),
    "a table of another version": (changed(0, machines={"Gate": "0" * 16}), "another table of Gate"),
    "an unknown machine in the header": (changed(0, machines={"Door": "0" * 16}), "'Door' that is not declared"),
    "a machine missing in the header": (
        lambda lines: changed(0, machines={n: m for n, m in lines[0]["machines"].items() if n != "Lease"})(lines),
        "was made without the machines Lease",
    ),
    "a header without machines": (changed(0, machines={}), "was made without the machines Gate, Lease"),
    "a header alone": (lambda lines: formal(lines[:1]), "says of no process that it began"),
    "a header alone, without machines": (
        lambda lines: formal([{**lines[0], "machines": {}}]),
        "was made without the machines",
    ),
    "an unknown machine in a line": (edited("step", machine="Door"), "unknown machine 'Door'"),
    "no header": (lambda lines: lines[1:], "is not a trace"),
    "two headers": (lambda lines: [lines[0], *lines], "is no line of a trace"),
    "a line removed": (lambda lines: lines[:-1], "cut short or was added to"),
    "the end of a log missing": (without("closed"), "ends early and nobody recorded its end"),
    "the beginning of a log missing": (without("began"), "which never began"),
    "a log closed twice": (twice("closed"), "closes a second time"),
    "a log that began twice": (twice("began"), "begins a second time"),
    "a log closed after more lines": (edited("closed", lines=10_000), "closed after 10000"),
    "a number skipped": (edited("step", n=77), "goes from number"),
    "a birth missing": (
        lambda lines: formal([m for m in lines if m is not first(lines, "new")]),
        "begins with another line than its birth",
    ),
    "a second birth": (twice("new"), "is born a second time"),
    "an unknown kind": (edited("step", line="stop"), "is no line of a trace"),
    "an unknown member": (edited("step", colour="red"), "with other members (colour)"),
    "a member of another type": (edited("step", cause=3), "must be of JSON type str"),
    "an unknown event": (edited("step", event="Explode"), "has no event 'Explode'"),
    "an unknown state": (edited("step", before="AJAR"), "has no state 'AJAR'"),
    "an unknown fact": (edited("fact", fact="rumour"), "has no fact 'rumour'"),
    "a field of another type": (edited("step", "Gate", fields={"term": "one"}), "needs a Nat"),
    "a field missing": (edited("step", "Gate", fields={}), "it has exactly term"),
    "a changed field of another type": (edited("step", "Gate", set={"term": -1}), "needs a Nat"),
    "half a surrogate as an instance": (edited("new", instance="\ud800"), "has half a surrogate"),
    "half a surrogate in a member's name": (edited("step", "", **{"\udfff": 1}), "has half a surrogate"),
    "half a surrogate as the run": (changed(0, run="\udabc"), "has half a surrogate"),
    "half a surrogate in a field": (edited("step", "Lease", set={"\ud800": 1}), "has half a surrogate"),
    "half a surrogate in the cause": (edited("step", cause="1.0.\udc00"), "has half a surrogate"),
    "a verdict without a rule": (edited("step", verdict={"kind": "go"}), "it has kind, rule and reason"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_told_with_its_mend(case: str, lines: Lines, tmp_path: Path) -> None:
    breaks, expected = BROKEN[case]
    with pytest.raises(TraceError) as error:
        judge(breaks(lines), tmp_path)
    assert expected in str(error.value)
    assert str(tmp_path) in str(error.value)


def test_half_a_surrogate_may_stand_in_a_note(lines: Lines, tmp_path: Path) -> None:
    """A log keeps whatever an error said."""
    lines = [*lines, {"line": "ended", "incarnation": "r9.1", "how": "\ud800"}]
    lines = edited("began", process="\ud800")(formal(lines))
    unknown = next(m for m in lines if m.get("machine") == "Gate" and m.get("event") == "Seal")
    at = lines.index(unknown)
    poison = {**unknown, "event": "Fault", "fields": {"why": "\ud800"}, "cause": unknown["instance"]}
    refusal = judge(formal([*lines[:at], poison, *lines[at + 1 :]]), tmp_path).refusal
    assert refusal is not None
    assert str(refusal).isprintable(), "what is said of it can be printed"
    assert "Fault(" in str(refusal)


def test_every_cut_of_a_file_is_told(lines: Lines, tmp_path: Path) -> None:
    whole = "".join(json.dumps(m) + "\n" for m in lines)
    path = tmp_path / "trace.ndjson"
    for at in [*range(0, len(whole), 997), len(whole) - 1]:
        path.write_text(whole[:at])
        with pytest.raises(TraceError, match=r"cut short|empty|JSON|not a trace"):
            validate(path)


def test_a_missing_file_and_a_binary_one_are_told(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be read"):
        validate(tmp_path / "nothing")
    (tmp_path / "noise").write_bytes(b"\xff\xfe\n")
    with pytest.raises(TraceError, match="not UTF-8"):
        validate(tmp_path / "noise")


@pytest.mark.parametrize("deep", ["[" * 10_000, '{"a":' * 10_000])
@pytest.mark.parametrize("at", [0, 1])
def test_a_line_that_is_nested_too_deeply_is_told(deep: str, at: int, lines: Lines, tmp_path: Path) -> None:
    path = tmp_path / "trace.ndjson"
    path.write_text("".join(f"{line}\n" for line in [*map(json.dumps, lines[:at]), deep]))
    with pytest.raises(TraceError, match=f":{at + 1}: is nested too deeply"):
        validate(path)


def test_a_fingerprint_covers_rules_and_not_where_they_stand() -> None:
    from dataclasses import replace

    ir = Gate.ir
    claim = Property("closed", "reachable", Node("const", (), BOOL, value=True))
    moved = replace(ir, where="elsewhere:1", doc="said in other words", properties=(*ir.properties, claim))
    assert fingerprint(moved) == fingerprint(ir)
    cell = next(c for c in ir.cells if c.branches)
    looser = replace(cell, branches=cell.branches[1:])
    other = replace(ir, cells=tuple(looser if c is cell else c for c in ir.cells))
    assert fingerprint(other) != fingerprint(ir)
