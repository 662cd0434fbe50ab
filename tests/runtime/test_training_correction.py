"""Tokens that are too old to be clipped: truncated importance weights, against values worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.runtime.config import ConfigError
from sluicegate.runtime.training.config import TrainingConfig
from sluicegate.runtime.training.deepspeed_trainer import TrainerCore
from sluicegate.runtime.training.grpo import PolicyLoss, policy_loss
from sluicegate.runtime.training.samples import SampleError

from ..support.training_kit import differences, make_config, make_model, make_samples, weights_of


def loss_of(ratios: list[float], advantages: list[float], corrected: list[float] | None, **more: Any) -> tuple[
    PolicyLoss, list[float]
]:  # fmt: skip
    gap = torch.log(torch.tensor([ratios], dtype=torch.float64)).requires_grad_()
    given = None if corrected is None else torch.tensor([corrected])
    bounds: dict[str, Any] = {"clip_low": 0.2, "clip_high": 0.2, "tokens": float(len(ratios)), "truncate": 2.0}
    like = torch.zeros_like(gap)
    found = policy_loss(gap, like, torch.tensor([advantages]), like + 1, corrected=given, **{**bounds, **more})
    found.loss.backward()
    assert gap.grad is not None
    return found, gap.grad[0].tolist()


def test_an_old_token_is_weighted_by_its_ratio_up_to_the_bound_and_not_clipped() -> None:
    #          under 1, over the clip, over the bound, and one that is not old beside them
    ratios, advantages = [0.5, 1.5, 6.0, 1.5], [1.0, -2.0, 3.0, 1.0]
    found, gradient = loss_of(ratios, advantages, [1.0, 1.0, 1.0, 0.0])
    weights = [0.5, 1.5, 2.0]
    assert found.loss.item() == pytest.approx(-(0.5 * 1.0 + 1.5 * -2.0 + 2.0 * 3.0 + 1.2 * 1.0) / 4)
    # The derivative of each by its log-probability is weight times advantage; the young one is held by the clip.
    assert gradient == pytest.approx([-w * a / 4 for w, a in zip(weights, advantages, strict=False)] + [0.0])
    assert (found.clipped, found.ratio, found.largest_ratio) == (2, pytest.approx(9.5), pytest.approx(6.0))


@given(
    st.lists(st.tuples(st.floats(0.1, 5.0), st.floats(-3.0, 3.0)), min_size=1, max_size=6), st.floats(1.0, 4.0)
)  # fmt: skip
def test_no_old_token_moves_the_policy_more_than_the_bound_lets_it(
    tokens: list[tuple[float, float]], truncate: float
) -> None:
    ratios, advantages = [r for r, _ in tokens], [a for _, a in tokens]
    _, gradient = loss_of(ratios, advantages, [1.0] * len(tokens), truncate=truncate)
    wanted = [-min(r, truncate) * a / len(tokens) for r, a in tokens]
    assert gradient == pytest.approx(wanted, rel=1e-5, abs=1e-6)


def test_a_ratio_that_no_number_holds_is_a_weight_of_the_bound() -> None:
    gap = torch.tensor([[800.0, 0.0]], requires_grad=True)
    found = policy_loss(
        gap, torch.zeros(1, 2), torch.ones(1, 2), torch.ones(1, 2), clip_low=0.2, clip_high=0.2, tokens=2.0,
        corrected=torch.tensor([[1.0, 0.0]]), truncate=2.0,
    )  # fmt: skip
    found.loss.backward()
    assert gap.grad is not None
    assert (found.loss.item(), gap.grad.tolist()) == (-1.5, [[-1.0, -0.5]])
    assert math.isinf(found.largest_ratio)


def test_where_nothing_is_old_nothing_is_changed() -> None:
    ratios, advantages = [0.5, 1.5, 1.0], [1.0, 1.0, -1.0]
    alone, without = loss_of(ratios, advantages, None)
    found, gradient = loss_of(ratios, advantages, [0.0, 0.0, 0.0])
    assert (found.loss.item(), gradient, found.clipped) == (alone.loss.item(), without, alone.clipped)


def test_a_bound_that_would_not_correct_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"truncate: 0\.9 must be at least 1"):
        TrainingConfig(truncate=0.9)


@pytest.mark.slow
def test_a_batch_beyond_the_bound_is_refused_or_corrected_and_told(tmp_path: Path) -> None:
    """The second group was made by weights one version further back than the first."""
    samples, model = make_samples(), make_model(tmp_path / "model")
    samples[4:] = [replace(s, versions=(0,) * len(s.versions)) for s in samples[4:]]
    core = TrainerCore(make_config(max_staleness=1), model)
    start = weights_of(core)
    with pytest.raises(SampleError, match="2 before 2; max_staleness is 1"):
        core.train(samples, version=2)
    core.close()
    trained = {}
    for bound in (1, 2):
        core = TrainerCore(make_config(max_staleness=bound, beyond_staleness="correct", truncate=1.0), model)
        metrics = core.train(samples, version=2)
        assert (metrics.largest_staleness, metrics.corrected) == (2, 0.5 if bound == 1 else 0.0)
        trained[bound] = weights_of(core)
        core.close()
    assert min(differences(start, trained[1]).values()) > 0
    assert max(differences(trained[2], trained[1]).values()) > 0, "the correction reaches the optimiser"
