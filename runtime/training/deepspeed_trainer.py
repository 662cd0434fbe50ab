"""A trainer on DeepSpeed: one object per rank that trains, gives its weights away, saves and loads.

Rules of this file:

- Every rank gets the same batch, and works on its own share of each minibatch.
- What all ranks do together they agree on first; what can fail on one rank is told to all.
- All randomness is drawn from the configured seed and the number of the step: a step can be repeated.
- The whole model is never gathered: weights leave one bucket at a time.
- torch and DeepSpeed are imported when a trainer is made, not before.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from . import group
from .agreement import GroupError
from .checkpoint import CheckpointError, complete, discard, partial_of, prepare, read_index, require_complete
from .config import TrainingConfig
from .descent import Descent
from .errors import SetupError, TrainerError
from .frozen import FrozenGuard, frozen_digests
from .metrics import Metrics
from .policy import Policy, read_policy
from .samples import Sample, pack
from .schedule import learning_rate
from .state import read_converted_state, read_state, write_state
from .universal import family

if TYPE_CHECKING:
    import torch

__all__ = ["BUCKET_BYTES", "TrainerCore", "TrainerError"]

_T = TypeVar("_T")
BUCKET_BYTES = 64 << 20


class TrainerCore:
    """One rank of the trainer group.

    The rank and the group come from RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT in the
    environment; without WORLD_SIZE the group is this process alone, and no port is opened. Every method
    but `check` and `close` is called by all ranks, with the same arguments and in the same order; it raises
    GroupError, with nothing changed, when a rank does something else or does not come.
    """

    def __init__(self, config: TrainingConfig, model_folder: Path) -> None:
        """Reads the Hugging Face model in `model_folder` and starts the engine (seconds).

        Raises SetupError when the folder holds no causal language model, when `config.frozen` does not
        fit it, or when the device cannot compute in `config.precision`; GroupError when the group is
        described in part only, or a rank does not come or has other settings.
        """
        # DeepSpeed chooses its accelerator while it is imported.
        import torch

        if not torch.cuda.is_available():
            os.environ.setdefault("DS_ACCELERATOR", "cpu")
        import deepspeed

        self.config = config
        self._within = config.collective_ms / 1000
        self.rank, self.world = group.join_group(self._within)
        self._agree(f"start with {config}")
        group.init_deepspeed(self._within)
        self.step = 0
        self._deepspeed = deepspeed
        policy = self._everywhere(lambda: self._read(model_folder), SetupError)
        self.frozen = policy.frozen
        self.vocabulary, self.positions, self.pad_id = policy.vocabulary, policy.positions, policy.pad_id
        self._identity = {
            "architecture": policy.architecture,
            "zero_stage": config.zero_stage,
            "precision": config.precision,
            "ranks": self.world,
            "frozen": frozen_digests(policy.model, policy.frozen),
        }
        self._optimizer = torch.optim.AdamW(
            [each for each in policy.model.parameters() if each.requires_grad], lr=config.learning_rate
        )
        self._engine: Any = deepspeed.initialize(
            model=policy.model, optimizer=self._optimizer, config=group.engine_settings(config, self.world)
        )[0]
        self._guard = FrozenGuard(self._engine.module, policy.frozen)

    def train(self, samples: Sequence[Sample], version: int) -> Metrics:
        """One step on a batch: `epochs` passes in `minibatches` optimiser steps each.

        `version` is the newest that was published. All is checked before anything changes: raises
        SampleError for a sample that cannot be trained on, DegenerateGroup for a group of one, TrainerError
        for too few samples or a schedule that has ended. Any later error leaves the weights in doubt.
        """
        from . import grpo

        began = time.perf_counter()
        self._agree(f"train step {self.step + 1} on {_digest(samples)} at version {version}")
        self.check(samples, version)
        config, rate = self.config, learning_rate(self.config, self.step + 1)
        groups = [sample.group for sample in samples]
        rewards = [sample.rewards for sample in samples]
        if config.shuffle_rewards:
            order = self._random("rewards").permutation(len(rewards))
            rewards = [rewards[row] for row in order]
        by_turn = grpo.turn_advantages(rewards, groups, credit=config.credit, normalise=config.normalise)
        packed = pack(samples, self.pad_id)
        advantages = grpo.token_advantages(packed.turns, by_turn)
        stale = grpo.staleness(packed.versions, packed.turns, version)
        corrected = (packed.turns > 0) & (version - packed.versions > config.max_staleness)
        # A checkpoint restores the settings that it was saved with: what counts is what is set now.
        for each in self._optimizer.param_groups:
            each.update(lr=rate, betas=config.betas, weight_decay=config.weight_decay)
        with self._seeded("model"):
            descent = Descent(self._engine, config, self.rank, self.world)
            totals = descent.run(packed, advantages, corrected, self._random("minibatches"))
        self._everywhere(self._guard.check, TrainerError)
        trained = int((packed.turns > 0).sum())
        means = np.array([sample.reward for sample in samples])
        idle = {name: True for name in groups}
        for name, row in zip(groups, by_turn, strict=True):
            idle[name] &= not row.any()
        passes, descents = trained * config.epochs, config.epochs * config.minibatches
        self.step += 1
        return Metrics(
            step=self.step,
            samples=len(samples),
            tokens=trained,
            reward=float(means.mean()),
            reward_deviation=float(means.std()),
            idle_groups=sum(idle.values()) / len(idle),
            learning_rate=rate,
            skipped=totals.skipped,
            loss=totals.loss / descents,
            gradient_norm=totals.gradient_norm / max(1, descents - totals.skipped),
            ratio=totals.ratio / passes,
            largest_ratio=totals.largest_ratio,
            clipped=totals.clipped / passes,
            divergence=totals.divergence / passes,
            staleness=stale.mean,
            largest_staleness=stale.largest,
            corrected=float(corrected.sum()) / trained,
            seconds=time.perf_counter() - began,
        )

    def check(self, samples: Sequence[Sample], version: int) -> None:
        """Raises what `train` raises for a batch that cannot be trained on when `version` is the newest."""
        from . import grpo

        config = self.config
        try:
            learning_rate(config, self.step + 1)
        except ValueError as ended:
            raise TrainerError(str(ended)) from ended
        least = config.minibatches * self.world * config.accumulate
        if len(samples) < least:
            raise TrainerError(
                f"{len(samples)} samples are too few: {config.minibatches} minibatches on {self.world} ranks "
                f"in {config.accumulate} micro-batches each need at least {least}"
            )
        for sample in samples:
            sample.require_fit(
                version=version,
                vocabulary=self.vocabulary,
                positions=self.positions,
                max_staleness=config.max_staleness if config.beyond_staleness == "drop" else None,
            )
        grpo.turn_advantages(
            [sample.rewards for sample in samples],
            [sample.group for sample in samples],
            credit=config.credit,
            normalise=config.normalise,
        )

    def named_parameters_bucketwise(self, bucket_bytes: int = BUCKET_BYTES) -> Generator[tuple[str, torch.Tensor]]:
        """Name and full tensor of every parameter and persistent buffer, each once, in the model's order.

        Where parameters are sharded (ZeRO 3), at most `bucket_bytes` are gathered at a time (a larger tensor
        alone): every rank must draw the iterator to its end or close it, and a tensor is valid only until
        the next is drawn. Raises TrainerError, on every rank, when a frozen parameter changed.
        """
        self._agree(f"give step {self.step} away in buckets of {bucket_bytes}")
        self._everywhere(self._guard.verify, TrainerError)
        buckets = self._buckets(bucket_bytes)
        try:
            for bucket in buckets:
                with self._gathered(bucket):
                    for name, tensor in bucket:
                        yield name, tensor.detach()
        finally:
            # A rank that broke off must not leave the others alone in a gathering.
            for bucket in buckets:
                with self._gathered(bucket):
                    pass

    def save(self, folder: Path) -> None:
        """Writes a checkpoint into `folder`, which must not exist; it appears whole or not at all.

        Raises CheckpointError, on every rank and with nothing changed, when the folder exists or the disk
        refuses on one of them; TrainerError when a frozen parameter changed.
        """
        self._agree(f"save step {self.step} in {folder}")
        self._everywhere(self._guard.verify, TrainerError)
        self._alone(lambda: prepare(folder))
        try:
            self._everywhere(lambda: write_state(self._engine, partial_of(folder), self.rank), CheckpointError)
            self._alone(lambda: complete(folder, self._identity | {"step": self.step}))
        except CheckpointError:
            if self.rank == 0:
                discard(folder)
            raise

    def load(self, folder: Path) -> None:
        """Restores weights, optimiser, step and random numbers from what `save` wrote or `convert` made of it.

        Raises CheckpointError, on every rank and with nothing changed, when it is of another architecture,
        precision, ZeRO stage, number of ranks or frozen parameters, or damaged; TrainerError when it could
        not be taken in whole, which leaves the weights in doubt.
        """
        self._agree(f"load {folder}")
        kept = self._everywhere(lambda: self._require(folder), CheckpointError)
        self._agree(f"load the checkpoint {kept['check']}")

        def take() -> None:
            if kept.get("universal"):
                read_converted_state(self._engine, folder)
            else:
                read_state(self._engine, folder, self.rank)
            self._guard.verify()

        self._everywhere(take, TrainerError)
        self.step = int(kept["step"])

    def close(self) -> None:
        """Ends the engine. The process stays in its group, which ends with it; closing again does nothing."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.destroy()

    def _read(self, folder: Path) -> Policy:
        from deepspeed.accelerator import get_accelerator

        device: Any = get_accelerator()
        precision = self.config.precision
        if precision == "fp16" and not device.is_fp16_supported():
            raise TrainerError("this device does not compute in fp16: set precision to bf16 or fp32")
        if precision == "bf16" and not device.is_bf16_supported():
            raise TrainerError("this device does not compute in bf16: set precision to fp32")
        return read_policy(folder, self.config.frozen)

    def _require(self, folder: Path) -> dict[str, Any]:
        """The index of a checkpoint that this trainer can take, of whose files this rank checked its share."""
        identity = self._identity
        if read_index(folder).get("universal"):
            cut = ("ranks", "zero_stage")
            identity = {key: value for key, value in identity.items() if key not in cut}
            identity |= family(self.config.zero_stage)
        return require_complete(folder, identity, share=(self.rank, self.world))

    def _agree(self, what: str) -> None:
        group.agree(what, self._within)

    def _everywhere(self, do: Callable[[], _T], error: type[Exception]) -> _T:
        """What `do` gives here. Raises `error` on every rank when it fails on one of them."""
        results: list[_T] = []
        cause: Exception | None = None
        try:
            results.append(do())
        except GroupError:
            raise
        except Exception as problem:
            cause = problem
        told = group.agree_outcome("" if cause is None else f"{cause}" or repr(cause), self._within)
        if told:
            raise error(told) from cause
        return results[0]

    def _alone(self, do: Callable[[], object]) -> None:
        """Has rank 0 do it. Raises CheckpointError on every rank when it fails."""
        self._everywhere(do if self.rank == 0 else lambda: None, CheckpointError)

    def _buckets(self, bucket_bytes: int) -> Iterator[list[tuple[str, torch.Tensor]]]:
        from ..weights import canonical_tensors

        bucket: list[tuple[str, torch.Tensor]] = []
        size = 0
        for name, tensor in canonical_tensors(self._engine.module).items():
            more = int(getattr(tensor, "ds_numel", tensor.numel())) * tensor.element_size()
            if bucket and size + more > bucket_bytes:
                yield bucket
                bucket, size = [], 0
            bucket.append((name, tensor))
            size += more
        yield bucket

    def _gathered(self, bucket: list[tuple[str, torch.Tensor]]) -> contextlib.AbstractContextManager[Any]:
        sharded = [tensor for _, tensor in bucket if hasattr(tensor, "ds_id")]
        return self._deepspeed.zero.GatheredParameters(sharded, enabled=bool(sharded))

    def _random(self, purpose: str) -> np.random.Generator:
        return np.random.default_rng([self.config.seed, self.step, *purpose.encode()])

    @contextlib.contextmanager
    def _seeded(self, purpose: str) -> Iterator[None]:
        """torch draws from the seed, the step and the rank, and from what it drew from before afterwards."""
        import torch

        devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
        with torch.random.fork_rng(devices):
            torch.manual_seed(int(self._random(f"{purpose} {self.rank}").integers(2**63)))
            yield


def _digest(samples: Sequence[Sample]) -> str:
    """What is the same for equal batches only."""
    state = hashlib.blake2b(digest_size=16)
    for sample in samples:
        state.update(repr((sample.session, sample.group)).encode())
        for array in sample.to_arrays().values():
            state.update(f"{array.shape}".encode())
            state.update(array.tobytes())
    return state.hexdigest()
