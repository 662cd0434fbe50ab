"""Traces against the system models: whether a logged run is a behaviour of the hand-written TLA+."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ....statemachines.machines import MACHINES
from ..reading import Trace, read
from .explain import Explained, explain
from .line import believe, in_order
from .session_affinity import SessionLog
from .weight_sync import WeightSyncLog

__all__ = ["MODELS", "WINDOW", "Explained", "explain_file", "explain_run"]

MODELS = {"WeightSync": WeightSyncLog, "SessionAffinity": SessionLog}
"""The models that runs are held to, and how a run is told to each."""

WINDOW = 3000
"""Steps of a window, if nothing else is asked for."""

Told = Callable[[str, int, int], None]
"""Called with the model, the steps explained so far, and how many there are."""


def explain_file(path: Path, window: int | None = WINDOW, *, machines: Sequence[Any] = MACHINES) -> list[Explained]:
    """`explain_run` of a merged trace. Raises TraceError, CheckerMissing."""
    return list(explain_run(read(path, machines), window))


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
