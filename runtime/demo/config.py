"""The config of the demo: one YAML file, or the defaults."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import yaml

from ...protocol.access import Access
from ...statemachines.sorts import Mode
from ..config import ConfigError, from_mapping, require
from ..tasks import Recall
from ..training.config import TrainingConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """The small Qwen3 that the demo makes."""

    hidden: int = 64
    layers: int = 2
    heads: int = 4
    kv_heads: int = 2

    def __post_init__(self) -> None:
        require(
            (min(self.hidden, self.layers) >= 1, "hidden, layers: must be at least 1"),
            (self.heads >= 1 and self.hidden % (2 * self.heads) == 0, "hidden: must be a multiple of 2 * heads"),
            (self.kv_heads >= 1 and self.heads % self.kv_heads == 0, "heads: must be a multiple of kv_heads"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskConfig:
    """The sizes of the recall task."""

    letters: str = "abcd"
    window: int = 2
    step: int = 1
    turns: int = 4
    held_out_prompts: int = 256

    def __post_init__(self) -> None:
        try:
            self.make(seed=0)
        except ValueError as error:
            raise ConfigError([str(error)]) from error

    def make(self, *, seed: int) -> Recall:
        """The task itself. Raises ValueError for sizes that cannot be."""
        return Recall(
            letters=self.letters, window=self.window, step=self.step, turns=self.turns, seed=seed,
            held_out_prompts=self.held_out_prompts,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentsConfig:
    """`in_flight` groups are kept going. `slow_share` of them call tools for up to `slow_s` between turns."""

    in_flight: int = 12
    waiting: int = 1
    slow_share: float = 0.2
    slow_s: float = 3.0
    evaluate_at_once: int = 64
    turn_s: float = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncConfig:
    """`mode` is what a drain does with running requests; times in seconds."""

    mode: Mode = Mode.KEEP
    minimum: int = 1
    deadline: float = 30.0
    takeover: float = 10.0
    call: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoConfig:
    """One run: `updates` training steps, each published to `replicas`. Raises ConfigError by its key.

    All processes of a run have the same `access`, which gives its own certificate both roles.
    """

    seed: int = 0
    updates: int = 60
    replicas: int = 2
    evaluate: bool = True
    model: ModelConfig = field(default_factory=ModelConfig)
    task: TaskConfig = field(default_factory=TaskConfig)
    agents: AgentsConfig = field(default_factory=AgentsConfig)
    sync: SyncConfig = field(default_factory=SyncConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    access: Access = field(default_factory=Access)

    def __post_init__(self) -> None:
        require(
            (self.updates >= 1, f"updates: {self.updates} must be at least 1"),
            (self.replicas >= 1, f"replicas: {self.replicas} must be at least 1"),
            (
                1 <= self.sync.minimum <= self.replicas,
                f"sync.minimum: {self.sync.minimum} must lie in 1..{self.replicas}, the number of replicas",
            ),
            (
                self.sync.call < self.sync.deadline,
                f"sync.call: {self.sync.call} must be below sync.deadline, {self.sync.deadline}: "
                "an operation has to outlast one call",
            ),
            (
                self.agents.in_flight >= self.training.groups,
                f"agents.in_flight: {self.agents.in_flight} groups must be at least training.groups, "
                f"{self.training.groups}: a step would wait for groups that nobody makes",
            ),
            (
                self.training.seed in (0, self.seed),
                f"training.seed: {self.training.seed} is not the run's seed, {self.seed}: set seed alone",
            ),
            (0 <= self.agents.slow_share <= 1, f"agents.slow_share: {self.agents.slow_share} must lie in 0..1"),
        )


def read_demo_config(path: Path) -> DemoConfig:
    """The config in a YAML file. Raises ConfigError, which names the file and the key."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}): give the path of a YAML file") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text: give the path of a YAML file") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: is nested too deeply: docs/demo.md lists the keys") from error
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"{path}: is not YAML: {error}") from error
    return from_mapping(DemoConfig, data, str(path))
