"""Which groups of samples a run has begun, so that what was not trained on is begun again and nothing is skipped.

Rules of this file:

- A group is held from its begin until it was trained on, or dropped for good: in flight, ready, or claimed.
- Numbers rise by one; after a resume those that were held, or are no longer in the weights, come first, under
  their old numbers, the lowest first.
- While production is stopped, or somebody waits for rest, no new group begins; those that are begun again still do.
- What a group may do next is in the table of the Production machine; here it is asked for, from any thread.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Protocol

from ...statemachines.production import Production
from ..tracelog import TraceLog
from .shared import SharedMachine

WAIT_S = 3600.0
"""How long one wait for a group to begin lasts, before the next."""


class NotAtRest(Exception):
    """Groups were still in flight when the time was over; the text names them."""


class GroupsClosed(Exception):
    """Nothing begins any more: production is closed."""


class Refused(Exception):
    """A group is not where this needs it to be; the text says which and why. Nothing has changed."""


class Stood(Protocol):
    """Where a run stood: a checkpoint's state."""

    @property
    def step(self) -> int: ...

    @property
    def next_group(self) -> int | None: ...

    @property
    def in_flight(self) -> tuple[int, ...]: ...

    @property
    def data_epoch(self) -> int: ...


class Groups:
    """The groups of a run, from any thread. New ones begin at once, unless `stopped`.

    `log` traces them. `epoch_of` gives the pass over the data that a number is of; without it the run itself sets
    `data_epoch`, that of the next new group. `per_step` is how many groups a step trains on, by which the next number
    follows from the step where a checkpoint does not have it.
    """

    def __init__(
        self, *, log: TraceLog | None = None, epoch_of: Callable[[int], int] | None = None, per_step: int = 0,
        stopped: bool = False,
    ) -> None:  # fmt: skip
        self._machine = SharedMachine(Production, "groups", log.of("Production") if log else None)
        self._epoch_of, self._per_step = epoch_of, per_step
        self._data_epoch = 0
        self._published: dict[int, int] = {}
        """The version that was published when each that is held began: no token of it is older."""
        self._resting = 0
        self._restarts = False
        if not stopped:
            self._step(Production.Start())

    # -- where it stands -------------------------------------------------------------------------

    @property
    def state(self) -> str:
        """The state of the Production machine."""
        return self._machine.live.state

    @property
    def next_group(self) -> int:
        """The number of the next new group."""
        return self._machine.live.next_group

    @property
    def data_epoch(self) -> int:
        """The pass over the data that the next new group is of."""
        return self._data_epoch if self._epoch_of is None else self._epoch_of(self.next_group)

    @data_epoch.setter
    def data_epoch(self, epoch: int) -> None:
        self._data_epoch = epoch

    @property
    def in_flight(self) -> tuple[int, ...]:
        """Those that were begun, or are to be begun again, and were neither trained on nor dropped; rising."""
        with self._machine.lock:
            live = self._machine.live
            return tuple(sorted({*live.again, *live.in_flight, *live.ready, *live.claimed}))

    @property
    def running(self) -> tuple[int, ...]:
        """Those of which something runs, or will without anybody's doing: in flight, or to be begun again; rising."""
        with self._machine.lock:
            return tuple(sorted({*self._machine.live.again, *self._machine.live.in_flight}))

    @property
    def ready(self) -> tuple[int, ...]:
        """Those that are complete and not claimed, rising."""
        with self._machine.lock:
            return tuple(sorted(self._machine.live.ready))

    @property
    def claimed(self) -> tuple[int, ...]:
        """Those that are in the step that is being trained, rising."""
        with self._machine.lock:
            return tuple(sorted(self._machine.live.claimed))

    @property
    def oldest(self) -> int | None:
        """The oldest version that a token of a group that is held can have, None where there is none."""
        with self._machine.lock:
            return min(self._published.values(), default=None)

    # -- where a run stood -----------------------------------------------------------------------

    def restore(self, state: Stood) -> None:
        """Go on where a run stood: what was held is begun again, before anything new.

        Raises Refused once a group was begun.
        """
        following, again = self._following(state), frozenset(state.in_flight)
        with self._machine.lock:
            was_running = self.state == "RUNNING"
            self._step(Production.Stop())
            try:
                self._step(Production.Restore(next_group=following, again=again))
            finally:
                if was_running:
                    self._step(Production.Start())
            self._data_epoch = state.data_epoch

    def rewind(self, state: Stood) -> None:
        """Only the trainer goes back to `state`: what it had trained on since is begun again, and what runs goes on."""
        with self._machine.lock:
            lacking = {*state.in_flight, *range(self._following(state), self.next_group)}
            self._step(Production.Rewind(lacking=frozenset(lacking)))

    def _following(self, state: Stood) -> int:
        """The next number. A state of before it was kept has trained on so many groups for each step."""
        return state.step * self._per_step if state.next_group is None else state.next_group

    # -- groups ----------------------------------------------------------------------------------

    async def begin(self, published: int) -> int:
        """The number of the group to begin now. `published` is the version that is served.

        A new one waits while production is stopped. Raises GroupsClosed.
        """
        while (number := self.begin_now(published)) is None:
            if self.state == "CLOSED":
                raise GroupsClosed("production is closed: no group begins")
            await self._machine.changed.until(lambda: self.may_begin or self.state == "CLOSED", WAIT_S)
        return number

    @property
    def may_begin(self) -> bool:
        """Whether one may begin now."""
        return self.state == "RUNNING" or (self.state == "STOPPED" and self.has_again)

    @property
    def has_again(self) -> bool:
        """Whether there is one that is to be begun again."""
        return bool(self._machine.live.again)

    def begin_now(self, published: int) -> int | None:
        """As `begin`, but None where none may begin now."""
        with self._machine.lock:
            live = self._machine.live
            if not self.may_begin:
                return None
            number = min(live.again, default=live.next_group)
            self._step(Production.Begin(group=number))
            self._published[number] = published
            return number

    def completed(self, number: int) -> None:
        """All samples of the group are there. Raises Refused for one that is not in flight."""
        self._step(Production.Completed(group=number))

    def failed(self, number: int) -> None:
        """The group came to nothing, and is to be begun again. Raises Refused for one that is not in flight."""
        with self._machine.lock:
            self._step(Production.Failed(group=number))
            self._published.pop(number, None)

    def claim(self, number: int) -> None:
        """The group goes into the step that is being trained. Raises Refused for one that is not ready."""
        self._step(Production.Claim(group=number))

    def trained(self) -> None:
        """The step is done: what was claimed is in the weights."""
        with self._machine.lock:
            for number in self._machine.live.claimed:
                self._published.pop(number, None)
            self._step(Production.Trained())

    def give_back(self) -> None:
        """The step was not done: what was claimed is ready still."""
        self._step(Production.GiveBack())

    def done(self, number: int) -> None:
        """The group, which is in flight or ready, will never be trained on; one that is not held is done already."""
        with self._machine.lock:
            self._machine.step(Production.Dropped(group=number))
            self._published.pop(number, None)

    # -- stopped and at rest ---------------------------------------------------------------------

    def start(self) -> None:
        """New groups may begin, once nobody waits for rest. Raises Refused once it is closed."""
        with self._machine.lock:
            if self._resting:
                self._restarts = True
            else:
                self._step(Production.Start())

    def stop(self) -> None:
        """No new group begins before `start`."""
        with self._machine.lock:
            self._restarts = False
            self._step(Production.Stop())

    def close(self) -> None:
        """Nothing begins any more."""
        self._step(Production.Close())

    def notify(self) -> None:
        """Have whoever waits look again."""
        self._machine.changed.notify()

    async def until(self, holds: Callable[[], bool], within: float) -> bool:
        """Wait for a change of groups until `holds()`, at most `within` seconds; whether it holds."""
        return await self._machine.changed.until(holds, within)

    @asynccontextmanager
    async def at_rest(self, within: float) -> AsyncIterator[None]:
        """No group runs inside, and no new one begins. Raises NotAtRest after `within` seconds.

        What is ready stays so: nothing of it runs.
        """
        with self._machine.lock:
            if not self._resting:
                self._restarts = self.state == "RUNNING"
                self._step(Production.Stop())
            self._resting += 1
        try:
            if not await self.until(lambda: not self.running, within):
                raise NotAtRest(
                    f"groups {', '.join(map(str, self.running))} were in flight after {within:g} s: wait longer, or "
                    "save at a step's boundary, which records them to be begun again"
                )
            yield
        finally:
            with self._machine.lock:
                self._resting -= 1
                if not self._resting and self._restarts and self.state == "STOPPED":
                    self._step(Production.Start())

    def _step(self, event: Any) -> None:
        outcome = self._machine.step(event)
        if outcome.refused:
            number = getattr(event, "group", None)
            what = "groups" if number is None else f"group {number}"
            raise Refused(f"{what}: {type(event).__name__} is refused, since {outcome.text}")
