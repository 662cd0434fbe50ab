"""Which tasks there are by name, and what a config says of one: its kind, and the settings of that kind.

Rules of this file:

- Settings are read against what the kind declares, so that a wrong one is told before anything starts.
- A kind with a colon, `module:name`, is somebody's own: it is called with the settings and the seed.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from ..config import ConfigError, from_mapping
from .base import Task
from .look_up import LookUp
from .reasoning import Reasoning, ReasoningConfig
from .recall import Recall

Maker = Callable[[Mapping[str, Any], int], Task]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskChoice:
    """A task by its kind: `recall`, `reasoning`, `look_up`, or `module:name` of your own. `settings`: of that kind."""

    kind: str = "recall"
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if "seed" in self.settings:
            raise ConfigError("settings: the seed is the run's: leave it out")
        if self.kind not in KINDS and ":" not in self.kind:
            raise ConfigError(
                f"kind: there is no task {self.kind!r}: take one of {', '.join(KINDS)}, or module:name of your own"
            )


def make_task(choice: TaskChoice, *, seed: int) -> Task:
    """The task. Raises ConfigError, which names the setting and the mend."""
    maker = KINDS.get(choice.kind) or _load(choice.kind)
    return maker(choice.settings, seed)


def _recall(settings: Mapping[str, Any], seed: int) -> Task:
    return from_mapping(Recall, {**settings, "seed": seed}, "task.settings")


def _reasoning(settings: Mapping[str, Any], seed: int) -> Task:
    return Reasoning(from_mapping(ReasoningConfig, settings, "task.settings"), seed=seed)


def _look_up(settings: Mapping[str, Any], seed: int) -> Task:
    return from_mapping(LookUp, {**settings, "seed": seed}, "task.settings")


KINDS: dict[str, Maker] = {"recall": _recall, "reasoning": _reasoning, "look_up": _look_up}
"""The tasks that there are."""


def _load(name: str) -> Maker:
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"task.kind: {name!r} cannot be loaded ({error}): give module:name of a callable") from error
    if not callable(found):
        raise ConfigError(f"task.kind: {name!r} is no callable: it is called with the settings and the seed")
    return cast(Maker, found)
