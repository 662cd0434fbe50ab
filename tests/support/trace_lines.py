"""A trace as lines that can be changed, and judged again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sluicegate.spec.traces import Verdict, validate


def parsed(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def track_of(line: dict[str, Any]) -> tuple[str, str, str] | None:
    return (line["machine"], line["instance"], line["incarnation"]) if "n" in line else None


def formal(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same lines, numbered and counted anew, so that the file is formally intact."""
    lines = [dict(line) for line in lines]
    numbers: Counter[Any] = Counter()
    counts: Counter[str] = Counter()
    for line in lines:
        if (track := track_of(line)) is not None:
            line["n"] = numbers[track]
            numbers[track] += 1
            counts[line["incarnation"]] += 1
    for line in lines:
        if line["line"] == "closed":
            line["lines"] = counts[line["incarnation"]]
    lines[0]["lines"] = len(lines) - 1
    return lines


def judge(lines: list[dict[str, Any]], folder: Path) -> Verdict:
    """Write lines as they are, and validate the file."""
    path = folder / "changed.ndjson"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return validate(path)


def variants(value: Any) -> Iterator[Any]:
    """Other values of the same JSON shape, and some of another."""
    match value:
        case bool():
            yield not value
        case int():
            yield from (value + 1, value + 7, max(0, value - 1))
        case str():
            yield from (
                value + "x",
                "",
                "r0",
                "r1",
                "s0.1",
                "wait",
                "abort",
                "keep",
                "failed",
                "OPEN",
                "SETTLED",
                "go",
                "stay",
            )
        case None:
            yield from (0, 1, "r0")
        case list():
            yield from (value[:-1], [*value, "x"], [*value, [9, 9]])
            yield from ([*value[:i], other, *value[i + 1 :]] for i, v in enumerate(value) for other in variants(v))
        case dict():
            yield from ({k: v for k, v in value.items() if k != name} for name in value)
            yield from ({**value, name: other} for name in value for other in variants(value[name]))
