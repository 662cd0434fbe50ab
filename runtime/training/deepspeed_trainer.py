"""A trainer on DeepSpeed: one object per rank that trains, gives its weights away, saves and loads.

Rules of this file:

- Every rank gets the same batch, and works on its own share of each minibatch.
- All randomness is drawn from the configured seed and the number of the step: a step can be repeated.
- The whole model is never gathered: weights leave one bucket at a time.
- torch and DeepSpeed are imported when a trainer is made, not before.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import group
from .checkpoint import CheckpointError, complete, prepare, require_complete
from .config import TrainingConfig
from .metrics import Metrics
from .samples import Packed, Sample, pack

if TYPE_CHECKING:
    import torch

BUCKET_BYTES = 64 << 20


class TrainerError(RuntimeError):
    """The trainer could not do what was asked; the message says what and how to mend it."""


class TrainerCore:
    """One rank of the trainer group.

    The rank and the group come from RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT in the
    environment; without WORLD_SIZE the group is this process alone, and no port is opened.
    """

    def __init__(self, config: TrainingConfig, model_folder: Path) -> None:
        """Reads the Hugging Face model in `model_folder` and starts the engine (seconds).

        Raises TrainerError when the folder holds no causal language model, or the group is described in
        part only.
        """
        # DeepSpeed chooses its accelerator while it is imported.
        import torch

        if not torch.cuda.is_available():
            os.environ.setdefault("DS_ACCELERATOR", "cpu")
        import deepspeed
        from transformers import AutoModelForCausalLM

        self.config = config
        self.rank, self.world = group.join_group()
        group.init_deepspeed()
        self.step = 0
        self._deepspeed = deepspeed
        try:
            with _quiet_loading():
                model = AutoModelForCausalLM.from_pretrained(model_folder, dtype=torch.float32)
        except (OSError, ValueError) as problem:
            raise TrainerError(f"{model_folder} holds no causal language model: {problem}") from problem
        # The output is made from the input of the whole batch: a cache would only hold memory.
        model.config.use_cache = False
        model.train()
        self.vocabulary = int(model.config.vocab_size)
        self.positions = int(model.config.max_position_embeddings)
        self.pad_id = int(model.config.pad_token_id or 0)
        self.architecture = _architecture(model)
        optimizer = torch.optim.AdamW(
            model.parameters(), lr=config.learning_rate, betas=config.betas, weight_decay=config.weight_decay
        )
        self._engine: Any = deepspeed.initialize(
            model=model, optimizer=optimizer, config=group.engine_settings(config, self.world)
        )[0]

    def train(self, samples: Sequence[Sample], version: int) -> Metrics:
        """One step on a batch: `epochs` passes in `minibatches` optimiser steps each.

        `version` is the newest that was published. All is checked before anything changes: raises
        SampleError for a sample that cannot be trained on, DegenerateGroup for a group of one, TrainerError
        for too few samples. Any later error leaves the weights in doubt.
        """
        from . import grpo

        began = time.perf_counter()
        self.check(samples, version)
        groups = [sample.group for sample in samples]
        rewards = [sample.rewards for sample in samples]
        if self.config.shuffle_rewards:
            order = self._random("rewards").permutation(len(rewards))
            rewards = [rewards[row] for row in order]
        by_turn = grpo.turn_advantages(rewards, groups, credit=self.config.credit, normalise=self.config.normalise)
        packed = pack(samples, self.pad_id)
        advantages = grpo.token_advantages(packed.turns, by_turn)
        stale = grpo.staleness(packed.versions, packed.turns, version)
        totals = self._optimise(packed, advantages)
        trained = int((packed.turns > 0).sum())
        means = np.array([sample.reward for sample in samples])
        idle = {name: True for name in groups}
        for name, row in zip(groups, by_turn, strict=True):
            idle[name] &= not row.any()
        passes = trained * self.config.epochs
        self.step += 1
        return Metrics(
            step=self.step,
            samples=len(samples),
            tokens=trained,
            reward=float(means.mean()),
            reward_deviation=float(means.std()),
            idle_groups=sum(idle.values()) / len(idle),
            loss=totals["loss"] / (self.config.epochs * self.config.minibatches),
            gradient_norm=totals["gradient_norm"] / (self.config.epochs * self.config.minibatches),
            ratio=totals["ratio"] / passes,
            largest_ratio=totals["largest_ratio"],
            clipped=totals["clipped"] / passes,
            divergence=totals["divergence"] / passes,
            staleness=stale.mean,
            largest_staleness=stale.largest,
            seconds=time.perf_counter() - began,
        )

    def check(self, samples: Sequence[Sample], version: int) -> None:
        """Raises what `train` raises for a batch that cannot be trained on when `version` is the newest."""
        from . import grpo

        least = self.config.minibatches * self.world
        if len(samples) < least:
            raise TrainerError(
                f"{len(samples)} samples are too few: {self.config.minibatches} minibatches on "
                f"{self.world} ranks need at least {least}"
            )
        for sample in samples:
            sample.require_fit(
                version=version,
                vocabulary=self.vocabulary,
                positions=self.positions,
                max_staleness=self.config.max_staleness,
            )
        grpo.turn_advantages(
            [sample.rewards for sample in samples],
            [sample.group for sample in samples],
            credit=self.config.credit,
            normalise=self.config.normalise,
        )

    def named_parameters_bucketwise(self, bucket_bytes: int = BUCKET_BYTES) -> Iterator[tuple[str, torch.Tensor]]:
        """Name and full tensor of every parameter and persistent buffer, each once, in the model's order.

        Where parameters are sharded (ZeRO 3), about `bucket_bytes` are gathered at a time: every rank must
        draw the iterator to its end, and a tensor is valid only until the next is drawn.
        """
        from ..weights import canonical_tensors

        bucket: list[tuple[str, torch.Tensor]] = []
        size = 0
        for name, tensor in canonical_tensors(self._engine.module).items():
            bucket.append((name, tensor))
            size += int(getattr(tensor, "ds_numel", tensor.numel())) * tensor.element_size()
            if size >= bucket_bytes:
                yield from self._gathered(bucket)
                bucket, size = [], 0
        yield from self._gathered(bucket)

    def save(self, folder: Path) -> None:
        """Writes a checkpoint into `folder`, which must not exist; it appears whole or not at all.

        Every rank calls it with the same folder. Raises CheckpointError when the folder exists, OSError
        when the disk refuses.
        """
        partial = prepare(folder, first=self.rank == 0, barrier=self._barrier)
        self._engine.save_checkpoint(str(partial), tag="state", save_latest=False)
        self._barrier()
        if self.rank == 0:
            complete(partial, folder, self._identity() | {"step": self.step})
        self._barrier()

    def load(self, folder: Path) -> None:
        """Restores weights, optimiser state and step from what `save` wrote.

        Raises CheckpointError, with nothing changed, when it is of another architecture, ZeRO stage or
        number of ranks, or damaged.
        """
        kept = require_complete(folder, self._identity())
        found, _ = self._engine.load_checkpoint(str(folder), tag="state")
        if found is None:
            raise CheckpointError(f"{folder}: DeepSpeed found no state in it; save again from a live trainer")
        self.step = int(kept["step"])

    def close(self) -> None:
        """Ends the engine. The process stays in its group, which ends with it; closing again does nothing."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.destroy()

    def _optimise(self, packed: Packed, advantages: np.ndarray) -> dict[str, float]:
        import torch

        from . import grpo

        config, device = self.config, self._engine.device
        tensors = {
            "token_ids": torch.from_numpy(packed.token_ids),
            "attention": torch.from_numpy(packed.attention),
            "turns": torch.from_numpy(packed.turns),
            "log_probs": torch.from_numpy(packed.log_probs),
            "advantages": torch.from_numpy(advantages),
        }
        draw = self._random("minibatches")
        sums: dict[str, float] = {}
        largest = 0.0
        for _ in range(config.epochs):
            for rows in np.array_split(draw.permutation(len(packed.token_ids)), config.minibatches):
                tokens = max(1, int((packed.turns[rows] > 0).sum())) / self.world
                own = torch.from_numpy(np.ascontiguousarray(rows[self.rank :: self.world]))
                part = {name: tensor[own].to(device) for name, tensor in tensors.items()}
                logits = self._engine(
                    input_ids=part["token_ids"], attention_mask=part["attention"], use_cache=False
                ).logits
                found = grpo.policy_loss(
                    grpo.token_log_probs(logits, part["token_ids"], config.temperature),
                    part["log_probs"][:, 1:],
                    part["advantages"][:, 1:],
                    (part["turns"][:, 1:] > 0).float(),
                    clip_low=config.clip_low,
                    clip_high=config.clip_high,
                    tokens=tokens,
                )
                figures = {
                    "loss": float(found.loss.detach()),
                    "gradient_norm": self._descend(found.loss),
                    "ratio": found.ratio,
                    "clipped": found.clipped,
                    "divergence": found.divergence,
                }
                for name, figure in figures.items():
                    sums[name] = sums.get(name, 0.0) + figure
                largest = max(largest, found.largest_ratio)
        return self._over_ranks(sums, largest)

    def _descend(self, loss: torch.Tensor) -> float:
        """One optimiser step; the norm of the gradients before they were clipped."""
        import torch

        self._engine.backward(loss)
        norm = None
        if self.config.zero_stage == 0:
            # DeepSpeed keeps no norm where it does not hold the gradients itself.
            gradients = [each.grad for each in self._engine.module.parameters() if each.grad is not None]
            norm = float(torch.nn.utils.get_total_norm(gradients))
        self._engine.step()
        return norm if norm is not None else float(self._engine.get_global_grad_norm())

    def _over_ranks(self, sums: dict[str, float], largest: float) -> dict[str, float]:
        """The figures of all ranks: sums over tokens are added, means of the group left as they are."""
        import torch
        import torch.distributed as dist

        device = self._engine.device
        added = torch.tensor(
            [sums["loss"] / self.world, sums["ratio"], sums["clipped"], sums["divergence"]],
            dtype=torch.float64,
            device=device,
        )
        most = torch.tensor(largest, dtype=torch.float64, device=device)
        dist.all_reduce(added)
        dist.all_reduce(most, op=dist.ReduceOp.MAX)
        loss, ratio, clipped, divergence = added.tolist()
        return {
            "loss": loss,
            "gradient_norm": sums["gradient_norm"],
            "ratio": ratio,
            "clipped": clipped,
            "divergence": divergence,
            "largest_ratio": float(most),
        }

    def _gathered(self, bucket: list[tuple[str, torch.Tensor]]) -> Iterator[tuple[str, torch.Tensor]]:
        sharded = [tensor for _, tensor in bucket if hasattr(tensor, "ds_id")]
        with self._deepspeed.zero.GatheredParameters(sharded, enabled=bool(sharded)):
            for name, tensor in bucket:
                yield name, tensor.detach()

    def _identity(self) -> dict[str, Any]:
        return {
            "architecture": self.architecture,
            "zero_stage": self.config.zero_stage,
            "ranks": self.world,
        }

    def _random(self, purpose: str) -> np.random.Generator:
        return np.random.default_rng([self.config.seed, self.step, *purpose.encode()])

    def _barrier(self) -> None:
        import torch.distributed as dist

        dist.barrier()


def _architecture(model: Any) -> dict[str, Any]:
    """What a checkpoint must have in common with the model: its class, and each tensor's shape."""
    shapes = {name: list(tensor.shape) for name, tensor in model.state_dict().items()}
    return {"model": type(model).__name__, "tensors": shapes}


@contextlib.contextmanager
def _quiet_loading() -> Iterator[None]:
    """No progress bar for the reading of a model: a trainer's output is a log."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
