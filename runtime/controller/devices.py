"""Whether a trainer may still use devices that were lent to it, as a controller finds out.

Rules of this file:

- Known not to use them: every trainer of the roster has ended, or is claimed by the present term, does not train
  and has not failed. Whatever is not known counts as use.
"""

from __future__ import annotations

import itertools

from ...protocol.client import CallError, dial
from ...protocol.generated.trainer_service import TrainerClient
from .roster import Life, Roster
from .trainer import INSTANCE

UNKNOWN, STARTING = "unknown", "starting"
"""The states of a trainer that does not answer, and of one that is not ready."""

USES = frozenset({UNKNOWN, "TRAINING", "FAILED"})
"""The states in which a trainer may train, if it was told to: of one that has failed a rank may do so until its process
has ended."""


class TrainerUse:
    """Asks the trainers of a roster for a controller, whose `term` is set before use.

    `call`: seconds that one answer may take. A trainer that borrows devices is enlisted: where none ever was,
    nothing is known. Everything raises StoreError where the roster cannot be read.
    """

    def __init__(self, roster: Roster, call: float) -> None:
        self.term = 0
        self.roster, self._call = roster, call
        self._numbers = itertools.count(1)

    async def __call__(self) -> bool:
        """Whether any may still train on a lent device."""
        return not self.is_known() or not USES.union({STARTING}).isdisjoint((await self.states()).values())

    def is_known(self) -> bool:
        """Whether a trainer was ever enlisted."""
        return bool(self.roster.lives("trainer"))

    async def states(self) -> dict[str, str]:
        """What each life that has not ended does, once it is claimed by the present term; UNKNOWN or STARTING of one
        that does not say."""
        return {life.incarnation: await self._state(life) for life in self.roster.living("trainer")}

    async def _state(self, life: Life) -> str:
        if not life.control:
            return STARTING
        operation = f"{self.term}.{life.incarnation}.claim.{next(self._numbers)}"
        channel = dial(life.control)
        try:
            client = TrainerClient(channel, INSTANCE, incarnation=life.incarnation, deadline=self._call)
            return (await client.claim(term=self.term, operation_id=operation)).snapshot.state
        except CallError:
            return UNKNOWN
        finally:
            await channel.close()
