"""Which groups of samples a run has begun, so that what was in flight is begun again and nothing is skipped.

Rules of this file:

- A group is in flight from its begin until it was trained on, or dropped for good.
- Numbers rise by one; after a resume those that were in flight, or are no longer in the weights, come first, under
  their old numbers.
- While somebody waits for rest no new group begins; those that are begun again still do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ..signals import Signal
from .state import RunState

WAIT_S = 3600.0
"""How long one wait for the end of a rest lasts, before the next."""


class NotAtRest(Exception):
    """Groups were still in flight when the time was over; the text names them."""


class Groups:
    """The groups of a run. `data_epoch` is the pass over the data, which the run itself counts."""

    def __init__(self) -> None:
        self.next_group = 0
        self.data_epoch = 0
        self._again: deque[int] = deque()
        self._begun: dict[int, int] = {}
        """The version that was published when each began: no token of it is older."""
        self._waiting_for_rest = 0
        self._changed = Signal()

    def restore(self, state: RunState) -> None:
        """Go on where a run stood: what was in flight is begun again, before anything new."""
        self.next_group, self.data_epoch = state.next_group, state.data_epoch
        self._again, self._begun = deque(state.in_flight), {}

    def rewind(self, state: RunState) -> None:
        """Only the trainer goes back to `state`: what it had trained on since is begun again, and what runs goes on."""
        trained = {*state.in_flight, *range(state.next_group, self.next_group)}
        self._again.extend(sorted(trained.difference(self._begun, self._again)))
        self._changed.notify()

    @property
    def in_flight(self) -> tuple[int, ...]:
        """Those that were begun, or are to be begun again, and were not done; rising."""
        return tuple(sorted({*self._begun, *self._again}))

    @property
    def oldest(self) -> int | None:
        """The oldest version that a token of a group in flight can have, None where none is."""
        return min(self._begun.values(), default=None)

    async def begin(self, published: int) -> int:
        """The number of the group to begin now. `published` is the version that is served.

        A new one waits while somebody waits for rest.
        """
        while not await self._changed.until(lambda: bool(self._again) or not self._waiting_for_rest, WAIT_S):
            pass
        number = self._again.popleft() if self._again else self.next_group
        self.next_group = max(self.next_group, number + 1)
        self._begun[number] = published
        return number

    def done(self, number: int) -> None:
        """The group was trained on, or will never be."""
        self._begun.pop(number, None)
        self._changed.notify()

    @asynccontextmanager
    async def at_rest(self, within: float) -> AsyncIterator[None]:
        """No group is in flight inside, and no new one begins. Raises NotAtRest after `within` seconds."""
        self._waiting_for_rest += 1
        try:
            if not await self._changed.until(lambda: not self.in_flight, within):
                raise NotAtRest(
                    f"groups {', '.join(map(str, self.in_flight))} were in flight after {within:g} s: wait longer, or "
                    "save at a step's boundary, which records them to be begun again"
                )
            yield
        finally:
            self._waiting_for_rest -= 1
            self._changed.notify()
