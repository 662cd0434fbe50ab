"""The running batch on the device: rows join by a prefill and leave at any step; each step adds a token.

Only tensors live here; which request a row belongs to is the scheduler's business.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from transformers.cache_utils import Cache

from .kv import join_rows, keep_rows, new_cache, width
from .sampling import SamplingParameters, sample
from .torch_model import TorchModel


class Batch:
    """Rows in order of joining. `prefill`, `step` and `keep` are called by one thread."""

    def __init__(self, model: TorchModel) -> None:
        self._model = model
        self._cache: Cache | None = None
        self._rows: list[tuple[float, float]] = []
        self._parameters: SamplingParameters | None = None
        # Per row: first column that is no padding, position of the next token, that token.
        self._starts = self._positions = self._last = torch.empty(0, dtype=torch.long, device=model.device)

    def __len__(self) -> int:
        return len(self._rows)

    @torch.inference_mode()
    def prefill(
        self, prompts: Sequence[Sequence[int]], rows: Sequence[tuple[float, float]], uniforms: Sequence[float]
    ) -> tuple[list[int], list[float]]:
        """Adds one row per prompt and draws its next token; gives ids and log-probabilities.

        `rows`: (temperature, top_p) of each.
        """
        device = self._model.device
        longest = max(map(len, prompts))
        ids = torch.tensor([[0] * (longest - len(p)) + list(p) for p in prompts], device=device)
        starts = torch.tensor([longest - len(p) for p in prompts], device=device)
        positions = (torch.arange(longest, device=device) - starts.unsqueeze(1)).clamp_min_(0)
        cache = new_cache()
        logits = self._model.forward(ids, positions, starts, cache)
        last, logprobs = sample(logits, SamplingParameters.of(rows, device), self._uniforms(uniforms))
        if self._cache is None:
            self._cache, self._starts = cache, starts
        else:
            wider = longest - width(self._cache)
            join_rows(self._cache, cache)
            self._starts = torch.cat((self._starts + max(wider, 0), starts + max(-wider, 0)))
        self._positions = torch.cat((self._positions, longest - starts))
        self._last = torch.cat((self._last, last))
        self._rows.extend(rows)
        self._parameters = None
        return last.tolist(), logprobs.tolist()

    @torch.inference_mode()
    def step(self, uniforms: Sequence[float]) -> tuple[list[int], list[float]]:
        """Draws the next token of every row; gives ids and log-probabilities."""
        assert self._cache is not None
        if self._parameters is None:
            self._parameters = SamplingParameters.of(self._rows, self._model.device)
        logits = self._model.forward(self._last.unsqueeze(1), self._positions.unsqueeze(1), self._starts, self._cache)
        self._last, logprobs = sample(logits, self._parameters, self._uniforms(uniforms))
        self._positions = self._positions + 1
        return self._last.tolist(), logprobs.tolist()

    @torch.inference_mode()
    def keep(self, rows: Sequence[int]) -> None:
        """Keeps only `rows`, by number, in that order."""
        if not rows:
            self.clear()
            return
        assert self._cache is not None
        index = torch.tensor(rows, device=self._model.device)
        starts = self._starts[index]
        cut = int(starts.min())
        keep_rows(self._cache, index, cut)
        self._starts = starts - cut
        self._positions, self._last = self._positions[index], self._last[index]
        self._rows = [self._rows[row] for row in rows]
        self._parameters = None

    def clear(self) -> None:
        """Forgets every row and everything computed from weights."""
        self._cache, self._rows, self._parameters = None, [], None
        self._starts = self._positions = self._last = self._last.new_empty(0)

    def _uniforms(self, numbers: Sequence[float]) -> torch.Tensor:
        return torch.tensor(numbers, dtype=torch.float64, device=self._model.device)
