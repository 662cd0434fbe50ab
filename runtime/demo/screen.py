"""What a terminal shows while the demo runs."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from .record import Update
from .report import Report


class Terminal:
    """Progress on `console`: a bar where it is a terminal, a line now and then where it is not."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console()
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("updates"),
            TimeElapsedColumn(), TimeRemainingColumn(), TextColumn("{task.fields[said]}"),
            console=self.console, disable=not self.console.is_terminal,
        )  # fmt: skip
        self._task = self._progress.add_task("starting", total=None, said="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def phase(self, text: str) -> None:
        self._progress.update(self._task, description=text)
        self._line(text)

    def update(self, update: Update, of: int) -> None:
        said = f"version {update.version}, reward {update.reward:.3f}, gates closed {update.pause_s:.2f} s"
        self._progress.update(self._task, total=of, completed=update.version, said=said)
        if update.version % 10 == 0 or update.version == of:
            self._line(f"  {update.version}/{of}: {said}, {update.at:.0f} s")

    def incident(self, text: str) -> None:
        self.console.print(f"[bold]lost a process[/bold]: {text}")

    def report(self, report: Report, page: str) -> None:
        """The checks, and where the page is."""
        for check in report.checks():
            mark = "[green]passed[/green]" if check.passed else "[red]FAILED[/red]"
            self.console.print(f"{mark}  {check.name}: {check.said}", highlight=False)
        before, after = report.as_json()["reward_first"], report.as_json()["reward_last"]
        if before is not None and after is not None:
            self.console.print(f"reward on held-out prompts: {before:.3f} before, {after:.3f} after", highlight=False)
        self.console.print(f"report: {page}", highlight=False, soft_wrap=True)

    def _line(self, text: str) -> None:
        if not self.console.is_terminal:
            self.console.print(text, highlight=False)
