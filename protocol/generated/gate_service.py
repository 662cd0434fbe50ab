# Made by `sluicegate generate` from Gate; change the declaration, not this file.
"""Gate on the wire: conversions, handlers, servicer and client."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any, Protocol

from grpc import aio

from ...statemachines.gate import Gate, Mode
from ..client import Client, Reply, Seen
from ..servicer import Context, Servicer
from ..wire import Choices, Wire
from . import gate_pb2 as pb
from . import gate_pb2_grpc as rpc

_STATE: dict[str, pb.GateState] = {
    "SEALED": pb.GATE_STATE_SEALED,
    "DRAINING": pb.GATE_STATE_DRAINING,
    "INSTALLING": pb.GATE_STATE_INSTALLING,
    "REOPENED": pb.GATE_STATE_REOPENED,
    "OPEN": pb.GATE_STATE_OPEN,
    "POISONED": pb.GATE_STATE_POISONED,
}
_STATE_OF: Choices[str] = Choices("GateState", {n: s for s, n in _STATE.items()})
_MODE: dict[str, pb.GateMode] = {
    "wait": pb.GATE_MODE_WAIT,
    "abort": pb.GATE_MODE_ABORT,
    "keep": pb.GATE_MODE_KEEP,
}
_MODE_OF: Choices[Mode] = Choices("GateMode", {n: Mode(m) for m, n in _MODE.items()})


class GateView(Protocol):
    """What a reader sees of one Gate."""

    state: str
    ranks: frozenset[str]
    term: int
    epoch: int
    version: int | None
    target: int | None
    digests: Mapping[str, str]
    mode: Mode
    timer: int
    window: int
    active: frozenset[str]
    suspended: frozenset[str]
    orphaned: frozenset[str]
    quiet: frozenset[str]
    verified: frozenset[str]
    resident: bool
    lent: str | None


def snapshot_message(instance: Any) -> pb.GateSnapshot:
    """The message of a snapshot or of a live instance."""
    return pb.GateSnapshot(
        state=_STATE[instance.state],
        ranks=sorted(instance.ranks),
        term=instance.term,
        epoch=instance.epoch,
        version=instance.version,
        target=instance.target,
        digests=instance.digests,
        mode=_MODE[instance.mode],
        timer=instance.timer,
        window=instance.window,
        active=sorted(instance.active),
        suspended=sorted(instance.suspended),
        orphaned=sorted(instance.orphaned),
        quiet=sorted(instance.quiet),
        verified=sorted(instance.verified),
        resident=instance.resident,
        lent=instance.lent,
    )


def snapshot_values(message: pb.GateSnapshot) -> tuple[Any, ...]:
    """The state and the fields in order of declaration. Raises WireError."""
    return (
        _STATE_OF[message.state],
        frozenset(message.ranks),
        message.term,
        message.epoch,
        message.version if message.HasField("version") else None,
        message.target if message.HasField("target") else None,
        dict(message.digests),
        _MODE_OF[message.mode],
        message.timer,
        message.window,
        frozenset(message.active),
        frozenset(message.suspended),
        frozenset(message.orphaned),
        frozenset(message.quiet),
        frozenset(message.verified),
        message.resident,
        message.lent if message.HasField("lent") else None,
    )


def claim_event(request: pb.GateClaimRequest) -> Gate.Claim:
    return Gate.Claim.of_values(request.fence.term)


def seal_event(request: pb.GateSealRequest) -> Gate.Seal:
    return Gate.Seal.of_values(
        request.fence.term,
        request.fence.epoch,
        _MODE_OF[request.mode],
        request.window,
    )


def escalate_event(request: pb.GateEscalateRequest) -> Gate.Escalate:
    return Gate.Escalate.of_values(request.fence.term, request.fence.epoch, _MODE_OF[request.mode])


def drain_event(request: pb.GateDrainRequest) -> Gate.Drain:
    return Gate.Drain.of_values(request.fence.term, request.fence.epoch)


def lend_event(request: pb.GateLendRequest) -> Gate.Lend:
    return Gate.Lend.of_values(request.fence.term, request.fence.epoch, request.lend)


def returned_event(request: pb.GateReturnedRequest) -> Gate.Returned:
    return Gate.Returned.of_values(request.fence.term, request.fence.epoch, request.lend)


def renew_event(request: pb.GateRenewRequest) -> Gate.Renew:
    return Gate.Renew.of_values(request.fence.term, request.fence.epoch, request.window)


def install_event(request: pb.GateInstallRequest) -> Gate.Install:
    return Gate.Install.of_values(
        request.fence.term,
        request.fence.epoch,
        request.version,
        dict(request.digests),
    )


def reopen_event(request: pb.GateReopenRequest) -> Gate.Reopen:
    return Gate.Reopen.of_values(request.fence.term, request.fence.epoch)


def resume_event(request: pb.GateResumeRequest) -> Gate.Resume:
    return Gate.Resume.of_values(request.fence.term, request.fence.epoch)


def close_event(request: pb.GateCloseRequest) -> Gate.Close:
    return Gate.Close.of_values(request.fence.term, request.fence.epoch)


def poison_event(request: pb.GatePoisonRequest) -> Gate.Poison:
    return Gate.Poison.of_values(request.fence.term, request.why)


GATE: Wire[GateHandlers] = Wire(
    machine=Gate,
    reply=pb.GateReply,
    transition=pb.GateTransition,
    snapshot=pb.GateSnapshot,
    states=_STATE_OF,
    to_message=snapshot_message,
    to_values=snapshot_values,
)


class GateHandlers(Protocol):
    """What a shell does for Gate: a method per output, after the step, in order."""

    async def start_timer(self, instance: str, epoch: int, timer: int, window: int) -> None:
        """Raise Deadline(epoch, timer) after the window, if no other timer was started since."""

    async def start_drain(self, instance: str, epoch: int, mode: Mode) -> None:
        """Tell the engine to end (abort) or freeze (keep) what runs."""

    async def ask_quiesce(self, instance: str, epoch: int) -> None:
        """Ask every rank to answer once its device is idle; earlier questions no longer count."""

    async def start_install(self, instance: str, epoch: int, version: int) -> None:
        """Load the version on every rank and answer with what each then holds."""

    async def release_memory(self, instance: str, lend: str) -> None:
        """Free the device for the trainer."""

    async def thaw_all(self, instance: str, epoch: int, leases: frozenset[str]) -> None:
        """Continue these leases in the engine."""

    async def thaw(self, instance: str, epoch: int, lease: str) -> None:
        """Continue a lease that was frozen too late."""

    async def abort_suspended(self, instance: str, leases: frozenset[str]) -> None:
        """End these frozen leases as aborted, with the tokens that they have."""

    async def abort_late(self, instance: str, lease: str) -> None:
        """End a lease that froze after the poison as aborted."""


class GateServicer(Servicer, rpc.GateServicer):
    """Serves the instances of one host; its wire must be `GATE`."""

    SERVICE = "sluicegate.v1.Gate"

    def add_to(self, server: aio.Server) -> None:
        rpc.add_GateServicer_to_server(self, server)

    async def Claim(self, request: pb.GateClaimRequest, context: Context) -> pb.GateReply:
        return await self._apply("Claim", claim_event, request, context)

    async def Seal(self, request: pb.GateSealRequest, context: Context) -> pb.GateReply:
        return await self._apply("Seal", seal_event, request, context)

    async def Escalate(self, request: pb.GateEscalateRequest, context: Context) -> pb.GateReply:
        return await self._apply("Escalate", escalate_event, request, context)

    async def Drain(self, request: pb.GateDrainRequest, context: Context) -> pb.GateReply:
        return await self._apply("Drain", drain_event, request, context)

    async def Lend(self, request: pb.GateLendRequest, context: Context) -> pb.GateReply:
        return await self._apply("Lend", lend_event, request, context)

    async def Returned(self, request: pb.GateReturnedRequest, context: Context) -> pb.GateReply:
        return await self._apply("Returned", returned_event, request, context)

    async def Renew(self, request: pb.GateRenewRequest, context: Context) -> pb.GateReply:
        return await self._apply("Renew", renew_event, request, context)

    async def Install(self, request: pb.GateInstallRequest, context: Context) -> pb.GateReply:
        return await self._apply("Install", install_event, request, context)

    async def Reopen(self, request: pb.GateReopenRequest, context: Context) -> pb.GateReply:
        return await self._apply("Reopen", reopen_event, request, context)

    async def Resume(self, request: pb.GateResumeRequest, context: Context) -> pb.GateReply:
        return await self._apply("Resume", resume_event, request, context)

    async def Close(self, request: pb.GateCloseRequest, context: Context) -> pb.GateReply:
        return await self._apply("Close", close_event, request, context)

    async def Poison(self, request: pb.GatePoisonRequest, context: Context) -> pb.GateReply:
        return await self._apply("Poison", poison_event, request, context)

    async def Get(self, request: pb.GateGetRequest, context: Context) -> pb.GateReply:
        return await self._get(request, context)

    async def Watch(self, request: pb.GateWatchRequest, context: Context) -> AsyncIterator[pb.GateTransition]:
        async for transition in self._watch(request, context):
            yield transition


class GateClient(Client[GateView]):
    """Speaks to one life of one Gate."""

    WIRE = GATE
    STUB = rpc.GateStub

    async def claim(
        self, *, term: int, operation_id: str | None = None, deadline: float | None = None
    ) -> Reply[GateView]:
        """A controller of a higher term takes the gate over."""
        request = pb.GateClaimRequest(instance=self._instance, fence=pb.GateTermFence(term=term))
        return await self._call("Claim", self._stub.Claim, request, operation_id, deadline)

    async def seal(
        self,
        *,
        term: int,
        epoch: int,
        mode: Mode,
        window: int,
        operation_id: str | None = None,
        deadline: float | None = None,
    ) -> Reply[GateView]:
        """Admit nothing more; the window bounds how long the gate may stay closed."""
        request = pb.GateSealRequest(
            instance=self._instance,
            fence=pb.GateTermEpochFence(term=term, epoch=epoch),
            mode=_MODE[mode],
            window=window,
        )
        return await self._call("Seal", self._stub.Seal, request, operation_id, deadline)

    async def escalate(
        self,
        *,
        term: int,
        epoch: int,
        mode: Mode,
        operation_id: str | None = None,
        deadline: float | None = None,
    ) -> Reply[GateView]:
        """Stop waiting for leases: abort or keep them."""
        request = pb.GateEscalateRequest(
            instance=self._instance,
            fence=pb.GateTermEpochFence(term=term, epoch=epoch),
            mode=_MODE[mode],
        )
        return await self._call("Escalate", self._stub.Escalate, request, operation_id, deadline)

    async def drain(
        self, *, term: int, epoch: int, operation_id: str | None = None, deadline: float | None = None
    ) -> Reply[GateView]:
        """Bring the leases to an end by the mode, then the device to rest."""
        request = pb.GateDrainRequest(
            instance=self._instance,
            fence=pb.GateTermEpochFence(term=term, epoch=epoch),
        )
        return await self._call("Drain", self._stub.Drain, request, operation_id, deadline)

    async def lend(
        self,
        *,
        term: int,
        epoch: int,
        lend: str,
        operation_id: str | None = None,
        deadline: float | None = None,
    ) -> Reply[GateView]:
        """Give the device to the trainer."""
        request = pb.GateLendRequest(
            instance=self._instance,
            fence=pb.GateTermEpochFence(term=term, epoch=epoch),
            lend=lend,
        )
        return await self._call("Lend", self._stub.Lend, request, operation_id, deadline)

    async def returned(
        self,
        *,
        term: int,
        epoch: int,
        lend: str,
        operation_id: str | None = None,
        deadline: float | None = None,
    ) -> Reply[GateView]:
        """The trainer no longer uses the device."""
        request = pb.GateReturnedRequest(
            instance=self._instance,
            fence=pb.GateTermEpochFence(term=term, epoch=epoch),
            lend=lend,
        )
        return await self._call("Returned", self._stub.Returned, request, operation_id, deadline)

    async def renew(
        self,
        *,
        term: int,
        epoch: int,
        window: int,
        operation_id: str | None = None,
        deadline: float | None = None,
    ) -> Reply[GateView]:
        """Replace the timer by a new one."""
        request = pb.GateRenewRequest(
            instance=self._instance,
            fence=pb.GateTermEpochFence(term=term, epoch=epoch),
            window=window,
        )
        return await self._call("Renew", self._stub.Renew, request, operation_id, deadline)

    async def install(
        self,
        *,
        term: int,
        epoch: int,
        version: int,
        digests: Mapping[str, str],
        operation_id: str | None = None,
        deadline: float | None = None,
    ) -> Reply[GateView]:
        """Load a version; digests name what every rank must hold afterwards."""
        request = pb.GateInstallRequest(
            instance=self._instance,
            fence=pb.GateTermEpochFence(term=term, epoch=epoch),
            version=version,
            digests=digests,
        )
        return await self._call("Install", self._stub.Install, request, operation_id, deadline)

    async def reopen(
        self, *, term: int, epoch: int, operation_id: str | None = None, deadline: float | None = None
    ) -> Reply[GateView]:
        """Serve again after an install."""
        request = pb.GateReopenRequest(
            instance=self._instance,
            fence=pb.GateTermEpochFence(term=term, epoch=epoch),
        )
        return await self._call("Reopen", self._stub.Reopen, request, operation_id, deadline)

    async def resume(
        self, *, term: int, epoch: int, operation_id: str | None = None, deadline: float | None = None
    ) -> Reply[GateView]:
        """Reopen on the weights that are resident."""
        request = pb.GateResumeRequest(
            instance=self._instance,
            fence=pb.GateTermEpochFence(term=term, epoch=epoch),
        )
        return await self._call("Resume", self._stub.Resume, request, operation_id, deadline)

    async def close(
        self, *, term: int, epoch: int, operation_id: str | None = None, deadline: float | None = None
    ) -> Reply[GateView]:
        """The operation is over: from reopened to open."""
        request = pb.GateCloseRequest(
            instance=self._instance,
            fence=pb.GateTermEpochFence(term=term, epoch=epoch),
        )
        return await self._call("Close", self._stub.Close, request, operation_id, deadline)

    async def poison(
        self, *, term: int, why: str, operation_id: str | None = None, deadline: float | None = None
    ) -> Reply[GateView]:
        """A controller gives the replica up."""
        request = pb.GatePoisonRequest(instance=self._instance, fence=pb.GateTermFence(term=term), why=why)
        return await self._call("Poison", self._stub.Poison, request, operation_id, deadline)

    async def get(self, *, deadline: float | None = None) -> Seen[GateView]:
        """The instance as it is now. Raises Stale if it is not the client's life of it."""
        return await self._get(pb.GateGetRequest(instance=self._instance), deadline)

    def watch(self) -> AsyncGenerator[Seen[GateView], None]:
        """The instance as it is now, then each change. Raises Unreachable if it breaks off."""
        return self._watch(pb.GateWatchRequest(instance=self._instance))
