# Made by `sluicegate generate` from Agents; change the declaration, not this file.
"""Agents on the wire: conversions, handlers, servicer and client."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, Protocol

from grpc import aio

from ...statemachines.agents import Agents
from ..client import Client, Reply, Seen
from ..servicer import Context, Servicer
from ..wire import Choices, Wire
from . import agents_pb2 as pb
from . import agents_pb2_grpc as rpc

_STATE: dict[str, pb.AgentsState] = {
    "FLOWING": pb.AGENTS_STATE_FLOWING,
    "PAUSING": pb.AGENTS_STATE_PAUSING,
    "QUIET": pb.AGENTS_STATE_QUIET,
    "CLOSED": pb.AGENTS_STATE_CLOSED,
}
_STATE_OF: Choices[str] = Choices("AgentsState", {n: s for s, n in _STATE.items()})


class AgentsView(Protocol):
    """What a reader sees of one Agents."""

    state: str
    turns: frozenset[str]


def snapshot_message(instance: Any) -> pb.AgentsSnapshot:
    """The message of a snapshot or of a live instance."""
    return pb.AgentsSnapshot(state=_STATE[instance.state], turns=sorted(instance.turns))


def snapshot_values(message: pb.AgentsSnapshot) -> tuple[Any, ...]:
    """The state and the fields in order of declaration. Raises WireError."""
    return (
        _STATE_OF[message.state],
        frozenset(message.turns),
    )


AGENTS: Wire[AgentsHandlers] = Wire(
    machine=Agents,
    reply=pb.AgentsReply,
    transition=pb.AgentsTransition,
    snapshot=pb.AgentsSnapshot,
    states=_STATE_OF,
    to_message=snapshot_message,
    to_values=snapshot_values,
)


class AgentsHandlers(Protocol):
    """What a shell does for Agents: a method per output, after the step, in order."""

    async def rests(self, instance: str) -> None:
        """No turn runs, and none begins before the pause is over."""

    async def flows(self, instance: str) -> None:
        """Turns may begin again: those who wait are let in."""


class AgentsServicer(Servicer, rpc.AgentsServicer):
    """Serves the instances of one host; its wire must be `AGENTS`."""

    SERVICE = "sluicegate.v1.Agents"

    def add_to(self, server: aio.Server) -> None:
        rpc.add_AgentsServicer_to_server(self, server)

    async def Get(self, request: pb.AgentsGetRequest, context: Context) -> pb.AgentsReply:
        return await self._get(request, context)

    async def Watch(
        self, request: pb.AgentsWatchRequest, context: Context
    ) -> AsyncIterator[pb.AgentsTransition]:
        async for transition in self._watch(request, context):
            yield transition


class AgentsClient(Client[AgentsView]):
    """Speaks to one life of one Agents."""

    WIRE = AGENTS
    STUB = rpc.AgentsStub

    async def get(self, *, deadline: float | None = None) -> Seen[AgentsView]:
        """The instance as it is now. Raises Stale if it is not the client's life of it."""
        return await self._get(pb.AgentsGetRequest(instance=self._instance), deadline)

    def watch(self) -> AsyncGenerator[Seen[AgentsView], None]:
        """The instance as it is now, then each change. Raises Unreachable if it breaks off."""
        return self._watch(pb.AgentsWatchRequest(instance=self._instance))
