"""What a run notes of itself for its report, one line of JSON each, through all of its lives.

Rules of this file:

- Where a run went back to a checkpoint, a later line of the same step holds.
- It is for people: a run goes on from checkpoints alone, and what cannot be noted ends nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFigures:
    """One step of training, once its weights are served; times are in seconds.

    `reward`: mean over the batch; `staleness`: mean over its tokens, in versions; `metrics`: what the trainer says.
    `gather_s`: the wait for enough groups, `train_s`, `publish_s`; `window_s`: from the first gate that closed to the
    last that was open again; `still_s`: how long of the step no replica could make tokens. `tokens`: how many the
    model made of those that were trained on; `groups`: their numbers.
    """

    step: int
    version: int
    reward: float
    staleness: float = 0.0
    metrics: Mapping[str, float] = field(default_factory=dict)
    gather_s: float = 0.0
    train_s: float = 0.0
    publish_s: float = 0.0
    window_s: float = 0.0
    still_s: float = 0.0
    tokens: int = 0
    groups: tuple[int, ...] = ()

    def as_values(self) -> dict[str, float]:
        """Name of a chart → its value at this step."""
        return {
            "run/reward": self.reward, "run/staleness": self.staleness, "run/version": float(self.version),
            "run/tokens": float(self.tokens), "time/gather": self.gather_s, "time/train": self.train_s,
            "time/publish": self.publish_s, "time/window": self.window_s, "time/still": self.still_s,
            **{f"train/{name}": value for name, value in self.metrics.items()},
        }  # fmt: skip


@dataclass(slots=True)
class Noted:
    """All that the lives of a run have noted. `seconds` is how long they were at work, from the first line of each
    to its last; `held_out` has the rewards by the step after which they were asked."""

    lives: int = 0
    seconds: float = 0.0
    steps: dict[int, StepFigures] = field(default_factory=dict)
    held_out: dict[int, list[float]] = field(default_factory=dict)
    incidents: list[str] = field(default_factory=list)


class Notes:
    """Adds to the file at `path`, from the beginning of a life on. Raises OSError."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._add("life", {})

    def step(self, figures: StepFigures) -> None:
        """A step was made."""
        self._add("step", asdict(figures))

    def evaluated(self, step: int, rewards: Sequence[float]) -> None:
        """Held-out prompts were asked after `step`."""
        self._add("held_out", {"step": step, "rewards": list(rewards)})

    def incident(self, text: str) -> None:
        """Something went wrong, and the run went on."""
        self._add("incident", {"text": text})

    def _add(self, kind: str, values: Mapping[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"note": kind, "at": round(time.time(), 3), **values}) + "\n")


def read_notes(path: Path) -> Noted:
    """What the file has; a line that a killed run has cut is passed over. Raises OSError."""
    noted, began, last = Noted(), 0.0, 0.0
    for line in _lines(path):
        kind, at = line.pop("note"), line.pop("at")
        if kind == "life":
            noted.lives += 1
            noted.seconds += last - began
            began = at
        elif kind == "step":
            line["groups"] = tuple(line["groups"])
            figures = StepFigures(**line)
            noted.steps[figures.step] = figures
        elif kind == "held_out":
            noted.held_out[line["step"]] = line["rewards"]
        else:
            noted.incidents.append(line["text"])
        last = at
    noted.seconds += last - began
    noted.steps = dict(sorted(noted.steps.items()))
    return noted


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for text in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(text)
        except ValueError:
            continue
