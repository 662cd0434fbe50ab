"""How a run goes on, told to a terminal and to logs: phases, steps with their rates, and the time that is left.

Rules of this file:

- Whoever runs tells once; what is made of it (a bar, a line, a chart) is decided here.
- Nothing here may end a run: what cannot be written to is told once, and left.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from .board import Board
from .notes import Notes, StepFigures

RATE_OVER = 20
"""Over how many of the last steps rates, and the time that is left, are told."""
LINE_EVERY_S = 10.0
"""Where there is no terminal: how often a step is told."""


class Telling:
    """Tells on `console`: a bar where it is a terminal, lines where it is not; on `board` and `notes`, if given.

    `of` is how many steps the run has in all, none for a run without an end. Use it as a context manager.
    """

    def __init__(
        self, of: int | None, *, console: Console | None = None, board: Board | None = None,
        notes: Notes | None = None, clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self.console = console or Console()
        self._of, self._board, self._notes, self._clock = of, board, notes, clock
        self._ends: deque[tuple[float, int]] = deque(maxlen=RATE_OVER + 1)
        self._told = -LINE_EVERY_S
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("steps"),
            TimeElapsedColumn(), TextColumn("{task.fields[said]}"),
            console=self.console, disable=not self.console.is_terminal,
        )  # fmt: skip
        self._task = self._progress.add_task("starting", total=of, said="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def phase(self, text: str) -> None:
        """What the run does now."""
        self._progress.update(self._task, description=escape(text))
        self._line(text)

    def update(self, figures: StepFigures) -> None:
        """A step has been made, and its weights are served."""
        now = self._clock()
        if not self._ends:
            self._ends.append((now - figures.gather_s - figures.train_s - figures.publish_s - figures.window_s, 0))
        self._ends.append((now, figures.tokens))
        said = self._said(figures)
        self._progress.update(self._task, completed=figures.step, said=said)
        if now - self._told >= LINE_EVERY_S or figures.step == self._of:
            self._told = now
            self._line(f"  step {figures.step}{'' if self._of is None else f'/{self._of}'}: {said}")
        self._note(lambda notes: notes.step(figures))
        self._chart(figures.step, figures.as_values())

    def evaluated(self, step: int, rewards: Sequence[float]) -> None:
        """Held-out prompts were asked after step `step`."""
        mean = statistics.fmean(rewards)
        said = f"  held-out prompts after step {step}: {mean:.3f} over {len(rewards)}"
        self._print(said)
        self._note(lambda notes: notes.evaluated(step, rewards))
        self._chart(step, {"held_out/reward": mean})

    def incident(self, text: str) -> None:
        """Something went wrong, and the run goes on."""
        self._show(text)
        self._note(lambda notes: notes.incident(text))

    def close(self) -> None:
        """The bar is left as it stands, and the board written to its end."""
        self._progress.stop()
        if self._board is not None:
            self._board.close()

    def seconds_left(self, step: int) -> float | None:
        """How long the steps after `step` take at the rate of the last ones; None where that is not known."""
        if self._of is None or len(self._ends) < 2:
            return None
        return (self._of - step) * (self._ends[-1][0] - self._ends[0][0]) / (len(self._ends) - 1)

    def rate(self) -> float:
        """Tokens that were trained on, a second, over the last steps."""
        if len(self._ends) < 2 or (took := self._ends[-1][0] - self._ends[0][0]) <= 0:
            return 0.0
        return sum(tokens for _, tokens in list(self._ends)[1:]) / took

    def _said(self, figures: StepFigures) -> str:
        left = self.seconds_left(figures.step)
        return ", ".join([
            f"version {figures.version}",
            f"reward {figures.reward:.3f}",
            f"staleness {figures.staleness:.2f}",
            f"{self.rate():.0f} tokens/s",
            *([f"{spelled(left)} left"] if left else []),
        ])  # fmt: skip

    def _note(self, note: Callable[[Notes], None]) -> None:
        if self._notes is None:
            return
        try:
            note(self._notes)
        except OSError as error:
            self._notes = None
            self._show(f"nothing more is noted for the report ({error}): the run goes on without")

    def _chart(self, step: int, values: Mapping[str, float]) -> None:
        if self._board is None:
            return
        try:
            self._board.figures(step, values)
        except OSError as error:
            self._board = None
            self._show(f"no more figures for TensorBoard ({error}): the run goes on without")

    def _show(self, text: str) -> None:
        self._print(f"[bold]note[/bold]: {escape(text)}")

    def _line(self, text: str) -> None:
        if not self.console.is_terminal:
            self._print(text, markup=False)

    def _print(self, text: str, *, markup: bool = True) -> None:
        # Nobody reads on, or there is no room: the notes have it.
        with contextlib.suppress(OSError):
            self.console.print(text, highlight=False, markup=markup, soft_wrap=True)


def spelled(seconds: float) -> str:
    """A span of time in two units at most: `45 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
