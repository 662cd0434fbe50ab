"""`AtomicSwitch.tla`, what a client may assume, at its bounds, and the models that refine it."""

from __future__ import annotations

from ..checkers.model import Config
from .form import Profile, SystemModel, members

PROMISES = ("OneVersion", "LabelsGrow", "LabelsTold", "OpenServes", "OneReceipt")


def _client(
    name: str, about: str, places: int, distinct: int, *, keeping: bool, profile: Profile = "small"
) -> SystemModel:
    constants = {
        "Site": members("r", 1),
        "Place": members("q", places),
        "Keeping": "TRUE" if keeping else "FALSE",
        "Newest": "2",
    }
    config = Config(constants=constants, init="Start", next="Step", invariants=PROMISES)
    return SystemModel(name, about, "AtomicSwitch", config, distinct=distinct, profile=profile)


def _refines(
    name: str, about: str, distinct: int, *, mode: str, replicas: int = 1, ranks: int = 1, slots: int = 1,
    epochs: int = 1, terms: int = 1, scene: str = "", faults: str = "", profile: Profile = "full",
) -> SystemModel:  # fmt: skip
    constants = {
        "Replica": members("r", replicas),
        "Rank": members("k", ranks),
        "Slot": members("s", slots),
        "Mode": f'"{mode}"',
        "Minimum": "1",
        "MaxEpoch": str(epochs),
        "MaxVersion": str(epochs),
        "MaxTerm": str(terms),
        "Faults": _names(faults),
        "Scene": _names(scene),
    }
    config = Config(constants=constants, spec="StorySpec", properties=("Refines",))
    return SystemModel(
        name, about, "WeightSyncRefines", config, distinct=distinct, profile=profile, faults=frozenset(faults.split())
    )  # fmt: skip


def _names(words: str) -> str:
    return "{" + ", ".join(f'"{word}"' for word in words.split()) + "}"


SWITCH: tuple[SystemModel, ...] = (
    _client("client", "what a client may assume: a request that may be frozen", 1, 1239, keeping=True),
    _client("client-whole", "the same: 2 requests, each made by one version", 2, 9099, keeping=False, profile="full"),
    _refines(
        "refines", "WeightSync, a request that is kept: every step is one that a client may see", 525,
        mode="keep", faults="deadline engine unknown", profile="small",
    ),
    _refines(
        "refines-wait", "the same with 2 ranks, deadlines, crashes of the replica", 2106,
        mode="wait", ranks=2, faults="deadline engine unknown gate-crash",
    ),
    _refines(
        "refines-abort", "the same with 2 replicas", 949,
        mode="abort", replicas=2,
    ),
    _refines(
        "refines-keep", "the same with 2 requests that are kept", 1923,
        mode="keep", slots=2, faults="unknown",
    ),
    _refines(
        "refines-takeover", "the same with a controller that takes over", 1174,
        mode="keep", terms=2, faults="deadline controller-crash",
    ),
)  # fmt: skip
