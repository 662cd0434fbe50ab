# Made by `sluicegate generate` from Run; change the declaration, not this file.
"""Run on the wire: conversions, handlers, servicer and client."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, Protocol

from grpc import aio

from ...statemachines.run import Run, Stage
from ..client import Client, Reply, Seen
from ..servicer import Context, Servicer
from ..wire import Choices, Wire
from . import run_pb2 as pb
from . import run_pb2_grpc as rpc

_STATE: dict[str, pb.RunState] = {
    "STARTING": pb.RUN_STATE_STARTING,
    "PRODUCING": pb.RUN_STATE_PRODUCING,
    "LENDING": pb.RUN_STATE_LENDING,
    "TRAINING": pb.RUN_STATE_TRAINING,
    "PUBLISHING": pb.RUN_STATE_PUBLISHING,
    "SYNCING": pb.RUN_STATE_SYNCING,
    "SAVING": pb.RUN_STATE_SAVING,
    "RESTORING": pb.RUN_STATE_RESTORING,
    "ENDING": pb.RUN_STATE_ENDING,
    "ENDED": pb.RUN_STATE_ENDED,
    "FAILED": pb.RUN_STATE_FAILED,
}
_STATE_OF: Choices[str] = Choices("RunState", {n: s for s, n in _STATE.items()})
_STAGE: dict[str, pb.RunStage] = {
    "whole": pb.RUN_STAGE_WHOLE,
    "rollout_only": pb.RUN_STAGE_ROLLOUT_ONLY,
    "train_only": pb.RUN_STAGE_TRAIN_ONLY,
}
_STAGE_OF: Choices[Stage] = Choices("RunStage", {n: Stage(m) for m, n in _STAGE.items()})


class RunView(Protocol):
    """What a reader sees of one Run."""

    state: str
    colocated: bool
    stage: Stage
    goal: int | None
    save_every: int
    sync_every: int
    update: int
    kept: int
    renewed: int
    version: int | None
    due: bool
    reason: str


def snapshot_message(instance: Any) -> pb.RunSnapshot:
    """The message of a snapshot or of a live instance."""
    return pb.RunSnapshot(
        state=_STATE[instance.state],
        colocated=instance.colocated,
        stage=_STAGE[instance.stage],
        goal=instance.goal,
        save_every=instance.save_every,
        sync_every=instance.sync_every,
        update=instance.update,
        kept=instance.kept,
        renewed=instance.renewed,
        version=instance.version,
        due=instance.due,
        reason=instance.reason,
    )


def snapshot_values(message: pb.RunSnapshot) -> tuple[Any, ...]:
    """The state and the fields in order of declaration. Raises WireError."""
    return (
        _STATE_OF[message.state],
        message.colocated,
        _STAGE_OF[message.stage],
        message.goal if message.HasField("goal") else None,
        message.save_every,
        message.sync_every,
        message.update,
        message.kept,
        message.renewed,
        message.version if message.HasField("version") else None,
        message.due,
        message.reason,
    )


RUN: Wire[RunHandlers] = Wire(
    machine=Run,
    reply=pb.RunReply,
    transition=pb.RunTransition,
    snapshot=pb.RunSnapshot,
    states=_STATE_OF,
    to_message=snapshot_message,
    to_values=snapshot_values,
)


class RunHandlers(Protocol):
    """What a shell does for Run: a method per output, after the step, in order."""

    async def start_gather(self, instance: str, update: int, due: bool) -> None:
        """Produce and gather the groups of this step; a checkpoint is due after it, or not."""

    async def start_lend(self, instance: str) -> None:
        """Seal, drain, and have every device lent."""

    async def start_train(self, instance: str, update: int) -> None:
        """Train the step on what was gathered for it."""

    async def start_publish(self, instance: str, update: int) -> None:
        """Publish the weights after the step under a new number."""

    async def start_sync(self, instance: str, version: int) -> None:
        """Have this version served: by the return of what is lent, else by a sync."""

    async def start_save(self, instance: str, update: int) -> None:
        """Save a checkpoint of the step."""

    async def start_restore(self, instance: str) -> None:
        """Have a new life of the trainer go back to the last checkpoint, and publish its weights."""

    async def start_end(self, instance: str) -> None:
        """Stop agents and processes, and remove what they leave."""


class RunServicer(Servicer, rpc.RunServicer):
    """Serves the instances of one host; its wire must be `RUN`."""

    SERVICE = "sluicegate.v1.Run"

    def add_to(self, server: aio.Server) -> None:
        rpc.add_RunServicer_to_server(self, server)

    async def Get(self, request: pb.RunGetRequest, context: Context) -> pb.RunReply:
        return await self._get(request, context)

    async def Watch(self, request: pb.RunWatchRequest, context: Context) -> AsyncIterator[pb.RunTransition]:
        async for transition in self._watch(request, context):
            yield transition


class RunClient(Client[RunView]):
    """Speaks to one life of one Run."""

    WIRE = RUN
    STUB = rpc.RunStub

    async def get(self, *, deadline: float | None = None) -> Seen[RunView]:
        """The instance as it is now. Raises Stale if it is not the client's life of it."""
        return await self._get(pb.RunGetRequest(instance=self._instance), deadline)

    def watch(self) -> AsyncGenerator[Seen[RunView], None]:
        """The instance as it is now, then each change. Raises Unreachable if it breaks off."""
        return self._watch(pb.RunWatchRequest(instance=self._instance))
