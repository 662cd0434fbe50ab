"""The run's part of a checkpoint: where the run stands beside the trainer's weights, as one JSON file.

Rules of this file:

- A file has a format number. One of this format or an older one loads: a key that it lacks takes its default.
- A value is never bent to fit: what is no state of a run is refused with the place of each problem.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ..config import ConfigError, as_json, from_mapping, require
from ..files import write_durably
from ..training.checkpoint import CheckpointError

FORMAT = 1


class Sampler(Protocol):
    """Where the run's data come from: it begins again where it stood."""

    def state(self) -> Mapping[str, Any]:
        """What is needed to go on from here; JSON can hold it."""
        ...

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from there."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """Where a run stands between two training steps.

    `step` counts the trainer's steps. `published` is the version that replicas serve; `newest` the highest
    version number that was ever taken. `next_group` is the number of the next new group, None in a file of before it
    was kept: it follows from the step then. `in_flight` are those that were begun and not trained on: they are begun
    again. `data_epoch` is the pass over the data that the next new group is of. `sampler` is what the run's `Sampler`
    needs. `term`, `epoch` and `lives` (by name of the process) are the register's numbers, which
    a register that was lost is raised to. Raises ConfigError that names the field.
    """

    run: str
    step: int
    published: int
    newest: int
    next_group: int | None = None
    in_flight: tuple[int, ...] = ()
    data_epoch: int = 0
    sampler: dict[str, Any] = field(default_factory=dict)
    term: int = 0
    epoch: int = 0
    lives: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        counts = ("step", "published", "next_group", "data_epoch", "term", "epoch")
        values = {name: getattr(self, name) or 0 for name in counts}
        require(
            *((value >= 0, f"{name}: {value} must not be negative") for name, value in values.items()),
            (self.newest >= self.published, f"newest: {self.newest} is below the published {self.published}"),
            (
                all(0 <= group < (self.next_group or 0) for group in self.in_flight),
                f"in_flight: {list(self.in_flight)} must all lie below the next group, {self.next_group}",
            ),
        )

    @property
    def is_at_rest(self) -> bool:
        """Whether no group was in flight."""
        return not self.in_flight


def write_state(path: Path, state: RunState) -> None:
    """Write what `read_state` reads, durably. Raises TypeError for a sampler's state that JSON cannot hold."""
    write_durably(path, json.dumps({"format": FORMAT, **as_json(state)}, indent=1).encode())


def read_state(path: Path) -> RunState:
    """The state in a file of this format, or an older one. Raises CheckpointError."""
    try:
        body = json.loads(path.read_bytes())
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read ({error.strerror}): take another checkpoint") from error
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} is cut or not JSON: take another checkpoint") from error
    known = body.pop("format", None) if isinstance(body, dict) else None
    if isinstance(known, bool) or not isinstance(known, int):
        raise CheckpointError(f"{path} is not the state of a run: it has no format number")
    if not 1 <= known <= FORMAT:
        raise CheckpointError(f"{path} has format {known}; this reads up to {FORMAT}: resume with what wrote it")
    try:
        return from_mapping(RunState, body, str(path))
    except ConfigError as error:
        raise CheckpointError(str(error)) from error
