"""`AtomicSwitch.tla`, what a client may assume, at its bounds."""

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


SWITCH: tuple[SystemModel, ...] = (
    _client("client", "what a client may assume: a request that may be frozen", 1, 1239, keeping=True),
    _client("client-whole", "the same: 2 requests, each made by one version", 2, 9099, keeping=False, profile="full"),
)  # fmt: skip
