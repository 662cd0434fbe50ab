"""The contracts of single steps at their bounds: small ones that differ in what there is two of.

Those of Gate are judged by TLC alone: tla-checker does not parse lists of cases within lists of cases.
"""

from __future__ import annotations

from ..checkers.model import Config
from .form import SystemModel, members


def _steps(name: str, about: str, module: str, constants: dict[str, str], distinct: int) -> SystemModel:
    config = Config(constants=constants, invariants=("EveryStep", "Obeys"))
    return SystemModel(name, about, module, config, distinct=distinct, tlc_only=module == "GateSteps")


def _gate(ranks: int = 1, leases: int = 1, terms: int = 1, timers: int = 0) -> dict[str, str]:
    return {
        "Rank": members("k", ranks),
        "Lease": members("l", leases),
        "MaxTerm": str(terms),
        "MaxEpoch": "1",
        "MaxVersion": "1",
        "MaxWindow": str(timers),
        "MaxTimer": str(timers),
    }


_SYNC = {"Replica": members("r", 2), "Minimums": "{0, 1, 2}", "MaxEpoch": "1", "MaxVersion": "1"}
_SESSION = {
    "Policies": '{"never", "on_loss", "on_evacuation"}',
    "Lease": members("l", 2),
    "Replica": members("r", 2),
    "Life": members("i", 2),
    "Consumer": members("c", 2),
    "MaxBinding": "2",
}
_LEASE = {"MaxVersion": "1", "MaxToken": "2"}
_TRAINER = {"Rank": members("k", 2), "Batch": members("b", 2), "MaxTerm": "1", "MaxVersion": "1", "MaxJob": "2"}
_RUN = {
    "Placements": "{TRUE, FALSE}",
    "Stages": '{"whole", "rollout_only", "train_only"}',
    "Goals": "{0, 2}",
    "Saves": "{0, 1, 2}",
    "Syncs": "{1, 2}",
    "MaxUpdate": "2",
    "MaxVersion": "1",
}
_REPLICA = {"Patience": "{1, 2, 3}", "MaxVersion": "1"}

STEPS: tuple[SystemModel, ...] = (
    _steps("steps-leases", "each step of a gate with 2 requests", "GateSteps", _gate(leases=2, terms=0), 1428),
    _steps(
        "steps-timers", "each step of a gate with timers and windows under 2 terms", "GateSteps", _gate(timers=1), 4458
    ),
    _steps("steps-ranks", "each step of a gate of 2 ranks under 2 terms", "GateSteps", _gate(ranks=2), 3012),
    _steps("steps-sync", "each step of an operation on 2 replicas", "SyncSteps", _SYNC, 2162),
    _steps(
        "steps-sync-three",
        "each step of an operation on 3 replicas",
        "SyncSteps",
        _SYNC | {"Replica": members("r", 3), "Minimums": "{1}", "MaxVersion": "0"},
        1288,
    ),
    _steps("steps-session", "each step of a session of 2 requests, bound twice", "SessionSteps", _SESSION, 318),
    _steps("steps-lease", "each step of a lease of 2 versions", "LeaseSteps", _LEASE, 210),
    _steps("steps-trainer", "each step of a trainer of 2 ranks under 2 terms", "TrainerSteps", _TRAINER, 440),
    _steps(
        "steps-trainer-alone", "each step of a trainer of 1 rank, with 3 jobs", "TrainerSteps",
        _TRAINER | {"Rank": members("k", 1), "Batch": members("b", 1), "MaxTerm": "0", "MaxJob": "3"}, 64,
    ),
    _steps("steps-replica", "each step of a replica that may miss 1 to 3 probes", "ReplicaSteps", _REPLICA, 108),
    _steps("steps-run", "each step of a run of 2 updates, in every placement and stage", "RunSteps", _RUN, 5836),
    _steps("steps-production", "each step of 3 groups of samples", "ProductionSteps", {"MaxGroup": "2"}, 609),
    _steps("steps-agents", "each step of 2 turns of agents", "AgentsSteps", {"Turn": members("t", 2)}, 12),
)

OF_STEPS = frozenset(m.name for m in STEPS)
"""The names of the contracts of single steps."""
