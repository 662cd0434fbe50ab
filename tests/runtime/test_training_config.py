"""A trainer's settings refuse what cannot be trained with, by the name of the field."""

import pytest

from sluicegate.runtime.config import ConfigError, from_mapping
from sluicegate.runtime.training.config import TrainingConfig


def test_the_defaults_are_valid():
    assert from_mapping(TrainingConfig, {}, "training") == TrainingConfig()


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"zero_stage": 4}, "training.zero_stage: 4 is not one of 0, 1, 2, 3"),
        ({"learning_rate": 0.0}, "training.learning_rate: 0.0 must be above 0"),
        ({"group_size": 1}, "training.group_size: 1 must be at least 2"),
        ({"groups": 1, "group_size": 2, "minibatches": 3}, "training.minibatches: 3 must lie in 1..2"),
        ({"clip_low": 1.0}, "training.clip_low: 1.0 must lie in"),
        ({"betas": [0.9, 1.0]}, "training.betas: (0.9, 1.0) must lie in [0, 1)"),
        ({"credit": "token"}, "training.credit: expected one of turn, session, got 'token'"),
        ({"precision": "bf16", "zero_stage": 0}, "training.precision: bf16 needs zero_stage 1, 2 or 3"),
        ({"precision": "fp8"}, "training.precision: expected one of fp32, bf16, fp16, got 'fp8'"),
        ({"frozen": [""]}, "training.frozen: [''] has an empty pattern"),
        ({"accumulate": 0}, "training.accumulate: 0 must be at least 1"),
        ({"accumulate": 33}, "training.accumulate: 33 micro-batches in each of 2 minibatches are more than 64"),
        ({"schedule": "linear"}, "training.total_steps: 0 must be above warmup_steps (0)"),
        ({"schedule": "cosine", "warmup_steps": 5, "total_steps": 5}, "training.total_steps: 5 must be above warm"),
        ({"total_steps": 5}, "training.total_steps: 5 means nothing to a constant schedule"),
        ({"collective_ms": 0}, "training.collective_ms: 0 must be above 0"),
        ({"learning_rat": 0.1}, "training: there is no key 'learning_rat': did you mean 'learning_rate'?"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, says):
    with pytest.raises(ConfigError) as caught:
        from_mapping(TrainingConfig, settings, "training")
    (problem,) = caught.value.problems
    assert problem.startswith(says)


def test_several_contradictions_are_told_at_once():
    with pytest.raises(ConfigError) as caught:
        from_mapping(TrainingConfig, {"epochs": 0, "seed": -1}, "training")
    assert len(caught.value.problems) == 2
