# Made by `sluicegate generate` from Lease; change the declaration, not this file.
"""Lease on the wire: conversions, handlers, servicer and client."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any, Protocol

from grpc import aio

from ...statemachines.lease import Ending, Lease
from ..client import Client, Reply, Seen
from ..servicer import Context, Servicer
from ..wire import Choices, Wire
from . import lease_pb2 as pb
from . import lease_pb2_grpc as rpc

_STATE: dict[str, pb.LeaseState] = {
    "ADMITTED": pb.LEASE_STATE_ADMITTED,
    "FORWARDED": pb.LEASE_STATE_FORWARDED,
    "SUSPENDED": pb.LEASE_STATE_SUSPENDED,
    "ENDED": pb.LEASE_STATE_ENDED,
    "ORPHANED": pb.LEASE_STATE_ORPHANED,
    "SETTLED": pb.LEASE_STATE_SETTLED,
    "LOST": pb.LEASE_STATE_LOST,
}
_STATE_OF: Choices[str] = Choices("LeaseState", {n: s for s, n in _STATE.items()})
_ENDING: dict[str, pb.LeaseEnding] = {
    "completed": pb.LEASE_ENDING_COMPLETED,
    "failed": pb.LEASE_ENDING_FAILED,
    "aborted": pb.LEASE_ENDING_ABORTED,
    "not_sent": pb.LEASE_ENDING_NOT_SENT,
    "discarded": pb.LEASE_ENDING_DISCARDED,
}
_ENDING_OF: Choices[Ending] = Choices("LeaseEnding", {n: Ending(m) for m, n in _ENDING.items()})


class LeaseView(Protocol):
    """What a reader sees of one Lease."""

    state: str
    session: str
    spans: Mapping[int, int]
    ending: Ending


def snapshot_message(instance: Any) -> pb.LeaseSnapshot:
    """The message of a snapshot or of a live instance."""
    return pb.LeaseSnapshot(
        state=_STATE[instance.state],
        session=instance.session,
        spans=instance.spans,
        ending=_ENDING[instance.ending],
    )


def snapshot_values(message: pb.LeaseSnapshot) -> tuple[Any, ...]:
    """The state and the fields in order of declaration. Raises WireError."""
    return (
        _STATE_OF[message.state],
        message.session,
        dict(message.spans),
        _ENDING_OF[message.ending],
    )


def cancel_event(request: pb.LeaseCancelRequest) -> Lease.Cancel:
    return Lease.Cancel.of_values()


LEASE: Wire[LeaseHandlers] = Wire(
    machine=Lease,
    reply=pb.LeaseReply,
    transition=pb.LeaseTransition,
    snapshot=pb.LeaseSnapshot,
    states=_STATE_OF,
    to_message=snapshot_message,
    to_values=snapshot_values,
)


class LeaseHandlers(Protocol):
    """What a shell does for Lease: a method per output, after the step, in order."""

    async def abort_request(self, instance: str) -> None:
        """Tell the engine to end the request."""

    async def reconcile(self, instance: str) -> None:
        """Find out what became of the request, within a bound."""

    async def receipt(self, instance: str, ending: Ending, spans: Mapping[int, int]) -> None:
        """The one receipt of the request."""


class LeaseServicer(Servicer, rpc.LeaseServicer):
    """Serves the instances of one host; its wire must be `LEASE`."""

    SERVICE = "sluicegate.v1.Lease"

    def add_to(self, server: aio.Server) -> None:
        rpc.add_LeaseServicer_to_server(self, server)

    async def Cancel(self, request: pb.LeaseCancelRequest, context: Context) -> pb.LeaseReply:
        return await self._apply("Cancel", cancel_event, request, context)

    async def Get(self, request: pb.LeaseGetRequest, context: Context) -> pb.LeaseReply:
        return await self._get(request, context)

    async def Watch(
        self, request: pb.LeaseWatchRequest, context: Context
    ) -> AsyncIterator[pb.LeaseTransition]:
        async for transition in self._watch(request, context):
            yield transition


class LeaseClient(Client[LeaseView]):
    """Speaks to one life of one Lease."""

    WIRE = LEASE
    STUB = rpc.LeaseStub

    async def cancel(
        self, *, operation_id: str | None = None, deadline: float | None = None
    ) -> Reply[LeaseView]:
        """The client no longer wants the answer."""
        request = pb.LeaseCancelRequest(instance=self._instance, fence=pb.LeaseFence())
        return await self._call("Cancel", self._stub.Cancel, request, operation_id, deadline)

    async def get(self, *, deadline: float | None = None) -> Seen[LeaseView]:
        """The instance as it is now. Raises Stale if it is not the client's life of it."""
        return await self._get(pb.LeaseGetRequest(instance=self._instance), deadline)

    def watch(self) -> AsyncGenerator[Seen[LeaseView], None]:
        """The instance as it is now, then each change. Raises Unreachable if it breaks off."""
        return self._watch(pb.LeaseWatchRequest(instance=self._instance))
