# Made by `sluicegate generate` from Replica; change the declaration, not this file.
"""Replica on the wire: conversions, handlers, servicer and client."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, Protocol

from grpc import aio

from ...statemachines.replica import Replica
from ..client import Client, Reply, Seen
from ..servicer import Context, Servicer
from ..wire import Choices, Wire
from . import replica_pb2 as pb
from . import replica_pb2_grpc as rpc

_STATE: dict[str, pb.ReplicaState] = {
    "STARTING": pb.REPLICA_STATE_STARTING,
    "SYNCING": pb.REPLICA_STATE_SYNCING,
    "SERVING": pb.REPLICA_STATE_SERVING,
    "SUSPECT": pb.REPLICA_STATE_SUSPECT,
    "LEAVING": pb.REPLICA_STATE_LEAVING,
    "DEAD": pb.REPLICA_STATE_DEAD,
}
_STATE_OF: Choices[str] = Choices("ReplicaState", {n: s for s, n in _STATE.items()})


class ReplicaView(Protocol):
    """What a reader sees of one Replica."""

    state: str
    patience: int
    version: int | None
    missed_probes: int
    installing: bool


def snapshot_message(instance: Any) -> pb.ReplicaSnapshot:
    """The message of a snapshot or of a live instance."""
    return pb.ReplicaSnapshot(
        state=_STATE[instance.state],
        patience=instance.patience,
        version=instance.version,
        missed_probes=instance.missed_probes,
        installing=instance.installing,
    )


def snapshot_values(message: pb.ReplicaSnapshot) -> tuple[Any, ...]:
    """The state and the fields in order of declaration. Raises WireError."""
    return (
        _STATE_OF[message.state],
        message.patience,
        message.version if message.HasField("version") else None,
        message.missed_probes,
        message.installing,
    )


def leave_event(request: pb.ReplicaLeaveRequest) -> Replica.Leave:
    return Replica.Leave.of_values()


REPLICA: Wire[ReplicaHandlers] = Wire(
    machine=Replica,
    reply=pb.ReplicaReply,
    transition=pb.ReplicaTransition,
    snapshot=pb.ReplicaSnapshot,
    states=_STATE_OF,
    to_message=snapshot_message,
    to_values=snapshot_values,
)


class ReplicaHandlers(Protocol):
    """What a shell does for Replica: a method per output, after the step, in order."""

    async def stop_process(self, instance: str) -> None:
        """End its process, and prove that it has ended."""

    async def replace(self, instance: str) -> None:
        """Its sessions are lost; start a new incarnation."""

    async def evacuate(self, instance: str) -> None:
        """Bind nothing to it; move or end its sessions."""


class ReplicaServicer(Servicer, rpc.ReplicaServicer):
    """Serves the instances of one host; its wire must be `REPLICA`."""

    SERVICE = "sluicegate.v1.Replica"

    def add_to(self, server: aio.Server) -> None:
        rpc.add_ReplicaServicer_to_server(self, server)

    async def Leave(self, request: pb.ReplicaLeaveRequest, context: Context) -> pb.ReplicaReply:
        return await self._apply("Leave", leave_event, request, context)

    async def Get(self, request: pb.ReplicaGetRequest, context: Context) -> pb.ReplicaReply:
        return await self._get(request, context)

    async def Watch(
        self, request: pb.ReplicaWatchRequest, context: Context
    ) -> AsyncIterator[pb.ReplicaTransition]:
        async for transition in self._watch(request, context):
            yield transition


class ReplicaClient(Client[ReplicaView]):
    """Speaks to one life of one Replica."""

    WIRE = REPLICA
    STUB = rpc.ReplicaStub

    async def leave(
        self, *, operation_id: str | None = None, deadline: float | None = None
    ) -> Reply[ReplicaView]:
        """The replica is to leave as planned."""
        request = pb.ReplicaLeaveRequest(instance=self._instance, fence=pb.ReplicaFence())
        return await self._call("Leave", self._stub.Leave, request, operation_id, deadline)

    async def get(self, *, deadline: float | None = None) -> Seen[ReplicaView]:
        """The instance as it is now. Raises Stale if it is not the client's life of it."""
        return await self._get(pb.ReplicaGetRequest(instance=self._instance), deadline)

    def watch(self) -> AsyncGenerator[Seen[ReplicaView], None]:
        """The instance as it is now, then each change. Raises Unreachable if it breaks off."""
        return self._watch(pb.ReplicaWatchRequest(instance=self._instance))
