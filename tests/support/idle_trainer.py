"""A trainer's machine and control server without the work: what becomes of its jobs is the test's to say."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sluicegate.protocol.generated.trainer_service import TRAINER, TrainerServicer
from sluicegate.protocol.host import MachineHost
from sluicegate.protocol.server import Server
from sluicegate.runtime.controller.roster import Roster
from sluicegate.runtime.controller.trainer import INSTANCE


class Idle:
    """A trainer's shell that does nothing."""

    async def start_training(self, instance: str, job: int, batch: str) -> None: ...

    async def start_publishing(self, instance: str, job: int, version: int) -> None: ...

    async def start_saving(self, instance: str, job: int, path: str) -> None: ...

    async def start_loading(self, instance: str, job: int, path: str) -> None: ...


@asynccontextmanager
async def idle_trainer(roster: Roster, *ranks: str) -> AsyncIterator[MachineHost]:
    """The next life of the roster's trainer, which answers until the context is left."""
    life = roster.begin("trainer", "trainer")
    async with MachineHost(TRAINER, Idle(), incarnation=life) as host, Server([TrainerServicer(host)]) as server:
        host.create(INSTANCE, ranks=set(ranks))
        roster.enlist(life, server.target, "", 1)
        yield host
