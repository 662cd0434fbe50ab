"""The config of a whole training run: one YAML file.

Rules of this file:

- A field is refused alone where its value means nothing; what fields may not say together is in `contradictions`.
- A key that is left out takes its default, and an empty file is a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml

from ...protocol.access import Access
from ...statemachines.sorts import Mode
from ..config import ConfigError, from_mapping, require
from ..demo.config import ModelConfig
from ..tasks import Task, TaskChoice, ToolEpisode
from ..training.config import TrainingConfig
from ..weights.config import WeightsConfig
from .contradictions import contradictions

Placement = Literal["colocated", "disaggregated"]
Stage = Literal["rollout_only", "train_only"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentsConfig:
    """Who converses. `in_flight` groups are kept going, and up to `waiting` finished ones wait for the trainer.

    `kind`: `direct` calls the sessions of this process, `http` is a client of the session server. `order`: batches
    are made of the lowest numbers (`number`, so that a seed gives the same ones), or of what is `finished` first.
    `turn_s`: how long a turn may take, waiting at closed gates included.
    """

    kind: Literal["direct", "http"] = "direct"
    in_flight: int = 12
    waiting: int = 4
    order: Literal["number", "finished"] = "number"
    turn_s: float = 300.0

    def __post_init__(self) -> None:
        require(
            (self.in_flight >= 1, f"in_flight: {self.in_flight} must be at least 1"),
            (self.waiting >= 0, f"waiting: {self.waiting} must not be negative"),
            (self.turn_s > 0, f"turn_s: {self.turn_s} must be above 0"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncConfig:
    """How the cohort is brought to a version. `mode` is what a drain does with running requests; times in seconds.

    `deadline`: how long an operation may take, of a lent window: from the install to the end; `takeover`: how much
    longer a gate may stay closed until another controller rules; `call`: how long one call to a gate may take.
    `minimum`: the fewest replicas that an operation goes on with. `every`: how many steps from one publication of new
    weights to the next.
    """

    mode: Mode = Mode.KEEP
    every: int = 1
    minimum: int = 1
    deadline: float = 30.0
    takeover: float = 15.0
    call: float = 5.0

    def __post_init__(self) -> None:
        require(
            (self.every >= 1, f"every: {self.every} must be at least 1"),
            (self.minimum >= 1, f"minimum: {self.minimum} must be at least 1"),
            (
                min(self.deadline, self.takeover, self.call) > 0,
                f"deadline, takeover, call: {self.deadline}, {self.takeover}, {self.call} must be above 0",
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointsConfig:
    """A checkpoint is saved every `every` steps, 0 for never; the newest `keep` stay.

    `rest`: null records groups in flight to be begun again; a number waits so many seconds until none is.
    """

    every: int = 5
    keep: int = 3
    rest: float | None = None

    def __post_init__(self) -> None:
        require(
            (self.every >= 0, f"every: {self.every} must not be negative; 0 saves none"),
            (self.keep >= 1, f"keep: {self.keep} must be at least 1"),
            (self.rest is None or self.rest > 0, f"rest: {self.rest} must be above 0, or null to wait for no rest"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateConfig:
    """`prompts` held-out prompts are asked before the first step and every `every` steps, 0 for never."""

    every: int = 0
    prompts: int = 64
    at_once: int = 32

    def __post_init__(self) -> None:
        require(
            (self.every >= 0, f"every: {self.every} must not be negative; 0 asks none"),
            (self.prompts >= 1, f"prompts: {self.prompts} must be at least 1"),
            (self.at_once >= 1, f"at_once: {self.at_once} must be at least 1"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpConfig:
    """The run's session server over HTTP. `port`: 0 for one from the system."""

    port: int = 0

    def __post_init__(self) -> None:
        require((0 <= self.port < 65536, f"port: {self.port} must lie in 0..65535, 0 for one from the system"))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """One run: `updates` training steps in all, null to go on until it is ended. Raises ConfigError by its key.

    `placement`: replicas and trainer take turns (`colocated`), or work at the same time (`disaggregated`). `ranks`:
    how many processes train together. `stage`: a part alone, for debugging: `rollout_only` writes its batches into
    the folder `batches`, `train_only` reads them from there. `http`: agents of your own may call the run's server.
    `tensorboard`: figures are logged for it too. All processes have the same `access`.
    """

    seed: int = 0
    updates: int | None = None
    placement: Placement = "disaggregated"
    replicas: int = 2
    ranks: int = 1
    model: ModelConfig = field(default_factory=ModelConfig)
    task: TaskChoice = field(default_factory=TaskChoice)
    agents: AgentsConfig = field(default_factory=AgentsConfig)
    sync: SyncConfig = field(default_factory=SyncConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    weights: WeightsConfig = field(default_factory=WeightsConfig)
    checkpoints: CheckpointsConfig = field(default_factory=CheckpointsConfig)
    evaluate: EvaluateConfig = field(default_factory=EvaluateConfig)
    stage: Stage | None = None
    batches: Path | None = None
    http: HttpConfig | None = None
    tensorboard: bool = False
    access: Access = field(default_factory=Access)

    def __post_init__(self) -> None:
        require(
            (0 <= self.seed < 2**32, f"seed: {self.seed} must lie in 0..{2**32 - 1}"),
            (self.updates is None or self.updates >= 1, f"updates: {self.updates} must be at least 1, or null"),
            (self.replicas >= 1, f"replicas: {self.replicas} must be at least 1"),
            (self.ranks >= 1, f"ranks: {self.ranks} must be at least 1"),
        )
        if found := contradictions(self):
            raise ConfigError(found)

    def require_fit(self, task: Task) -> None:
        """Raises ConfigError where the task, once it is made, does not go with the rest."""
        has_tools = isinstance(task.prompt(0), ToolEpisode)
        require(
            (
                not self.evaluate.every or self.evaluate.prompts <= task.held_out(),
                f"evaluate.prompts: {self.evaluate.prompts} are to be asked, and the task {task.name} has "
                f"{task.held_out()} held-out ones: lower it",
            ),
            (
                not has_tools or self.agents.kind == "http" or self.stage == "train_only",
                f"agents.kind: the task {task.name} has tools, and direct agents call none: take agents of the kind "
                "http",
            ),
        )


def read_run_config(path: Path) -> RunConfig:
    """The config in a YAML file. Raises ConfigError, which names the file, the key and the mend."""
    return from_mapping(RunConfig, _mapping(path), str(path))


def _mapping(path: Path) -> Mapping[str, Any]:
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}): give the path of a YAML file") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text: give the path of a YAML file") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: is nested too deeply: docs/train.md lists the keys") from error
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"{path}: is not YAML: {error}") from error
