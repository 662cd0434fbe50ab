"""The process group of a trainer's ranks, and what DeepSpeed is told about it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import Any

from .config import TrainingConfig

_VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


class GroupError(RuntimeError):
    """The group of ranks is described wrongly; the message says what is missing."""


def join_group() -> tuple[int, int]:
    """Joins the group that the environment describes, and gives this rank and the number of ranks.

    Without WORLD_SIZE the group is this process alone, and no port is opened. A group that the process
    has joined before is used again. Raises GroupError when the environment says only a part.
    """
    import torch.distributed as dist

    # DeepSpeed asks for it even of a process that is alone.
    os.environ.setdefault("LOCAL_RANK", "0")
    if dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    if is_described(os.environ):
        dist.init_process_group(_backend(), init_method="env://")
    else:
        # Documented as torch.distributed.HashStore, and left out of its list of exports.
        alone = dist.HashStore()  # pyright: ignore[reportPrivateImportUsage]
        dist.init_process_group(_backend(), store=alone, rank=0, world_size=1)
    return dist.get_rank(), dist.get_world_size()


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


def init_deepspeed() -> None:
    """Lets DeepSpeed use the group that was joined."""
    import deepspeed
    import deepspeed.ops

    # It calls collectives by names that torch renames; a line at each step would bury the log.
    warnings.filterwarnings("ignore", "`torch.distributed", FutureWarning)
    # Its own collectives in shared memory would be compiled at the first start, for up to a minute, and
    # need a compiler; gloo's and NCCL's are there.
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    deepspeed.init_distributed(dist_backend=_backend(), auto_mpi_discovery=False, verbose=False)


def engine_settings(config: TrainingConfig, world: int) -> dict[str, Any]:
    """DeepSpeed's settings. A minibatch is one micro-batch; its size is the data's, not a setting's."""
    return {
        "train_micro_batch_size_per_gpu": 1,
        "gradient_accumulation_steps": 1,
        "train_batch_size": world,
        "gradient_clipping": config.gradient_clip,
        "zero_optimization": {"stage": config.zero_stage},
        "zero_allow_untested_optimizer": True,
        "steps_per_print": 2**62,
        "wall_clock_breakdown": False,
    }


def _backend() -> str:
    import torch

    return "nccl" if torch.cuda.is_available() else "gloo"
