"""A batch of samples as flat arrays, and as the messages that carry them.

Rules of this file:

- One array holds a field of all samples, one after the other; `lengths` and `turns_of` cut it again.
- Reading believes nothing: what does not fit is a BatchError, before any of it is used.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...protocol.generated import training_pb2 as pb
from ..training.samples import Sample

Arrays = Mapping[str, NDArray[np.generic]]
_PER_TOKEN = {"token_ids": np.uint32, "turns": np.uint32, "log_probs": np.float32, "versions": np.uint64}
_DTYPES: dict[str, type[np.generic]] = {
    **_PER_TOKEN, "rewards": np.float32, "lengths": np.uint32, "turns_of": np.uint32, "names": np.uint8,
}  # fmt: skip
_ELEMENTS = sorted({np.dtype(dtype).name for dtype in _DTYPES.values()} | {"bool", "int64", "float64"})
"""The types of elements that can be read; which one an array needs is another question."""


class BatchError(ValueError):
    """Arrays that are no batch of samples; says what does not fit."""


def arrays_of(samples: Sequence[Sample]) -> dict[str, NDArray[np.generic]]:
    """The arrays of a batch: token fields and rewards one after the other, `lengths` in tokens and
    `turns_of` in rewards of each sample, and `names`, which is JSON text: [[session, group], ...]."""
    parts = [sample.to_arrays() for sample in samples]
    names = json.dumps([[sample.session, sample.group] for sample in samples]).encode()
    made: dict[str, NDArray[np.generic]] = {
        name: np.concatenate([part[name] for part in parts] or [np.zeros(0)]).astype(dtype)
        for name, dtype in {**_PER_TOKEN, "rewards": np.float32}.items()
    }
    made["lengths"] = np.array([len(sample.token_ids) for sample in samples], np.uint32)
    made["turns_of"] = np.array([len(sample.rewards) for sample in samples], np.uint32)
    made["names"] = np.frombuffer(names, np.uint8)
    return made


def samples_of(arrays: Arrays) -> list[Sample]:
    """The samples of `arrays_of`. Raises BatchError, and SampleError for a sample that cannot be trained on."""
    if arrays.keys() != _DTYPES.keys():
        raise BatchError(f"the arrays are {', '.join(arrays) or 'none'}: send exactly {', '.join(_DTYPES)}")
    for name, dtype in _DTYPES.items():
        if arrays[name].dtype != dtype or arrays[name].ndim != 1:
            raise BatchError(
                f"{name} is {arrays[name].dtype} of {arrays[name].ndim} dimensions: send flat {dtype.__name__}"
            )
    try:
        names = [(str(session), str(group)) for session, group in json.loads(arrays["names"].tobytes())]
    except (ValueError, TypeError, RecursionError) as error:
        raise BatchError(f"names is no JSON list of [session, group]: {error}") from error
    lengths, turns = arrays["lengths"].tolist(), arrays["turns_of"].tolist()
    if not len(names) == len(lengths) == len(turns):
        raise BatchError(
            f"{len(names)} names, {len(lengths)} lengths and {len(turns)} turns_of: send one of each a sample"
        )
    for name in (*_PER_TOKEN, "rewards"):
        wanted = sum(turns if name == "rewards" else lengths)
        if len(arrays[name]) != wanted:
            raise BatchError(f"{name} has {len(arrays[name])} items for {wanted}")
    samples: list[Sample] = []
    token = turn = 0
    for (session, group), length, count in zip(names, lengths, turns, strict=True):
        part = {name: arrays[name][token : token + length].tolist() for name in _PER_TOKEN}
        part["rewards"] = arrays["rewards"][turn : turn + count].tolist()
        samples.append(Sample.from_arrays(session, group, part))
        token, turn = token + length, turn + count
    return samples


def to_messages(arrays: Arrays) -> list[pb.Array]:
    """Arrays as messages."""
    return [
        pb.Array(name=name, dtype=array.dtype.name, shape=array.shape, content=_little(array).tobytes())
        for name, array in arrays.items()
    ]


def from_messages(messages: Iterable[pb.Array]) -> dict[str, NDArray[np.generic]]:
    """Arrays that messages carry; they share the messages' memory. Raises BatchError."""
    made: dict[str, NDArray[np.generic]] = {}
    for message in messages:
        # numpy reads more than names, and evaluates it: only names reach it.
        if message.dtype not in _ELEMENTS:
            raise BatchError(f"{message.name}: {message.dtype!r} is no type of elements: send {', '.join(_ELEMENTS)}")
        dtype = np.dtype(message.dtype).newbyteorder("<")
        if message.name in made:
            raise BatchError(f"{message.name} came twice")
        if math.prod(message.shape) * dtype.itemsize != len(message.content):
            raise BatchError(f"{message.name} has {len(message.content)} bytes for {list(message.shape)} of {dtype}")
        try:
            made[message.name] = np.frombuffer(message.content, dtype).reshape(tuple(message.shape))
        except (ValueError, OverflowError) as error:
            raise BatchError(f"{message.name}: {list(message.shape)} of {dtype} is no array: {error}") from error
    return made


def _little(array: NDArray[np.generic]) -> NDArray[np.generic]:
    return array.astype(array.dtype.newbyteorder("<"), copy=False)
