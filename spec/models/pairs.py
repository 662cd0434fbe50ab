"""Pairs of kinds of fault, and the models in which two kinds meet.

Rules of this file:

- The kinds are those that the models of weights swapped under live requests have: `WeightSync` and
  `RequestPath`.
- A pair is met where safety is explored to its end: key states, and models of properties over runs alone,
  do not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from .form import FAULTS, SystemModel

MODULES = frozenset({"WeightSync", "RequestPath"})


def pairs(models: Sequence[SystemModel]) -> dict[tuple[str, str], tuple[str, ...]]:
    """For each pair of kinds that the models have, in the order of `FAULTS`, the models with both."""
    counted = [m for m in models if m.module in MODULES and m.config.invariants and not (m.violates or m.behaviours)]
    kinds = [kind for kind in FAULTS if any(kind in m.faults for m in counted)]
    return {
        (one, other): tuple(m.name for m in counted if {one, other} <= m.faults)
        for one, other in combinations(kinds, 2)
    }  # fmt: skip


def missing(models: Sequence[SystemModel]) -> tuple[tuple[str, str], ...]:
    """The pairs that meet in no model."""
    return tuple(pair for pair, names in pairs(models).items() if not names)


def table(models: Sequence[SystemModel]) -> Iterator[str]:
    """The pairs for a person, a line for each: in how many models they meet, and in which first."""
    for (one, other), names in pairs(models).items():
        where = "missing" if not names else names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
        yield f"{f'{one} with {other}':39} {where}"
