"""Batches on the disk: what a run of rollouts alone writes, and one of training alone reads.

Rules of this file:

- A batch is one file, which is whole or not there; its number is the training step that it is for.
- What is read is believed as little as what comes over the wire.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..config import ConfigError
from ..files import write_durably
from ..production.finished import FinishedGroup
from ..training.samples import SampleError
from ..workers.batches import BatchError, arrays_of, samples_of

_GROUPS = "groups"


class BatchFiles:
    """The batches in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, step: int) -> Path:
        """Where the batch of this step lies."""
        return self.folder / f"batch-{step:06d}.npz"

    def count(self) -> int:
        """How many there are, from step 1 on without a gap. Raises ConfigError where there is none."""
        found = 0
        while self.path(found + 1).exists():
            found += 1
        if not found:
            raise ConfigError(
                f"batches: {self.path(1)} is not there: give the folder that a run with stage: rollout_only wrote"
            )
        return found

    def write(self, step: int, groups: Sequence[FinishedGroup]) -> None:
        """Write the batch of a step, durably. Raises OSError."""
        told = [[g.number, g.oldest, g.reward, list(g.sessions), len(g.samples)] for g in groups]
        arrays = arrays_of([sample for group in groups for sample in group.samples])
        arrays[_GROUPS] = np.frombuffer(json.dumps(told).encode(), np.uint8)
        content = io.BytesIO()
        np.savez(content, allow_pickle=False, **arrays)
        write_durably(self.path(step), content.getvalue())

    def read(self, step: int) -> list[FinishedGroup]:
        """The batch of a step. Raises ConfigError, which names the file."""
        path = self.path(step)
        try:
            with np.load(path, allow_pickle=False) as found:
                arrays = {name: found[name] for name in found.files}
            told = json.loads(arrays.pop(_GROUPS).tobytes())
            samples = iter(samples_of(arrays))
            groups = [
                FinishedGroup(number, tuple(next(samples) for _ in range(count)), oldest, reward, tuple(sessions))
                for number, oldest, reward, sessions, count in told
            ]
        except OSError as error:
            raise ConfigError(f"batches: {path} cannot be read ({error.strerror}): lower updates") from error
        except (
            ValueError, KeyError, TypeError, RuntimeError, zipfile.BadZipFile, BatchError, SampleError
        ) as error:  # fmt: skip
            raise ConfigError(f"batches: {path} is no batch ({error}): write it again by rollout_only") from error
        if next(samples, None) is not None:
            raise ConfigError(f"batches: {path} has samples of no group: write it again by rollout_only")
        return groups
