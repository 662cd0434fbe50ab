"""The settings by which a process shows what it does, and all of it in force."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Literal

from . import logs
from .context import watched_by


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    """`log` is the form of a process's log: `text` for people, `json` with fields, one object a line.

    `metrics_port`: where metrics are served (HTTP), 0 for a port from the system; they are not counted if not
    given. Spans are made where the process has an OpenTelemetry provider configured.
    """

    log: Literal["text", "json"] = "text"
    metrics_port: int | None = None

    def __post_init__(self) -> None:
        if self.metrics_port is not None and not 0 <= self.metrics_port < 65536:
            raise ValueError(f"metrics_port is {self.metrics_port}: give a port, or 0 for one from the system")


@contextmanager
def watching(settings: Watching, *, run: str, process: str, incarnation: str) -> Iterator[dict[str, str]]:
    """Log, count and trace what is opened inside; what the process says of it when it is ready.

    Raises ServerError where metrics cannot be served.
    """
    facts = {"run": run, "process": process, **({"incarnation": incarnation} if incarnation else {})}
    logs.configure(settings.log, facts)
    said: dict[str, str] = {}
    with ExitStack() as stack:
        stack.enter_context(watched_by(logs.watchers()))
        if settings.metrics_port is not None:
            # Only now: both bring packages of an extra in.
            from .metrics import Metrics
            from .serving import serving

            metrics = Metrics(run=run, process=process)
            stack.enter_context(watched_by(metrics.watchers))
            said["metrics"] = stack.enter_context(serving(metrics, port=settings.metrics_port))
        from .spans import is_configured, spans

        if is_configured():
            stack.enter_context(spans())
        yield said
