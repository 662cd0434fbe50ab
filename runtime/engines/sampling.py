"""Drawing one token per row, reproducibly: a row's token depends on its logits and its own random number.

Inverse-transform sampling: the token at which the cumulative distribution passes the row's uniform number.
Top-p ("nucleus", Holtzman et al. 2020) keeps the smallest set of likeliest tokens whose sum reaches p.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch


@dataclass(frozen=True, slots=True)
class SamplingParameters:
    """Per-row parameters on the device: [rows, 1] tensors, or none where no row needs them."""

    temperature: torch.Tensor
    greedy: torch.Tensor | None
    all_greedy: bool
    top_p: torch.Tensor | None

    @classmethod
    def of(cls, rows: Sequence[tuple[float, float]], device: torch.device) -> Self:
        """From (temperature, top_p) of each row; temperature 0 is greedy."""
        greedy = [temperature == 0 for temperature, _ in rows]
        temperature = torch.tensor([[t or 1.0] for t, _ in rows], device=device)
        cut = any(p < 1 and t > 0 for t, p in rows)
        return cls(
            temperature=temperature,
            greedy=torch.tensor(greedy, device=device) if any(greedy) else None,
            all_greedy=all(greedy),
            top_p=torch.tensor([[p if t else 1.0] for t, p in rows], device=device) if cut else None,
        )


def sample(
    logits: torch.Tensor, parameters: SamplingParameters, uniforms: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """(token ids, log-probabilities), [rows] each, from logits [rows, vocabulary].

    `uniforms`: [rows] numbers in [0, 1), double precision; those of greedy rows are not used.
    """
    logprobs = torch.log_softmax(logits.float() / parameters.temperature, dim=-1)
    if parameters.top_p is not None:
        logprobs = _cut(logprobs, parameters.top_p)
    if parameters.all_greedy:
        tokens = logprobs.argmax(dim=-1)
    else:
        # Double precision: in single, the sum of a large vocabulary could stay below the uniform number.
        cumulative = logprobs.double().exp_().cumsum(dim=-1)
        target = uniforms.unsqueeze(1) * cumulative[:, -1:]
        # `right`: a token of probability zero is never passed first.
        tokens = torch.searchsorted(cumulative, target, right=True).squeeze(1)
        tokens = tokens.clamp_max_(logits.shape[-1] - 1)
        if parameters.greedy is not None:
            tokens = torch.where(parameters.greedy, logprobs.argmax(dim=-1), tokens)
    return tokens, logprobs.gather(1, tokens.unsqueeze(1)).squeeze(1)


def _cut(logprobs: torch.Tensor, top_p: torch.Tensor) -> torch.Tensor:
    ordered, order = logprobs.sort(dim=-1, descending=True)
    probabilities = ordered.exp()
    # A token is dropped when those before it already reach p; the likeliest always stays.
    dropped = (probabilities.cumsum(dim=-1) - probabilities >= top_p) & (top_p < 1)
    dropped[:, 0] = False
    ordered = ordered.masked_fill(dropped, -torch.inf)
    return torch.log_softmax(torch.empty_like(logprobs).scatter_(1, order, ordered), dim=-1)
