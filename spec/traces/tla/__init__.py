"""Traces against the system models: whether a logged run is a behaviour of the hand-written TLA+."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..format import TraceError
from ..reading import Entry, Trace
from . import session_affinity, weight_sync
from .explain import Explained, explain, reach
from .line import believe, in_order

__all__ = ["MODELS", "WINDOW", "Explained", "explain_run", "explain_together"]

MODELS: dict[str, Any] = {"WeightSync": weight_sync.WeightSyncLog, "SessionAffinity": session_affinity.SessionLog}
"""The models that runs are held to, and how a run is told to each."""

JOINS: dict[str, Any] = {"WeightSync": weight_sync.join, "SessionAffinity": session_affinity.join}

WINDOW = 3000
"""Steps of a window, if nothing else is asked for."""

Told = Callable[[str, int, int], None]
"""Called with the model, the steps explained so far, and how many there are."""


def explain_run(
    trace: Trace, window: int | None = WINDOW, *, models: Sequence[str] = tuple(MODELS), timeout: float = 600.0,
    told: Told = lambda model, steps, of: None,
) -> Iterator[Explained]:  # fmt: skip
    """Hold a run to each model in turn, in windows of `window` steps, or whole.

    What the log says is believed: it need not have been replayed, and is not judged by the tables.
    `timeout` is in seconds, for each window. Raises TraceError: a model cannot be told of the run;
    CheckerMissing.
    """
    believe(trace)
    entries = in_order(trace)
    for model in models:
        log = MODELS[model](entries, trace.killed)

        def say(name: str, steps: int, of: int = log.steps) -> None:
            told(name, steps, of)

        yield explain(model, log.windows(window), timeout=timeout, told=say)


def explain_together(traces: Sequence[Trace], model: str, *, timeout: float = 300.0) -> list[Entry | None]:
    """Hold several whole runs to one model in one go: for each the first entry that no behaviour explains.

    Raises TraceError: TLC came to no end, or a model cannot be told of a run; ValueError: the runs
    cannot be judged together; CheckerMissing.
    """
    logs, join = [], JOINS[model]
    for trace in traces:
        believe(trace)
        logs.append(list(MODELS[model](in_order(trace), trace.killed).windows(None)))
    together = join([window for windows in logs for window in windows])
    reached, trouble = reach(model, together, timeout)
    if trouble:
        raise TraceError(f"{model}: {trouble}")
    short = iter([None if n == len(log) else log[n].entry for log, n in zip(together.logs, reached, strict=True)])
    found: list[Entry | None] = []
    for windows in logs:
        entries = [entry for window in windows for _ in window.logs if (entry := next(short)) is not None]
        found.append(min(entries, key=lambda e: e.line, default=None))
    return found
