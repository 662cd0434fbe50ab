"""A replica with a real gate, host and gRPC server, whose engine does at once what a test scripts."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

from sluicegate.protocol.generated.gate_service import GATE, GateServicer
from sluicegate.protocol.host import MachineHost
from sluicegate.protocol.server import Server
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.sorts import Mode


class ScriptedReplica:
    """`quiet` and `installs` script the engine: whether it quiesces, and what each rank then claims to hold."""

    def __init__(self, name: str, incarnation: str, digest: str = "good") -> None:
        self.name, self.incarnation, self.digest = name, incarnation, digest
        self.fails = False
        self.silent = False
        self.steps: list[tuple[str, str]] = []
        self._stack = AsyncExitStack()
        self._timers: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> ScriptedReplica:
        self.host = await self._stack.enter_async_context(
            MachineHost(GATE, self, incarnation=self.incarnation, observer=self._observe)
        )
        self.host.create(self.name, ranks={"0"})
        self.server = await self._stack.enter_async_context(Server([GateServicer(self.host)]))
        return self

    async def __aexit__(self, *error: object) -> None:
        for timer in self._timers:
            timer.cancel()
        await self._stack.aclose()

    @property
    def target(self) -> str:
        return self.server.target

    @property
    def gate(self) -> Any:
        return self.host.live(self.name)

    def rules(self) -> list[str]:
        return [f"{event}:{rule}" for event, rule in self.steps]

    def _observe(
        self, instance: str, number: int, event: Any, before: str, after: str, outcome: Any, *rest: Any
    ) -> None:
        self.steps.append((type(event).__name__, outcome.rule))

    async def start_timer(self, instance: str, epoch: int, timer: int, window: int) -> None:
        async def fire() -> None:
            await asyncio.sleep(window / 1000)
            self.host.step(self.name, Gate.Deadline(epoch=epoch, timer=timer))

        task = asyncio.create_task(fire())
        self._timers.add(task)

    async def start_drain(self, instance: str, epoch: int, mode: Mode) -> None: ...

    async def ask_quiesce(self, instance: str, epoch: int) -> None:
        if not self.silent:
            self.host.step(self.name, Gate.Quiesced(epoch=epoch, rank="0"))

    async def start_install(self, instance: str, epoch: int, version: int) -> None:
        if self.fails:
            self.host.step(self.name, Gate.InstallFailed(epoch=epoch, rank="0", why="scripted"))
        else:
            self.host.step(self.name, Gate.Installed(epoch=epoch, rank="0", digest=self.digest))

    async def release_memory(self, instance: str, lend: str) -> None: ...

    async def thaw_all(self, instance: str, epoch: int, leases: frozenset[str]) -> None: ...

    async def thaw(self, instance: str, epoch: int, lease: str) -> None: ...

    async def abort_suspended(self, instance: str, leases: frozenset[str]) -> None: ...

    async def abort_late(self, instance: str, lease: str) -> None: ...
