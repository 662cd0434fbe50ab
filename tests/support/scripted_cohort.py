"""A controller in this process over scripted replicas, whose gates and gRPC are real."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import torch
from scripted_replica import ScriptedReplica

from sluicegate.runtime.controller.controller import Controller, ReplicaActions
from sluicegate.runtime.controller.member import nobody_trains
from sluicegate.runtime.controller.register import Register
from sluicegate.runtime.controller.sync import SyncSettings
from sluicegate.runtime.tracelog import TraceLog
from sluicegate.runtime.weights import ManifestStore, ShmPublisher
from sluicegate.statemachines.sorts import Mode


class Cohort:
    """Two scripted replicas and what a controller of them needs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifests = ManifestStore(folder)
        self.publisher = ShmPublisher("test", root=folder)
        self.replicas: dict[str, ScriptedReplica] = {}
        self.stopped: list[str] = []
        self.replaced: list[str] = []
        self.logs: list[TraceLog] = []

    def publish(self, version: int) -> None:
        manifest = self.publisher.publish(version, version, [("w", torch.full((2,), version))], torch.float32)
        self.manifests.put(manifest)
        for replica in self.replicas.values():
            replica.digest = manifest.digest

    async def stop(self, incarnation: str) -> None:
        self.stopped.append(incarnation)

    async def replace(self, incarnation: str) -> None:
        self.replaced.append(incarnation)

    async def evacuate(self, incarnation: str) -> None: ...

    def sync_events(self) -> list[str]:
        """The events of the first controller's Sync machine, from its trace log."""
        self.logs[0].close()
        lines = [json.loads(line) for line in (self.folder / "0.ndjson").read_text().splitlines()]
        return [line["event"] for line in lines if line.get("machine") == "Sync" and line["line"] == "step"]

    def controller(
        self, register: Register, uses_device: Callable[[], Awaitable[bool]] = nobody_trains, **settings: Any
    ) -> Controller:
        defaults: dict[str, Any] = {"mode": Mode.WAIT, "deadline": 3.0, "takeover": 2.0, "call": 1.0}
        chosen = SyncSettings(**{**defaults, **settings})
        name = str(len(self.logs))
        self.logs.append(TraceLog(self.folder / f"{name}.ndjson", run="test", process="controller", incarnation=name))
        actions = ReplicaActions(self.stop, self.replace, self.evacuate)
        return Controller(register, self.manifests, chosen, actions, self.logs[-1], uses_device=uses_device)


@asynccontextmanager
async def scripted_cohort(folder: Path) -> AsyncIterator[Cohort]:
    """Replicas `a` and `b`, which serve until the context is left."""
    made = Cohort(folder)
    async with AsyncExitStack() as stack:
        for name in ("a", "b"):
            made.replicas[name] = await stack.enter_async_context(ScriptedReplica(name, f"{name}.1"))
        yield made
    for log in made.logs:
        log.close()


async def join_all(cohort: Cohort, controller: Controller) -> None:
    for name, replica in cohort.replicas.items():
        await controller.join(name, replica.incarnation, replica.target, "")
