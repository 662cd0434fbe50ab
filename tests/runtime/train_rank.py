"""One rank of a trainer group, for tests: trains, saves, loads, and leaves its weights in a file.

Arguments: the model's folder, the folder for results, the ZeRO stages as digits.
"""

import os
import sys
from pathlib import Path

import numpy as np
import torch

from sluicegate.runtime.training.config import TrainingConfig
from sluicegate.runtime.training.deepspeed_trainer import TrainerCore
from sluicegate.runtime.training.samples import Sample


def samples(count: int = 8, seed: int = 0) -> list[Sample]:
    """Conversations of two turns with rewards that vary within each group of four."""
    draw = np.random.default_rng(seed)
    turns = (0, 0, 0, 1, 1, 0, 0, 2, 2)
    return [
        Sample(
            session=f"s{number}",
            group=f"g{number // 4}",
            token_ids=tuple(draw.integers(5, 9, len(turns)).tolist()),
            turns=turns,
            log_probs=tuple(-2.3 if turn else 0.0 for turn in turns),
            versions=tuple(1 if turn else 0 for turn in turns),
            rewards=tuple(draw.random(2).tolist()),
        )
        for number in range(count)
    ]


def config(stage: int, **changes) -> TrainingConfig:
    """Settings for `samples`. Clipping is off: its rounding is not the same in all stages."""
    settings = {"zero_stage": stage, "gradient_clip": 0.0, "group_size": 4, "groups": 2} | changes
    return TrainingConfig(**settings)


def weights(core: TrainerCore) -> dict[str, torch.Tensor]:
    """Copies of all tensors, drawn in many buckets."""
    return {name: tensor.clone() for name, tensor in core.named_parameters_bucketwise(bucket_bytes=4096)}


def main() -> None:
    torch.set_num_threads(1)
    model, out, stages = Path(sys.argv[1]), Path(sys.argv[2]), map(int, sys.argv[3])
    found = {}
    for stage in stages:
        core = TrainerCore(config(stage), model)
        metrics = core.train(samples(), version=1)
        trained = weights(core)
        core.save(out / f"checkpoint{stage}")
        core.train(samples(seed=1), version=1)
        core.load(out / f"checkpoint{stage}")
        restored = weights(core)
        assert all(torch.equal(trained[name], restored[name]) for name in trained)
        found[stage] = {"weights": trained, "figures": metrics.figures()}
        core.close()
    torch.save(found, out / f"rank{os.environ['RANK']}.pt")


if __name__ == "__main__":
    main()
