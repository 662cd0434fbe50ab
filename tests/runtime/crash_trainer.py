"""A trainer that is killed while it saves, for tests: what it imports is imported once, each life is forked.

Arguments: the model's folder, the folder of checkpoints. For each line that it reads, a number, it forks a
life that loads the newest checkpoint, trains one step and saves as that number, and tells how it goes.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import torch

os.environ.setdefault("DS_ACCELERATOR", "cpu")
import deepspeed  # noqa: F401  (imported before the fork)
import transformers.models.qwen3.modeling_qwen3  # noqa: F401
from training_kit import make_config, make_samples, weights_of

from sluicegate.runtime.training.deepspeed_trainer import TrainerCore
from sluicegate.runtime.weights import digest_of


def tell(**said: Any) -> None:
    print(json.dumps(said), flush=True)


def live(model: Path, folder: Path, number: int) -> None:
    core = TrainerCore(make_config(zero_stage=2, epochs=1), model)
    kept = sorted(folder.glob("kept-*"))
    # All of them must be whole, not only the newest.
    for each in kept:
        core.load(each)
        tell(loaded=each.name, step=core.step, digest=digest_of(weights_of(core)))
    core.train(make_samples(seed=core.step), version=1)
    tell(saving=os.getpid())
    began = time.monotonic()
    core.save(folder / f"kept-{number:03d}")
    tell(saved=time.monotonic() - began)


def main() -> None:
    torch.set_num_threads(1)
    model, folder = Path(sys.argv[1]), Path(sys.argv[2])
    tell(ready=True)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                live(model, folder, int(line))
                os._exit(0)
            except BaseException as problem:
                tell(error=repr(problem))
                os._exit(1)
        tell(ended=os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


if __name__ == "__main__":
    main()
