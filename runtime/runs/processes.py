"""The processes of a run, and where its files lie: what the supervisor starts each life with.

Rules of this file:

- A life's config follows from the run's config and folder alone: every life of a run, and of its resumption, gets
  the same one.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..config import as_json
from ..controller.config import ControllerConfig
from ..files import write_durably
from ..models import CharTokenizer, make_tiny_qwen3, save_model_folder
from ..models.chat import save_chat_files
from ..supervisor import Charge
from ..tasks import Task
from ..weights.config import WeightsConfig
from ..workers.config import RolloutConfig, TrainerConfig
from .config import RunConfig

START_S = 240.0
"""How long a process may take to start: the first DeepSpeed start on a machine compiles."""
REMEMBER_MS = 10_000
"""How long a replica remembers a request that has ended: these are short, and many."""
TRAINER, CONTROLLER = "trainer", "controller"


@dataclass(frozen=True, slots=True)
class Places:
    """The files of one run, all below `folder`."""

    folder: Path

    @property
    def register(self) -> Path:
        return self.folder / "register.db"

    @property
    def manifests(self) -> Path:
        return self.folder / "manifests"

    @property
    def checkpoints(self) -> Path:
        return self.folder / "checkpoints"

    @property
    def trace(self) -> Path:
        return self.folder / "trace"

    @property
    def model(self) -> Path:
        return self.folder / "model"

    @property
    def processes(self) -> Path:
        return self.folder / "processes"

    @property
    def steps(self) -> Path:
        return self.folder / "steps.ndjson"

    def state(self, name: str) -> Path:
        return self.folder / "state" / name

    def run_name(self) -> str:
        """The run's name: drawn once, and the same in each of its lives. Raises OSError."""
        path = self.folder / "name"
        if not path.exists():
            named = "".join(c if c.isalnum() and c.isascii() else "-" for c in self.folder.name).strip("-")
            write_durably(path, f"{named[:40] or 'run'}-{secrets.token_hex(4)}".encode())
        return path.read_text()

    def make(self) -> None:
        """Make the folders that processes start from. Raises OSError."""
        for folder in (self.trace, self.manifests, self.processes, self.state("")):
            folder.mkdir(parents=True, exist_ok=True)


@dataclass(frozen=True, slots=True)
class Processes:
    """What the supervisor keeps alive for the run."""

    config: RunConfig
    places: Places

    @property
    def name(self) -> str:
        """The run's name."""
        return self.places.run_name()

    @property
    def replicas(self) -> tuple[str, ...]:
        """The names of the replicas; none where the trainer works alone."""
        return () if self.config.stage == "train_only" else tuple(f"r{k}" for k in range(self.config.replicas))

    @property
    def weights(self) -> WeightsConfig:
        """Where weights lie: a folder that is relative is the run's."""
        weights = self.config.weights
        return weights if weights.folder is None else replace(weights, folder=self.places.folder / weights.folder)

    def make_model(self, task: Task) -> CharTokenizer:
        """The tokenizer, and the folder of the model where an earlier life did not make it: it appears as a whole."""
        tokenizer = CharTokenizer(task.alphabet)
        folder, sizes = self.places.model, self.config.model
        if folder.exists():
            return tokenizer
        with tempfile.TemporaryDirectory(prefix=".model.", dir=self.places.folder) as made:
            model = make_tiny_qwen3(
                tokenizer.vocab_size, hidden=sizes.hidden, layers=sizes.layers, heads=sizes.heads,
                kv_heads=sizes.kv_heads, seed=self.config.seed,
            )  # fmt: skip
            save_model_folder(Path(made) / "model", model, tokenizer)
            save_chat_files(Path(made) / "model", tokenizer)
            (Path(made) / "model").rename(folder)
        return tokenizer

    def controller(self) -> Charge:
        """The one that rules."""
        return Charge(CONTROLLER, "controller", self._controller, START_S)

    def replica(self, name: str) -> Charge:
        """One rollout worker."""
        return Charge(name, "rollout", lambda incarnation: self._replica(name, incarnation), START_S)

    def trainer(self) -> Charge:
        """The trainer, of all its ranks."""
        return Charge(TRAINER, "trainer", self._trainer, START_S)

    # -- inside ----------------------------------------------------------------------------------

    def _controller(self, incarnation: str) -> Mapping[str, Any]:
        places, sync = self.places, self.config.sync
        config = ControllerConfig(
            run=self.name, incarnation=incarnation, register=places.register, manifests=places.manifests,
            trace=places.trace, weights=self.weights, mode=sync.mode, minimum=sync.minimum,
            deadline_ms=_ms(sync.deadline), takeover_ms=_ms(sync.takeover), call_ms=_ms(sync.call),
            access=self.config.access,
        )  # fmt: skip
        return as_json(config)

    def _replica(self, name: str, incarnation: str) -> Mapping[str, Any]:
        places, config = self.places, self.config
        at_once = config.agents.in_flight * config.training.group_size
        made = RolloutConfig(
            replica=name, run=self.name, incarnation=incarnation, model=places.model, state=places.state(name),
            manifests=places.manifests, trace=places.trace, max_batch=max(32, at_once),
            hold_ms=_ms(config.agents.turn_s), remember_ms=REMEMBER_MS, weights=self.weights, access=config.access,
        )  # fmt: skip
        return as_json(made)

    def _trainer(self, incarnation: str) -> Mapping[str, Any]:
        places, config = self.places, self.config
        made = TrainerConfig(
            run=self.name, incarnation=incarnation, model=places.model, state=places.state(TRAINER),
            manifests=places.manifests, trace=places.trace, training=replace(config.training, seed=config.seed),
            weights=self.weights, ranks=config.ranks, access=config.access,
        )  # fmt: skip
        return as_json(made)


def _ms(seconds: float) -> int:
    return max(1, round(seconds * 1000))
