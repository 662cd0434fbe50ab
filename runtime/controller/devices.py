"""Whether a trainer may still use devices that were lent to it, as a controller that took over finds out.

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


class TrainerUse:
    """Asks the trainers of a roster for a controller, whose `term` is set before use.

    `call`: seconds that one answer may take. A trainer that borrows devices is enlisted: where none ever was,
    nothing is known.
    """

    def __init__(self, roster: Roster, call: float) -> None:
        self.term = 0
        self._roster, self._call = roster, call
        self._numbers = itertools.count(1)

    async def __call__(self) -> bool:
        """Whether any may still train on a lent device."""
        known = self._roster.lives("trainer")
        if not known:
            return True
        for life in known:
            if life.ended is None and await self._uses(life):
                return True
        return False

    async def _uses(self, life: Life) -> bool:
        if not life.control:
            return True
        operation = f"{self.term}.{life.incarnation}.claim.{next(self._numbers)}"
        channel = dial(life.control)
        try:
            client = TrainerClient(channel, INSTANCE, incarnation=life.incarnation, deadline=self._call)
            trainer = (await client.claim(term=self.term, operation_id=operation)).snapshot
        except CallError:
            return True
        finally:
            await channel.close()
        # Of one that has failed, a rank may still train until its process has ended.
        return trainer.state in ("TRAINING", "FAILED")
