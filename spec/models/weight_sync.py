"""`WeightSync.tla` at its bounds.

Rules of this file:

- Each model carries the faults that it is about; a replica that is alone can carry them all.
- Messages are late, lost, repeated and overtaken in every model, and clients leave in every model.
- Where an older controller may wake up, one that crashed is one that never does.
- Symmetry is for safety and for TLC alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..checkers.model import Config
from .form import Profile, SystemModel, key_state, members

SAFETY = ("G1", "G2", "G3", "G4", "G5", "G6", "G7", "G8", "G9", "A2", "T2")
_ALWAYS = frozenset({"message", "client"})


def _names(names: Iterable[str]) -> str:
    return "{" + ", ".join(f'"{name}"' for name in sorted(names)) + "}"


def bounds(
    *, replicas: int = 1, ranks: int = 1, slots: int = 1, mode: str = "wait", epochs: int = 1, versions: int = 1,
    terms: int = 1, minimum: int = 1, faults: str = "", scene: str = "", alike: bool = False,
) -> dict[str, str]:  # fmt: skip
    """Constants of the module; `faults` and `scene` are names apart by spaces. `alike`: for symmetry."""
    constants = {
        "Replica": members("r", replicas),
        "Rank": members("k", ranks),
        "Slot": members("s", slots),
        "Mode": f'"{mode}"',
        "Minimum": str(minimum),
        "MaxEpoch": str(epochs),
        "MaxVersion": str(versions),
        "MaxTerm": str(terms),
        "Faults": _names(faults.split()),
        "Scene": _names(scene.split()),
    }
    if alike:
        constants |= {name: constants[name].replace('"', "") for name in ("Replica", "Rank", "Slot")}
    return constants


def _kinds(faults: str) -> frozenset[str]:
    kinds = frozenset(faults.split())
    return _ALWAYS | kinds | ({"controller-crash"} if "stale-controller" in kinds else set())


def _holds(
    name: str, about: str, distinct: int, *, also: tuple[str, ...] = (), ends: tuple[str, ...] = (),
    profile: Profile = "small", alone: bool = False, behaviours: int = 0, depth: int = 0, faults: str = "", **at: Any,
) -> SystemModel:  # fmt: skip
    """A model whose safety must hold, and what must come in the `ends`; by TLC `alone` and outside the small
    profile, with symmetry where it explores all."""
    alike = alone or profile == "full"
    config = Config(
        constants=bounds(faults=faults, alike=alike, **at), spec="FairSpec" if ends else "",
        invariants=(*SAFETY, *also), properties=ends, symmetry="Alike" if alike else "",
    )  # fmt: skip
    return SystemModel(
        name, about, "WeightSync", config, distinct=distinct, profile=profile, faults=_kinds(faults),
        tlc_only=alone or profile != "small", behaviours=behaviours, depth=depth,
    )  # fmt: skip


def _ends(
    name: str, about: str, distinct: int, spec: str, properties: tuple[str, ...], *, profile: Profile = "small",
    faults: str = "", **at: Any,
) -> SystemModel:  # fmt: skip
    constants = bounds(faults=faults, **at)
    config = Config(constants=constants, spec=spec, properties=properties)
    return SystemModel(
        name, about, "WeightSync", config, distinct=distinct, profile=profile, faults=frozenset(faults.split())
    )  # fmt: skip


def _key(name: str, about: str, invariant: str, constants: dict[str, str], profile: Profile = "small") -> SystemModel:
    return key_state(name, about, "WeightSync", invariant, constants, profile)


_ENGINE = "deadline silence engine unknown"
_EVERY = f"{_ENGINE} late gate-crash trainer-crash stale-controller"
_CALM = bounds()
_ONE = bounds(faults=_ENGINE)
_KEEP = bounds(ranks=2, slots=1, mode="keep", faults="unknown")
_RISEN = bounds(terms=2, faults="gate-crash controller-crash")
_CRASH = bounds(terms=2, faults="controller-crash")
_STALE = bounds(terms=2, faults="stale-controller")
_NEWBORN = bounds(scene="newborn")
_LEND = bounds(faults="trainer-crash", scene="lend")
_REPLACED = bounds(epochs=2, faults="gate-crash")
_VOLATILE = bounds(terms=2, faults="trainer-crash controller-crash", scene="volatile")

WEIGHT_SYNC: tuple[SystemModel, ...] = (
    _holds(
        "swap", "2 replicas, an operation, members dropped at any time",
        5202, also=("Recorded",), replicas=2, faults="silence",
    ),
    _holds(
        "expiry", "2 replicas, an operation, deadlines pass at any time",
        2229, replicas=2, faults="deadline",
    ),
    _holds(
        "keep", "1 replica of 2 ranks, a lease that is kept, two operations; every seal ends",
        2251, also=("Pruned",), ends=("L1",), ranks=2, mode="keep", epochs=2, versions=2,
        faults="deadline engine unknown",
    ),
    _holds(
        "stale", "1 replica, a takeover at any step, the older controller goes on",
        795, also=("Recorded",), terms=2, faults="stale-controller",
    ),
    _holds(
        "stale-pair", "2 replicas without requests, a takeover at any step, the older controller goes on",
        4412, also=("Recorded",), alone=True, replicas=2, slots=0, terms=2, faults="stale-controller",
    ),
    _holds(
        "lend", "1 replica whose device is lent, silence and crashes",
        1444, terms=2, scene="lend", faults="deadline silence trainer-crash controller-crash",
    ),
    _holds(
        "pause", "1 replica that is paused: drained, lent to nobody and resumed",
        1046, terms=2, scene="pause", faults="deadline silence controller-crash",
    ),
    _holds(
        "crashes", "1 replica whose device is lent: crashes poison nothing",
        1897, also=("A1",), terms=2, scene="lend timely", faults="deadline gate-crash trainer-crash controller-crash",
    ),
    _holds(
        "volatile", "1 replica, bytes that are not durable, controllers and the trainer crash",
        1927, epochs=2, terms=2, scene="volatile", faults="trainer-crash stale-controller",
    ),
    _holds(
        "newborn", "2 replicas that start without weights, and a cohort that needs both",
        410, replicas=2, minimum=2, epochs=2, scene="newborn", faults="deadline",
    ),
    _holds(
        "gives-up", "2 replicas without requests that are both needed, members dropped, deadlines pass",
        1382, replicas=2, slots=0, minimum=2, faults="deadline silence",
    ),
    _ends(
        "publishes", "what is begun is published if nothing fails; a lent device is given back",
        102, "LivelySpec", ("L5", "GivenBack"), scene="lend",
    ),
    _holds(
        "every-full", "1 replica whose device is lent, a takeover, and every fault",
        29751, profile="full", terms=2, scene="lend", faults=_EVERY,
    ),
    _holds(
        "swap-full", "2 replicas, 2 leases each, two operations",
        12222, profile="full", replicas=2, slots=2, epochs=2, faults="deadline silence",
    ),
    _holds(
        "takeover-full", "2 replicas, 2 leases each, an operation and a takeover",
        25212, profile="full", replicas=2, slots=2, epochs=2, terms=2, faults="deadline controller-crash",
    ),
    _holds(
        "engine-full", "2 replicas, engines fail, requests are lost, an operation and one to catch up",
        14585, profile="full", replicas=2, epochs=2, faults=_ENGINE,
    ),
    _holds(
        "stale-full", "2 replicas, an operation and a takeover, the older controller goes on",
        120308, profile="full", replicas=2, epochs=2, terms=2, faults="deadline stale-controller",
    ),
    _holds(
        "ranks-full", "1 replica of 2 ranks, 2 leases that are kept, a takeover, the older controller goes on",
        18677, profile="full", ranks=2, slots=2, mode="keep", epochs=2, terms=2,
        faults="deadline engine unknown stale-controller",
    ),
    _holds(
        "crashes-full", "2 replicas: crashes of controllers and replicas poison nothing",
        75807, also=("A1",), profile="full", replicas=2, terms=2, scene="timely",
        faults="deadline gate-crash controller-crash",
    ),
    _holds(
        "lend-full", "2 replicas whose devices are lent, the trainer and a controller crash",
        68505, profile="full", replicas=2, terms=2, epochs=2, versions=0, scene="lend",
        faults="deadline trainer-crash controller-crash",
    ),
    _holds(
        "lend-pair", "2 replicas without requests whose devices are lent, members dropped",
        2640, profile="full", replicas=2, slots=0, scene="lend", faults="silence",
    ),
    _holds(
        "volatile-full", "2 replicas, bytes that are not durable",
        22015, profile="full", replicas=2, terms=2, scene="volatile", faults="deadline trainer-crash controller-crash",
    ),
    _holds(
        "newborn-full", "2 replicas that start without weights, are replaced, and a takeover",
        16404, profile="full", replicas=2, terms=2, epochs=2, scene="newborn", faults="gate-crash controller-crash",
    ),
    _ends(
        "publishes-full", "2 replicas: what is begun is published if nothing fails; lent devices are given back",
        1428, "LivelySpec", ("L5", "GivenBack"), profile="full", replicas=2, scene="lend",
    ),
    _ends(
        "recovers", "whenever a controller crashes, the next one brings every gate home",
        6071, "LivelySpec", ("ComesHome",), profile="full", replicas=2, epochs=2, terms=2, faults="controller-crash",
    ),
    _ends(
        "live-full", "2 replicas: every seal of a gate with weights ends reopened or poisoned",
        6120, "FairSpec", ("L1",), profile="full", replicas=2, faults="deadline engine unknown",
    ),
    _holds(
        "anything", "3 replicas of 2 ranks, 2 leases each, four operations, three controllers, every fault",
        0, profile="simulate", behaviours=500, depth=150, replicas=3, ranks=2, slots=2, epochs=4, versions=3, terms=3,
        scene="lend", faults=_EVERY,
    ),
    _holds(
        "anything-kept", "the same without weights at first, in keep mode, bytes that are not durable",
        0, profile="simulate", behaviours=500, depth=150, replicas=3, ranks=2, slots=2, mode="keep", epochs=4,
        versions=3, terms=3, minimum=2, scene="newborn volatile", faults=_EVERY,
    ),
    _key("new-weights", "a gate reopens on new weights", "NeverReopensNew", _ONE),
    _key("published", "a version is published", "NeverPublishes", _CALM, "full"),
    _key("poisoned", "a gate is poisoned", "NeverPoisoned", _ONE, "full"),
    _key("rolled-back", "an operation rolls back", "NeverRollsBack", _ONE),
    _key("orphaned", "a lease is orphaned", "NeverOrphans", _ONE, "full"),
    _key("expired", "a gate's own deadline reopens it", "NeverExpires", _ONE, "full"),
    _key("suspended", "a lease is suspended", "NeverSuspends", _KEEP),
    _key("caught-up", "a gate is brought up outside an operation", "NeverCatchesUp", _RISEN, "full"),
    _key("taken-over", "another controller takes a gate over while it installs", "NeverTakenOver", _CRASH),
    _key("raised", "a controller that took over publishes what it found", "NeverRaises", _CRASH, "full"),
    _key("overruled", "an older controller is refused", "NeverRefused", _STALE),
    _key("joined", "a replica that started without weights serves", "NeverJoins", _NEWBORN, "full"),
    _key("borrowed", "the trainer uses a device", "NeverLent", _LEND, "full"),
    _key("returned", "a device comes back and the same version is installed", "NeverReturned", _LEND, "full"),
    _key("replaced", "a replica without weights stands beside a published version", "NeverReplaced", _REPLACED, "full"),
    _key("condemned", "a controller poisons a gate", "NeverCondemned", _VOLATILE),
)  # fmt: skip
