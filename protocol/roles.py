"""Who may do what: the role that each method of each service needs.

Rules of this file:

- All methods of a machine need `control`, also to look. Of other services it is said here, or in their own
  `ROLES`. A service, or a method, of which nobody says it is not served.
- No role holds another: who generates and controls has both.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from google.protobuf import descriptor_pool

from .sources import AccessError


class Role(StrEnum):
    """What a caller may do: `data` generates, `control` commands and looks."""

    DATA = "data"
    CONTROL = "control"


Roles = Role | Mapping[str, Role]
"""The role that every method of a service needs, or each by its name."""

ROLES: Mapping[str, Roles] = {
    "sluicegate.v1.Rollout": {**dict.fromkeys(("Generate", "Proceed", "Abort"), Role.DATA), "Stage": Role.CONTROL},
    # Who submits batches decides what the weights become.
    "sluicegate.v1.TrainerData": dict.fromkeys(("Submit", "Result", "Outcome"), Role.CONTROL),
    "sluicegate.v1.Front": dict.fromkeys(("Show", "Digests", "Released"), Role.CONTROL),
    "sluicegate.v1.Controller": dict.fromkeys(
        ("Sync", "Pause", "Resume", "Lend", "Returned", "Poison", "Evacuated", "Status"), Role.CONTROL
    ),
    "sluicegate.v1.Window": {"Open": Role.CONTROL},
    # Replicas fetch, and command nobody; controllers ask what there is.
    "sluicegate.v1.Weights": {"Has": Role.CONTROL, **dict.fromkeys(("Fetch", "Join", "Lend"), Role.DATA)},
}
"""Of the services that are no machine's, by full name."""

ANYBODY: frozenset[Role] = frozenset()
ALL_ROLES = frozenset(Role)
OPEN_SERVICES: Mapping[str, frozenset[Role]] = {
    "grpc.health.v1.Health": ANYBODY,
    "grpc.reflection.v1alpha.ServerReflection": ALL_ROLES,
}
"""What every server has besides: one of these roles is needed, or none."""


def needs_of(service: Any) -> dict[str, frozenset[Role]]:
    """The roles of which a caller needs one, by the path of each method. Raises AccessError."""
    name: str = service.SERVICE
    roles: Roles | None = getattr(service, "ROLES", None) or ROLES.get(name)
    if roles is None:
        raise AccessError(
            f"service {name} does not say which role its methods need: give its class ROLES = Role.CONTROL, "
            "or a role for each method"
        )
    methods = methods_of(name)
    by_method = dict.fromkeys(methods, roles) if isinstance(roles, Role) else dict(roles)
    if by_method.keys() != methods:
        wrong = ", ".join(sorted(methods ^ by_method.keys()))
        raise AccessError(f"service {name}: each of its methods, and nothing else, needs a role: see {wrong}")
    return {f"/{name}/{method}": frozenset({role}) for method, role in by_method.items()}


def open_needs() -> dict[str, frozenset[Role]]:
    """The same of what every server has besides."""
    return {f"/{name}/{method}": roles for name, roles in OPEN_SERVICES.items() for method in methods_of(name)}


def methods_of(service: str) -> set[str]:
    """The names of the methods that a service is declared with. Raises AccessError if nobody has."""
    try:
        return {method.name for method in descriptor_pool.Default().FindServiceByName(service).methods}
    except KeyError:
        raise AccessError(f"service {service} has no descriptor: import its generated module first") from None
