"""The processes of a run, kept alive, and the life of its trainer that is commanded now.

Rules of this file:

- The controller begins first: replicas that it finds at its begin are waited for.
- A life of the trainer is claimed before it is commanded, and one that failed is ended before the next is waited for.
- What is held since it died too often ends the run, and is told with what it died of; to start the run releases it.
"""

from __future__ import annotations

import asyncio

from ..checkpoints import RunState
from ..controller.client import ControllerClient
from ..controller.roster import Roster
from ..controller.trainer import TrainerHandle
from ..launcher import Worker
from ..supervisor import Supervisor
from .processes import START_S, TRAINER, Processes

COMMAND_S = 3600.0
"""How long one command to the trainer may take."""
LOOK_S = 0.2
MOMENT_S = 5.0
"""How long the end of a process may take to be known after it no longer answers."""


class ProcessesLost(Exception):
    """A process that the run needs is not to be had; says which and why."""


class Keeping:
    """What the supervisor keeps of one run. `trainer` is the present life, once there is one."""

    def __init__(
        self, supervisor: Supervisor, client: ControllerClient, roster: Roster, processes: Processes
    ) -> None:
        self._supervisor, self._client, self._roster, self._processes = supervisor, client, roster, processes
        self.trainer: TrainerHandle | None = None

    async def start(self, state: RunState | None = None) -> tuple[TrainerHandle, ControllerClient]:
        """Start all processes, or those that are still missing once a trainer was lost meanwhile.

        Nothing serves before something is published. Raises ProcessesLost, TrainerError, CallError.
        """
        for name in self._roster.holds():
            self._roster.release(name)
        processes = self._processes
        if self.trainer is None:
            self._supervisor.keep(processes.controller())
            await self._client.status(within=START_S)
            for name in processes.replicas:
                self._supervisor.keep(processes.replica(name))
            self._supervisor.keep(processes.trainer())
        trainer = await self.next_trainer()
        try:
            async with asyncio.timeout(START_S):
                while len((await self._client.status()).replicas) < len(processes.replicas):
                    self._require(*processes.replicas)
                    await asyncio.sleep(LOOK_S)
        except TimeoutError:
            raise ProcessesLost(f"not every replica was ready within {START_S:g} s") from None
        return trainer, self._client

    async def has_lost_trainer(self) -> bool:
        """Whether the present life of the trainer has ended, or does within a moment."""

        def is_lost() -> bool:
            worker = self._supervisor.present(TRAINER)
            return worker is None or self.trainer is None or worker.incarnation != self.trainer.incarnation

        return await self._supervisor.changed.until(is_lost, MOMENT_S)

    def end_trainer(self) -> None:
        """The present life does nothing more: it is ended at once, and the supervisor begins the next one."""
        worker = self._supervisor.present(TRAINER)
        if worker is not None and self.trainer is not None and worker.incarnation == self.trainer.incarnation:
            worker.kill()

    async def next_trainer(self) -> TrainerHandle:
        """A life of the trainer that is not the one before, claimed. Raises ProcessesLost, TrainerError."""
        before = self.trainer

        def found() -> Worker | None:
            worker = self._supervisor.present(TRAINER)
            return None if worker is None or (before and worker.incarnation == before.incarnation) else worker

        def is_over() -> bool:
            return found() is not None or TRAINER in self._roster.holds()

        if not await self._supervisor.changed.until(is_over, START_S):
            raise ProcessesLost(f"no trainer was ready within {START_S:g} s")
        worker = found()
        if worker is None:
            self._require(TRAINER)
        assert worker is not None
        term, ready = (await self._client.status()).term, worker.ready
        await self.close()
        self.trainer = TrainerHandle(worker.incarnation, ready["control"], ready["data"], term=term, within=COMMAND_S)
        await self.trainer.claim()
        return self.trainer

    async def close(self) -> None:
        """Let the present life of the trainer go."""
        if self.trainer is not None:
            await self.trainer.close()

    def _require(self, *names: str) -> None:
        """Raises ProcessesLost where one of them is held."""
        for name, why in self._roster.holds().items():
            if name in names:
                raise ProcessesLost(f"{name} is not begun again: {why}")
