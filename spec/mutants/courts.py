"""Where a mutant is judged: the system models of the small profile that read what it breaks.

Rules of this file:

- In this order, since the first violation ends it: the contracts of single steps, which say most for
  their price; models of the whole that must hold, those with fewer states first; temporal properties;
  key states, which the mutant may no longer reach.
- The bounds are those of `spec/models/`: what is caught here is caught at every push.
"""

from __future__ import annotations

import functools

from ..checkers.model import Model
from ..models import MODELS, SystemModel
from ..models.steps import OF_STEPS


@functools.cache
def _models() -> dict[str, Model]:
    return {m.name: m.model() for m in MODELS if m.profile == "small"}


def model(system: SystemModel) -> Model:
    """A model of the small profile over the tables as they are declared, read once."""
    return _models()[system.name]


def courts(module: str) -> list[SystemModel]:
    """The models that read the module, generated from a table or written by hand, in the order of judging."""
    small = [m for m in MODELS if m.profile == "small" and module in model(m).modules]
    return sorted(
        small, key=lambda m: (bool(m.violates), bool(m.config.properties), m.name not in OF_STEPS, m.distinct)
    )
