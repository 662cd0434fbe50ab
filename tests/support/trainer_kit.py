"""A trainer's processes over gRPC: a config and samples for a tiny model, and a client that drives it."""

from __future__ import annotations

import os
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from sluicegate.runtime.controller.trainer import TrainerHandle
from sluicegate.runtime.training.config import TrainingConfig
from sluicegate.runtime.training.samples import Sample
from sluicegate.runtime.workers.config import TrainerConfig

from .rollout_kit import VOCABULARY, make_weights, worker_process

TRAINING = TrainingConfig(
    groups=2, group_size=4, epochs=1, minibatches=1, zero_stage=2, max_staleness=1, collective_ms=10_000
)
RUN = "trainer-test"


def make_config(folder: Path, **changes: Any) -> TrainerConfig:
    """A trainer with all its files in `folder`; `training` changes single settings of the training."""
    if not (folder / "model").exists():
        make_weights(0).save_pretrained(folder / "model")  # pyright: ignore[reportCallIssue]
    given: dict[str, Any] = {
        "run": RUN, "model": folder / "model", "state": folder / "state", "manifests": folder / "manifests",
        "trace": folder / "trace", "shm_root": folder / "shm", "bucket_bytes": 16 * 1024, "stop_ms": 2000,
        "max_batch_bytes": 1024 * 1024, **changes, "training": replace(TRAINING, **changes.pop("training", {})),
    }  # fmt: skip
    return TrainerConfig(**given)


def make_samples(seed: int, version: int = 0) -> list[Sample]:
    """Two groups of four, made by this version."""
    draw = random.Random(seed)

    def sample(group: int, member: int) -> Sample:
        made = draw.randint(3, 6)
        return Sample(
            session=f"s{seed}-{group}-{member}", group=f"g{group}",
            token_ids=tuple(draw.randrange(VOCABULARY) for _ in range(4 + made)),
            turns=(0,) * 4 + (1,) * made, log_probs=(0.0,) * 4 + (-2.0,) * made,
            versions=(0,) * 4 + (version,) * made, rewards=(float(member % 2),),
        )  # fmt: skip

    return [sample(group, member) for group in range(2) for member in range(4)]


@asynccontextmanager
async def handled(ready: dict[str, Any], *, term: int = 1, within: float = 60.0) -> AsyncIterator[TrainerHandle]:
    """A trainer as a controller holds it, claimed."""
    handle = TrainerHandle(ready["incarnation"], ready["control"], ready["data"], term=term, within=within)
    try:
        await handle.claim()
        yield handle
    finally:
        await handle.close()


@contextmanager
def group_process(config: TrainerConfig, folder: Path) -> Iterator[tuple[Any, dict[str, Any], list[int]]]:
    """A trainer of several ranks: torchrun's process, the ready line, and the processes of the ranks, in order."""
    with worker_process("trainer", config, folder) as (process, ready):
        yield process, ready, ranks_of(process.pid)


def ranks_of(torchrun: int) -> list[int]:
    """The processes that a torchrun has started, by rank."""
    found: dict[int, int] = {}
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            settings = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        rank = next((int(s[5:]) for s in settings if s.startswith(b"RANK=")), None)
        if parent == torchrun and rank is not None:
            found[rank] = pid
    return [found[rank] for rank in sorted(found)]


def is_gone(pid: int) -> bool:
    """Whether no process, not even an unburied one, has this number."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
