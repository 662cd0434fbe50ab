"""The optimisation's arithmetic, against values worked out by hand."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from sluicegate.runtime.training.grpo import (
    DegenerateGroup,
    group_advantages,
    policy_loss,
    staleness,
    token_advantages,
    token_log_probs,
    turn_advantages,
)


def test_an_advantage_is_the_distance_from_the_groups_mean():
    rewards = np.array([1.0, 0.0, 0.5, 0.1, 0.3])
    got = group_advantages(rewards, ["a", "a", "a", "b", "b"], normalise=False)
    assert got.tolist() == pytest.approx([0.5, -0.5, 0.0, -0.1, 0.1])


def test_normalised_advantages_are_in_units_of_the_groups_deviation():
    got = group_advantages(np.array([1.0, 3.0, 10.0, 30.0]), ["a", "a", "b", "b"], normalise=True)
    assert got.tolist() == [-1.0, 1.0, -1.0, 1.0]
    got = group_advantages(np.array([0.0, 0.0, 0.0, 1.0]), ["a"] * 4, normalise=True)
    # Mean 1/4; variance 3/16.
    deviation = math.sqrt(3) / 4
    assert got.tolist() == pytest.approx([-0.25 / deviation] * 3 + [0.75 / deviation])


@pytest.mark.parametrize("normalise", [True, False])
def test_a_group_without_variance_teaches_nothing(normalise):
    rewards = np.array([0.7, 0.7, 0.1 + 0.2, 0.3])
    assert not group_advantages(rewards, ["a", "a", "b", "b"], normalise=normalise).any()


def test_a_group_of_one_and_a_reward_that_is_no_number_are_refused_by_name():
    with pytest.raises(DegenerateGroup, match="group 'b' has one sample"):
        group_advantages(np.array([0.0, 1.0, 1.0]), ["a", "a", "b"], normalise=True)
    with pytest.raises(DegenerateGroup, match="group 'a' has rewards that are not finite"):
        group_advantages(np.array([math.nan, 1.0]), ["a", "a"], normalise=True)
    with pytest.raises(ValueError, match="2 rewards for 1 groups"):
        group_advantages(np.array([0.0, 1.0]), ["a"], normalise=True)


def test_turn_credit_compares_turn_by_turn_and_session_credit_as_a_whole():
    rewards, groups = [(1.0, 0.0), (0.0, 1.0), (0.0, 0.0), (1.0, 1.0)], ["a", "a", "b", "b"]
    by_turn = turn_advantages(rewards, groups, credit="turn", normalise=True)
    assert by_turn.tolist() == [[1, -1], [-1, 1], [-1, -1], [1, 1]]
    whole = turn_advantages(rewards, groups, credit="session", normalise=True)
    assert whole.tolist() == [[0, 0], [0, 0], [-1, -1], [1, 1]]


def test_a_turn_that_only_one_of_a_group_reached_has_no_advantage():
    got = turn_advantages([(1.0,), (0.0, 1.0)], ["a", "a"], credit="turn", normalise=True)
    assert got.tolist() == [[1, 0], [-1, 0]]
    with pytest.raises(DegenerateGroup, match="sample 1 of group 'a' has no rewards"):
        turn_advantages([(1.0,), ()], ["a", "a"], credit="turn", normalise=True)


def test_only_the_models_tokens_carry_the_advantage_of_their_turn():
    turns = np.array([[0, 1, 1, 0, 2], [0, 1, 0, 2, 0]])
    got = token_advantages(turns, np.array([[0.5, -1.0], [2.0, 3.0]]))
    assert got.tolist() == [[0, 0.5, 0.5, 0, -1.0], [0, 2.0, 0, 3.0, 0]]


def test_staleness_counts_versions_behind_the_newest_over_trained_tokens():
    versions, turns = np.array([[0, 3, 5, 0, 5]]), np.array([[0, 1, 1, 0, 2]])
    got = staleness(versions, turns, newest=5)
    assert (got.mean, got.largest) == (pytest.approx(2 / 3), 2)
    with pytest.raises(ValueError, match="made by version 5, but the newest is 4"):
        staleness(versions, turns, newest=4)
    with pytest.raises(ValueError, match="nothing to train on"):
        staleness(versions, np.zeros_like(turns), newest=5)


def test_log_probabilities_are_those_of_the_tokens_that_came_next():
    logits = torch.log(torch.tensor([[[0.1, 0.9], [0.5, 0.5], [0.2, 0.8]]]))
    got = token_log_probs(logits, torch.tensor([[0, 1, 0]]), temperature=1.0)
    assert got.exp().tolist() == [pytest.approx([0.9, 0.5])]
    # At temperature 1/2 probabilities are squared and normalised.
    got = token_log_probs(logits, torch.tensor([[0, 1, 0]]), temperature=0.5)
    assert got.exp()[0, 0].item() == pytest.approx(0.81 / 0.82)


def loss_of(ratios, advantages, mask=None, behaviour=None, **bounds):
    behaviour = torch.zeros(1, len(ratios)) if behaviour is None else behaviour
    log_probs = (behaviour + torch.log(torch.tensor([ratios]))).requires_grad_()
    mask = torch.ones_like(log_probs) if mask is None else torch.tensor([mask])
    given: dict[str, Any] = {"clip_low": 0.2, "clip_high": 0.3, "tokens": float(mask.sum())} | bounds
    found = policy_loss(log_probs, behaviour, torch.tensor([advantages]), mask, **given)
    found.loss.backward()
    assert log_probs.grad is not None
    return found, log_probs.grad[0].tolist()


def test_the_clip_holds_a_ratio_that_has_moved_far_enough_and_no_other():
    #          inside  up, good  up, bad  down, bad  down, good
    ratios = [1.0, 1.5, 1.5, 0.5, 0.5]
    advantages = [1.0, 1.0, -1.0, -1.0, 1.0]
    found, gradient = loss_of(ratios, advantages)
    assert found.loss.item() == pytest.approx(-(1.0 + 1.3 - 1.5 - 0.8 + 0.5) / 5)
    # The derivative of the ratio by the log-probability is the ratio itself.
    assert gradient == pytest.approx([-1 / 5, 0, 1.5 / 5, 0, -0.5 / 5])
    assert found.clipped == 2
    assert found.ratio == pytest.approx(5.0)
    assert found.largest_ratio == 1.5
    assert found.divergence == pytest.approx(sum(ratio - 1 - math.log(ratio) for ratio in ratios))


def test_the_ratio_is_taken_against_each_tokens_own_behaviour():
    behaviour = torch.log(torch.tensor([[0.5, 0.1]]))
    found, gradient = loss_of([1.1, 0.9], [2.0, -1.0], behaviour=behaviour)
    assert found.loss.item() == pytest.approx(-(2.2 - 0.9) / 2)
    assert gradient == pytest.approx([-1.1, 0.45])


def test_tokens_that_are_not_trained_on_change_nothing_whatever_they_hold():
    found, gradient = loss_of([1.1, 1e30, 0.9], [1.0, 5.0, 1.0], mask=[1.0, 0.0, 1.0])
    alone, _ = loss_of([1.1, 0.9], [1.0, 1.0])
    assert found.loss.item() == pytest.approx(alone.loss.item())
    assert gradient[1] == 0
    assert found.divergence == pytest.approx(alone.divergence)


def test_the_sum_is_divided_by_the_tokens_of_all_ranks():
    found, _ = loss_of([1.0, 1.0], [1.0, 1.0], tokens=8.0)
    assert found.loss.item() == pytest.approx(-2 / 8)


def test_shapes_that_differ_and_numbers_that_are_none_are_refused():
    one, two = torch.zeros(1, 1), torch.zeros(1, 2)
    bounds: dict[str, Any] = {"clip_low": 0.2, "clip_high": 0.2, "tokens": 1.0}
    with pytest.raises(ValueError, match=r"shapes \[\(1, 1\), \(1, 2\)"):
        policy_loss(one, two, one, one, **bounds)
    broken = torch.tensor([[0.0, math.nan]])
    with pytest.raises(ValueError, match="sample 0 at position 2 is not finite"):
        policy_loss(broken, two, two, torch.ones(1, 2), **bounds)
