# Made by `sluicegate generate` from Production; change the declaration, not this file.
"""Production on the wire: conversions, handlers, servicer and client."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, Protocol

from grpc import aio

from ...statemachines.production import Production
from ..client import Client, Reply, Seen
from ..servicer import Context, Servicer
from ..wire import Choices, Wire
from . import production_pb2 as pb
from . import production_pb2_grpc as rpc

_STATE: dict[str, pb.ProductionState] = {
    "STOPPED": pb.PRODUCTION_STATE_STOPPED,
    "RUNNING": pb.PRODUCTION_STATE_RUNNING,
    "CLOSED": pb.PRODUCTION_STATE_CLOSED,
}
_STATE_OF: Choices[str] = Choices("ProductionState", {n: s for s, n in _STATE.items()})


class ProductionView(Protocol):
    """What a reader sees of one Production."""

    state: str
    next_group: int
    again: frozenset[int]
    in_flight: frozenset[int]
    ready: frozenset[int]
    claimed: frozenset[int]


def snapshot_message(instance: Any) -> pb.ProductionSnapshot:
    """The message of a snapshot or of a live instance."""
    return pb.ProductionSnapshot(
        state=_STATE[instance.state],
        next_group=instance.next_group,
        again=sorted(instance.again),
        in_flight=sorted(instance.in_flight),
        ready=sorted(instance.ready),
        claimed=sorted(instance.claimed),
    )


def snapshot_values(message: pb.ProductionSnapshot) -> tuple[Any, ...]:
    """The state and the fields in order of declaration. Raises WireError."""
    return (
        _STATE_OF[message.state],
        message.next_group,
        frozenset(message.again),
        frozenset(message.in_flight),
        frozenset(message.ready),
        frozenset(message.claimed),
    )


PRODUCTION: Wire[ProductionHandlers] = Wire(
    machine=Production,
    reply=pb.ProductionReply,
    transition=pb.ProductionTransition,
    snapshot=pb.ProductionSnapshot,
    states=_STATE_OF,
    to_message=snapshot_message,
    to_values=snapshot_values,
)


class ProductionHandlers(Protocol):
    """What a shell does for Production: a method per output, after the step, in order."""


class ProductionServicer(Servicer, rpc.ProductionServicer):
    """Serves the instances of one host; its wire must be `PRODUCTION`."""

    SERVICE = "sluicegate.v1.Production"

    def add_to(self, server: aio.Server) -> None:
        rpc.add_ProductionServicer_to_server(self, server)

    async def Get(self, request: pb.ProductionGetRequest, context: Context) -> pb.ProductionReply:
        return await self._get(request, context)

    async def Watch(
        self, request: pb.ProductionWatchRequest, context: Context
    ) -> AsyncIterator[pb.ProductionTransition]:
        async for transition in self._watch(request, context):
            yield transition


class ProductionClient(Client[ProductionView]):
    """Speaks to one life of one Production."""

    WIRE = PRODUCTION
    STUB = rpc.ProductionStub

    async def get(self, *, deadline: float | None = None) -> Seen[ProductionView]:
        """The instance as it is now. Raises Stale if it is not the client's life of it."""
        return await self._get(pb.ProductionGetRequest(instance=self._instance), deadline)

    def watch(self) -> AsyncGenerator[Seen[ProductionView], None]:
        """The instance as it is now, then each change. Raises Unreachable if it breaks off."""
        return self._watch(pb.ProductionWatchRequest(instance=self._instance))
