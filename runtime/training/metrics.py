"""The figures of one training step."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Metrics:
    """What one step did.

    `step`: its number, from 1; `samples`, `tokens`: how many were trained on, in all ranks; `reward`: mean
    of the samples (before any shuffling), `reward_deviation` over them; `idle_groups`: share of groups
    whose advantages are all 0; `learning_rate`: that of the step; `skipped`: optimiser steps that were left
    out because fp16 overflowed; `loss`, `gradient_norm` (before clipping): means over the optimiser steps
    (the norm's over those that were made); `ratio`, `largest_ratio`, `clipped` (share of tokens),
    `divergence` (nats per token): of the new against the behaviour policy, over all passes; `staleness`,
    `largest_staleness`: in versions; `corrected`: share of tokens that were too old to be clipped; `seconds`:
    wall time.
    """

    step: int
    samples: int
    tokens: int
    reward: float
    reward_deviation: float
    idle_groups: float
    learning_rate: float
    skipped: int
    loss: float
    gradient_norm: float
    ratio: float
    largest_ratio: float
    clipped: float
    divergence: float
    staleness: float
    largest_staleness: int
    corrected: float
    seconds: float

    def figures(self) -> dict[str, float]:
        """Name → value, for a message or a report."""
        return {name: float(value) for name, value in asdict(self).items()}
