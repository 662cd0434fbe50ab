"""The process group of a trainer's ranks: joined, bounded, agreed with; and what DeepSpeed is told about it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from .agreement import Agreements, GroupError
from .config import TrainingConfig

__all__ = ["GroupError", "agree", "agree_outcome", "engine_settings", "init_deepspeed", "is_described", "join_group"]

_VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
WITHIN_S = 600.0
"""How long the ranks wait for each other unless a setting says otherwise."""
_joined: list[tuple[Any, Agreements]] = []
"""The store of the process group that stands, and its agreements: they are numbered as long as it lives."""


def join_group(within: float = WITHIN_S) -> tuple[int, int]:
    """Joins the group that the environment describes, and gives this rank and the number of ranks.

    Without WORLD_SIZE the group is this process alone, and no port is opened. A group that the process
    has joined before is used again. The other ranks are waited for `within` seconds, here and in every
    collective. Raises GroupError when the environment says only a part, or a rank does not come.
    """
    import torch.distributed as dist

    # DeepSpeed asks for it even of a process that is alone.
    os.environ.setdefault("LOCAL_RANK", "0")
    if dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    bound = timedelta(seconds=within)
    if is_described(os.environ):
        try:
            dist.init_process_group(_backend(), init_method="env://", timeout=bound)
        except dist.DistError as problem:
            where = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
            raise GroupError(
                f"rank {os.environ['RANK']} of {os.environ['WORLD_SIZE']} did not meet the others at {where} within "
                f"{within:g} s: see their logs ({problem})"
            ) from problem
    else:
        # Documented as torch.distributed.HashStore, and left out of its list of exports.
        alone = dist.HashStore()  # pyright: ignore[reportPrivateImportUsage]
        dist.init_process_group(_backend(), store=alone, rank=0, world_size=1, timeout=bound)
    return dist.get_rank(), dist.get_world_size()


def agree(what: str, within: float) -> None:
    """Returns once all ranks of the joined group are about to do `what`; waits `within` seconds at most.

    Raises GroupError on every rank, before anything has changed, when a rank is about to do something
    else or has not come: the message names it. All ranks must agree in the same order.
    """
    _agreements().agree(what, within)


def agree_outcome(problem: str, within: float) -> str:
    """The problems of all ranks as one text that names each rank; empty when no rank has one.

    `problem` is this rank's, empty for none. Waits and raises as `agree` does.
    """
    return _agreements().agree_outcome(problem, within)


def _agreements() -> Agreements:
    import torch.distributed as dist
    from torch.distributed.distributed_c10d import _get_default_store

    store = _get_default_store()
    if not _joined or _joined[0][0] is not store:
        prefixed = dist.PrefixStore("agreements", store)  # pyright: ignore[reportPrivateImportUsage]
        _joined[:] = [(store, Agreements(prefixed, dist.get_rank(), dist.get_world_size()))]
    return _joined[0][1]


def is_described(environment: Mapping[str, str]) -> bool:
    """Whether the variables describe a group. Raises GroupError when they describe a part of one."""
    given = [name for name in _VARIABLES if name in environment]
    # An address without ranks is nothing yet: other tools set it too.
    if not {"RANK", "WORLD_SIZE"} & set(given):
        return False
    missing = [name for name in _VARIABLES if name not in given]
    if missing:
        raise GroupError(f"{', '.join(given)} are set, {', '.join(missing)} are not: set all or none")
    return True


def init_deepspeed(within: float = WITHIN_S) -> None:
    """Lets DeepSpeed use the group that was joined; its own groups wait `within` seconds, too."""
    import deepspeed
    import deepspeed.ops
    import torch.distributed.distributed_c10d as c10d
    from deepspeed.utils import groups

    # It calls collectives by names that torch renames; a line at each step would bury the log.
    warnings.filterwarnings("ignore", "`torch.distributed", FutureWarning)
    # Its own collectives in shared memory would be compiled at the first start, for up to a minute, and
    # need a compiler; gloo's and NCCL's are there.
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    deepspeed.init_distributed(dist_backend=_backend(), auto_mpi_discovery=False, verbose=False)
    # It clones the group, and a new group has torch's own bound, half an hour.
    groups._clone_world_group()
    for each in list(c10d._world.pg_map):
        c10d._set_pg_timeout(timedelta(seconds=within), each)


def engine_settings(config: TrainingConfig, world: int) -> dict[str, Any]:
    """DeepSpeed's settings. A micro-batch counts as one: its size is the data's, not a setting's."""
    return {
        "train_micro_batch_size_per_gpu": 1,
        "gradient_accumulation_steps": config.accumulate,
        "train_batch_size": world * config.accumulate,
        "gradient_clipping": config.gradient_clip,
        "zero_optimization": {"stage": config.zero_stage},
        "zero_allow_untested_optimizer": True,
        "bf16": {"enabled": config.precision == "bf16"},
        "fp16": {"enabled": config.precision == "fp16"},
        "steps_per_print": 2**62,
        "wall_clock_breakdown": False,
    }


def _backend() -> str:
    import torch

    return "nccl" if torch.cuda.is_available() else "gloo"
