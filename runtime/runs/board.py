"""Figures of a run for TensorBoard: event files in a folder, one more with each life of the run."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from ..config import ConfigError

FLUSH_S = 10
"""How long a figure may wait to be written."""


class Board:
    """Writes event files into `folder`. Raises ConfigError where tensorboardX is not installed, OSError.

    `step` is the step that the run goes on from: what an earlier life wrote of later ones is hidden by it.
    """

    def __init__(self, folder: Path, *, step: int = 0) -> None:
        try:
            from tensorboardX import SummaryWriter
        except ImportError as error:
            raise ConfigError("tensorboard: needs tensorboardX: pip install 'sluicegate[board]'") from error
        folder.mkdir(parents=True, exist_ok=True)
        self._writer = SummaryWriter(
            str(folder), purge_step=step + 1 if step else None, flush_secs=FLUSH_S,
            # Names tell seconds apart, and a life that begins in the same second would write over the one before.
            filename_suffix=f".{time.time_ns()}",
        )  # fmt: skip

    def figures(self, step: int, values: Mapping[str, float]) -> None:
        """The values of the charts of these names at a step."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        """Everything is in the files. Nothing may be written afterwards."""
        self._writer.close()
