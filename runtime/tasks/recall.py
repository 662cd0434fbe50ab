"""Recall: each turn shows letters, and the reply is the last few letters seen, in their order.

The first turn shows a whole window, every later one a step: in windows of two and steps of one, `ab>`
wants `ab`, then `d>` wants `bd`. Part of a later answer was shown turns ago, and stands last in the
agent's own earlier reply, so a mistake made early is copied unless the agent looks further back. A reply
is graded place by place; a place that is missing or holds no letter counts as a blind guess, one in the
number of letters. So every answer that does not look at the prompts scores exactly that, whatever it is:
the reward measures what was recalled and nothing else, and a policy that only drifts can neither gain
nor lose.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cached_property

from .base import Split

SIGN = ">"


@dataclass(frozen=True)
class Recall:
    """The task with its sizes; equal fields give equal prompts.

    The letters of a prompt are uniform and independent. The held-out prompts have every letter equally
    often at every place, so that a constant scores exactly `1 / len(letters)` on them, and on the rest.
    Raises ValueError for sizes that cannot be.
    """

    letters: str = "abcd"
    window: int = 2
    step: int = 1
    turns: int = 4
    seed: int = 0
    held_out_prompts: int = 256

    name = "recall"

    def __post_init__(self) -> None:
        count = len(self.letters)
        if len(set(self.letters)) < max(4, count) or SIGN in self.letters:
            raise ValueError(f"letters {self.letters!r}: at least 4 are needed, each once and none {SIGN!r}")
        if not 1 <= self.step <= self.window or self.turns < 1:
            raise ValueError(
                f"step={self.step} must lie in 1..window={self.window}, and turns={self.turns} be at least 1"
            )
        if self.held_out_prompts < 1 or self.held_out_prompts % count:
            raise ValueError(f"held_out_prompts={self.held_out_prompts} must be a multiple of the {count} letters")
        if 2 * self.held_out_prompts > count**self.length:
            raise ValueError(
                f"held_out_prompts={self.held_out_prompts} leaves too few of the {count**self.length} prompts"
            )

    @property
    def length(self) -> int:
        """How many letters all turns of an episode show together."""
        return self.window + self.step * (self.turns - 1)

    @property
    def alphabet(self) -> str:
        """The letters and the sign that ends a prompt."""
        return self.letters + SIGN

    def held_out(self) -> int:
        """How many held-out prompts there are."""
        return self.held_out_prompts

    def prompt(self, index: int, split: Split = "train") -> RecallEpisode:
        """A new episode; see `Task.prompt`."""
        if index < 0 or (split == "held_out" and index >= self.held_out_prompts):
            raise IndexError(f"there is no {split} prompt {index}; held-out ones: {self.held_out_prompts}")
        if split == "held_out":
            return RecallEpisode(self, self._held_out[index])
        draw = random.Random(f"{self.name} {self.seed} {index}")
        while True:
            shown = "".join(draw.choices(self.letters, k=self.length))
            if shown not in self._held_out_set:
                return RecallEpisode(self, shown)

    def grade(self, wanted: str, reply: str) -> float:
        """The reward of `reply` where `wanted` is the perfect one, in [0, 1]."""
        said = reply[: len(wanted)].ljust(len(wanted), SIGN)
        guess = 1 / len(self.letters)
        places = (float(a == b) if b in self.letters else guess for a, b in zip(wanted, said, strict=True))
        return sum(places) / len(wanted)

    @cached_property
    def _held_out(self) -> tuple[str, ...]:
        """Prompts and all their shifts along the letters, so that every place has each letter equally often."""
        # The seed of a run moves its training prompts only: runs are compared on the same held-out ones.
        draw = random.Random(f"{self.name} held out")
        count = len(self.letters)
        rows: set[tuple[int, ...]] = set()
        while len(rows) < self.held_out_prompts // count:
            # A first place of 0 names one prompt of each family of shifts.
            rows.add((0, *draw.choices(range(count), k=self.length - 1)))
        return tuple(
            "".join(self.letters[(place + shift) % count] for place in row)
            for row in sorted(rows)
            for shift in range(count)
        )

    @cached_property
    def _held_out_set(self) -> frozenset[str]:
        return frozenset(self._held_out)


class RecallEpisode:
    """One conversation of `Recall`; see `Episode`."""

    def __init__(self, task: Recall, shown: str) -> None:
        self._task = task
        self._shown = shown
        self._rewards: list[float] = []

    @property
    def reply_tokens(self) -> int:
        """As many as the window has letters."""
        return self._task.window

    @property
    def rewards(self) -> tuple[float, ...]:
        """The grades of the turns so far."""
        return tuple(self._rewards)

    @property
    def wanted(self) -> str:
        """The perfect reply to the turn that is on. Raises RuntimeError after the end."""
        turn = len(self._rewards)
        if turn >= self._task.turns:
            raise RuntimeError(f"the episode ended after {turn} turns: begin a new one")
        seen = self._seen(turn)
        return self._shown[seen - self._task.window : seen]

    def first(self) -> str:
        """The text of the first turn."""
        return self._shown[: self._task.window] + SIGN

    def observe(self, reply: str) -> str | None:
        """Grades the reply; the text of the next turn, or none at the end."""
        self._rewards.append(self._task.grade(self.wanted, reply))
        turn = len(self._rewards)
        if turn == self._task.turns:
            return None
        return self._shown[self._seen(turn - 1) : self._seen(turn)] + SIGN

    def total(self) -> float:
        """The mean reward of all turns. Raises RuntimeError before the end."""
        if len(self._rewards) < self._task.turns:
            raise RuntimeError(
                f"the episode has {len(self._rewards)} of {self._task.turns} turns: observe a reply to each"
            )
        return sum(self._rewards) / len(self._rewards)

    def _seen(self, turn: int) -> int:
        """How many letters have been shown when turn number `turn`, from 0, is on."""
        return self._task.window + self._task.step * turn
