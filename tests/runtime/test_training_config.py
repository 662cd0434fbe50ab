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
