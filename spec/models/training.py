"""`Training.tla` at its bounds."""

from __future__ import annotations

from ..checkers.model import Config
from .form import Profile, SystemModel, key_state, members

PROMISES = ("T1", "T2", "T3", "Versions", "Serves")
_RUN = frozenset({"trainer-crash", "message"})
_TERMS = frozenset({"controller-crash", "stale-controller", "message"})
_DEVICE = frozenset({"deadline", "gate-crash", "message"})


def _bounds(
    *, ranks: int = 1, replicas: int = 0, colocated: bool = False, groups: int = 1, versions: int = 0, saves: int = 0,
    jobs: int = 3, crashes: int = 0, drifts: int = 0, terms: int = 1, epochs: int = 1, lends: int = 1,
    replaced: int = 0,
) -> dict[str, str]:  # fmt: skip
    return {
        "Member": members("t", ranks),
        "First": '"t1"',
        "Replica": members("r", replicas),
        "Colocated": "TRUE" if colocated else "FALSE",
        "MaxGroup": str(groups),
        "MaxVersion": str(versions),
        "MaxSave": str(saves),
        "MaxJob": str(jobs),
        "MaxCrash": str(crashes),
        "MaxDrift": str(drifts),
        "MaxTerm": str(terms),
        "MaxEpoch": str(epochs),
        "MaxLend": str(lends),
        "MaxReplaced": str(replaced),
    }


def _safe(
    name: str, about: str, bounds: dict[str, str], distinct: int, faults: frozenset[str], *,
    profile: Profile = "small", tlc_only: bool = False, promises: tuple[str, ...] = PROMISES,
) -> SystemModel:  # fmt: skip
    config = Config(constants=bounds, invariants=promises)
    return SystemModel(
        name, about, "Training", config, distinct=distinct, profile=profile, faults=faults, tlc_only=tlc_only
    )


def _key(
    name: str, about: str, invariant: str, bounds: dict[str, str], *, profile: Profile = "small"
) -> SystemModel:  # fmt: skip
    return key_state(name, about, "Training", invariant, bounds, profile)


_SAVED = _bounds(groups=2, saves=1, crashes=1)
_VERSIONS = _bounds(versions=1, saves=1, crashes=1)
_TAKEN = _bounds(saves=1, terms=2)
_LENT = _bounds(replicas=1, colocated=True, jobs=2, epochs=2, replaced=1)
_LENT_ONCE = _bounds(replicas=1, colocated=True)
_RANKS = _bounds(ranks=2, saves=1, jobs=2, crashes=1)
_DRIFT = _bounds(ranks=2, groups=0, jobs=2, drifts=1)
_RESUMED = _bounds(replicas=1, versions=1, saves=1, crashes=1)

TRAINING: tuple[SystemModel, ...] = (
    _safe("saved", "2 groups, a checkpoint, and a trainer that dies", _SAVED, 12785, _RUN),
    _safe("versions", "2 versions, a checkpoint, and a trainer that dies", _VERSIONS, 9294, _RUN),
    _safe("saved-twice", "2 checkpoints, the first of which is kept", _bounds(saves=2), 2223, frozenset({"message"})),
    _safe("run-dies", "a checkpoint, and a run that dies and takes its trainer over", _TAKEN, 9273, _TERMS),
    _safe("ranks", "2 ranks that train, publish and save, and one or all of them die", _RANKS, 6444, _RUN),
    _safe(
        "ranks-differ", "2 ranks, and the weights of one become others than they should", _DRIFT, 136,
        frozenset({"message"}), promises=("T1", "T2", "Versions", "Serves"),
    ),
    _safe("lent", "a device that is lent after it has served, and a replica replaced", _LENT, 5440, _DEVICE),
    _key("resumed", "weights of an earlier step are published under a newer number", "NeverResumes", _VERSIONS),
    _key(
        "saved-in-flight", "a checkpoint is complete while a group is in flight", "NeverSavesInFlight", _SAVED,
        profile="full",
    ),
    _key(
        "poisoned-lent", "a gate is poisoned while the trainer trains on its device", "NeverPoisonedLent", _LENT_ONCE,
        profile="full",
    ),
    _safe(
        "saved-more", "2 groups, 2 versions, a checkpoint, a trainer that dies and a run that dies",
        _bounds(groups=2, versions=1, saves=1, crashes=1, terms=2), 468815, _RUN | _TERMS,
        profile="full", tlc_only=True,
    ),
    _safe(
        "lent-more", "a device lent twice, a replica replaced, a trainer that dies and a run that dies",
        _bounds(replicas=1, colocated=True, epochs=2, lends=2, crashes=1, terms=2, replaced=1), 428982,
        _RUN | _TERMS | _DEVICE, profile="full", tlc_only=True,
    ),
    _key(
        "served-resumed", "weights of an earlier step are served under a newer number", "NeverServesResumed", _RESUMED,
        profile="full",
    ),
    SystemModel(
        "training-random", "2 ranks, 2 colocated replicas, 4 groups, 5 versions, 3 checkpoints, 3 crashes, 3 terms",
        "Training",
        Config(
            constants=_bounds(
                ranks=2, replicas=2, colocated=True, groups=4, versions=4, saves=3, jobs=20, crashes=3, terms=3,
                epochs=6, lends=6, replaced=3,
            ),
            invariants=PROMISES,
        ),
        profile="simulate", faults=_RUN | _TERMS | _DEVICE, tlc_only=True, behaviours=10000, depth=100,
    ),
)  # fmt: skip
