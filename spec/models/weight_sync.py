"""`WeightSync.tla` at its bounds."""

from __future__ import annotations

from collections.abc import Iterable

from ..checkers.model import Config
from .form import SystemModel, members

SAFETY = ("G1", "G2", "G3", "G4", "G5", "G6", "G7", "G9")


_NETWORK = frozenset({"message", "client"})
_SINGLE = frozenset({"deadline", "engine", "unknown"})


def _names(names: Iterable[str]) -> str:
    return "{" + ", ".join(f'"{name}"' for name in sorted(names)) + "}"


def _bounds(
    *, replicas: int, ranks: int = 1, slots: int = 1, mode: str = "wait", epochs: int, versions: int, terms: int = 1,
    minimum: int = 1, faults: frozenset[str] = _SINGLE, scene: frozenset[str] = frozenset(),
) -> dict[str, str]:  # fmt: skip
    return {
        "Replica": members("r", replicas),
        "Rank": members("k", ranks),
        "Slot": members("s", slots),
        "Mode": f'"{mode}"',
        "MaxEpoch": str(epochs),
        "MaxVersion": str(versions),
        "MaxTerm": str(terms),
        "Minimum": str(minimum),
        "Faults": _names(faults),
        "Scene": _names(scene),
    }


_SWAP = _bounds(replicas=2, epochs=2, versions=1, faults=_SINGLE | {"silence"})
_PATIENT = _bounds(replicas=2, epochs=2, versions=1)
_KEEP = _bounds(replicas=1, ranks=2, slots=2, mode="keep", epochs=2, versions=2)
_SMALL = _bounds(replicas=2, epochs=1, versions=1)
_ONE = _bounds(replicas=1, epochs=1, versions=1, faults=_SINGLE | {"silence"})


def _key(name: str, about: str, invariant: str, bounds: dict[str, str]) -> SystemModel:
    return SystemModel(name, about, "WeightSync", Config(constants=bounds, invariants=(invariant,)), violates=invariant)


WEIGHT_SYNC: tuple[SystemModel, ...] = (
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
