"""`RequestPath.tla` at its bounds."""

from __future__ import annotations

from typing import Any

from ..checkers.model import Config
from .form import Profile, SystemModel, key_state, members

PROMISES = ("G1", "G2", "G3", "G4", "Whole", "G5", "G6", "A3", "Pinned")
_FAULT_KINDS = {
    "crash": "gate-crash",
    "mute": "engine",
    "poison": "stale-controller",
    **{name: name for name in ("deadline", "late", "message", "client", "unknown", "engine")},
}
"""What may happen in the model, by the kind of fault that it is; the rest is no fault."""


def bounds(
    *, requests: int = 1, ranks: int = 1, modes: tuple[str, ...] = ("wait",), epochs: int = 1, versions: int = 1,
    lives: int = 1, hold: int = 0, lag: int = 1, may: tuple[str, ...] = (),
) -> dict[str, str]:  # fmt: skip
    """Constants of the model; `may` are the names of what else may happen, the module's header tells them."""
    return {
        "Request": members("q", requests),
        "First": members("q", 1),
        "Rank": members("k", ranks),
        "Modes": _names(modes),
        "MaxEpoch": str(epochs),
        "MaxVersion": str(versions),
        "MaxLife": str(lives),
        "HoldLimit": str(hold),
        "Lag": str(lag),
        "May": _names(may),
    }


def _names(names: tuple[str, ...]) -> str:
    return "{" + ", ".join(f'"{name}"' for name in names) + "}"


def _faults(may: tuple[str, ...]) -> frozenset[str]:
    return frozenset(_FAULT_KINDS[name] for name in may if name in _FAULT_KINDS)


def _path(
    name: str, about: str, distinct: int, *, profile: Profile = "small", tlc_only: bool = False, behaviours: int = 0,
    depth: int = 0, **at: Any,
) -> SystemModel:  # fmt: skip
    config = Config(constants=bounds(**at), invariants=PROMISES)
    return SystemModel(
        name, about, "RequestPath", config, distinct=distinct, profile=profile, faults=_faults(at.get("may", ())),
        tlc_only=tlc_only, behaviours=behaviours, depth=depth,
    )  # fmt: skip


def _ends(name: str, about: str, distinct: int, profile: Profile = "small", **at: Any) -> SystemModel:
    config = Config(constants=bounds(**at), spec="FairSpec", properties=("L2", "L3"))
    return SystemModel(
        name, about, "RequestPath", config, distinct=distinct, profile=profile, faults=_faults(at.get("may", ()))
    )


def _refines(name: str, about: str, distinct: int, profile: Profile = "small", **at: Any) -> SystemModel:
    config = Config(constants=bounds(**at), spec="Spec", properties=("Refines",))
    faults = _faults(at.get("may", ()))
    return SystemModel(name, about, "RequestPathRefines", config, distinct=distinct, profile=profile, faults=faults)


def _key(name: str, about: str, invariant: str, profile: Profile = "small", **at: Any) -> SystemModel:
    return key_state(name, about, "RequestPath", invariant, bounds(**at), profile)


_ABORT, _KEEP = ("abort",), ("keep",)
_ALL = (
    "late",
    "message",
    "client",
    "unknown",
    "mute",
    "deadline",
    "engine",
    "store",
    "crash",
    "poison",
    "lend",
    "escalate",
)

REQUESTS: tuple[SystemModel, ...] = (
    _path(
        "path-late", "a request that may wait at the door, is aborted or doubted, and arrives late", 3386,
        modes=_ABORT, hold=1, may=("late", "client", "unknown"),
    ),
    _path(
        "path-keep", "a request that is frozen and continued, doubted, and arrives late; deadlines", 3108,
        modes=_KEEP, may=("late", "unknown", "deadline"),
    ),
    _path(
        "path-crash", "the process ends between any two steps of a lease, and its disk fails", 2641,
        epochs=0, lives=2, may=("crash", "store", "unknown"),
    ),
    _ends(
        "path-ends", "every lease ends, and every request at the door is answered", 1328,
        hold=1, may=("late", "unknown"),
    ),
    _refines(
        "path-refines", "a request that is kept: every step is one that a client may see", 840,
        modes=_KEEP,
    ),
    _key(
        "late-at-install", "an aborted request is still on its way while its engine installs", "NeverLate",
        may=("late", "unknown"),
    ),
    _key("called-in", "a gate reopens on new weights for a request at its door", "NeverCalledIn", "full", hold=1),
    _key("two-versions", "an answer is made by two versions", "NeverContinues", modes=_KEEP),
    _key(
        "lost-tokens", "a lease that made tokens is lost, without a receipt", "NeverLosesTokens",
        epochs=0, may=("mute", "unknown"),
    ),
    _key(
        "accounted", "the next life settles a lease of the one before", "NeverAccounts",
        epochs=0, lives=2, may=("crash",),
    ),
    _path(
        "path-ranks", "2 requests that are kept, on 2 ranks", 38538, profile="full", tlc_only=True,
        requests=2, ranks=2, modes=_KEEP,
    ),
    _path(
        "path-fronts", "2 session servers, whose clients and connections break", 67919, profile="full", tlc_only=True,
        requests=2, modes=_ABORT, hold=1, may=("client",),
    ),
    _path(
        "path-twice", "a request that is kept through two swaps", 52542, profile="full", tlc_only=True,
        modes=_KEEP, epochs=2, versions=2, may=("unknown", "late"),
    ),
    _path(
        "path-doubt", "clients leave, engines do not answer, deadlines pass", 32974, profile="full", tlc_only=True,
        ranks=2, modes=_KEEP, may=("late", "client", "unknown", "deadline", "mute"),
    ),
    _path(
        "path-engine", "an engine fails on one of 2 ranks, or claims success", 6656, profile="full",
        ranks=2, modes=_KEEP, may=("engine", "deadline"),
    ),
    _path(
        "path-lend", "the device is lent, deadlines pass, a controller poisons", 2876, profile="full",
        modes=_KEEP, may=("lend", "deadline", "poison"),
    ),
    _path(
        "path-next-life", "the process ends while requests are kept", 17757, profile="full", tlc_only=True,
        modes=_KEEP, lives=2, may=("crash", "client", "late"),
    ),
    _ends(
        "path-ends-kept", "leases that are kept end too, though clients leave", 7863, "full",
        modes=_KEEP, hold=1, may=("late", "client", "unknown"),
    ),
    _ends("path-ends-mute", "leases end though no engine answers", 1799, "full", hold=1, may=("mute", "unknown")),
    _ends(
        "path-ends-life", "leases end though the process does", 3426, "full",
        versions=0, hold=1, lives=2, may=("crash", "unknown"),
    ),
    _refines(
        "path-refines-kept", "the same, when it may arrive late, and clients leave", 7863, "full",
        modes=_KEEP, hold=1, may=("late", "unknown", "client"),
    ),
    _refines(
        "path-refines-life", "the same, for 2 lives of the replica", 18689, "full",
        modes=("abort",), lives=2, hold=1, may=("crash", "unknown", "client", "late"),
    ),
    _path(
        "path-walks", "3 requests, 2 ranks, every mode and fault", 0, profile="simulate", behaviours=3000, depth=150,
        requests=3, ranks=2, modes=("wait", "abort", "keep"), epochs=3, versions=3, lives=2, hold=2, lag=2, may=_ALL,
    ),
)  # fmt: skip
