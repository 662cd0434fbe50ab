"""A sample is refused where it comes in, by session and position; what is taken survives its way."""

import math
from dataclasses import replace

import numpy as np
import pytest

from sluicegate.runtime.training.samples import Sample, SampleError, pack

GOOD = Sample(
    session="s1",
    group="g1",
    token_ids=(7, 8, 5, 6, 9, 5),
    turns=(0, 0, 1, 1, 0, 2),
    log_probs=(0.0, 0.0, -0.5, -1.0, 0.0, -0.25),
    versions=(0, 0, 3, 4, 0, 4),
    rewards=(0.5, 1.0),
)
BOUNDS = {"version": 4, "vocabulary": 10, "positions": 6, "max_staleness": 1}


def test_a_good_sample_is_taken():
    GOOD.require_fit(**BOUNDS)
    assert GOOD.reward == 0.75


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"turns": (0, 1)}, "session 's1': turns has 2 items for 6 tokens"),
        ({"log_probs": (-0.5,)}, "session 's1': log_probs has 1 items for 6 tokens"),
        ({"versions": (1,) * 7}, "session 's1': versions has 7 items for 6 tokens"),
        ({"rewards": ()}, "session 's1': rewards .* must be finite"),
        ({"rewards": (math.inf, 0.0)}, "session 's1': rewards .* must be finite"),
        ({"turns": (0,) * 6}, "no token was made by the model"),
        ({"token_ids": (7, 8, -5, 6, 9, 5)}, "at position 2: token id -5 is negative"),
        ({"turns": (0, 0, 1, 1, 0, 3)}, r"at position 5: turn 3 is not in 1\.\.2"),
        ({"turns": (0, 0, 2, 2, 0, 1)}, r"at position 5: turn 1 is not in 2\.\.2"),
        ({"log_probs": (0.0, 0.0, math.nan, -1.0, 0.0, -1.0)}, "at position 2: nan is no log-probability"),
        ({"log_probs": (0.0, 0.0, -0.5, 0.5, 0.0, -1.0)}, "at position 3: 0.5 is no log-probability"),
        ({"log_probs": (0.0, -0.1, -0.5, -1.0, 0.0, -1.0)}, "at position 1: a token that the model did not"),
        ({"versions": (0, 0, 3, -4, 0, 4)}, "at position 3: version -4 is negative"),
        (
            {"turns": (1, 0, 1, 1, 0, 2)},
            "at position 0: the first token cannot be the model's",
        ),
    ],
)
def test_a_sample_that_does_not_fit_together_is_refused(change, says):
    with pytest.raises(SampleError, match=says):
        replace(GOOD, **change)


@pytest.mark.parametrize(
    ("bounds", "says"),
    [
        ({"version": 3}, "position 3: made by version 4, but the newest published is 3"),
        ({"version": 5}, "position 2: made by version 3, 2 before 5; max_staleness is 1"),
        ({"vocabulary": 9}, r"position 4: token id 9 is outside 0\.\.8"),
        ({"positions": 5}, "6 tokens; the model has 5 positions"),
    ],
)
def test_a_sample_that_the_trainer_cannot_take_is_refused(bounds, says):
    with pytest.raises(SampleError, match=says):
        GOOD.require_fit(**BOUNDS | bounds)


def test_flat_arrays_carry_a_sample_there_and_back():
    arrays = GOOD.to_arrays()
    assert {name: array.dtype.name for name, array in arrays.items()} == {
        "token_ids": "uint32",
        "turns": "uint32",
        "log_probs": "float32",
        "versions": "uint64",
        "rewards": "float32",
    }
    assert Sample.from_arrays("s1", "g1", {name: array.tolist() for name, array in arrays.items()}) == GOOD


def test_packing_pads_on_the_right_and_trains_on_no_padding():
    short = Sample("s2", "g1", (7, 5), (0, 1), (0.0, -2.0), (0, 4), (1.0,))
    packed = pack([GOOD, short], pad_id=1)
    assert packed.token_ids[1].tolist() == [7, 5, 1, 1, 1, 1]
    assert packed.attention.sum(axis=1).tolist() == [6, 2]
    assert packed.turns[1].tolist() == [0, 1, 0, 0, 0, 0]
    assert packed.log_probs[1].tolist() == [0, -2, 0, 0, 0, 0]
    assert packed.versions[1].tolist() == [0, 4, 0, 0, 0, 0]
    assert np.array_equal(packed.token_ids[0], GOOD.token_ids)
    with pytest.raises(ValueError, match="at least one sample"):
        pack([], pad_id=0)
