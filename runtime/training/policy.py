"""The model that is trained, as a Hugging Face folder holds it: read, frozen in part, and described."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import TrainerError
from .frozen import freeze

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class Policy:
    """A causal language model in fp32 on the CPU, ready to be trained.

    `frozen`: names of the parameters that are not trained; `architecture`: what a checkpoint must have in
    common with it (class, shapes); `vocabulary`, `positions`, `pad_id`: what samples must fit.
    """

    model: torch.nn.Module
    frozen: tuple[str, ...]
    architecture: dict[str, Any]
    vocabulary: int
    positions: int
    pad_id: int


def read_policy(folder: Path, frozen: Sequence[str]) -> Policy:
    """Reads the model in `folder` (seconds to minutes) and freezes what the patterns `frozen` match.

    Raises TrainerError when the folder holds no causal language model, FrozenError for a bad pattern.
    """
    import torch
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM

    if not (folder / "config.json").is_file():
        # A path that is no folder would be taken for the name of a model elsewhere.
        raise TrainerError(f"{folder} holds no causal language model: it has no config.json")
    try:
        with _quiet_loading():
            model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as problem:
        said = f"{problem}".strip().partition("\n")[0] or repr(problem)
        raise TrainerError(f"{folder} holds no causal language model: {said}") from problem
    # The output is made from the input of the whole batch: a cache would only hold memory.
    model.config.use_cache = False
    model.train()
    shapes = {name: list(tensor.shape) for name, tensor in model.state_dict().items()}
    return Policy(
        model=model,
        frozen=freeze(model, frozen),
        architecture={"model": type(model).__name__, "tensors": shapes},
        vocabulary=int(model.config.vocab_size),
        positions=int(model.config.max_position_embeddings),
        pad_id=int(model.config.pad_token_id or 0),
    )


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
