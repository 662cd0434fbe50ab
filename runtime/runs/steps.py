"""The steps that a run has made, one line of JSON each: which groups and prompts, and what came of them.

Rules of this file:

- A line is added once the step's weights are served; where a run went back, a later line of the same step holds.
- It is told to people and tests. A run goes on from checkpoints alone, and reads nothing here.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..production.finished import FinishedGroup
from ..production.sampler import Sampler


class Steps:
    """The file of steps at `path`; `sampler` tells of which prompts groups are."""

    def __init__(self, path: Path, sampler: Sampler) -> None:
        self._path, self._sampler = path, sampler

    def add(self, step: int, version: int, groups: Sequence[FinishedGroup]) -> None:
        """A step was made, and `version` is served. Raises OSError."""
        places = [self._sampler.place(group.number) for group in groups]
        line = {
            "step": step, "version": version, "groups": [group.number for group in groups],
            "prompts": [[place.epoch, place.index] for place in places],
            "rewards": [group.reward for group in groups],
            "sessions": [session for group in groups for session in group.sessions],
        }  # fmt: skip
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def read_steps(path: Path) -> dict[int, dict[str, Any]]:
    """The steps in a file, by number; a line that a killed run has cut is passed over. Raises OSError."""
    found: dict[int, dict[str, Any]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            told = json.loads(line)
        except ValueError:
            continue
        found[told["step"]] = told
    return found
