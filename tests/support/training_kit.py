"""What tests of the trainer share: tiny models, samples, and groups of real ranks."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sluicegate.runtime.models import CharTokenizer, make_tiny_qwen3, save_model_folder
from sluicegate.runtime.training.config import TrainingConfig
from sluicegate.runtime.training.deepspeed_trainer import TrainerCore
from sluicegate.runtime.training.samples import Sample

SCRIPT = Path(__file__).parents[1] / "runtime" / "train_rank.py"
Weights = dict[str, torch.Tensor]


def make_model(folder: Path, hidden: int = 32) -> Path:
    """A Qwen3 with a tied output."""
    tokenizer = CharTokenizer("abcd>")
    save_model_folder(folder, make_tiny_qwen3(tokenizer.vocab_size, hidden=hidden, max_positions=64), tokenizer)
    return folder


def make_model_with_buffer(folder: Path) -> Path:
    """A mixture of experts with a tied output and a persistent buffer, that of its router.

    Some of its parameters have over 100,000 elements: smaller ones DeepSpeed leaves whole in ZeRO 3.
    """
    from transformers import Glm4MoeConfig, Glm4MoeForCausalLM

    settings: dict[str, Any] = {
        "vocab_size": 10, "hidden_size": 32, "intermediate_size": 4096, "moe_intermediate_size": 512,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
        "max_position_embeddings": 64, "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1,
        "first_k_dense_replace": 1, "tie_word_embeddings": True,
        "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
    }  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        Glm4MoeForCausalLM(Glm4MoeConfig(**settings)).save_pretrained(folder)  # pyright: ignore[reportCallIssue]
    return folder


def make_samples(count: int = 8, seed: int = 0) -> list[Sample]:
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


def make_config(**changes: Any) -> TrainingConfig:
    """Settings for `make_samples`. Clipping is off: its rounding is not the same in all stages."""
    settings = {"zero_stage": 2, "gradient_clip": 0.0, "group_size": 4, "groups": 2} | changes
    return TrainingConfig(**settings)


def weights_of(core: TrainerCore) -> Weights:
    """Copies of all tensors, drawn in many buckets."""
    return {name: tensor.clone() for name, tensor in core.named_parameters_bucketwise(bucket_bytes=4096)}


def differences(one: Weights, other: Weights) -> dict[str, float]:
    """The largest difference within each tensor."""
    assert one.keys() == other.keys()
    return {name: float((one[name].float() - other[name].float()).abs().max()) for name in one}


def largest(one: Weights, other: Weights) -> float:
    """The largest difference of all."""
    return max(differences(one, other).values())


@contextmanager
def started_ranks(count: int, task: Mapping[str, Any], out: Path) -> Iterator[list[subprocess.Popen[str]]]:
    """A group of ranks that do `task`, see `train_rank.py`; what still runs at the end is killed."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    group = {
        "WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]),
    }  # fmt: skip
    ranks = [
        subprocess.Popen(
            [sys.executable, str(SCRIPT), json.dumps(task), str(out)],
            env={**os.environ, **group, "RANK": str(number), "LOCAL_RANK": str(number)},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        for number in range(count)
    ]  # fmt: skip
    try:
        yield ranks
    finally:
        for each in ranks:
            each.kill()
            each.communicate()


def run_ranks(count: int, task: Mapping[str, Any], out: Path, within: float = 200.0) -> list[Any]:
    """What each of `count` ranks found when they did `task`."""
    out.mkdir(parents=True, exist_ok=True)
    with started_ranks(count, task, out) as ranks:
        said = [each.communicate(timeout=within)[0] for each in ranks]
        assert [each.returncode for each in ranks] == [0] * count, "\n".join(said)
    return [torch.load(out / f"rank{number}.pt", weights_only=False) for number in range(count)]
