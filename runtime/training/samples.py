"""Samples: finished conversations as a trainer gets them, each token with how and by what it was made.

Rules of this file:

- `turns` says who made a token: 0 for what the environment wrote, k for what the model made in turn k.
  Only tokens that the model made are trained on; the others carry log-probability 0 and version 0.
- A sample that cannot be trained on is refused where it comes in, by session and position.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

_LOG_PROB_SLACK = 1e-3


class SampleError(ValueError):
    """A sample that cannot be trained on; the message names its session and the position."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One conversation. `token_ids`, `turns`, `log_probs` and `versions` have one item per token.

    `log_probs` are natural logarithms under the behaviour policy, `versions` the weights that made each
    token, `rewards` one grade per turn; samples of one prompt share a `group`.
    Raises SampleError when they do not fit together.
    """

    session: str
    group: str
    token_ids: tuple[int, ...]
    turns: tuple[int, ...]
    log_probs: tuple[float, ...]
    versions: tuple[int, ...]
    rewards: tuple[float, ...]

    def __post_init__(self) -> None:
        length = len(self.token_ids)
        for name in ("turns", "log_probs", "versions"):
            got = len(getattr(self, name))
            if got != length:
                self._refuse(f"{name} has {got} items for {length} tokens: give one for each token")
        if not self.rewards or not all(map(math.isfinite, self.rewards)):
            self._refuse(f"rewards {self.rewards} must be finite, one for each turn")
        if not any(self.turns):
            self._refuse("no token was made by the model: there is nothing to train on")
        last = 0
        for position in range(length):
            last = self._check_token(position, last)

    def _check_token(self, position: int, last: int) -> int:
        turn, log_prob, version = self.turns[position], self.log_probs[position], self.versions[position]
        if self.token_ids[position] < 0:
            self._refuse(f"token id {self.token_ids[position]} is negative", position)
        if turn == 0:
            if log_prob or version:
                self._refuse("a token that the model did not make has a log-probability or version", position)
            return last
        if position == 0:
            self._refuse("the first token cannot be the model's: nothing stands before it", position)
        if not last <= turn <= len(self.rewards):
            self._refuse(f"turn {turn} is not in {max(last, 1)}..{len(self.rewards)}", position)
        if not (math.isfinite(log_prob) and log_prob <= _LOG_PROB_SLACK):
            self._refuse(f"{log_prob} is no log-probability: it must be finite and at most 0", position)
        if version < 0:
            self._refuse(f"version {version} is negative", position)
        return turn

    def _refuse(self, what: str, position: int | None = None) -> None:
        where = f" at position {position}" if position is not None else ""
        raise SampleError(f"session {self.session!r}{where}: {what}")

    @property
    def reward(self) -> float:
        """The mean of its turns."""
        return sum(self.rewards) / len(self.rewards)

    def require_fit(self, *, version: int, vocabulary: int, positions: int, max_staleness: int | None) -> None:
        """Raises SampleError where a token is not of the vocabulary, or made by weights newer than
        `version`, or by ones more than `max_staleness` older, None for no bound; or when there are over
        `positions` tokens."""
        if len(self.token_ids) > positions:
            self._refuse(f"{len(self.token_ids)} tokens; the model has {positions} positions")
        for position, token in enumerate(self.token_ids):
            if token >= vocabulary:
                self._refuse(f"token id {token} is outside 0..{vocabulary - 1}", position)
            if not self.turns[position]:
                continue
            made = self.versions[position]
            if made > version:
                self._refuse(f"made by version {made}, but the newest published is {version}", position)
            if max_staleness is not None and version - made > max_staleness:
                self._refuse(
                    f"made by version {made}, {version - made} before {version}; "
                    f"max_staleness is {max_staleness}: drop the sample or raise the bound",
                    position,
                )

    def to_arrays(self) -> dict[str, NDArray[np.generic]]:
        """The per-token and per-turn fields as flat arrays, for a message."""
        return {
            "token_ids": np.array(self.token_ids, np.uint32),
            "turns": np.array(self.turns, np.uint32),
            "log_probs": np.array(self.log_probs, np.float32),
            "versions": np.array(self.versions, np.uint64),
            "rewards": np.array(self.rewards, np.float32),
        }

    @classmethod
    def from_arrays(cls, session: str, group: str, arrays: Mapping[str, Sequence[int | float]]) -> Self:
        """The sample of what `to_arrays` gave, or of any sequences by the same names; see `Sample`."""
        return cls(
            session,
            group,
            tuple(map(int, arrays["token_ids"])),
            tuple(map(int, arrays["turns"])),
            tuple(map(float, arrays["log_probs"])),
            tuple(map(int, arrays["versions"])),
            tuple(map(float, arrays["rewards"])),
        )


@dataclass(frozen=True, slots=True)
class Packed:
    """Samples padded on the right to one length: all arrays are samples by positions.

    `attention` is 1 where there is a token; `turns` is 0 on padding too.
    """

    token_ids: NDArray[np.int64]
    attention: NDArray[np.int64]
    turns: NDArray[np.int64]
    log_probs: NDArray[np.float32]
    versions: NDArray[np.int64]


def pack(samples: Sequence[Sample], pad_id: int) -> Packed:
    """Pads `samples` to the longest. Raises ValueError when there are none."""
    if not samples:
        raise ValueError("a batch needs at least one sample")
    shape = (len(samples), max(len(sample.token_ids) for sample in samples))
    packed = Packed(
        np.full(shape, pad_id, np.int64),
        np.zeros(shape, np.int64),
        np.zeros(shape, np.int64),
        np.zeros(shape, np.float32),
        np.zeros(shape, np.int64),
    )
    for row, sample in enumerate(samples):
        length = len(sample.token_ids)
        packed.token_ids[row, :length] = sample.token_ids
        packed.attention[row, :length] = 1
        packed.turns[row, :length] = sample.turns
        packed.log_probs[row, :length] = sample.log_probs
        packed.versions[row, :length] = sample.versions
    return packed
