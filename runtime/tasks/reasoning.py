"""Reasoning: a dataset of reasoning-gym as a task of one turn, graded by the dataset itself.

A prompt is an item of the dataset, drawn by seed and index; its reward is the dataset's own score of the reply.
Small models cannot read whole questions: `shown` puts a part of an item in their place, and `alphabet` leaves
out the items that have other characters, so that a vocabulary of a dozen characters is enough.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..config import ConfigError, require
from .base import Split

PRINTABLE = "".join(map(chr, range(32, 127))) + "\n"
TRIES, REPEATS = 20_000, 2_000
"""How many items in a row may be left out, and how many prompts be known already, before a dataset is refused."""

EVALUATES_REPLIES = frozenset({
    "binary_matrix", "countdown", "intermediate_integration", "n_queens", "polynomial_multiplication", "puzzle24",
    "simple_integration", "spiral_matrix", "string_insertion",
})  # fmt: skip
"""Datasets whose score runs a reply as Python, here, in the run's own process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningConfig:
    """Which dataset of reasoning-gym, and what of its items is shown. Raises ConfigError by the field.

    `dataset`: its name there; `settings`: its own, without `seed` and `size`. `shown`: the text of a prompt, in which
    `{question}`, or the name of anything in an item's metadata, stands for what the item has there. `alphabet`: items
    whose prompt or answer have another character are left out. `tagged`: the answer of a reply stands between
    `<answer>` and `</answer>`; otherwise a reply is an answer. `reply_tokens` bounds a reply.
    """

    dataset: str = "spell_backward"
    settings: Mapping[str, Any] = field(default_factory=dict)
    shown: str = "{question}"
    alphabet: str = PRINTABLE
    tagged: bool = False
    reply_tokens: int = 64
    held_out_prompts: int = 128

    def __post_init__(self) -> None:
        require(
            (
                self.dataset not in EVALUATES_REPLIES,
                f"dataset: {self.dataset} grades a reply by running it as Python in this process: take another one",
            ),
            (
                not {"seed", "size"} & self.settings.keys(),
                "settings: seed and size are the run's: leave them out",
            ),
            (len(set(self.alphabet)) == len(self.alphabet) > 0, f"alphabet: {self.alphabet!r} has a character twice"),
            (self.reply_tokens >= 1, f"reply_tokens: {self.reply_tokens} must be at least 1"),
            (self.held_out_prompts >= 1, f"held_out_prompts: {self.held_out_prompts} must be at least 1"),
        )


class Reasoning:
    """The task; equal configs and seeds give equal prompts. The held-out prompts are the same for every seed.

    Raises ConfigError: reasoning-gym is not installed, has no such dataset or settings, or too few items fit.
    """

    turns = 1

    def __init__(self, config: ReasoningConfig, *, seed: int) -> None:
        self._config, self._seed = config, seed
        self._dataset = _dataset(config)
        _ = self._held_out

    @property
    def name(self) -> str:
        """`reasoning:` and the dataset's name."""
        return f"reasoning:{self._config.dataset}"

    @property
    def alphabet(self) -> str:
        """Each character of prompts and useful replies once."""
        return self._config.alphabet

    def held_out(self) -> int:
        """How many held-out prompts there are."""
        return self._config.held_out_prompts

    def prompt(self, index: int, split: Split = "train") -> ReasoningEpisode:
        """A new episode; see `Task.prompt`."""
        if index < 0 or (split == "held_out" and index >= self.held_out()):
            raise IndexError(f"there is no {split} prompt {index}; held-out ones: {self.held_out()}")
        if split == "held_out":
            shown, item = self._held_out[index]
        else:
            draw = random.Random(f"{self.name} {self._seed} {index}")
            shown, item = next(each for each in self._fitting(draw) if each[0] not in self._held_out_texts)
        return ReasoningEpisode(self, shown, item)

    def grade(self, reply: str, item: dict[str, Any]) -> float:
        """The dataset's score of a reply, in [0, 1]."""
        answer = reply
        if self._config.tagged:
            found = re.findall(r"<answer>(.*?)</answer>", reply, re.DOTALL)
            answer = found[-1].strip() if found else ""
        try:
            score = float(self._dataset.score_answer(answer, entry=item))
        except Exception:  # a score parses what a model wrote: it raises what its parsers raise
            return 0.0
        return min(max(score, 0.0), 1.0)

    @cached_property
    def _held_out(self) -> tuple[tuple[str, dict[str, Any]], ...]:
        # The seed of a run moves its training prompts only: runs are compared on the same held-out ones.
        found: dict[str, dict[str, Any]] = {}
        repeats = 0
        fitting = self._fitting(random.Random(f"{self.name} held out"))
        while len(found) < self.held_out():
            shown, item = next(fitting)
            repeats = repeats + 1 if shown in found else 0
            if repeats > REPEATS:
                raise ConfigError(
                    f"held_out_prompts: {self._config.dataset} has only about {len(found)} prompts that fit: want "
                    f"fewer than {self.held_out()}, or change its settings or alphabet"
                )
            found[shown] = item
        if all(next(fitting)[0] in found for _ in range(REPEATS)):
            raise ConfigError(
                f"held_out_prompts: all prompts of {self._config.dataset} that fit are held out, {self.held_out()}: "
                "want fewer"
            )
        return tuple(found.items())

    @cached_property
    def _held_out_texts(self) -> frozenset[str]:
        return frozenset(shown for shown, _ in self._held_out)

    def _fitting(self, draw: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
        """Prompts and items of the alphabet, without end. Raises ConfigError where there are none."""
        allowed = set(self.alphabet)
        while True:
            for _ in range(TRIES):
                item = self._dataset[draw.randrange(2**31)]
                shown = self._shown(item)
                if allowed.issuperset(f"{shown}{item['answer'] or ''}"):
                    yield shown, item
                    break
            else:
                raise ConfigError(
                    f"alphabet: no prompt and answer of {self._config.dataset} has only the characters of "
                    f"{self.alphabet!r}: add those of `shown`, and of its answers"
                )

    def _shown(self, item: dict[str, Any]) -> str:
        try:
            return self._config.shown.format_map({**item["metadata"], "question": item["question"]})
        except (KeyError, ValueError, IndexError, AttributeError) as error:
            names = ", ".join(sorted({"question", *item["metadata"]}))
            raise ConfigError(
                f"shown: {self._config.shown!r} cannot be filled from {self._config.dataset} ({error!r}): an item has "
                f"{names}"
            ) from error


class ReasoningEpisode:
    """One question; see `Episode`."""

    def __init__(self, task: Reasoning, shown: str, item: dict[str, Any]) -> None:
        self._task, self._shown, self._item = task, shown, item
        self._reward: float | None = None

    @property
    def reply_tokens(self) -> int:
        """How many tokens the reply may have."""
        return self._task._config.reply_tokens

    @property
    def rewards(self) -> tuple[float, ...]:
        """The grade, once there is one."""
        return () if self._reward is None else (self._reward,)

    @property
    def wanted(self) -> str:
        """An answer that the dataset gives."""
        return str(self._item["answer"] or "")

    def first(self) -> str:
        """The question."""
        return self._shown

    def observe(self, reply: str) -> None:
        """Grades the reply. Raises RuntimeError when there was one."""
        if self._reward is not None:
            raise RuntimeError("the episode ended after 1 turn: begin a new one")
        self._reward = self._task.grade(reply, self._item)

    def total(self) -> float:
        """The reward. Raises RuntimeError before the end."""
        if self._reward is None:
            raise RuntimeError("the episode has 0 of 1 turns: observe a reply to each")
        return self._reward


def _dataset(config: ReasoningConfig) -> Any:
    try:
        # Takes seconds: it brings sympy and a hundred generators.
        from reasoning_gym.factory import DATASETS, create_dataset
    except ImportError as error:
        raise ConfigError("dataset: reasoning-gym is not installed: pip install 'sluicegate[tasks]'") from error
    if config.dataset not in DATASETS:
        raise ConfigError(f"dataset: reasoning-gym has no {config.dataset!r}; it has {', '.join(sorted(DATASETS))}")
    try:
        # An item is drawn by its index, from a size that none reaches.
        return create_dataset(config.dataset, seed=0, size=2**31, **config.settings)
    except (TypeError, AssertionError, ValueError) as error:
        raise ConfigError(f"settings: {config.dataset} does not take {dict(config.settings)}: {error}") from error
