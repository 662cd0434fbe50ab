"""Where published weights lie, and on which road replicas get them: two settings that are chosen apart.

Rules of this file:

- Trainer, replicas and controllers of a run have the same store, road and folder; a mismatch is told at the
  first fetch, by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..config import require


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsConfig:
    """The store and the road of a run's weights. Times end in their unit.

    `store`: `shm` keeps buckets in shared memory while the trainer lives; `files` keeps safetensors files in
    `folder`, in which each run has one of its own; they survive the trainer and its host.
    `road`: `direct` reads the store, on the same host or a shared file system; `stream` is a gRPC stream from
    the trainer; `broadcast` is torch.distributed from the trainer to all replicas that ask for the same version;
    `ipc` lends device memory between processes of one host.
    `within_ms`: the longest that one answer, one bucket or one peer may take on its way; `gather_ms`: how long a
    broadcast waits for further receivers; `receivers`: how many it waits for at most, 0 if that is not known.
    Raises ConfigError where they do not go together.
    """

    store: Literal["shm", "files"] = "shm"
    road: Literal["direct", "stream", "broadcast", "ipc"] = "direct"
    folder: Path | None = None
    within_ms: int = 60_000
    gather_ms: int = 2_000
    receivers: int = 0

    def __post_init__(self) -> None:
        require(
            (self.store != "files" or self.folder is not None,
             "folder is missing: the files store needs one, in which each run has its own"),
            (self.within_ms > 0, f"within_ms is {self.within_ms}: give a number above 0"),
            (self.gather_ms > 0, f"gather_ms is {self.gather_ms}: give a number above 0"),
            (self.receivers >= 0, f"receivers is {self.receivers}: give how many replicas there are, or 0"),
        )  # fmt: skip

    @property
    def within(self) -> float:
        """`within_ms` in seconds."""
        return self.within_ms / 1000
