"""State graphs out of the DOT text that a checker writes, compared by content and not by number."""

from __future__ import annotations

import re
from dataclasses import dataclass

from . import tla_values
from .model import GraphState

_QUOTED = r'"((?:[^"\\]|\\.)*)"'
_NODE = re.compile(rf"\s*(-?\w+) \[label={_QUOTED}.*")
_EDGE = re.compile(rf"\s*(-?\w+) -> (-?\w+) \[label={_QUOTED}.*")


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a checker writes a variable of a state: what begins a new one in a label."""

    variable: re.Pattern[str]


TLC = Dialect(re.compile(r"(?:/\\ )?(\w+) = (.*)"))
TLA_CHECKER = Dialect(re.compile(r"(\w+)=(.*)"))


def read_graph(text: str, dialect: Dialect) -> tuple[dict[str, GraphState], set[tuple[GraphState, str, GraphState]]]:
    """States by their node's name, and edges. Raises ValueError for an edge to an unknown node."""
    states: dict[str, GraphState] = {}
    named: list[tuple[str, str, str]] = []
    for line in text.splitlines():
        if edge := _EDGE.fullmatch(line):
            named.append((edge[1], _unquote(edge[3]), edge[2]))
        elif (node := _NODE.fullmatch(line)) and node[1] not in ("node", "edge", "graph"):
            states[node[1]] = read_state(_unquote(node[2]).splitlines(), dialect)
    unknown = {end for source, _, target in named for end in (source, target) if end not in states}
    if unknown:
        raise ValueError(f"edges to states that the graph does not give: {', '.join(sorted(unknown)[:5])}")
    return states, {(states[source], action, states[target]) for source, action, target in named}


def read_state(lines: list[str], dialect: Dialect) -> GraphState:
    """A state from its printed lines."""
    return frozenset((name, tla_values.parse(value)) for name, value in variables(lines, dialect).items())


def variables(lines: list[str], dialect: Dialect) -> dict[str, str]:
    """The text of each variable; a line that begins none goes on with the value before it."""
    found: dict[str, str] = {}
    name = ""
    for line in lines:
        if start := dialect.variable.fullmatch(line):
            name = start[1]
            found[name] = start[2]
        elif name:
            found[name] += " " + line.strip()
    return found


def _unquote(text: str) -> str:
    """DOT's escapes: `\\\\n` ends a line, any other escaped character is itself."""
    if "\\" not in text:
        return text
    return re.sub(r"\\(.)", lambda match: "\n" if match[1] == "n" else match[1], text)
