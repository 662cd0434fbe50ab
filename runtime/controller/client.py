"""Whoever asks a controller: operations by id, asked again until one answer arrives, whichever controller rules.

Rules of this file:

- A call has one deadline for all its tries. While no answer arrives it is tried again with the same operation
  id, where the ruling controller then answers; an answer is never asked for again.
- An operation id is the caller's to keep: with it the same operation is asked about later.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from grpc import StatusCode, aio

from ...protocol.client import NO_ANSWER, CallError, Rejected, Retry, Unreachable, dial, told
from ...protocol.generated import controller_pb2 as pb
from ...protocol.generated import controller_pb2_grpc as rpc
from ...protocol.refusals import detail
from ...statemachines.sorts import Mode
from .roster import Roster

OVERRULED = "OVERRULED"
"""The reason of a controller that a higher term overruled: the one that rules is to be asked."""

TRY_S = 15.0
"""The longest that one try waits: an operation goes on meanwhile, and the next try joins it."""

_DRAINS = {None: pb.DRAIN_UNSPECIFIED, Mode.WAIT: pb.DRAIN_WAIT, Mode.ABORT: pb.DRAIN_ABORT, Mode.KEEP: pb.DRAIN_KEEP}


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of an operation: `result` is published, paused, resumed, lent, poisoned or evacuated.

    `version` is what is published, `left_behind` has the replicas that it went on without, and why; `replayed`:
    it is the answer of an earlier call.
    """

    operation_id: str
    result: str
    text: str
    term: int
    epoch: int
    version: int | None
    left_behind: Mapping[str, str]
    replayed: bool


class OperationFailed(CallError):
    """The operation was refused, or ended without what was asked for; `begun` says which.

    `reason` is a name for programs. With `retry` a new operation, with a new id, may be taken later.
    """

    def __init__(self, answer: pb.OperationAnswer) -> None:
        super().__init__(answer.text or answer.reason, answer.operation_id)
        self.begun = answer.result == pb.OperationAnswer.RESULT_FAILED
        self.reason, self.retry, self.replayed = answer.reason, answer.retry, answer.replayed
        self.left_behind = dict(answer.left_behind)


class ControllerClient:
    """Asks the controller that `where` names, each time anew: a `host:port`, or who knows it.

    Use as `async with`. `within` is in seconds, for a whole call with its retries. Calls raise OperationFailed;
    Unreachable when no answer came in time, and what came of it is unknown; Rejected when the call was wrong.
    """

    def __init__(self, where: str | Callable[[], str], *, within: float = 120.0, retry: Retry | None = None) -> None:
        self._where = (lambda: where) if isinstance(where, str) else where
        self._within, self._retry = within, retry or Retry(tries=1_000_000)
        self._channels: dict[str, aio.Channel] = {}
        self._opened = ExitStack()

    @classmethod
    def of_register(cls, path: Path, *, within: float = 120.0) -> ControllerClient:
        """A client of whichever controller rules, by the register of a run. Raises StoreError if it is none."""
        roster = Roster(path, looks=True)

        def ruling() -> str:
            ruler = roster.ruler()
            return "" if ruler is None else ruler.control

        client = cls(ruling, within=within)
        client._opened.enter_context(roster)
        return client

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()
        for channel in self._channels.values():
            await channel.close()

    async def sync(self, version: int, *, operation_id: str | None = None, within: float | None = None) -> Answer:
        """Bring the cohort to a version whose manifest and bytes are durable, and publish it."""
        request = pb.SyncVersionRequest(operation_id=operation_id or _new_id(), version=version)
        return await self._operate("Sync", request, within)

    async def pause(
        self, mode: Mode | None = None, *, operation_id: str | None = None, within: float | None = None
    ) -> Answer:
        """Drain all gates that serve and keep them so; `mode` is the controller's own if not given."""
        request = pb.PauseRequest(operation_id=operation_id or _new_id(), mode=_DRAINS[mode])
        return await self._operate("Pause", request, within)

    async def resume(self, *, operation_id: str | None = None, within: float | None = None) -> Answer:
        """End the pause."""
        return await self._operate("Resume", pb.ResumeRequest(operation_id=operation_id or _new_id()), within)

    async def lend(
        self, version: int, mode: Mode | None = None, *, operation_id: str | None = None, within: float | None = None
    ) -> Answer:
        """Drain all gates and lend their devices to the trainer; the answer's operation id is the lend's name.

        `version` is what may come back: a new number, or the published version where no weights will. `mode` is
        `wait` if not given, and not `keep`. The trainer is to be claimed with the answer's term: once a later
        controller rules, which ends the lend, it then refuses to train.
        """
        mode = Mode.WAIT if mode is None else mode
        request = pb.LendDevicesRequest(operation_id=operation_id or _new_id(), version=version, mode=_DRAINS[mode])
        return await self._operate("Lend", request, within)

    async def returned(
        self, lend: str, version: int, *, operation_id: str | None = None, within: float | None = None
    ) -> Answer:
        """Give the devices of a lend back, with its version, which is durable, or with the published one.

        Nothing may be trained on them from now on. Where it is refused with `retry` or for its version the lend
        still stands; after `not_lent`, or where it has begun and failed, it is over.
        """
        request = pb.DevicesReturnedRequest(operation_id=operation_id or _new_id(), lend=lend, version=version)
        return await self._operate("Returned", request, within)

    async def poison(
        self, replica: str, why: str, *, operation_id: str | None = None, within: float | None = None
    ) -> Answer:
        """Give a replica up; it is replaced."""
        request = pb.PoisonRequest(operation_id=operation_id or _new_id(), replica=replica, why=why)
        return await self._operate("Poison", request, within)

    async def evacuated(
        self, incarnation: str, *, operation_id: str | None = None, within: float | None = None
    ) -> Answer:
        """Say that no session needs a life that leaves any more."""
        request = pb.EvacuatedRequest(operation_id=operation_id or _new_id(), incarnation=incarnation)
        return await self._operate("Evacuated", request, within)

    async def status(self, *, within: float | None = None) -> pb.StatusAnswer:
        """How the cohort stands."""
        return await self._ask("Status", pb.StatusRequest(), "", within)

    # -- inside ----------------------------------------------------------------------------------

    async def _operate(self, name: str, request: Any, within: float | None) -> Answer:
        answer: pb.OperationAnswer = await self._ask(name, request, request.operation_id, within)
        if answer.result in (pb.OperationAnswer.RESULT_REFUSED, pb.OperationAnswer.RESULT_FAILED):
            raise OperationFailed(answer)
        return Answer(
            answer.operation_id, pb.OperationAnswer.Result.Name(answer.result).removeprefix("RESULT_").lower(),
            answer.text, answer.term, answer.epoch, answer.version if answer.HasField("version") else None,
            dict(answer.left_behind), answer.replayed,
        )  # fmt: skip

    async def _ask(self, name: str, request: Any, operation: str, within: float | None) -> Any:
        clock = asyncio.get_running_loop().time
        until = clock() + (self._within if within is None else within)
        tried = 0
        while True:
            tried += 1
            target = self._where()
            try:
                if not target:
                    raise Unreachable(f"Controller, {name}: no controller rules yet", operation)
                return await self._try(target, name, request, operation, min(TRY_S, max(0.05, until - clock())))
            except Unreachable:
                pause = self._retry.pause(min(tried, 16))
                if tried >= self._retry.tries or clock() + pause >= until:
                    raise
            await asyncio.sleep(pause)

    async def _try(self, target: str, name: str, request: Any, operation: str, within: float) -> Any:
        channel = self._channels.get(target)
        if channel is None:
            channel = self._channels[target] = dial(target)
        method: Callable[..., Awaitable[Any]] = getattr(rpc.ControllerStub(channel), name)
        try:
            return await method(request, timeout=within)
        except aio.AioRpcError as error:
            found, code = detail(error, pb.OperationAnswer), error.code()
            said = f"Controller at {target}, {name}: {told(error)}"
            if code is StatusCode.UNAVAILABLE or (found is None and code in NO_ANSWER):
                raise Unreachable(said, operation) from error
            if found is not None and found.reason == OVERRULED and code is StatusCode.FAILED_PRECONDITION:
                raise Unreachable(said, operation) from error
            raise Rejected(said, operation, code, "" if found is None else found.reason.lower()) from error


def _new_id() -> str:
    return os.urandom(16).hex()
