"""Learning rates: the warm-up rises in equal parts, the fall ends with the last step, and not before."""

import pytest

from sluicegate.runtime.training.config import TrainingConfig
from sluicegate.runtime.training.schedule import learning_rate


def rates(**settings) -> list[float]:
    config = TrainingConfig(learning_rate=1.0, **settings)
    return [round(learning_rate(config, step), 4) for step in range(1, 7)]


def test_rates_follow_the_schedule():
    assert rates() == [1.0] * 6
    assert rates(warmup_steps=4) == [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]
    assert rates(schedule="linear", total_steps=6) == [1.0, 0.8333, 0.6667, 0.5, 0.3333, 0.1667]
    assert rates(schedule="linear", warmup_steps=2, total_steps=6) == [0.5, 1.0, 1.0, 0.75, 0.5, 0.25]
    assert rates(schedule="cosine", warmup_steps=2, total_steps=6) == [0.5, 1.0, 1.0, 0.8536, 0.5, 0.1464]


def test_every_step_of_a_schedule_changes_something_and_none_follows():
    for schedule in ("linear", "cosine"):
        assert min(rates(schedule=schedule, warmup_steps=1, total_steps=6)) > 0
        with pytest.raises(ValueError, match="ends with step 5: raise total_steps"):
            rates(schedule=schedule, total_steps=5)
