"""The learning rate as a function of the step: a schedule has no state of its own that could be lost."""

from __future__ import annotations

import math

from .config import TrainingConfig


def learning_rate(config: TrainingConfig, step: int) -> float:
    """The rate of step number `step`, from 1.

    It rises to `config.learning_rate` over the warm-up, in equal parts, and falls from there to the last
    step, which still changes something. Raises ValueError when the schedule has ended.
    """
    warmup, total = config.warmup_steps, config.total_steps
    if config.schedule != "constant" and step > total:
        raise ValueError(f"the {config.schedule} schedule ends with step {total}: raise total_steps to train on")
    if step <= warmup:
        return config.learning_rate * step / warmup
    if config.schedule == "constant":
        return config.learning_rate
    passed = (step - warmup - 1) / (total - warmup)
    left = 1 - passed if config.schedule == "linear" else (1 + math.cos(math.pi * passed)) / 2
    return config.learning_rate * left
