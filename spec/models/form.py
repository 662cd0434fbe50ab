"""What a system model is: a module at bounds, the profile that it belongs to, and what must come of it.

Rules of this file:

- The bounds of a model stand in the module of its TLA+ file, with the number of distinct states; a
  count that changes without a change of model or table fails.
- A key state is a model that must be violated: its invariant says that the state is never reached.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ...statemachines.machines import MACHINES
from ..checkers.model import Config, Model
from ..emitter import files

SPEC = Path(__file__).resolve().parent.parent
Profile = Literal["small", "full", "simulate"]
PROFILES: tuple[Profile, ...] = ("small", "full", "simulate")


@dataclass(frozen=True, slots=True)
class SystemModel:
    """A module at bounds. `violates` is the invariant that must fail, empty where all must hold.

    `distinct` is the number of distinct states, 0 where the run ends at a violation and for random
    behaviours. `faults` are the kinds of fault that the model has, by the names in `FAULTS`. A model
    with temporal properties is judged by TLC alone, and so is one with `tlc_only`. In profile
    *simulate* TLC takes `behaviours` random behaviours of up to `depth` steps.
    """

    name: str
    about: str
    module: str
    config: Config
    distinct: int = 0
    violates: str = ""
    profile: Profile = "small"
    faults: frozenset[str] = frozenset()
    tlc_only: bool = False
    behaviours: int = 0
    depth: int = 0

    @property
    def properties(self) -> tuple[str, ...]:
        return (*self.config.invariants, *self.config.properties)

    def model(self) -> Model:
        """The model over the tables as they are declared now, whatever the generated files still say."""
        made = Model.load(SPEC / f"{self.module}.tla", self.config, (SPEC / "generated",))
        declared = {name.removesuffix(".tla"): text for name, text in files(m.ir for m in MACHINES).items()}
        return replace(made, modules={name: declared.get(name, text) for name, text in made.modules.items()})


FAULTS: dict[str, str] = {
    "deadline": "a deadline passes at any time",
    "silence": "a member does not answer, and is dropped",
    "message": "a message is lost, repeated, delayed or overtaken",
    "engine": "an engine fails on some ranks, or claims success without the weights",
    "unknown": "what became of a request is unknown",
    "late": "a request reaches the engine after it was aborted",
    "client": "a client disconnects",
    "gate-crash": "a replica's process ends, and another incarnation takes its place",
    "controller-crash": "a controller ends between two steps",
    "stale-controller": "an older controller wakes up and goes on",
    "trainer-crash": "the trainer ends while it works, or while a device is lent to it",
    "router-crash": "a session server ends and another takes its place",
    "consumer-crash": "who reads a trace ends",
}
"""Kinds of fault, and what each means in a model."""


def members(prefix: str, count: int) -> str:
    """A set of `count` strings in TLA+: `{"r1", "r2"}`."""
    return "{" + ", ".join(f'"{prefix}{i + 1}"' for i in range(count)) + "}"
