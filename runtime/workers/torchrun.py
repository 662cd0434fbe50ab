"""A trainer of several ranks: this process becomes torchrun, which starts one process for each rank.

Rules of this file:

- One life of torchrun is one life of the whole group: where one rank ends, all do, and none is restarted.
- Ranks that are to end are asked first, and ended by force after their bound.
"""

from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from ..config import ConfigError
from ..training.group import GroupError, is_described
from ..watching.settings import Watching

UNUSABLE = 2
"""The exit status where what the config names cannot be used."""
LOOK_S = 0.2
"""How often torchrun looks whether a rank has ended."""
BEYOND_S = 1.5
"""How much longer than its own bound a rank is given, before it is ended by force."""
_NUMBERS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_PORT")


def is_rank() -> bool:
    """Whether this process is one that torchrun has started."""
    return "RANK" in os.environ


def launch(config: Path, ranks: int, stop_s: float, errors: TextIO) -> int:
    """Be torchrun for `sluicegate worker trainer CONFIG` until every rank has ended; the exit status.

    It is 2 where a rank could not use what the config names. A rank may take `stop_s` seconds to end.
    Raises ModuleNotFoundError where there is no torch.
    """
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.run import parse_args, run

    arguments = parse_args(
        [
            "--standalone", "--nnodes=1", f"--nproc-per-node={ranks}", "--max-restarts=0",
            f"--monitor-interval={LOOK_S}", f"--shutdown-timeout={math.ceil(stop_s + BEYOND_S)}",
            f"--log-dir={os.devnull}", "-m", "sluicegate", "worker", "trainer", str(config),
        ]
    )  # fmt: skip
    try:
        run(arguments)
    except SignalException:
        # It was told to end, and has ended its ranks.
        return 0
    except ChildFailedError as error:
        said = ", ".join(f"rank {number} with {_ended(f.exitcode)}" for number, f in sorted(error.failures.items()))
        print(f"sluicegate worker: the trainer has ended: {said}; their lines above say why", file=errors)
        return UNUSABLE if any(f.exitcode == UNUSABLE for f in error.failures.values()) else 1
    return 0


def shown_by_rank(settings: Watching, incarnation: str) -> tuple[Watching, str]:
    """How this process shows itself: only the first rank has the port that was asked for, and the group's name."""
    rank = os.environ.get("RANK", "0")
    if rank == "0":
        return settings, incarnation
    port = None if settings.metrics_port is None else 0
    return replace(settings, metrics_port=port), incarnation and f"{incarnation}.rank-{rank}"


def own_rank(ranks: int) -> int:
    """This process's rank in a group of `ranks`, as the environment describes it: 0 of one where it describes none.

    Raises ConfigError where it describes a part of a group, or another than the config.
    """
    try:
        described = is_described(os.environ)
    except GroupError as error:
        raise ConfigError(f"the environment describes no group: {error}") from error
    if not described:
        if ranks != 1:
            raise ConfigError(f"ranks is {ranks}, and the environment describes no group: set ranks to 1")
        return 0
    wrong = [f"{name} is {os.environ[name]!r}" for name in _NUMBERS if not os.environ.get(name, "0").isdecimal()]
    if wrong:
        raise ConfigError(f"{', '.join(wrong)} in the environment: give whole numbers, as torchrun does")
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if world != ranks:
        raise ConfigError(f"ranks is {ranks}, and the environment describes a group of {world}: make them equal")
    if rank >= world:
        raise ConfigError(f"RANK is {rank} in a group of {world}: the last one is {world - 1}")
    return rank


def _ended(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"status {status}"
