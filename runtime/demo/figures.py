"""The figures of a run, counted from its merged trace: the report's numbers and the trace's are the same.

Rules of this file:

- Nothing is counted while the run goes on and believed at its end: a figure here was read from lines.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(slots=True)
class TraceFigures:
    """Counts over all incarnations. `endings` counts receipts by how the lease ended."""

    lines: int = 0
    admissions: int = 0
    """With those that a killed process did not log and a later life found in its records."""
    receipts: int = 0
    lost: int = 0
    unlogged: int = 0
    """Admitted by a process that was killed before it logged the end: its log ends early."""
    unsettled: int = 0
    endings: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    published: list[int] = field(default_factory=list)
    installs: int = 0
    holders: dict[int, set[str]] = field(default_factory=dict)
    """Version -> replicas of which every rank that answered had the trainer's digest."""
    digest_mismatches: int = 0
    poisoned: int = 0
    sessions_finished: int = 0


def count(trace: Path, digests: Mapping[int, Mapping[str, str]]) -> TraceFigures:
    """Count a merged trace. `digests` gives, by version, what the trainer says each rank must hold."""
    figures = TraceFigures()
    installing: dict[str, int] = {}
    states: dict[str, set[str]] = {}
    admitted: dict[str, str] = {}
    over: set[str] = set()
    killed: set[str] = set()
    closed: set[str] = set()
    found: set[str] = set()
    with trace.open() as lines:
        for text in lines:
            line = json.loads(text)
            figures.lines += 1
            if line["line"] == "step":
                _step(figures, line, installing, digests)
                if line["event"] == "Admit" and line["verdict"]["kind"] in ("go", "stay"):
                    admitted[line["fields"]["lease"]] = line["incarnation"]
                if line["machine"] == "Lease":
                    # A lease that outlived its process has its end in the next life's log.
                    states.setdefault(line["instance"], set()).add(line["after"])
            elif line["line"] == "new" and line["machine"] == "Lease" and line["restored"]:
                found.add(line["instance"])
            elif line["line"] == "fact" and line["fact"] == "receipt":
                figures.receipts += 1
                over.add(line["instance"])
                figures.endings[line["values"]["ending"]] += 1
            elif line["line"] == "ended":
                killed.add(line["incarnation"])
            elif line["line"] == "closed":
                closed.add(line["incarnation"])
    figures.admissions += len(found - admitted.keys())
    over |= {lease for lease, seen in states.items() if "LOST" in seen}
    open_ends = {lease: life for lease, life in admitted.items() if lease not in over}
    figures.unlogged = sum(life in killed - closed for life in open_ends.values())
    figures.lost = sum("LOST" in seen for seen in states.values())
    figures.unsettled = len(open_ends) - figures.unlogged
    return figures


def _step(
    figures: TraceFigures, line: dict[str, Any], installing: dict[str, int], digests: Mapping[int, Mapping[str, str]]
) -> None:
    kind, fields = line["verdict"]["kind"], line["fields"]
    match line["machine"], line["event"]:
        case "Gate", "Admit" if kind in ("go", "stay"):
            figures.admissions += 1
        case "Gate", "Admit":
            figures.refusals[line["verdict"].get("reason", "")] += 1
        case "Gate", "Install" if kind == "go":
            installing[line["incarnation"]] = fields["version"]
        case "Gate", "Installed" if line["before"] == "INSTALLING":
            figures.installs += 1
            version = installing.get(line["incarnation"], -1)
            if digests.get(version, {}).get(fields["rank"]) == fields["digest"]:
                figures.holders.setdefault(version, set()).add(line["instance"])
            else:
                figures.digest_mismatches += 1
        case "Sync", "Recorded" if kind == "go":
            figures.published.append(line["set"]["published"])
        case "Session", "Finish" if kind == "go":
            figures.sessions_finished += 1
    if line["machine"] == "Gate" and line["after"] == "POISONED" != line["before"]:
        figures.poisoned += 1
