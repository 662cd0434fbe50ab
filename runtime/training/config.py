"""The settings of a trainer: what is optimised, how, and from which samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..config import require


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingConfig:
    """Settings of group-relative policy optimisation on DeepSpeed.

    `epochs` passes are made over each batch, in `minibatches` optimiser steps each. The ratio of new to
    behaviour probability is clipped to [1 - clip_low, 1 + clip_high]; `temperature` must be that of the
    sampling, since the behaviour's log-probabilities are. Advantages compare a sample with
    its group: turn by turn (`credit: turn`) or as a whole (`credit: session`), divided by the group's
    standard deviation when `normalise`. A batch with a token older than `max_staleness` versions is
    refused, or with `beyond_staleness: correct` such tokens are weighted by their ratio, up to `truncate`, instead of
    being clipped. `shuffle_rewards` is for control runs: rewards are permuted over the batch, so that they
    say nothing of the answers.

    `accumulate`: into how many micro-batches each rank cuts its share of a minibatch; the loss is the same.
    `precision`: what the model computes in and gradients are summed in (bf16 and fp16 from ZeRO 1 on); the
    optimiser's own weights are fp32. The learning rate rises over `warmup_steps` steps of training, and then
    follows `schedule`, which ends with `total_steps`.
    `frozen`: patterns of names of parameters (as of a shell: `model.layers.0.*`) that are not trained.
    `collective_ms`: how long a rank waits for the others, and so the longest that one may take for a
    forward pass or for writing a checkpoint. Raises ConfigError that names the field.
    """

    zero_stage: int = 2
    precision: Literal["fp32", "bf16", "fp16"] = "fp32"
    frozen: tuple[str, ...] = ()
    accumulate: int = 1
    learning_rate: float = 3e-3
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    warmup_steps: int = 0
    total_steps: int = 0
    betas: tuple[float, float] = (0.9, 0.99)
    weight_decay: float = 0.0
    gradient_clip: float = 1.0
    group_size: int = 8
    groups: int = 8
    epochs: int = 4
    minibatches: int = 2
    clip_low: float = 0.2
    clip_high: float = 0.2
    temperature: float = 1.0
    credit: Literal["turn", "session"] = "turn"
    normalise: bool = True
    max_staleness: int = 8
    beyond_staleness: Literal["drop", "correct"] = "drop"
    truncate: float = 2.0
    shuffle_rewards: bool = False
    seed: int = 0
    collective_ms: int = 600_000

    def __post_init__(self) -> None:
        samples = self.groups * self.group_size
        require(
            (self.zero_stage in (0, 1, 2, 3), f"zero_stage: {self.zero_stage} is not one of 0, 1, 2, 3"),
            (
                self.precision == "fp32" or self.zero_stage > 0,
                f"precision: {self.precision} needs zero_stage 1, 2 or 3: without ZeRO, DeepSpeed counts the steps "
                "of its fp32 weights wrongly, so that the first updates come out too small",
            ),
            (self.learning_rate > 0, f"learning_rate: {self.learning_rate} must be above 0"),
            (all(0 <= beta < 1 for beta in self.betas), f"betas: {self.betas} must lie in [0, 1)"),
            (self.weight_decay >= 0, f"weight_decay: {self.weight_decay} must not be negative"),
            (
                self.gradient_clip >= 0,
                f"gradient_clip: {self.gradient_clip} must not be negative; 0 turns it off",
            ),
            (
                self.group_size >= 2,
                f"group_size: {self.group_size} must be at least 2: an advantage is relative to the others",
            ),
            (self.groups >= 1, f"groups: {self.groups} must be at least 1"),
            (self.epochs >= 1, f"epochs: {self.epochs} must be at least 1"),
            (
                1 <= self.minibatches <= max(samples, 1),
                f"minibatches: {self.minibatches} must lie in 1..{samples} (groups * group_size samples)",
            ),
            (0 < self.clip_low < 1, f"clip_low: {self.clip_low} must lie in (0, 1)"),
            (self.clip_high > 0, f"clip_high: {self.clip_high} must be above 0"),
            (
                self.temperature > 0,
                f"temperature: {self.temperature} must be above 0: greedy answers have nothing to compare",
            ),
            (self.max_staleness >= 0, f"max_staleness: {self.max_staleness} must not be negative"),
            (self.truncate >= 1, f"truncate: {self.truncate} must be at least 1: a weight of 1 corrects nothing"),
            (self.seed >= 0, f"seed: {self.seed} must not be negative"),
            (all(self.frozen), f"frozen: {list(self.frozen)} has an empty pattern: leave it out"),
            (self.accumulate >= 1, f"accumulate: {self.accumulate} must be at least 1"),
            (
                self.minibatches > samples or self.accumulate * self.minibatches <= max(samples, 1),
                f"accumulate: {self.accumulate} micro-batches in each of {self.minibatches} minibatches are more "
                f"than {samples} samples (groups * group_size)",
            ),
            (self.warmup_steps >= 0, f"warmup_steps: {self.warmup_steps} must not be negative"),
            (
                self.schedule == "constant" or self.total_steps > self.warmup_steps,
                f"total_steps: {self.total_steps} must be above warmup_steps ({self.warmup_steps}): that is where "
                f"the schedule {self.schedule!r} ends",
            ),
            (
                self.schedule != "constant" or self.total_steps == 0,
                f"total_steps: {self.total_steps} means nothing to a constant schedule: leave it out, or take "
                "linear or cosine",
            ),
            (self.collective_ms > 0, f"collective_ms: {self.collective_ms} must be above 0"),
        )
