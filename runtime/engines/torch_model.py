"""A causal language model from a Hugging Face folder, as the batch needs it: one forward pass, its limits,
its canonical tensors, and memory that can be given away and taken back."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM
from transformers.cache_utils import Cache

from ..weights import canonical_tensors
from ..weights.digest import tied_names
from . import skeleton
from .base import EngineError

_ATTENTION = {"full_attention", "sliding_attention"}


class TorchModel:
    """The model of one rank. Only the engine's worker thread calls `forward` and what changes memory."""

    def __init__(
        self, folder: Path, *, device: str, dtype: torch.dtype, attention: str, reads_weights: bool = True
    ) -> None:
        """`attention`: the transformers attention implementation, "eager" or "sdpa"; `reads_weights`: whether
        the folder's weights are loaded, else all are zero until some are put in.

        Raises EngineError for a folder that is no causal language model or one that cannot be batched here.
        """
        self.folder = Path(folder)
        self.device = torch.device(device)
        self.dtype = dtype
        if not (self.folder / "config.json").is_file():
            raise EngineError(f"{self.folder} is not a model folder: it has no config.json")
        if attention not in ("eager", "sdpa"):
            raise EngineError(f"attention {attention!r}: the engine's masks are for 'eager' and 'sdpa'")
        try:
            if reads_weights:
                model: Any = AutoModelForCausalLM.from_pretrained(
                    self.folder, dtype=dtype, attn_implementation=attention, local_files_only=True
                )
            else:
                model = skeleton.build(self.folder, self.device, dtype, attention)
        except (ValueError, OSError, RuntimeError) as problem:
            raise EngineError(f"{self.folder} is not a loadable causal language model: {problem}") from problem
        self.module: Any = model
        self.module.to(self.device).eval().requires_grad_(False)
        config = model.config.get_text_config()
        self._require_supported(config)
        self.vocab_size = int(config.vocab_size)
        self.max_positions = int(config.max_position_embeddings)
        # A ready-made mask would switch sliding windows off; there transformers makes it from padding.
        self._windowed = bool(getattr(config, "sliding_window", None))
        self.tensors = canonical_tensors(model)
        self.tied = tied_names(model)
        self.released = False
        self._shapes = {name: tensor.shape for name, tensor in self.tensors.items()}

    def forward(self, ids: torch.Tensor, positions: torch.Tensor, starts: torch.Tensor, cache: Cache) -> torch.Tensor:
        """Logits [rows, vocabulary] after the last column; `cache` grows by the columns of `ids`.

        `ids`, `positions`: [rows, columns]; `starts`: [rows], each row's first column that is not padding,
        counted from the first column of the cache.
        """
        added = ids.shape[1]
        width = cache.get_seq_length() + added
        columns = torch.arange(width, device=self.device)
        seen = columns >= starts.unsqueeze(1)
        mask: torch.Tensor
        if self._windowed:
            mask = seen.long()
        else:
            seen = seen[:, None, None, :]
            if added > 1:
                seen = seen & (columns <= columns[width - added :, None])
            # The lowest number, not minus infinity: a padding query sees nothing, and must not become NaN.
            mask = torch.zeros(seen.shape, dtype=self.dtype, device=self.device)
            mask.masked_fill_(~seen, torch.finfo(self.dtype).min)
        return self.module(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        ).logits[:, -1]

    def replace(self, staged: dict[str, torch.Tensor]) -> None:
        """Copies the staged tensors into the resident ones, whose addresses stay."""
        with torch.no_grad():
            for name, tensor in self.tensors.items():
                tensor.copy_(staged[name])

    def release(self) -> None:
        """Frees the memory of all canonical tensors."""
        for tensor in self.tensors.values():
            tensor.data = torch.empty(0, dtype=tensor.dtype, device=self.device)
        self.released = True
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def restore(self) -> None:
        """Takes the memory back, zeroed: nothing of an older version may be served by mistake."""
        if self.released:
            for name, tensor in self.tensors.items():
                tensor.data = skeleton.zeros(self._shapes[name], tensor.dtype, self.device)
            self.released = False

    def synchronize(self) -> None:
        """Returns when the device has done all that it was given."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def require_memory(self, what: str) -> None:
        """Raises EngineError while memory is released."""
        if self.released:
            raise EngineError(f"cannot {what}: the engine's memory is released, restore it first")

    def _require_supported(self, config: Any) -> None:
        kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
        if kinds - _ATTENTION:
            raise EngineError(
                f"{self.folder} has layers of kind {sorted(kinds - _ATTENTION)}; "
                f"the torch engine batches {sorted(_ATTENTION)} only"
            )
        takes = inspect.signature(self.module.forward).parameters
        needed = ("position_ids", "attention_mask", "past_key_values", "logits_to_keep")
        lacking = [name for name in needed if name not in takes]
        if lacking:
            raise EngineError(
                f"{type(self.module).__name__} in {self.folder} takes no {lacking}: it cannot be batched here"
            )
