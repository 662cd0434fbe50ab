"""Look up: each turn asks for the value of a key, which nobody knows; a tool tells it.

A reply that gives the value earns 1, any other nothing. What earlier turns looked up stays in the conversation, and
a later turn may ask for it again: an agent that reads back needs no call for it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass

from ..chat.form import Tool
from .base import Split

LOOK_UP = Tool(
    "look_up",
    "The value of a key.",
    {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]},
)


@dataclass(frozen=True)
class LookUp:
    """The task with its sizes; equal fields give equal prompts. Raises ValueError for sizes that cannot be."""

    keys: int = 8
    digits: int = 2
    turns: int = 3
    seed: int = 0
    held_out_prompts: int = 64

    name = "look_up"
    alphabet = "0123456789abcdefghijklmnopqrstuvwxyz_ ?"

    def __post_init__(self) -> None:
        if not 1 <= self.keys <= 26 or self.digits < 1 or self.turns < 1 or self.held_out_prompts < 1:
            raise ValueError(
                f"keys={self.keys} must lie in 1..26, and digits={self.digits}, turns={self.turns} and "
                f"held_out_prompts={self.held_out_prompts} be at least 1"
            )

    def held_out(self) -> int:
        """How many held-out prompts there are."""
        return self.held_out_prompts

    def prompt(self, index: int, split: Split = "train") -> LookUpEpisode:
        """A new episode; see `Task.prompt`."""
        if index < 0 or (split == "held_out" and index >= self.held_out_prompts):
            raise IndexError(f"there is no {split} prompt {index}; held-out ones: {self.held_out_prompts}")
        # Values of equal digits that differ between the two: no prompt of one is a prompt of the other.
        draw = random.Random(f"{self.name} {split} {self.seed if split == 'train' else ''} {index}")
        keys = [chr(ord("a") + number) for number in range(self.keys)]
        parity = 0 if split == "train" else 1
        values = {key: f"{draw.randrange(10**self.digits // 2) * 2 + parity:0{self.digits}d}" for key in keys}
        return LookUpEpisode(self, values, draw.choices(keys, k=self.turns))


class LookUpEpisode:
    """One conversation of `LookUp`; see `ToolEpisode`."""

    tools = (LOOK_UP,)

    def __init__(self, task: LookUp, values: Mapping[str, str], asked: list[str]) -> None:
        self._task, self._values, self._asked = task, values, asked
        self._rewards: list[float] = []
        self.calls = 0
        """How often the tool was called."""

    @property
    def reply_tokens(self) -> int:
        """Enough for a call in the words of a chat template."""
        return 96

    @property
    def rewards(self) -> tuple[float, ...]:
        """The grades of the turns so far."""
        return tuple(self._rewards)

    @property
    def wanted(self) -> str:
        """The perfect reply to the turn that is on. Raises RuntimeError after the end."""
        if len(self._rewards) >= self._task.turns:
            raise RuntimeError(f"the episode ended after {self._task.turns} turns: begin a new one")
        return self._values[self._asked[len(self._rewards)]]

    def first(self) -> str:
        """The text of the first turn."""
        return f"{self._asked[0]}?"

    def call(self, name: str, arguments: str) -> str:
        """The value of a key, or what is wrong with the call."""
        self.calls += 1
        try:
            asked = json.loads(arguments)
            return self._values[asked["key"]] if name == LOOK_UP.name else f"there is no tool {name}"
        except (ValueError, TypeError, KeyError):
            return f"there is no such key; the keys are {' '.join(self._values)}"

    def observe(self, reply: str) -> str | None:
        """Grades the reply; the text of the next turn, or none at the end."""
        self._rewards.append(float(reply.strip() == self.wanted))
        turn = len(self._rewards)
        return None if turn == self._task.turns else f"{self._asked[turn]}?"

    def total(self) -> float:
        """The mean reward of all turns. Raises RuntimeError before the end."""
        if len(self._rewards) < self._task.turns:
            raise RuntimeError(
                f"the episode has {len(self._rewards)} of {self._task.turns} turns: observe a reply to each"
            )
        return sum(self._rewards) / len(self._rewards)
