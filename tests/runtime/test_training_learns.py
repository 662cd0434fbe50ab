"""From random weights and rewards alone the trainer learns to recall; from shuffled rewards it does not."""

import math
import statistics

import pytest

from sluicegate.runtime.training.config import TrainingConfig

from ..support.in_process import learn

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


def z(learned) -> float:
    """The gain on the held-out prompts, paired, in standard errors."""
    gains = [after - before for before, after in zip(learned.before, learned.after, strict=True)]
    return statistics.fmean(gains) / (statistics.stdev(gains) / math.sqrt(len(gains)))


def test_rewards_teach_it(tmp_path):
    learned = learn(tmp_path, TrainingConfig(), steps=20)
    assert statistics.fmean(learned.before) == pytest.approx(0.25, abs=0.03)
    assert statistics.fmean(learned.after) > 0.35
    assert z(learned) > 6
    assert [metrics.largest_staleness for metrics in learned.steps[:3]] == [0, 1, 1]


@pytest.mark.soak
def test_shuffled_rewards_teach_nothing(tmp_path):
    learned = learn(tmp_path, TrainingConfig(shuffle_rewards=True), steps=20)
    assert abs(z(learned)) < 3
