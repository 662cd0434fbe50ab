"""Diagrams: whatever is drawn is read back, and nothing of the table is missing."""

from __future__ import annotations

import html
import re
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sluicegate.cli import main
from sluicegate.statemachines.diagram import Diagram, diagram
from sluicegate.statemachines.diagram_svg import svg
from sluicegate.statemachines.diagram_text import dot, mermaid, table
from sluicegate.statemachines.machines import MACHINES

Edges = Counter[tuple[str, str, str]]
"""Edges by source, target and label."""

AWKWARD = (
    "end", 'a"b', "x -->|y|", "<script>", "][", "%% no comment", "two\nlines", "back\\slash", "note: right", "#35;",
    "ünïcode", "`tick`", "state", "{curly}", "a;b", "&amp;", "--", "default", "a]b[c", "<br/>", "s0", "[*]", "{{x}}",
)  # fmt: skip


def awkward(drawn: Diagram) -> Diagram:
    """The same diagram under names that mean something to some renderer."""
    states = {state: AWKWARD[n] for n, state in enumerate(drawn.states)}
    events = {name: AWKWARD[-1 - n] for n, (name, _) in enumerate(drawn.events)}

    def named(n: int, line: Any) -> Any:
        rule, guard = AWKWARD[n % len(AWKWARD)], AWKWARD[(5 * n + 5) % len(AWKWARD)]
        ends = {"state": states[line.state], "target": states[line.target]}
        return replace(line, **ends, event=events[line.event], rule=rule, guard=guard)

    lines = tuple(named(n, line) for n, line in enumerate(drawn.lines))
    titles = tuple((name, name) for name in events.values())
    return replace(drawn, name='"; } <x>', states=tuple(states.values()), events=titles, lines=lines)


DRAWN = [(m.__name__, diagram(m.ir)) for m in MACHINES] + [("awkward", awkward(diagram(MACHINES[1].ir)))]
each = pytest.mark.parametrize("drawn", [d for _, d in DRAWN], ids=[name for name, _ in DRAWN])


def edges_of(drawn: Diagram) -> Edges:
    return Counter((e.state, e.target, e.label) for e in drawn.edges)


# -- readers of what was drawn ---------------------------------------------------------------------


def read_mermaid(text: str) -> tuple[list[str], Edges]:
    head, *lines = text.splitlines()
    assert head == "stateDiagram-v2"
    states: dict[str, str] = {}
    edges: Edges = Counter()

    def plain(label: str) -> str:
        assert not re.search(r"""[:"'<>{}&|`%\\]|--|#(?!\d+;)|(?<!\d);""", label), label
        return re.sub(r"#(\d+);", lambda sign: chr(int(sign[1])), label)

    for line in lines:
        if state := re.fullmatch(r'    state "(.*)" as (s\d+)', line):
            states[state[2]] = plain(state[1])
        elif edge := re.fullmatch(r"    (s\d+) --> (s\d+) : (.*)", line):
            for label in edge[3].split("<br/>"):
                edges[states[edge[1]], states[edge[2]], plain(label)] += 1
        else:
            assert line == "    [*] --> s0"
    return list(states.values()), edges


def read_dot(text: str) -> tuple[list[str], Edges]:
    quoted = r'"((?:[^"\\]|\\.)*)"'
    states: dict[str, str] = {}
    edges: Edges = Counter()

    def plain(label: str) -> str:
        return re.sub(r"\\(.)", lambda sign: "\n" if sign[1] == "n" else sign[1], label)

    first, *lines, last = text.splitlines()
    assert re.fullmatch(rf"digraph {quoted} {{", first)
    assert last == "}"
    for line in lines:
        if state := re.fullmatch(rf"  (s\d+) \[label={quoted}\]", line):
            states[state[1]] = plain(state[2])
        elif edge := re.fullmatch(rf"  (s\d+) -> (s\d+) \[id=e\d+, label={quoted}\]", line):
            edges[states[edge[1]], states[edge[2]], plain(edge[3])] += 1
        else:
            assert line.startswith(("  node [", "  start [", "  start -> s0"))
    return list(states.values()), edges


def read_svg(text: str) -> tuple[list[str], Edges]:
    root = ET.fromstring(text)
    name = "{http://www.w3.org/2000/svg}"
    states = [node.attrib["data-state"] for node in root.iter(f"{name}g")]
    edges: Edges = Counter()
    ids = []
    for element in root.iter(f"{name}text"):
        if "edge" in element.attrib["class"].split():
            at = {key.removeprefix("data-"): value for key, value in element.attrib.items()}
            guard = f" [{at['guard']}]" if at["guard"] else ""
            label = f"{at['event']}{guard} / {at['rule']}"
            edges[at["source"], at["target"], label] += 1
            ids.append(at["id"])
            assert element.findtext(f"{name}title") == f"{at['source']} to {at['target']}: {label}"
    assert len(set(ids)) == len(ids)
    return states, edges


READERS = {"mermaid": (mermaid, read_mermaid), "dot": (dot, read_dot), "svg": (svg, read_svg)}


# -- the rules -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", READERS)
@each
def test_m20_a_picture_read_back_has_every_edge_of_the_machine(drawn: Diagram, kind: str) -> None:
    render, read = READERS[kind]
    assert read(render(drawn)) == (list(drawn.states), edges_of(drawn))
    assert read(render(drawn.moves())) == (list(drawn.states), edges_of(drawn.moves()))


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.__name__)
def test_every_branch_of_every_cell_is_a_line_and_each_that_acts_an_edge(machine: Any) -> None:
    drawn = diagram(machine.ir)
    branches = [(c, b) for c in machine.ir.cells for b in (*c.branches, c.otherwise)]
    lines = Counter((line.event, line.state, line.kind, line.target, line.rule) for line in drawn.lines)
    assert lines == Counter((c.event, c.state, b.kind, b.target, b.rule) for c, b in branches)
    assert len(drawn.edges) == sum(b.kind in ("go", "stay") for _, b in branches)
    first = [c for c in machine.ir.cells if c.state == machine.ir.states[0]]
    assert [f.rule for f in drawn.fences] == [b.rule for c in first for b in c.fences]


@each
def test_the_table_has_every_line_in_its_cell(drawn: Diagram) -> None:
    head, rule, *rest = table(drawn).split("\n")

    def cells(row: str) -> list[str]:
        assert row.startswith("| ")
        assert row.endswith(" |")
        return [html.unescape(cell) for cell in row[2:-2].split(" | ")]

    assert cells(head) == ["event", *(" ".join(state.split()) for state in drawn.states)]
    assert set(rule) <= set("|- ")
    ways = Counter[tuple[str, str]]()
    for (event, _), row in zip(drawn.events, rest[: rest.index("")], strict=True):
        for state, column in zip(drawn.states, row[2:-2].split(" | ")[1:], strict=True):
            ways[event, state] = len(column.split("<br>"))
    assert ways == Counter((line.event, line.state) for line in drawn.lines)


def test_a_guard_tells_an_argument_of_the_event_from_a_field() -> None:
    seals = next(line for line in DRAWN[0][1].lines if line.rule == "seals")
    assert seals.label == "Seal [epoch < event.epoch] / seals"


def test_the_command_draws_by_name_and_says_what_it_does_not_know(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diagram", "Gate", "--format", "svg", "--out", str(tmp_path / "gate.svg")]) == 0
    assert read_svg((tmp_path / "gate.svg").read_text())[1] == edges_of(DRAWN[0][1])
    assert main(["diagram", "sluicegate.statemachines.lease:Lease", "--moves"]) == 0
    assert read_mermaid(capsys.readouterr().out)[1] == edges_of(DRAWN[1][1].moves())
    assert main(["diagram", "Gat"]) == 2
    assert "no machine Gat: there are Gate, Lease" in capsys.readouterr().err
    assert main(["diagram", "Gate", "--out", str(tmp_path / "nowhere" / "gate.mmd")]) == 2
    assert "cannot write" in capsys.readouterr().err
