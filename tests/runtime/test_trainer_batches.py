"""Batches as arrays and messages: what comes out is what went in, or an error that says what does not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.protocol.generated import training_pb2
from sluicegate.runtime.training.samples import Sample, SampleError
from sluicegate.runtime.workers.batches import BatchError, arrays_of, from_messages, samples_of, to_messages


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    turns = [0, *draw(st.lists(st.sampled_from([0, 1]), max_size=6)), 1]
    log_prob = st.floats(-30, 0, width=32)
    return Sample(
        session=draw(st.text(max_size=5)), group=draw(st.text(max_size=5)),
        token_ids=tuple(draw(st.integers(0, 2**32 - 1)) for _ in turns), turns=tuple(turns),
        log_probs=tuple(draw(log_prob) if turn else 0.0 for turn in turns),
        versions=tuple(draw(st.integers(0, 2**40)) if turn else 0 for turn in turns),
        rewards=tuple(draw(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=3))),
    )  # fmt: skip


@given(st.lists(samples(), max_size=4))
def test_samples_survive_their_way_through_messages(batch: list[Sample]) -> None:
    request = training_pb2.SubmitRequest(arrays=to_messages(arrays_of(batch)))
    again = training_pb2.SubmitRequest.FromString(request.SerializeToString())
    assert samples_of(from_messages(again.arrays)) == batch


GOOD = Sample("s", "g", (1, 2), (0, 1), (0.0, -1.0), (0, 3), (1.0,))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"lengths": np.array([3], np.uint32)}, "token_ids has 2 items for 3"),
        ({"turns_of": np.array([2], np.uint32)}, "rewards has 1 items for 2"),
        ({"lengths": np.array([2, 0], np.uint32)}, "1 names, 2 lengths"),
        ({"names": np.frombuffer(b"[1]", np.uint8)}, "names is no JSON list"),
        ({"names": np.frombuffer(b"[" * 100_000, np.uint8)}, "names is no JSON list"),
        ({"log_probs": np.array([0.0, -1.0])}, "log_probs is float64"),
        ({"log_probs": np.array([0.0, np.nan], np.float32)}, "session 's' at position 1"),
        ({"more": np.zeros(1)}, "send exactly"),
    ],
)
def test_arrays_that_are_no_batch_are_named(changes: dict[str, Any], said: str) -> None:
    with pytest.raises((BatchError, SampleError), match=said):
        samples_of({**arrays_of([GOOD]), **changes})


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (training_pb2.Array(name="x", dtype="float32", shape=[2], content=b"1234"), "4 bytes for"),
        (training_pb2.Array(name="x", dtype="wide", shape=[1], content=b"1"), "no type of elements"),
        (training_pb2.Array(name="x", dtype="object", shape=[1], content=b"12345678"), "no type of elements"),
        (training_pb2.Array(name="x", dtype="int64,,", shape=[1], content=b"12345678"), "no type of elements"),
        (training_pb2.Array(name="x", dtype="uint8", shape=[0, 2**63], content=b""), "is no array"),
        (training_pb2.Array(name="x", dtype="uint8", shape=[1] * 100, content=b"1"), "is no array"),
    ],
)
def test_messages_that_are_no_array_are_named(message: training_pb2.Array, said: str) -> None:
    with pytest.raises(BatchError, match=said):
        from_messages([message])
