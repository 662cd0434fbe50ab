# Made by `sluicegate generate` from Sync; change the declaration, not this file.
"""Sync on the wire: conversions, handlers, servicer and client."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, Protocol

from grpc import aio

from ...statemachines.sync import Mode, Sync
from ..client import Client, Reply, Seen
from ..servicer import Context, Servicer
from ..wire import Choices, Wire
from . import sync_pb2 as pb
from . import sync_pb2_grpc as rpc

_STATE: dict[str, pb.SyncState] = {
    "IDLE": pb.SYNC_STATE_IDLE,
    "SEALING": pb.SYNC_STATE_SEALING,
    "DRAINING": pb.SYNC_STATE_DRAINING,
    "LENT": pb.SYNC_STATE_LENT,
    "INSTALLING": pb.SYNC_STATE_INSTALLING,
    "RECORDING": pb.SYNC_STATE_RECORDING,
    "REOPENING": pb.SYNC_STATE_REOPENING,
    "ROLLING_BACK": pb.SYNC_STATE_ROLLING_BACK,
    "FAILED": pb.SYNC_STATE_FAILED,
}
_STATE_OF: Choices[str] = Choices("SyncState", {n: s for s, n in _STATE.items()})
_MODE: dict[str, pb.SyncMode] = {
    "wait": pb.SYNC_MODE_WAIT,
    "abort": pb.SYNC_MODE_ABORT,
    "keep": pb.SYNC_MODE_KEEP,
}
_MODE_OF: Choices[Mode] = Choices("SyncMode", {n: Mode(m) for m, n in _MODE.items()})


class SyncView(Protocol):
    """What a reader sees of one Sync."""

    state: str
    term: int
    minimum: int
    epoch: int
    published: int | None
    version: int | None
    mode: Mode
    lend: bool
    members: frozenset[str]
    answered: frozenset[str]
    refusing: frozenset[str]


def snapshot_message(instance: Any) -> pb.SyncSnapshot:
    """The message of a snapshot or of a live instance."""
    return pb.SyncSnapshot(
        state=_STATE[instance.state],
        term=instance.term,
        minimum=instance.minimum,
        epoch=instance.epoch,
        published=instance.published,
        version=instance.version,
        mode=_MODE[instance.mode],
        lend=instance.lend,
        members=sorted(instance.members),
        answered=sorted(instance.answered),
        refusing=sorted(instance.refusing),
    )


def snapshot_values(message: pb.SyncSnapshot) -> tuple[Any, ...]:
    """The state and the fields in order of declaration. Raises WireError."""
    return (
        _STATE_OF[message.state],
        message.term,
        message.minimum,
        message.epoch,
        message.published if message.HasField("published") else None,
        message.version if message.HasField("version") else None,
        _MODE_OF[message.mode],
        message.lend,
        frozenset(message.members),
        frozenset(message.answered),
        frozenset(message.refusing),
    )


SYNC: Wire[SyncHandlers] = Wire(
    machine=Sync,
    reply=pb.SyncReply,
    transition=pb.SyncTransition,
    snapshot=pb.SyncSnapshot,
    states=_STATE_OF,
    to_message=snapshot_message,
    to_values=snapshot_values,
)


class SyncHandlers(Protocol):
    """What a shell does for Sync: a method per output, after the step, in order."""

    async def send_seal(self, instance: str, epoch: int, members: frozenset[str], mode: Mode) -> None:
        """Seal every member."""

    async def send_drain(self, instance: str, epoch: int, members: frozenset[str]) -> None:
        """Drain every member, and watch until its gate is drained."""

    async def send_lend(self, instance: str, epoch: int, members: frozenset[str]) -> None:
        """Lend every member's device to the trainer, and renew while it trains."""

    async def send_install(self, instance: str, epoch: int, members: frozenset[str], version: int) -> None:
        """Install on every member."""

    async def record(self, instance: str, version: int) -> None:
        """Write `published = version` durably, conditional on the term."""

    async def send_reopen(self, instance: str, epoch: int, members: frozenset[str]) -> None:
        """Reopen and close every member."""

    async def send_resume(self, instance: str, epoch: int, members: frozenset[str]) -> None:
        """Resume and close every member on the old version."""

    async def announce(self, instance: str, version: int) -> None:
        """The version is published and every member is open."""

    async def report(self, instance: str, epoch: int) -> None:
        """The operation has failed; the members are open on the old version."""


class SyncServicer(Servicer, rpc.SyncServicer):
    """Serves the instances of one host; its wire must be `SYNC`."""

    SERVICE = "sluicegate.v1.Sync"

    def add_to(self, server: aio.Server) -> None:
        rpc.add_SyncServicer_to_server(self, server)

    async def Get(self, request: pb.SyncGetRequest, context: Context) -> pb.SyncReply:
        return await self._get(request, context)

    async def Watch(self, request: pb.SyncWatchRequest, context: Context) -> AsyncIterator[pb.SyncTransition]:
        async for transition in self._watch(request, context):
            yield transition


class SyncClient(Client[SyncView]):
    """Speaks to one life of one Sync."""

    WIRE = SYNC
    STUB = rpc.SyncStub

    async def get(self, *, deadline: float | None = None) -> Seen[SyncView]:
        """The instance as it is now. Raises Stale if it is not the client's life of it."""
        return await self._get(pb.SyncGetRequest(instance=self._instance), deadline)

    def watch(self) -> AsyncGenerator[Seen[SyncView], None]:
        """The instance as it is now, then each change. Raises Unreachable if it breaks off."""
        return self._watch(pb.SyncWatchRequest(instance=self._instance))
