# Made by `sluicegate generate` from Trainer; change the declaration, not this file.
"""Trainer on the wire: conversions, handlers, servicer and client."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, Protocol

from grpc import aio

from ...statemachines.trainer import Trainer
from ..client import Client, Reply, Seen
from ..servicer import Context, Servicer
from ..wire import Choices, Wire
from . import trainer_pb2 as pb
from . import trainer_pb2_grpc as rpc

_STATE: dict[str, pb.TrainerState] = {
    "IDLE": pb.TRAINER_STATE_IDLE,
    "TRAINING": pb.TRAINER_STATE_TRAINING,
    "PUBLISHING": pb.TRAINER_STATE_PUBLISHING,
    "SAVING": pb.TRAINER_STATE_SAVING,
    "LOADING": pb.TRAINER_STATE_LOADING,
    "FAILED": pb.TRAINER_STATE_FAILED,
}
_STATE_OF: Choices[str] = Choices("TrainerState", {n: s for s, n in _STATE.items()})


class TrainerView(Protocol):
    """What a reader sees of one Trainer."""

    state: str
    ranks: frozenset[str]
    term: int
    version: int | None
    job: int
    publishing: int | None
    batch: str | None
    done: frozenset[str]
    unable: frozenset[str]
    digest: str | None


def snapshot_message(instance: Any) -> pb.TrainerSnapshot:
    """The message of a snapshot or of a live instance."""
    return pb.TrainerSnapshot(
        state=_STATE[instance.state],
        ranks=sorted(instance.ranks),
        term=instance.term,
        version=instance.version,
        job=instance.job,
        publishing=instance.publishing,
        batch=instance.batch,
        done=sorted(instance.done),
        unable=sorted(instance.unable),
        digest=instance.digest,
    )


def snapshot_values(message: pb.TrainerSnapshot) -> tuple[Any, ...]:
    """The state and the fields in order of declaration. Raises WireError."""
    return (
        _STATE_OF[message.state],
        frozenset(message.ranks),
        message.term,
        message.version if message.HasField("version") else None,
        message.job,
        message.publishing if message.HasField("publishing") else None,
        message.batch if message.HasField("batch") else None,
        frozenset(message.done),
        frozenset(message.unable),
        message.digest if message.HasField("digest") else None,
    )


def claim_event(request: pb.TrainerClaimRequest) -> Trainer.Claim:
    return Trainer.Claim.of_values(request.fence.term)


def train_event(request: pb.TrainerTrainRequest) -> Trainer.Train:
    return Trainer.Train.of_values(request.fence.term, request.batch)


def publish_event(request: pb.TrainerPublishRequest) -> Trainer.Publish:
    return Trainer.Publish.of_values(request.fence.term, request.version)


def save_event(request: pb.TrainerSaveRequest) -> Trainer.Save:
    return Trainer.Save.of_values(request.fence.term, request.path)


def load_event(request: pb.TrainerLoadRequest) -> Trainer.Load:
    return Trainer.Load.of_values(request.fence.term, request.path)


TRAINER: Wire[TrainerHandlers] = Wire(
    machine=Trainer,
    reply=pb.TrainerReply,
    transition=pb.TrainerTransition,
    snapshot=pb.TrainerSnapshot,
    states=_STATE_OF,
    to_message=snapshot_message,
    to_values=snapshot_values,
)


class TrainerHandlers(Protocol):
    """What a shell does for Trainer: a method per output, after the step, in order."""

    async def start_training(self, instance: str, job: int, batch: str) -> None:
        """Train one step on the batch, on every rank."""

    async def start_publishing(self, instance: str, job: int, version: int) -> None:
        """Publish the weights, on every rank."""

    async def start_saving(self, instance: str, job: int, path: str) -> None:
        """Save a checkpoint, on every rank."""

    async def start_loading(self, instance: str, job: int, path: str) -> None:
        """Load a checkpoint, on every rank."""


class TrainerServicer(Servicer, rpc.TrainerServicer):
    """Serves the instances of one host; its wire must be `TRAINER`."""

    SERVICE = "sluicegate.v1.Trainer"

    def add_to(self, server: aio.Server) -> None:
        rpc.add_TrainerServicer_to_server(self, server)

    async def Claim(self, request: pb.TrainerClaimRequest, context: Context) -> pb.TrainerReply:
        return await self._apply("Claim", claim_event, request, context)

    async def Train(self, request: pb.TrainerTrainRequest, context: Context) -> pb.TrainerReply:
        return await self._apply("Train", train_event, request, context)

    async def Publish(self, request: pb.TrainerPublishRequest, context: Context) -> pb.TrainerReply:
        return await self._apply("Publish", publish_event, request, context)

    async def Save(self, request: pb.TrainerSaveRequest, context: Context) -> pb.TrainerReply:
        return await self._apply("Save", save_event, request, context)

    async def Load(self, request: pb.TrainerLoadRequest, context: Context) -> pb.TrainerReply:
        return await self._apply("Load", load_event, request, context)

    async def Get(self, request: pb.TrainerGetRequest, context: Context) -> pb.TrainerReply:
        return await self._get(request, context)

    async def Watch(
        self, request: pb.TrainerWatchRequest, context: Context
    ) -> AsyncIterator[pb.TrainerTransition]:
        async for transition in self._watch(request, context):
            yield transition


class TrainerClient(Client[TrainerView]):
    """Speaks to one life of one Trainer."""

    WIRE = TRAINER
    STUB = rpc.TrainerStub

    async def claim(
        self, *, term: int, operation_id: str | None = None, deadline: float | None = None
    ) -> Reply[TrainerView]:
        """A controller of a higher term takes the trainer over."""
        request = pb.TrainerClaimRequest(instance=self._instance, fence=pb.TrainerTermFence(term=term))
        return await self._call("Claim", self._stub.Claim, request, operation_id, deadline)

    async def train(
        self, *, term: int, batch: str, operation_id: str | None = None, deadline: float | None = None
    ) -> Reply[TrainerView]:
        """Train one step on the batch of this id."""
        request = pb.TrainerTrainRequest(
            instance=self._instance,
            fence=pb.TrainerTermFence(term=term),
            batch=batch,
        )
        return await self._call("Train", self._stub.Train, request, operation_id, deadline)

    async def publish(
        self, *, term: int, version: int, operation_id: str | None = None, deadline: float | None = None
    ) -> Reply[TrainerView]:
        """Write the weights as this version, durably, with its manifest."""
        request = pb.TrainerPublishRequest(
            instance=self._instance,
            fence=pb.TrainerTermFence(term=term),
            version=version,
        )
        return await self._call("Publish", self._stub.Publish, request, operation_id, deadline)

    async def save(
        self, *, term: int, path: str, operation_id: str | None = None, deadline: float | None = None
    ) -> Reply[TrainerView]:
        """Write a checkpoint."""
        request = pb.TrainerSaveRequest(
            instance=self._instance,
            fence=pb.TrainerTermFence(term=term),
            path=path,
        )
        return await self._call("Save", self._stub.Save, request, operation_id, deadline)

    async def load(
        self, *, term: int, path: str, operation_id: str | None = None, deadline: float | None = None
    ) -> Reply[TrainerView]:
        """Read a checkpoint."""
        request = pb.TrainerLoadRequest(
            instance=self._instance,
            fence=pb.TrainerTermFence(term=term),
            path=path,
        )
        return await self._call("Load", self._stub.Load, request, operation_id, deadline)

    async def get(self, *, deadline: float | None = None) -> Seen[TrainerView]:
        """The instance as it is now. Raises Stale if it is not the client's life of it."""
        return await self._get(pb.TrainerGetRequest(instance=self._instance), deadline)

    def watch(self) -> AsyncGenerator[Seen[TrainerView], None]:
        """The instance as it is now, then each change. Raises Unreachable if it breaks off."""
        return self._watch(pb.TrainerWatchRequest(instance=self._instance))
