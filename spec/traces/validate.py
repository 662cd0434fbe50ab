"""The judgement over a trace: read, replay every step on its table, ask the rules between machines, line up.

Rules of this file:

- A file that cannot be judged is an error (`TraceError`); a file that can be is explained or refused.
- The refusal names one entry: the first line that its table does not explain; where the tables explain
  all, the first that a rule between machines does not.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...statemachines.machines import MACHINES
from .format import Progress, quietly
from .judging import Findings, Run
from .order import line_up
from .reading import Step, Trace, read
from .replay import Inexplicable, replay
from .rules import RULES


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was judged, and the first entry that nothing explains.

    `steps` and `instances` are counted by machine; `applied` says how often each rule was asked,
    `excused` how often what it asked for may have been lost with the log of a killed process.
    """

    path: Path
    run: str
    lines: int
    killed: tuple[str, ...]
    steps: dict[str, int]
    instances: dict[str, int]
    applied: dict[str, int]
    excused: dict[str, int]
    refusal: Inexplicable | None

    @property
    def valid(self) -> bool:
        return self.refusal is None

    def as_json(self) -> dict[str, Any]:
        """The verdict as plain JSON values; the keys are documented in `docs/trace.md`."""
        refusal = None
        if self.refusal is not None:
            entry = self.refusal.entry
            refusal = {
                "line": entry.line,
                "machine": entry.track.name,
                "instance": entry.instance,
                "incarnation": entry.incarnation,
                "n": entry.n,
                "event": entry.name if isinstance(entry, Step) else None,
                "rule": self.refusal.rule,
                "text": str(self.refusal),
            }
        return {
            "valid": self.valid,
            "run": self.run,
            "lines": self.lines,
            "killed": list(self.killed),
            "steps": self.steps,
            "instances": self.instances,
            "applied": self.applied,
            "excused": self.excused,
            "refusal": refusal,
        }


def validate(path: Path | str, machines: Sequence[Any] = MACHINES, progress: Progress = quietly) -> Verdict:
    """Judge a merged trace by the declared tables and the rules between them.

    Raises TraceError: the file cannot be judged; the message names the line and the mend.
    """
    path = Path(path)
    with uncollected():
        return judged(path, read(path, machines, progress), progress)


@contextmanager
def uncollected() -> Iterator[None]:
    """Without the garbage collector: of the objects of a trace all stay, and it would walk them again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def judged(path: Path, trace: Trace, progress: Progress = quietly) -> Verdict:
    """The verdict over a trace that was read from `path`."""
    refusal = replay(trace, progress)
    found = Findings()
    if refusal is None:
        refusal = between(trace, found, progress)
    steps = Counter(t.name for t in trace.tracks.values() for e in t.entries if isinstance(e, Step))
    return Verdict(
        path=path,
        run=trace.run,
        lines=trace.lines,
        killed=tuple(sorted(trace.killed)),
        steps=dict(sorted(steps.items())),
        instances=dict(sorted(Counter(t.name for t in trace.tracks.values()).items())),
        applied=found.applied,
        excused={name: count for name, count in found.excused.items() if count},
        refusal=refusal,
    )


def between(trace: Trace, found: Findings, progress: Progress = quietly) -> Inexplicable | None:
    """Ask the rules between machines of a trace that was replayed, and line it up."""
    run = Run(trace)
    for number, rule in enumerate(RULES):
        rule.apply(run, found)
        progress("rules", number + 1, len(RULES))
    # What is wrong in itself is told before what something else should have followed.
    wrong = sorted(found.wrong, key=lambda w: (w.missing, w.entry.line))
    if not wrong or wrong[0].missing:
        return line_up(run.tracks, found.edges) or (wrong[0] if wrong else None)
    return wrong[0]
