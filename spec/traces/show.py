"""What one instance did, a line a step, for a person to read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ...statemachines.machines import MACHINES
from .reading import Step, read


def show(path: Path, instance: str, machine: str | None = None, machines: Sequence[Any] = MACHINES) -> Iterator[str]:
    """The lives of an instance as logged, in its own order; nothing is judged. Raises TraceError."""
    for track in read(path, machines).tracks.values():
        if track.instance != instance or machine not in (None, track.name):
            continue
        yield f"{track}{', killed' if track.killed else ''}"
        for entry in track.entries:
            text = entry.said
            if isinstance(entry, Step):
                reason = entry.verdict.reason
                text += f"  {entry.before} → {entry.after}  {entry.verdict.rule}{f' ({reason})' if reason else ''}"
                text += "".join(f"  {name}={value!r}" for name, value in entry.changes.items())
                text += f"  [{entry.cause}]" if entry.cause else ""
            yield f"  {entry.n:>5}  {text}"
