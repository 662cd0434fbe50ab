"""The system models: which module, at which bounds, and what must come of it.

Rules of this file:

- The bounds stand here, where they can be seen, with the number of distinct states; a count that
  changes without a change of model or table fails.
- A key state is a model that must be violated: its invariant says that the state is never reached.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from ..statemachines.machines import MACHINES
from .checkers.model import Config, Model
from .emitter import files

SPEC = Path(__file__).resolve().parent
SAFETY = ("G1", "G2", "G3", "G4", "G5", "G6", "G7", "G9")


@dataclass(frozen=True, slots=True)
class SystemModel:
    """A module at bounds. `violates` is the invariant that must fail, empty where all must hold.

    `distinct` is the number of distinct states, 0 where the run ends at a violation. A model with
    temporal properties is judged by TLC alone.
    """

    name: str
    about: str
    module: str
    config: Config
    distinct: int = 0
    violates: str = ""

    @property
    def properties(self) -> tuple[str, ...]:
        return (*self.config.invariants, *self.config.properties)

    def model(self) -> Model:
        """The model over the tables as they are declared now, whatever the generated files still say."""
        made = Model.load(SPEC / f"{self.module}.tla", self.config, (SPEC / "generated",))
        declared = {name.removesuffix(".tla"): text for name, text in files(m.ir for m in MACHINES).items()}
        return replace(made, modules={name: declared.get(name, text) for name, text in made.modules.items()})


def _members(prefix: str, count: int) -> str:
    return "{" + ", ".join(f'"{prefix}{i + 1}"' for i in range(count)) + "}"


def _bounds(
    *, replicas: int, ranks: int = 1, slots: int = 1, mode: str = "wait", epochs: int, versions: int,
    patient: bool = True,
) -> dict[str, str]:  # fmt: skip
    return {
        "Replica": _members("r", replicas),
        "Rank": _members("k", ranks),
        "Slot": _members("s", slots),
        "Mode": f'"{mode}"',
        "MaxEpoch": str(epochs),
        "MaxVersion": str(versions),
        "Patience": "TRUE" if patient else "FALSE",
    }


_SWAP = _bounds(replicas=2, epochs=2, versions=1, patient=False)
_PATIENT = _bounds(replicas=2, epochs=2, versions=1)
_KEEP = _bounds(replicas=1, ranks=2, slots=2, mode="keep", epochs=2, versions=2)
_SMALL = _bounds(replicas=2, epochs=1, versions=1)
_ONE = _bounds(replicas=1, epochs=1, versions=1, patient=False)


def _key(name: str, about: str, invariant: str, bounds: dict[str, str]) -> SystemModel:
    return SystemModel(name, about, "WeightSync", Config(constants=bounds, invariants=(invariant,)), violates=invariant)


MODELS: tuple[SystemModel, ...] = (
    SystemModel(
        "swap", "2 replicas, a lease each, an operation and one to catch up, members dropped at any time",
        "WeightSync", Config(constants=_SWAP, invariants=SAFETY), distinct=33520,
    ),
    SystemModel(
        "keep", "1 replica of 2 ranks, 2 leases that are kept, two operations",
        "WeightSync", Config(constants=_KEEP, invariants=SAFETY), distinct=8325,
    ),
    SystemModel(
        "live", "every seal of a gate with weights ends reopened or poisoned",
        "WeightSync", Config(constants=_SMALL, spec="FairSpec", properties=("L1",)), distinct=7975,
    ),
    _key("new-weights", "a gate reopens on new weights", "NeverReopensNew", _ONE),
    _key("published", "a version is published", "NeverPublishes", _ONE),
    _key("poisoned", "a gate is poisoned", "NeverPoisoned", _ONE),
    _key("rolled-back", "an operation rolls back", "NeverRollsBack", _ONE),
    _key("orphaned", "a lease is orphaned", "NeverOrphans", _ONE),
    _key("expired", "a gate's own deadline reopens it", "NeverExpires", _ONE),
    _key("suspended", "a lease is suspended", "NeverSuspends", _KEEP),
    _key("caught-up", "a gate is brought up outside an operation", "NeverCatchesUp", _PATIENT),
)  # fmt: skip
