"""A diagram as text that others render: Mermaid, DOT, and the table in Markdown.

Rules of this file:

- States are drawn under names of our own (`s0`, `s1`, ...): a declared name is only ever a label.
- Every character of a label that means something to its renderer is written as that renderer's escape.
"""

from __future__ import annotations

import html
import re

from .diagram import Diagram, Line, by_pair

_MERMAID_SIGNS = re.compile(r"""[#;:"'<>{}&|`%\\\x00-\x1f]|--""")


def mermaid(diagram: Diagram) -> str:
    """A Mermaid state diagram; edges between the same two states share one arrow, a line for each."""
    names = {state: f"s{number}" for number, state in enumerate(diagram.states)}
    text = ["stateDiagram-v2"]
    text += [f'    state "{mermaid_text(state)}" as {name}' for state, name in names.items()]
    text.append("    [*] --> s0")
    for (source, target), edges in by_pair(diagram.edges).items():
        labels = "<br/>".join(mermaid_text(edge.label) for edge in edges)
        text.append(f"    {names[source]} --> {names[target]} : {labels}")
    return "\n".join(text) + "\n"


def mermaid_text(text: str) -> str:
    """Text that Mermaid shows as it is, wherever it allows text."""
    return _MERMAID_SIGNS.sub(lambda found: "".join(f"#{ord(sign)};" for sign in found[0]), text)


def dot(diagram: Diagram) -> str:
    """A graph in the DOT language, an edge for each line of the table that moves or changes."""
    names = {state: f"s{number}" for number, state in enumerate(diagram.states)}
    text = [
        f"digraph {_quoted(diagram.name)} {{",
        "  node [shape=box, style=rounded]",
        '  start [shape=point, label=""]',
    ]
    text += [f"  {name} [label={_quoted(state)}]" for state, name in names.items()]
    text.append("  start -> s0")
    for number, edge in enumerate(diagram.edges):
        ends = f"{names[edge.state]} -> {names[edge.target]}"
        text.append(f"  {ends} [id=e{number}, label={_quoted(edge.label)}]")
    return "\n".join([*text, "}"]) + "\n"


def _quoted(text: str) -> str:
    """A DOT string: a backslash begins an escape of the label too, so it is doubled."""
    safe = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{safe}"'


def table(diagram: Diagram) -> str:
    """The whole table in Markdown: a row for each event, a column for each state, nothing left out."""
    cells: dict[tuple[str, str], list[str]] = {}
    for line in diagram.lines:
        cells.setdefault((line.event, line.state), []).append(_said(line))
    text = [_row(["event", *(_plain(state) for state in diagram.states)]), _row(["---"] * (len(diagram.states) + 1))]
    for event, title in diagram.events:
        text.append(_row([_plain(title), *("<br>".join(cells[event, state]) for state in diagram.states)]))
    if diagram.fences:
        asked: dict[str, list[str]] = {}
        for fence in diagram.fences:
            asked.setdefault(_said(fence), []).append(_plain(fence.event))
        text += ["", "Asked first, in every state:", ""]
        text += [f"- {said}. Of {', '.join(events)}." for said, events in asked.items()]
    return "\n".join(text) + "\n"


def _said(line: Line) -> str:
    match line.kind:
        case "go":
            what = f"**{_plain(line.target)}**"
        case "stay":
            what = "stays"
        case "ignore":
            what = "ignored"
        case _:
            what = f"refused: {_plain(line.reason)}{', may be tried again' if line.retry else ''}"
    guard = f"{_plain(line.guard)}: " if line.guard else ""
    emits = f", emits {', '.join(map(_plain, line.outputs))}" if line.outputs else ""
    by = "" if line.rule in (line.reason, line.kind) else f" ({_plain(line.rule)})"
    return f"{guard}{what}{emits}{by}"


def _plain(text: str) -> str:
    """Text that Markdown shows as it is, inside a table too."""
    safe = html.escape(" ".join(text.split()), quote=False)
    return re.sub(r"[|*`\[\]\\]|(?<!\w)_|_(?!\w)", lambda found: f"&#{ord(found[0])};", safe)


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
