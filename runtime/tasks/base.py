"""What an agent needs of an environment: prompts, turns, and a reward in [0, 1] for each turn.

Rules of this file:

- An episode is one conversation: the texts of `first` and `observe` and the agent's replies, in turn,
  make the context; what was said stays in it.
- Equal task, split and index give equal prompts for ever; nothing else is random.
- Held-out prompts are a fixed set that no training index gives.
- Tools are the episode's: what a call asks for is answered here, and the answers stand in the context too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, runtime_checkable

from ..chat.form import Tool

Split = Literal["train", "held_out"]


class Episode(Protocol):
    """One conversation. `reply_tokens` bounds each reply; `rewards` has one value per finished turn."""

    @property
    def reply_tokens(self) -> int:
        """How many tokens a reply may have."""
        ...

    @property
    def rewards(self) -> Sequence[float]:
        """The grades of the turns so far, each in [0, 1]."""
        ...

    def first(self) -> str:
        """The text of the first turn."""
        ...

    def observe(self, reply: str) -> str | None:
        """Grades the reply and gives the text of the next turn, or none when the conversation is over.

        Raises RuntimeError after its end.
        """
        ...

    def total(self) -> float:
        """The mean reward of all turns. Raises RuntimeError before the end."""
        ...


@runtime_checkable
class ToolEpisode(Episode, Protocol):
    """A conversation in which the agent may call tools before it replies; only agents that speak chat can.

    Calls are no turns: `observe` is given the reply that follows them, and its grade is that of the calls too.
    """

    @property
    def tools(self) -> Sequence[Tool]:
        """What may be called."""
        ...

    def call(self, name: str, arguments: str) -> str:
        """The result of a call. `arguments` is JSON text as the model wrote it; what is wrong with it is the result."""
        ...


class Task(Protocol):
    """An environment. `alphabet` holds every character that its prompts and useful replies have."""

    @property
    def name(self) -> str:
        """What the task is called in settings and reports."""
        ...

    @property
    def alphabet(self) -> str:
        """Each character of prompts and replies once, in a fixed order."""
        ...

    @property
    def turns(self) -> int:
        """How many turns an episode has."""
        ...

    def held_out(self) -> int:
        """How many held-out prompts there are: indices 0 to that number."""
        ...

    def prompt(self, index: int, split: Split = "train") -> Episode:
        """A new episode of the prompt with this index; equal indices give equal prompts.

        Raises IndexError for a negative index, or one past the held-out prompts.
        """
        ...
