"""`GateSteps.tla` at its bounds: small ones that differ in what there is two of.

TLC alone judges them: tla-checker finds the same states, and takes several times as long.
"""

from __future__ import annotations

from ..checkers.model import Config
from .form import SystemModel, members


def _steps(
    name: str, about: str, distinct: int, *, ranks: int = 1, leases: int = 1, terms: int = 1, timers: int = 0
) -> SystemModel:
    constants = {
        "Rank": members("k", ranks),
        "Lease": members("l", leases),
        "MaxTerm": str(terms),
        "MaxEpoch": "1",
        "MaxVersion": "1",
        "MaxWindow": str(timers),
        "MaxTimer": str(timers),
    }
    config = Config(constants=constants, invariants=("EveryStep",))
    return SystemModel(name, about, "GateSteps", config, distinct=distinct, tlc_only=True)


GATE_STEPS: tuple[SystemModel, ...] = (
    _steps("steps-leases", "each step of a gate with 2 requests", 1428, leases=2, terms=0),
    _steps("steps-timers", "each step of a gate with timers and windows", 2229, terms=0, timers=1),
    _steps("steps-ranks", "each step of a gate of 2 ranks under 2 terms", 3012, ranks=2),
)
