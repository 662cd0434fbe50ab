"""`Runs.tla` at its bounds."""

from __future__ import annotations

from ..checkers.model import Config
from .form import Profile, SystemModel, key_state

PROMISES = ("GroupsOnce", "Checkpoints", "Steps", "Devices", "Serves", "Fresh", "Saves")
_CRASH = frozenset({"trainer-crash", "message"})
_DEATH = frozenset({"controller-crash", "message"})


def _bounds(
    *, colocated: bool = False, goal: int = 2, save: int = 1, sync: int = 1, batch: int = 1, groups: int = 3,
    versions: int = 2, fails: int = 0, drops: int = 0, unsaved: int = 0, crashes: int = 0, deaths: int = 0,
    rest: bool = False, stop: bool = False,
) -> dict[str, str]:  # fmt: skip
    return {
        "Colocated": "TRUE" if colocated else "FALSE",
        "Goal": str(goal),
        "SaveEvery": str(save),
        "SyncEvery": str(sync),
        "Batch": str(batch),
        "MaxGroup": str(groups),
        "MaxVersion": str(versions),
        "MaxFail": str(fails),
        "MaxDrop": str(drops),
        "MaxUnsaved": str(unsaved),
        "MaxCrash": str(crashes),
        "MaxDeath": str(deaths),
        "MayRest": "TRUE" if rest else "FALSE",
        "MayStop": "TRUE" if stop else "FALSE",
    }


def _safe(
    name: str, about: str, bounds: dict[str, str], distinct: int, faults: frozenset[str], *,
    profile: Profile = "small", tlc_only: bool = False,
) -> SystemModel:  # fmt: skip
    config = Config(constants=bounds, invariants=PROMISES)
    return SystemModel(
        name, about, "Runs", config, distinct=distinct, profile=profile, faults=faults, tlc_only=tlc_only
    )


def _key(name: str, about: str, invariant: str, bounds: dict[str, str], profile: Profile = "small") -> SystemModel:
    return key_state(name, about, "Runs", invariant, bounds, profile)


_LOST = _bounds(versions=3, crashes=1)
_DIED = _bounds(sync=2, versions=3, unsaved=1, deaths=1)
_LENT = _bounds(colocated=True, sync=2, crashes=2)
_BATCH = _bounds(goal=1, batch=2, groups=4, versions=1, fails=1, drops=1, unsaved=1)

_STOPPED = _bounds(save=2, sync=2, groups=2, versions=1, fails=1, rest=True, stop=True)
_BOTH = _bounds(goal=1, versions=3, crashes=1, deaths=1)
_MORE = _bounds(
    colocated=True, save=2, sync=2, groups=3, versions=3, fails=1, drops=1, unsaved=1, crashes=1, deaths=1,
)  # fmt: skip

RUNS: tuple[SystemModel, ...] = (
    _safe("run-trainer-lost", "2 updates of 3 groups, each saved, and a trainer that dies", _LOST, 8762, _CRASH),
    _safe("run-died", "2 updates of 3 groups, new weights after the second, and a run that dies", _DIED, 10737, _DEATH),
    _safe(
        "run-lent", "2 updates on shared devices, new weights after the second, and a trainer that dies twice", _LENT,
        13128, _CRASH,
    ),
    _safe(
        "run-batch", "batches of 2 groups, of which one fails, one is dropped, and a checkpoint that cannot be saved",
        _BATCH, 3793, frozenset({"message"}),
    ),
    _safe(
        "run-stopped", "2 updates, the second saved and published, of a run that is stopped or fails, and may rest",
        _STOPPED, 725, frozenset({"message"}),
    ),
    _key("run-ends", "a run that lost its trainer, and died, comes to its goal", "NeverEnds", _BOTH),
    _key("run-begins-again", "a group that was published is begun again", "NeverBeginsAgain", _LOST),
    _key(
        "run-saves-in-flight", "a checkpoint is complete while a group is in flight", "NeverSavesInFlight", _DIED,
        profile="full",
    ),
    _key("run-lost-lent", "the trainer is lost while devices are lent", "NeverLostLent", _LENT, "full"),
    _safe(
        "run-more", "2 updates on shared devices, the second saved and published, and all that may happen once", _MORE,
        126021, _CRASH | _DEATH, profile="full", tlc_only=True,
    ),
)  # fmt: skip
