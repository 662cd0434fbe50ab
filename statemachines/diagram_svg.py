"""A diagram as an SVG picture: states on an ellipse, what stays inside the box of its state.

Rules of this file:

- Every edge is one element of class `edge` with an id, its ends, event, rule and guard as `data-`
  attributes, and a title that a browser shows under the pointer.
- The same diagram gives the same text. Lengths are in pixels.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from .diagram import Diagram, Line, by_pair

CHAR, LEADING, MARGIN = 6.6, 14.0, 40.0
"""Width of a character of 11 px in a monospaced font, distance of lines, and the rim of the picture."""
BEND = 0.16
"""How far an arrow bends to its left, as a part of its length, so that the way back does not cover it."""

_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_STYLE = (
    "text{font:11px monospace;fill:#222}.name{font-weight:bold;font-size:13px}"
    ".state{fill:#eef3fb;stroke:#456;rx:8}.arrow{fill:none;stroke:#567;stroke-width:1.2}"
    ".label{fill:#fff;fill-opacity:.9}.move{fill:#143}"
)


@dataclass(frozen=True, slots=True)
class _Box:
    """A state's place: its middle, and its size."""

    x: float
    y: float
    width: float
    height: float

    def meets(self, other: _Box) -> bool:
        wide, high = (self.width + other.width) / 2, (self.height + other.height) / 2
        return abs(self.x - other.x) < wide and abs(self.y - other.y) < high

    def holds(self, x: float, y: float) -> bool:
        return abs(x - self.x) <= self.width / 2 and abs(y - self.y) <= self.height / 2


def svg(diagram: Diagram) -> str:
    """The picture as a document of its own."""
    numbers = {edge: number for number, edge in enumerate(diagram.edges)}
    stays = {state: [e for e in numbers if e.kind == "stay" and e.state == state] for state in diagram.states}
    boxes, width, height = _places(diagram, stays)
    arrows: list[str] = []
    labels: list[str] = []
    taken = list(boxes.values())
    for (source, target), edges in by_pair(e for e in numbers if e.kind == "go").items():
        path, points = _loop(boxes[source]) if source == target else _curve(boxes[source], boxes[target])
        arrows.append(f'<path class="arrow" d="{path}" marker-end="url(#head)"/>')
        size = max(len(_short(edge)) for edge in edges) * CHAR + 4, LEADING * len(edges)
        # The first place on the arrow that nothing else has; without one, labels may cover each other.
        places = [_Box(x, y, *size) for x, y in points]
        place = next((box for box in places if not any(box.meets(other) for other in taken)), places[0])
        taken.append(place)
        labels += _label(place, edges, numbers)
    states = [text for state in diagram.states for text in _state(state, boxes[state], stays[state], numbers)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
            f'width="{width:.0f}" height="{height:.0f}" role="img">',
            f"<title>{_text(diagram.name)}</title>",
            f"<style>{_STYLE}</style>",
            '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
            'orient="auto"><path d="M0 0L8 4L0 8z" fill="#567"/></marker></defs>',
            *arrows,
            *states,
            *labels,
            "</svg>",
            "",
        ]
    )


def _places(diagram: Diagram, stays: dict[str, list[Line]]) -> tuple[dict[str, _Box], float, float]:
    """Each state's box on an ellipse, the initial one at the top, and the size of the picture."""
    sizes: dict[str, tuple[float, float]] = {}
    for state in diagram.states:
        texts = [state + "  ", *(_short(edge) for edge in stays[state])]
        sizes[state] = max(map(len, texts)) * CHAR + 24, LEADING * len(texts) + 22
    widest, tallest = (max(size[i] for size in sizes.values()) for i in (0, 1))
    count = len(sizes)
    across = 0.0 if count == 1 else max(260.0, (widest + 190) * count / 5)
    down = 0.0 if count == 1 else max(200.0, (tallest + 90) * count / 6)
    width, height = 2 * across + widest + 2 * MARGIN, 2 * down + tallest + 2 * MARGIN
    boxes: dict[str, _Box] = {}
    for number, (state, size) in enumerate(sizes.items()):
        angle = 2 * math.pi * number / count - math.pi / 2
        boxes[state] = _Box(width / 2 + across * math.cos(angle), height / 2 + down * math.sin(angle), *size)
    return boxes, width, height


def _state(state: str, box: _Box, stays: list[Line], numbers: dict[Line, int]) -> list[str]:
    left, top = box.x - box.width / 2, box.y - box.height / 2
    text = [
        f'<g class="node" data-state={_attribute(state)}>',
        f'<rect class="state" x="{left:.1f}" y="{top:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"/>',
        f'<text class="name" x="{box.x:.1f}" y="{top + 18:.1f}" text-anchor="middle">{_text(state)}</text>',
    ]
    text += [_edge(e, numbers[e], left + 12, top + 18 + LEADING * n, "stay") for n, e in enumerate(stays, 1)]
    return [*text, "</g>"]


def _label(box: _Box, edges: list[Line], numbers: dict[Line, int]) -> list[str]:
    left, top = box.x - box.width / 2, box.y - box.height / 2
    rect = f'x="{left:.1f}" y="{top:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"'
    lines = (_edge(e, numbers[e], left + 2, top + LEADING * (n + 0.75), "move") for n, e in enumerate(edges))
    return [f'<rect class="label" {rect}/>', *lines]


_Points = list[tuple[float, float]]


def _loop(box: _Box) -> tuple[str, _Points]:
    x, y = box.x + box.width / 2, box.y
    path = f"M{x:.1f} {y - 8:.1f}C{x + 40:.1f} {y - 30:.1f} {x + 40:.1f} {y + 30:.1f} {x:.1f} {y + 8:.1f}"
    return path, [(x + 80, y), (x + 80, y - 30), (x + 80, y + 30)]


def _curve(source: _Box, target: _Box) -> tuple[str, _Points]:
    """A bent arrow from rim to rim, and where its label may stand, the best place first."""
    over, along = target.x - source.x, target.y - source.y
    middle = ((source.x + target.x) / 2 + along * BEND, (source.y + target.y) / 2 - over * BEND)

    def point(t: float) -> tuple[float, float]:
        a, b, c = (1 - t) ** 2, 2 * t * (1 - t), t * t
        return a * source.x + b * middle[0] + c * target.x, a * source.y + b * middle[1] + c * target.y

    steps = [n / 200 for n in range(201)]
    leaves = next((t for t in steps if not source.holds(*point(t))), 0.0)
    enters = next((t for t in steps if t > leaves and target.holds(*point(t))), 1.0)
    (x1, y1), (x2, y2) = point(leaves), point(enters)
    # The same parabola between two of its points: its control point follows from the tangents.
    between = (leaves + enters) / 2
    px, py = point(between)
    cx, cy = 2 * px - (x1 + x2) / 2, 2 * py - (y1 + y2) / 2
    points = [point(leaves + part * (enters - leaves)) for part in (0.4, 0.3, 0.5, 0.22, 0.6, 0.7, 0.8)]
    return f"M{x1:.1f} {y1:.1f}Q{cx:.1f} {cy:.1f} {x2:.1f} {y2:.1f}", points


def _edge(edge: Line, number: int, x: float, y: float, kind: str) -> str:
    ends = f"data-source={_attribute(edge.state)} data-target={_attribute(edge.target)}"
    says = f"data-event={_attribute(edge.event)} data-rule={_attribute(edge.rule)} data-guard={_attribute(edge.guard)}"
    title = f"<title>{_text(f'{edge.state} to {edge.target}: {edge.label}')}</title>"
    place = f'id="e{number}" x="{x:.1f}" y="{y:.1f}"'
    return f'<text class="edge {kind}" {place} {ends} {says}>{title}{_text(_short(edge))}</text>'


def _short(edge: Line) -> str:
    """What is written in the picture: a guard is only said to be there."""
    return f"{edge.event}{'[..]' if edge.guard else ''} / {edge.rule}"


def _text(text: str) -> str:
    return escape(_FORBIDDEN.sub("\ufffd", text))


def _attribute(text: str) -> str:
    return quoteattr(_FORBIDDEN.sub("\ufffd", text))
