"""Group-relative policy optimisation over tokens that carry their behaviour's log-probability and version.

Rules of this file:

- Pure functions; nothing here knows of engines, ranks or files.
- A sample is better or worse than the others of its prompt, never in itself: a group without variance
  teaches nothing and has advantages of 0.
- The ratio is taken against the policy that drew each token, whatever version that was.
- What is too old for the clip, which holds a policy near the one that drew, is weighted by its ratio up to a bound.

Sources: group-relative advantages, Shao et al., "DeepSeekMath", 2024 (arXiv 2402.03300), section 4.1;
the clipped ratio, Schulman et al., "Proximal Policy Optimization Algorithms", 2017 (arXiv 1707.06347);
the mean over all tokens of a batch and the two clip bounds, Yu et al., "DAPO", 2025 (arXiv 2503.14476);
the estimator of the divergence, Schulman, "Approximating KL Divergence", 2020 (k3);
truncated importance weights, Ionides, "Truncated Importance Sampling", 2008, and for policies Espeholt et al.,
"IMPALA", 2018 (arXiv 1802.01561), section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

_NO_VARIANCE = 1e-6


class DegenerateGroup(ValueError):
    """A group that gives no advantage; the message names it."""


def group_advantages(rewards: NDArray[np.floating], groups: Sequence[str], *, normalise: bool) -> NDArray[np.float64]:
    """Each reward less the mean of its group, over the group's standard deviation when `normalise`.

    The deviation is that of the whole group (not of a sample of it). A group whose rewards are equal gives
    0. Raises DegenerateGroup for a group of one or a reward that is not finite.
    """
    if len(rewards) != len(groups):
        raise ValueError(f"{len(rewards)} rewards for {len(groups)} groups: give one name for each reward")
    values = np.asarray(rewards, np.float64)
    names = np.asarray(groups, object)
    advantages = np.zeros(len(values))
    for name in dict.fromkeys(groups):
        members = names == name
        own = values[members]
        if len(own) < 2:
            raise DegenerateGroup(f"group {name!r} has one sample: an advantage needs at least two of the same prompt")
        if not np.isfinite(own).all():
            raise DegenerateGroup(f"group {name!r} has rewards that are not finite: {own.tolist()}")
        deviation = own.std()
        if deviation > _NO_VARIANCE:
            advantages[members] = (own - own.mean()) / (deviation if normalise else 1.0)
    return advantages


def turn_advantages(
    rewards: Sequence[Sequence[float]],
    groups: Sequence[str],
    *,
    credit: Literal["turn", "session"],
    normalise: bool,
) -> NDArray[np.float64]:
    """Advantages of each sample (rows) in each turn (columns), from its rewards per turn.

    `session` compares the samples' mean rewards and gives every turn the same; `turn` compares turn by
    turn. A turn that a sample does not have, or that none other of its group reached, gives 0.
    Raises DegenerateGroup as `group_advantages`, and for a sample without rewards.
    """
    longest = max(map(len, rewards), default=0)
    for row, own in enumerate(rewards):
        if not own:
            raise DegenerateGroup(f"sample {row} of group {groups[row]!r} has no rewards")
    means = np.array([np.mean(own) for own in rewards])
    whole = group_advantages(means, groups, normalise=normalise)
    if credit == "session":
        return np.repeat(whole[:, None], longest, axis=1)
    advantages = np.zeros((len(rewards), longest))
    for turn in range(longest):
        rows = [row for row, own in enumerate(rewards) if len(own) > turn]
        reached = [groups[row] for row in rows]
        rows = [row for row in rows if reached.count(groups[row]) > 1]
        own = np.array([rewards[row][turn] for row in rows])
        advantages[rows, turn] = group_advantages(own, [groups[row] for row in rows], normalise=normalise)
    return advantages


def token_advantages(turns: NDArray[np.integer], advantages: NDArray[np.floating]) -> NDArray[np.float32]:
    """The advantage of each token, from `turns` (samples by positions, 0: not the model's) and those of
    the turns; 0 where the token is not the model's."""
    taken = np.take_along_axis(advantages, np.maximum(turns - 1, 0), axis=1)
    return np.where(turns > 0, taken, 0.0).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Staleness:
    """How many versions lie between the weights that made the trained tokens and the newest ones."""

    mean: float
    largest: int


def staleness(versions: NDArray[np.integer], turns: NDArray[np.integer], newest: int) -> Staleness:
    """Over the tokens that the model made. Raises ValueError when there are none, or one is of the future."""
    made = np.asarray(versions)[np.asarray(turns) > 0].astype(np.int64)
    if not len(made):
        raise ValueError("no token was made by the model: there is nothing to train on")
    if made.max() > newest:
        raise ValueError(f"a token was made by version {made.max()}, but the newest is {newest}")
    behind = newest - made
    return Staleness(float(behind.mean()), int(behind.max()))


def token_log_probs(logits: torch.Tensor, token_ids: torch.Tensor, temperature: float) -> torch.Tensor:
    """The log-probability of each token after the first: samples by positions - 1, from logits of all."""
    log_probs = torch.log_softmax(logits[:, :-1].float() / temperature, dim=-1)
    return log_probs.gather(-1, token_ids[:, 1:, None])[..., 0]


@dataclass(frozen=True, slots=True)
class PolicyLoss:
    """`loss` is differentiable; the others are sums over the trained tokens, to be added up and divided.

    `ratio`: new over behaviour probability; `clipped`: tokens whose ratio the clip or the truncation held;
    `divergence`: estimate of the divergence of the behaviour from the new policy, in nats.
    """

    loss: torch.Tensor
    ratio: float
    largest_ratio: float
    clipped: float
    divergence: float


def policy_loss(
    log_probs: torch.Tensor,
    behaviour: torch.Tensor,
    advantages: torch.Tensor,
    mask: torch.Tensor,
    *,
    clip_low: float,
    clip_high: float,
    tokens: float,
    corrected: torch.Tensor | None = None,
    truncate: float = 1.0,
) -> PolicyLoss:
    """The clipped objective, negated, summed over tokens where `mask` is 1 and divided by `tokens`.

    Tokens where `corrected` is 1 have another: their log-probability is raised by the advantage, weighted by
    the ratio or `truncate`, whichever is less, which itself is not differentiated. All tensors have one shape.
    `tokens` is how many are trained on in all ranks, over the number of ranks. Raises ValueError for shapes
    that differ, or when a log-probability is not finite.
    """
    if not log_probs.shape == behaviour.shape == advantages.shape == mask.shape:
        shapes = [tuple(each.shape) for each in (log_probs, behaviour, advantages, mask)]
        raise ValueError(f"log_probs, behaviour, advantages and mask have the shapes {shapes}: make them equal")
    # Padding may hold anything: it is cut out before the exponential, where it could become infinite.
    gap = torch.where(mask > 0, log_probs - behaviour, torch.zeros_like(log_probs))
    if not torch.isfinite(gap).all():
        row, column = (~torch.isfinite(gap)).nonzero()[0].tolist()
        raise ValueError(f"the log-probability of sample {row} at position {column + 1} is not finite")
    # What is corrected is cut out of the clip's exponential for the same reason.
    ratio = (gap if corrected is None else torch.where(corrected > 0, torch.zeros_like(gap), gap)).exp()
    clipped = ratio.clamp(1 - clip_low, 1 + clip_high)
    objective = torch.minimum(ratio * advantages, clipped * advantages)
    is_held = ratio * advantages > clipped * advantages
    if corrected is not None:
        ratio = torch.where(corrected > 0, gap.detach().exp(), ratio)
        # The factor behind the weight is 1, and differentiates as the log-probability does.
        weighted = ratio.detach().clamp(max=truncate) * (gap - gap.detach()).exp()
        objective = torch.where(corrected > 0, weighted * advantages, objective)
        is_held = torch.where(corrected > 0, ratio > truncate, is_held)
    objective = objective * mask
    with torch.no_grad():
        held = (is_held & (mask > 0)).sum()
        divergence = ((ratio - 1 - gap) * mask).sum()
        stats = [float(each) for each in ((ratio * mask).sum(), (ratio * mask).max(), held, divergence)]
    return PolicyLoss(-objective.sum() / tokens, *stats)
