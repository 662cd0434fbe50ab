"""The optimiser steps of one training step: a rank's share of each minibatch, in micro-batches.

Rules of this file:

- The loss of a minibatch is one sum over its tokens in all ranks; how it is cut into micro-batches changes
  nothing but the order of the sum.
- Every rank makes the same number of forward passes, which are collectives where parameters are sharded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from . import grpo
from .config import TrainingConfig
from .samples import Packed

if TYPE_CHECKING:
    import torch


@dataclass(slots=True)
class Totals:
    """What the optimiser steps of one training step came to.

    `loss`, `gradient_norm` (before clipping, of steps that were made): sums over optimiser steps; `ratio`,
    `clipped`, `divergence`: sums over tokens; `skipped`: steps that the loss scaling of fp16 left out.
    """

    loss: float = 0.0
    gradient_norm: float = 0.0
    ratio: float = 0.0
    largest_ratio: float = 0.0
    clipped: float = 0.0
    divergence: float = 0.0
    skipped: int = 0

    def add(self, found: grpo.PolicyLoss) -> None:
        self.loss += float(found.loss.detach())
        self.ratio += found.ratio
        self.largest_ratio = max(self.largest_ratio, found.largest_ratio)
        self.clipped += found.clipped
        self.divergence += found.divergence


@dataclass(slots=True)
class Descent:
    """The engine of rank `rank` of `world`, and how it descends."""

    engine: Any
    config: TrainingConfig
    rank: int
    world: int
    _tensors: dict[str, torch.Tensor] = field(default_factory=dict)

    def run(
        self, packed: Packed, advantages: np.ndarray, corrected: np.ndarray, draw: np.random.Generator
    ) -> Totals:
        """`epochs` passes over the batch, in `minibatches` optimiser steps each; `draw` shuffles.

        `corrected` is true for tokens that are too old to be clipped.
        """
        import torch

        config, totals = self.config, Totals()
        self._tensors = {
            "token_ids": torch.from_numpy(packed.token_ids),
            "attention": torch.from_numpy(packed.attention),
            "turns": torch.from_numpy(packed.turns),
            "log_probs": torch.from_numpy(packed.log_probs),
            "advantages": torch.from_numpy(advantages),
            "corrected": torch.from_numpy(corrected),
        }
        for _ in range(config.epochs):
            for rows in np.array_split(draw.permutation(len(packed.token_ids)), config.minibatches):
                # DeepSpeed divides the sum over ranks by their number.
                tokens = max(1, int((packed.turns[rows] > 0).sum())) / self.world
                self._step(rows[self.rank :: self.world], tokens, totals)
        self._tensors = {}
        return self._over_ranks(totals)

    def _step(self, own: np.ndarray, tokens: float, totals: Totals) -> None:
        """One optimiser step on the samples `own`."""
        skipped = self.engine.skipped_steps
        norm = None
        for part in np.array_split(own, self.config.accumulate):
            found = self._loss(part, tokens)
            totals.add(found)
            self.engine.backward(found.loss, scale_wrt_gas=False)
            if self.engine.is_gradient_accumulation_boundary():
                norm = self._own_norm()
            self.engine.step()
        if self.engine.skipped_steps > skipped:
            totals.skipped += 1
        else:
            totals.gradient_norm += norm if norm is not None else float(self.engine.get_global_grad_norm())

    def _loss(self, rows: np.ndarray, tokens: float) -> grpo.PolicyLoss:
        import torch

        own = torch.from_numpy(np.ascontiguousarray(rows))
        part = {name: tensor[own].to(self.engine.device) for name, tensor in self._tensors.items()}
        logits = self.engine(input_ids=part["token_ids"], attention_mask=part["attention"], use_cache=False).logits
        return grpo.policy_loss(
            grpo.token_log_probs(logits, part["token_ids"], self.config.temperature),
            part["log_probs"][:, 1:],
            part["advantages"][:, 1:],
            (part["turns"][:, 1:] > 0).float(),
            clip_low=self.config.clip_low,
            clip_high=self.config.clip_high,
            tokens=tokens,
            corrected=part["corrected"][:, 1:] if self.config.beyond_staleness == "correct" else None,
            truncate=self.config.truncate,
        )

    def _own_norm(self) -> float | None:
        """The norm of the gradients where DeepSpeed keeps none: it does not hold the gradients itself."""
        import torch

        if self.config.zero_stage:
            return None
        gradients = [each.grad for each in self.engine.module.parameters() if each.grad is not None]
        return float(torch.nn.utils.get_total_norm(gradients))

    def _over_ranks(self, own: Totals) -> Totals:
        """The figures of all ranks: sums over tokens are added, what the group has in common stays."""
        import torch
        import torch.distributed as dist

        added = torch.tensor(
            [own.loss / self.world, own.ratio, own.clipped, own.divergence],
            dtype=torch.float64,
            device=self.engine.device,
        )
        most = torch.tensor(own.largest_ratio, dtype=torch.float64, device=self.engine.device)
        dist.all_reduce(added)
        dist.all_reduce(most, op=dist.ReduceOp.MAX)
        loss, ratio, clipped, divergence = added.tolist()
        return Totals(loss, own.gradient_norm, ratio, float(most), clipped, divergence, own.skipped)
