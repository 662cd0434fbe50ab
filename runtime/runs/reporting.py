"""Where a run tells and reports: what stands in its folder for people, made from its config and its files."""

from __future__ import annotations

from pathlib import Path

from ...spec.traces import TraceError, validate
from ..config import as_json
from ..demo.figures import count
from ..tracelog import merge_stopped
from .board import Board
from .config import RunConfig
from .notes import Noted, Notes, read_notes
from .processes import Places
from .report import RunReport
from .telling import Telling

NOTES, BOARD, REPORT, TRACE = "figures.ndjson", "tensorboard", "report", "trace.ndjson"
"""Names below the run's folder."""
JUDGED_BYTES = 256 * 1024 * 1024
"""Logs that are larger together are left to `sluicegate trace`: a judgement takes about a minute for this."""


def telling_of(config: RunConfig, folder: Path) -> Telling:
    """Who tells of one life of the run in `folder`. Raises ConfigError, OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    notes = folder / NOTES
    before = read_notes(notes) if notes.exists() else Noted()
    board = Board(folder / BOARD, step=max(before.steps, default=0)) if config.tensorboard else None
    return Telling(config.updates, board=board, notes=Notes(notes))


def report_of(config: RunConfig, folder: Path) -> Path:
    """Write the report on all lives of the run in `folder`, which have ended; the path of its page.

    Raises OSError. The trace is judged too, if it is not too large.
    """
    places, noted = Places(folder), read_notes(folder / NOTES)
    config_json, name = as_json(config), places.run_name()
    logs = list(places.trace.glob("*.ndjson"))
    if not logs or sum(path.stat().st_size for path in logs) > JUDGED_BYTES:
        return RunReport(name=name, config=config_json, noted=noted).write(folder / REPORT)
    try:
        merge_stopped(places.trace, folder / TRACE)
        verdict = validate(folder / TRACE)
    except TraceError as error:
        return RunReport(name=name, config=config_json, noted=noted, trace_refusal=str(error)).write(folder / REPORT)
    report = RunReport(
        # Manifests of old versions were removed: what a gate held is judged where it poisons itself for it.
        name=name, config=config_json, noted=noted, trace=count(folder / TRACE, {}),
        trace_refusal="" if verdict.refusal is None else str(verdict.refusal),
    )  # fmt: skip
    return report.write(folder / REPORT)
