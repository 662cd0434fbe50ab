"""A controller as its process runs it, in the test's own process, over scripted replicas in a roster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import torch
from scripted_replica import ScriptedReplica

from sluicegate.runtime.controller.client import ControllerClient
from sluicegate.runtime.controller.config import ControllerConfig
from sluicegate.runtime.controller.controller import Controller
from sluicegate.runtime.controller.process import ruling
from sluicegate.runtime.controller.roster import Roster
from sluicegate.runtime.weights import ManifestStore, ShmPublisher
from sluicegate.statemachines.sorts import Mode


class Ruled:
    """Replicas by name, the controller that rules them, and a client of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.replicas: dict[str, ScriptedReplica] = {}
        self.controller: Controller
        self.control: str
        self.client: ControllerClient
        self.roster: Roster
        self.config: ControllerConfig
        self._manifests = ManifestStore(folder / "manifests")
        self._publisher = ShmPublisher("ruled", root=folder / "shm")

    def publish(self, version: int) -> None:
        """A version as a trainer leaves it; every replica will say that it holds it."""
        tensors = [("w", torch.full((2,), version))]
        manifest = self._publisher.publish(version, version, tensors, torch.float32)
        self._manifests.put(manifest)
        for replica in self.replicas.values():
            replica.digest = manifest.digest

    def discard(self, version: int) -> None:
        """The bytes of a version go; its manifest stays."""
        self._publisher.discard(version)


@asynccontextmanager
async def ruled(folder: Path, *names: str, **settings: Any) -> AsyncIterator[Ruled]:
    """A cohort that has come home; `settings` are those of its controller that are not the usual ones."""
    (folder / "shm").mkdir()
    made = Ruled(folder)
    chosen: dict[str, Any] = {"mode": Mode.WAIT, "deadline_ms": 20_000, "call_ms": 5_000, **settings}
    config = made.config = ControllerConfig(
        run="ruled", register=folder / "register.db", manifests=folder / "manifests", shm_root=folder / "shm",
        incarnation="controller.1", **chosen,
    )  # fmt: skip
    async with AsyncExitStack() as stack:
        roster = made.roster = stack.enter_context(Roster(config.register))
        for name in names:
            life = roster.begin(name, "rollout")
            replica = await stack.enter_async_context(ScriptedReplica(name, life))
            roster.enlist(life, replica.target, "", 0)
            made.replicas[name] = replica
        controller, facts = await stack.enter_async_context(ruling(config))
        made.controller, made.control = controller, facts["control"]
        made.client = await stack.enter_async_context(ControllerClient(lambda: made.control, within=60.0))
        yield made
