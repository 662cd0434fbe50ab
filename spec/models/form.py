"""What a system model is: a module at bounds, the profile that it belongs to, and what must come of it.

Rules of this file:

- The bounds of a model stand in the module of its TLA+ file, with the number of distinct states; a
  count that changes without a change of model or table fails.
- A key state is a model that must be violated: its invariant says that the state is never reached.
- The models of other machines have the same form: their module is in a folder of their own, over the
  operators of machines of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ...statemachines.machine import Machine
from ...statemachines.machines import MACHINES
from ..checkers.model import Config, Model
from ..checkers.source import constants
from ..emitter import files
from ..emitter.expressions import EmitError

SPEC = Path(__file__).resolve().parent.parent
Profile = Literal["small", "full", "simulate"]
PROFILES: tuple[Profile, ...] = ("small", "full", "simulate")


class ModelError(ValueError):
    """A model that no checker needs to see: one line that says what is wrong with it, and how to mend it."""


@dataclass(frozen=True, slots=True)
class SystemModel:
    """A module at bounds. `violates` is the invariant that must fail, empty where all must hold.

    `distinct` is the number of distinct states, 0 where the run ends at a violation, for random
    behaviours, and where the number is not held to. `faults` are the kinds of fault that the model has,
    by the names in `FAULTS`. Temporal properties are judged by TLC alone, and so is all of a model with
    `tlc_only`. In profile *simulate* TLC takes `behaviours` random behaviours of up to `depth`
    steps. The module stands in `folder`, over the operators of `machines`.
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
    folder: Path = SPEC
    machines: tuple[type[Machine], ...] = MACHINES

    @property
    def properties(self) -> tuple[str, ...]:
        return (*self.config.invariants, *self.config.properties)

    def model(self) -> Model:
        """The model over the tables as they are declared now, whatever generated files still say.

        Raises ModelError for a module that is not there, a constant without a value, a name in the
        configuration that no module defines, and machines that cannot be written in TLA+ together.
        """
        path = self.folder / f"{self.module}.tla"
        try:
            declared = {name.removesuffix(".tla"): text for name, text in files(m.ir for m in self.machines).items()}
            model = Model.load(path, self.config, made=declared)
        except FileNotFoundError as error:
            said = f"there is no {error.filename}" if error.filename else str(error)
            mend = "name its folder in SystemModel(folder=...), or its machine in machines=(...)"
            raise ModelError(f"{said}: {mend}") from error
        except (EmitError, ValueError) as error:
            raise ModelError(str(error)) from error
        self._check_names(model)
        return model

    def _check_names(self, model: Model) -> None:
        texts = model.extended()
        if open_ := [name for text in texts for name in constants(text) if name not in self.config.constants]:
            given = f'Config(constants={{"{open_[0]}": ...}})'
            raise ModelError(f"constant {', '.join(open_)} of {self.module} has no value: bound it in {given}")
        config, known = self.config, model.defined()
        heads = (config.spec,) if config.spec else (config.init, config.next)
        named = (*heads, *self.properties, *config.constraints, *filter(None, [config.symmetry]))
        if missing := [name for name in named if name not in known]:
            raise ModelError(f"{', '.join(missing)} names nothing: {self.module}.tla does not define it")


def key_state(
    name: str, about: str, module: str, invariant: str, constants: dict[str, str], profile: Profile = "small"
) -> SystemModel:
    """A state that must be reached: `invariant` says that it never is."""
    config = Config(constants=constants, invariants=(invariant,))
    return SystemModel(name, about, module, config, violates=invariant, profile=profile)


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
