# Made by `sluicegate generate` from Session; change the declaration, not this file.
"""Session on the wire: conversions, handlers, servicer and client."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, Protocol

from grpc import aio

from ...statemachines.session import Rebinding, Session
from ..client import Client, Reply, Seen
from ..servicer import Context, Servicer
from ..wire import Choices, Wire
from . import session_pb2 as pb
from . import session_pb2_grpc as rpc

_STATE: dict[str, pb.SessionState] = {
    "NEW": pb.SESSION_STATE_NEW,
    "BINDING": pb.SESSION_STATE_BINDING,
    "BOUND": pb.SESSION_STATE_BOUND,
    "TURN": pb.SESSION_STATE_TURN,
    "FINISHED": pb.SESSION_STATE_FINISHED,
    "TRAINING": pb.SESSION_STATE_TRAINING,
    "RETIRING": pb.SESSION_STATE_RETIRING,
    "RETIRED": pb.SESSION_STATE_RETIRED,
    "LOST": pb.SESSION_STATE_LOST,
}
_STATE_OF: Choices[str] = Choices("SessionState", {n: s for s, n in _STATE.items()})
_REBINDING: dict[str, pb.SessionRebinding] = {
    "never": pb.SESSION_REBINDING_NEVER,
    "on_loss": pb.SESSION_REBINDING_ON_LOSS,
    "on_evacuation": pb.SESSION_REBINDING_ON_EVACUATION,
}
_REBINDING_OF: Choices[Rebinding] = Choices(
    "SessionRebinding",
    {n: Rebinding(m) for m, n in _REBINDING.items()},
)


class SessionView(Protocol):
    """What a reader sees of one Session."""

    state: str
    policy: Rebinding
    leases: frozenset[str]
    replica: str | None
    incarnation: str | None
    binding: int
    consumer: str | None


def snapshot_message(instance: Any) -> pb.SessionSnapshot:
    """The message of a snapshot or of a live instance."""
    return pb.SessionSnapshot(
        state=_STATE[instance.state],
        policy=_REBINDING[instance.policy],
        leases=sorted(instance.leases),
        replica=instance.replica,
        incarnation=instance.incarnation,
        binding=instance.binding,
        consumer=instance.consumer,
    )


def snapshot_values(message: pb.SessionSnapshot) -> tuple[Any, ...]:
    """The state and the fields in order of declaration. Raises WireError."""
    return (
        _STATE_OF[message.state],
        _REBINDING_OF[message.policy],
        frozenset(message.leases),
        message.replica if message.HasField("replica") else None,
        message.incarnation if message.HasField("incarnation") else None,
        message.binding,
        message.consumer if message.HasField("consumer") else None,
    )


def finish_event(request: pb.SessionFinishRequest) -> Session.Finish:
    return Session.Finish.of_values()


def take_event(request: pb.SessionTakeRequest) -> Session.Take:
    return Session.Take.of_values(request.consumer)


def release_event(request: pb.SessionReleaseRequest) -> Session.Release:
    return Session.Release.of_values(request.consumer)


def retire_event(request: pb.SessionRetireRequest) -> Session.Retire:
    return Session.Retire.of_values()


def rebind_event(request: pb.SessionRebindRequest) -> Session.Rebind:
    return Session.Rebind.of_values(request.replica, request.incarnation)


SESSION: Wire[SessionHandlers] = Wire(
    machine=Session,
    reply=pb.SessionReply,
    transition=pb.SessionTransition,
    snapshot=pb.SessionSnapshot,
    states=_STATE_OF,
    to_message=snapshot_message,
    to_values=snapshot_values,
)


class SessionHandlers(Protocol):
    """What a shell does for Session: a method per output, after the step, in order."""

    async def settle_not_sent(self, instance: str, leases: frozenset[str]) -> None:
        """Settle these leases as not sent: they were never forwarded."""

    async def free_trace(self, instance: str) -> None:
        """Nobody reads the trace any more."""


class SessionServicer(Servicer, rpc.SessionServicer):
    """Serves the instances of one host; its wire must be `SESSION`."""

    SERVICE = "sluicegate.v1.Session"

    def add_to(self, server: aio.Server) -> None:
        rpc.add_SessionServicer_to_server(self, server)

    async def Finish(self, request: pb.SessionFinishRequest, context: Context) -> pb.SessionReply:
        return await self._apply("Finish", finish_event, request, context)

    async def Take(self, request: pb.SessionTakeRequest, context: Context) -> pb.SessionReply:
        return await self._apply("Take", take_event, request, context)

    async def Release(self, request: pb.SessionReleaseRequest, context: Context) -> pb.SessionReply:
        return await self._apply("Release", release_event, request, context)

    async def Retire(self, request: pb.SessionRetireRequest, context: Context) -> pb.SessionReply:
        return await self._apply("Retire", retire_event, request, context)

    async def Rebind(self, request: pb.SessionRebindRequest, context: Context) -> pb.SessionReply:
        return await self._apply("Rebind", rebind_event, request, context)

    async def Get(self, request: pb.SessionGetRequest, context: Context) -> pb.SessionReply:
        return await self._get(request, context)

    async def Watch(
        self, request: pb.SessionWatchRequest, context: Context
    ) -> AsyncIterator[pb.SessionTransition]:
        async for transition in self._watch(request, context):
            yield transition


class SessionClient(Client[SessionView]):
    """Speaks to one life of one Session."""

    WIRE = SESSION
    STUB = rpc.SessionStub

    async def finish(
        self, *, operation_id: str | None = None, deadline: float | None = None
    ) -> Reply[SessionView]:
        """The conversation is complete: its trace can be read."""
        request = pb.SessionFinishRequest(instance=self._instance, fence=pb.SessionFence())
        return await self._call("Finish", self._stub.Finish, request, operation_id, deadline)

    async def take(
        self, *, consumer: str, operation_id: str | None = None, deadline: float | None = None
    ) -> Reply[SessionView]:
        """A consumer begins to read the trace."""
        request = pb.SessionTakeRequest(instance=self._instance, fence=pb.SessionFence(), consumer=consumer)
        return await self._call("Take", self._stub.Take, request, operation_id, deadline)

    async def release(
        self, *, consumer: str, operation_id: str | None = None, deadline: float | None = None
    ) -> Reply[SessionView]:
        """The consumer has read the trace: it may be freed."""
        request = pb.SessionReleaseRequest(
            instance=self._instance,
            fence=pb.SessionFence(),
            consumer=consumer,
        )
        return await self._call("Release", self._stub.Release, request, operation_id, deadline)

    async def retire(
        self, *, operation_id: str | None = None, deadline: float | None = None
    ) -> Reply[SessionView]:
        """The session is over, whatever it was doing."""
        request = pb.SessionRetireRequest(instance=self._instance, fence=pb.SessionFence())
        return await self._call("Retire", self._stub.Retire, request, operation_id, deadline)

    async def rebind(
        self,
        *,
        replica: str,
        incarnation: str,
        operation_id: str | None = None,
        deadline: float | None = None,
    ) -> Reply[SessionView]:
        """Move the session to another replica, by policy."""
        request = pb.SessionRebindRequest(
            instance=self._instance,
            fence=pb.SessionFence(),
            replica=replica,
            incarnation=incarnation,
        )
        return await self._call("Rebind", self._stub.Rebind, request, operation_id, deadline)

    async def get(self, *, deadline: float | None = None) -> Seen[SessionView]:
        """The instance as it is now. Raises Stale if it is not the client's life of it."""
        return await self._get(pb.SessionGetRequest(instance=self._instance), deadline)

    def watch(self) -> AsyncGenerator[Seen[SessionView], None]:
        """The instance as it is now, then each change. Raises Unreachable if it breaks off."""
        return self._watch(pb.SessionWatchRequest(instance=self._instance))
