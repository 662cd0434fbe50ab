"""How long the parts of one step took."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from ..production.finished import FinishedGroup
from .notes import StepFigures


class Clocked:
    """The times of one step, in seconds. `metrics` are the trainer's figures of it."""

    def __init__(self) -> None:
        self.metrics: Mapping[str, float] = {}
        self._took: Counter[str] = Counter()
        self._began: dict[str, float] = {}

    @contextmanager
    def measuring(self, part: str) -> Iterator[None]:
        """What is inside is of this part; what is done again adds to it."""
        self.begin(part)
        try:
            yield
        finally:
            self.end(part)

    def begin(self, part: str) -> None:
        """The part begins."""
        self._began[part] = time.monotonic()

    def end(self, part: str) -> None:
        """The part ends, if it has begun."""
        if (began := self._began.pop(part, None)) is not None:
            self._took[part] += time.monotonic() - began  # pyright: ignore[reportArgumentType]

    def figures(self, step: int, version: int, batch: Sequence[FinishedGroup]) -> StepFigures:
        """All of it, with what the batch has."""
        took = self._took
        return StepFigures(
            step=step, version=version, reward=sum(group.reward for group in batch) / len(batch),
            staleness=self.metrics.get("staleness", 0.0), metrics=dict(self.metrics), gather_s=took["gather"],
            train_s=took["train"], publish_s=took["publish"], window_s=took["lend"] + took["still"] or took["serve"],
            still_s=took["still"], tokens=sum(bool(t) for g in batch for s in g.samples for t in s.turns),
            groups=tuple(group.number for group in batch),
        )  # fmt: skip
