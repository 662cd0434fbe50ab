"""`SessionAffinity.tla` at its bounds."""

from __future__ import annotations

from ..checkers.model import Config
from .form import Profile, SystemModel, key_state, members

PROMISES = ("S1", "S2", "S3", "S4", "Freed", "Policy")
_FAULTS = frozenset({"message", "unknown", "late", "client", "gate-crash", "router-crash", "consumer-crash"})


def _bounds(
    *, replicas: int = 2, losses: int = 1, turns: int = 2, bindings: int = 2, restarts: int = 1, consumers: int = 2,
    policies: tuple[str, ...] = ("on_evacuation",),
) -> dict[str, str]:  # fmt: skip
    return {
        "Replica": members("r", replicas),
        "MaxLoss": str(losses),
        "MaxTurn": str(turns),
        "MaxBinding": str(bindings),
        "MaxRestart": str(restarts),
        "Consumer": members("c", consumers),
        "Policies": "{" + ", ".join(f'"{policy}"' for policy in policies) + "}",
    }


def _safe(
    name: str, about: str, bounds: dict[str, str], distinct: int, *, profile: Profile = "small", tlc_only: bool = False
) -> SystemModel:
    config = Config(constants=bounds, invariants=PROMISES)
    return SystemModel(
        name, about, "SessionAffinity", config, distinct=distinct, profile=profile, faults=_FAULTS, tlc_only=tlc_only
    )


def _lives(name: str, about: str, bounds: dict[str, str], distinct: int, *, profile: Profile = "small") -> SystemModel:
    config = Config(constants=bounds, spec="FairSpec", properties=("L4",))
    return SystemModel(name, about, "SessionAffinity", config, distinct=distinct, profile=profile, faults=_FAULTS)


def _key(name: str, about: str, invariant: str, bounds: dict[str, str], profile: Profile = "small") -> SystemModel:
    return key_state(name, about, "SessionAffinity", invariant, bounds, profile)


_UNREAD = _bounds(restarts=0, consumers=1)
_ONE = _bounds(replicas=1, turns=1, restarts=0, consumers=1)
_READ = _bounds(replicas=1, turns=1, losses=0, restarts=0)

SESSIONS: tuple[SystemModel, ...] = (
    _safe("sessions", "a session of 2 turns that may move, a replica lost, a restart, 2 consumers", _bounds(), 7262),
    _safe(
        "policies", "a session of 1 turn that never moves, or only when it is lost",
        _bounds(turns=1, restarts=0, consumers=1, policies=("never", "on_loss")), 434,
    ),
    _lives("retires", "every retiring session is retired", _bounds(consumers=1, policies=("on_loss",)), 3456),
    _key("recovered", "a lost session runs on at another replica", "NeverRecovers", _UNREAD),
    _key("evacuated", "a session is moved from a replica that lives", "NeverMoves", _UNREAD, "full"),
    _key("read-again", "a trace is read by a second consumer, and freed", "NeverRereads", _READ, "full"),
    _key("late-request", "a request is still on its way when its session is retired", "NeverLate", _ONE, "full"),
    _safe(
        "sessions-more", "3 turns, 2 replicas lost, bound 3 times",
        _bounds(losses=2, turns=3, bindings=3), 294320, profile="full", tlc_only=True,
    ),
    _safe(
        "policies-more", "each policy, 2 replicas lost, 2 restarts",
        _bounds(losses=2, bindings=3, restarts=2, policies=("never", "on_loss", "on_evacuation")), 114896,
        profile="full", tlc_only=True,
    ),
    _lives("retires-more", "the same, 3 turns", _bounds(turns=3, consumers=1), 26591, profile="full"),
    SystemModel(
        "sessions-random", "8 turns, 3 replicas, 6 lost, 3 restarts, 3 consumers", "SessionAffinity",
        Config(
            constants=_bounds(
                replicas=3, losses=6, turns=8, bindings=5, restarts=3, consumers=3,
                policies=("never", "on_loss", "on_evacuation"),
            ),
            invariants=PROMISES,
        ),
        profile="simulate", faults=_FAULTS, tlc_only=True, behaviours=10000, depth=100,
    ),
)  # fmt: skip
