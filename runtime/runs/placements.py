"""Where a run's trainer works: on devices of its own, or on those of the replicas, which it is lent.

Rules of this file:

- What was not done and changed nothing is told as `NotDone`: it is asked for again.
- A lend that is over by itself is told so once; from then on weights are served by a sync.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ...protocol.client import CallError
from ..controller.client import ControllerClient, OperationFailed
from ..controller.register import Register
from ..controller.trainer import TrainerHandle
from ..production.turns import Turns

_OVER = frozenset({"not_lent", "lend_ended", "controller_ended"})
"""The reasons of a lend that is over by itself."""


class NotDone(Exception):
    """It was not done, and nothing has changed. With `waits` somebody wants it so: it is asked again until it is."""

    def __init__(self, why: str, *, waits: bool = False) -> None:
        super().__init__(why)
        self.waits = waits


class NoTrainer(Exception):
    """Nothing can be lent: there is no trainer."""


class Placement(Protocol):
    """How a trainer comes to devices, and the replicas to its weights."""

    async def lend(self, trainer: TrainerHandle) -> None:
        """Have every device lent to the trainer. Raises NotDone, NoTrainer."""
        ...

    def number(self) -> int:
        """The number under which the weights are to be published now."""
        ...

    async def serve(self, version: int) -> None:
        """Have this version served. Raises NotDone."""
        ...

    async def take_back(self) -> None:
        """The trainer has ended: what it was lent serves again, with the weights that it had. Raises NotDone."""
        ...


class Disaggregated:
    """The trainer has devices of its own: replicas serve on while it trains, and a sync brings them its weights."""

    def __init__(self, client: ControllerClient, register: Register) -> None:
        self._client, self._register = client, register

    async def lend(self, trainer: TrainerHandle) -> None:
        raise NotImplementedError("a trainer with devices of its own is lent none")

    def number(self) -> int:
        return self._register.next_version()

    async def serve(self, version: int) -> None:
        if self._register.published == version:
            return
        try:
            await self._client.sync(version)
        except CallError as error:
            raise _not_done(error) from error

    async def take_back(self) -> None:
        pass


class Colocated(Disaggregated):
    """The trainer uses the replicas' devices between two windows of production.

    Agents live on meanwhile: turns that run are drained to their end, and the next ones wait.
    """

    def __init__(
        self, client: ControllerClient, register: Register, turns: Turns, drain_s: float,
        told: Callable[[str], None],
    ) -> None:  # fmt: skip
        super().__init__(client, register)
        self._turns, self._drain_s, self._told = turns, drain_s, told
        self._lend: str | None = None
        self._number = 0

    async def lend(self, trainer: TrainerHandle) -> None:
        self._turns.pause()
        number = self._register.next_version()
        try:
            answer = await self._client.lend(number, within=self._drain_s)
        except OperationFailed as error:
            self._turns.resume()
            if error.reason == "no_trainer":
                raise NoTrainer(str(error)) from error
            raise _not_done(error) from error
        except CallError as error:
            self._turns.resume()
            raise _not_done(error) from error
        self._lend, self._number = answer.operation_id, number
        # A controller that takes over fences a trainer that still holds an ended lend.
        trainer.term = answer.term
        await trainer.claim()

    def number(self) -> int:
        return super().number() if self._lend is None else self._number

    async def serve(self, version: int) -> None:
        if self._lend is None:
            await super().serve(version)
        else:
            await self._return(self._lend, version)
        self._turns.resume()

    async def take_back(self) -> None:
        published = self._register.published
        if self._lend is not None and published is not None:
            try:
                await self._return(self._lend, published)
            except NotDone as error:
                if self._lend is not None:
                    raise
                # The controller takes back by itself what it had lent.
                self._told(str(error))
        self._turns.resume()

    async def _return(self, lend: str, version: int) -> None:
        try:
            await self._client.returned(lend, version)
        except OperationFailed as error:
            if error.begun or error.reason in _OVER:
                self._lend = None
            raise _not_done(error) from error
        except CallError as error:
            raise _not_done(error) from error
        self._lend = None


def _not_done(error: CallError) -> NotDone:
    paused = isinstance(error, OperationFailed) and error.reason == "paused"
    return NotDone(str(error), waits=paused)
