"""The desk of a controller: operations asked over the wire, each answered once by its id, and the status.

Rules of this file:

- An id is in the ledger before anything is done for it; its outcome is there before it is answered.
- Who stops waiting stops nothing: a repeat joins what goes on, or is answered from what came of it.
- Nothing begins before what the controller found has come home. An overruled controller writes no outcome:
  its successor says what became of its operations.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Collection
from typing import Any, NoReturn

from grpc import StatusCode, aio

from ...protocol.client import CallError
from ...protocol.generated import controller_pb2 as pb
from ...protocol.generated import controller_pb2_grpc as rpc
from ...protocol.refusals import MALFORMED, PAYLOAD, STORAGE, refuse
from ...protocol.servicer import ID_LIMIT, Context
from ...protocol.store import StoreError
from ...protocol.wire import STRING_LIMIT
from ...statemachines.replica import Replica
from ...statemachines.sorts import Mode
from ..weights import ManifestError
from .client import OVERRULED
from .cohort import Cohort
from .controller import Controller, SyncFailed
from .ledger import Entry, Ledger, Outcome
from .lending import Lending
from .member import Overruled, as_member_error
from .status import status

_log = logging.getLogger(__name__)
RETRY_S = 0.5
"""Pause between two tries of a ledger that cannot be written: nobody is answered before."""

_MODES = {pb.DRAIN_WAIT: Mode.WAIT, pb.DRAIN_ABORT: Mode.ABORT, pb.DRAIN_KEEP: Mode.KEEP}


class Desk(rpc.ControllerServicer):
    """Serves the service `Controller`."""

    SERVICE = "sluicegate.v1.Controller"

    def __init__(self, controller: Controller, cohort: Cohort, ledger: Ledger, lending: Lending) -> None:
        self._controller, self._cohort, self._ledger, self._lending = controller, cohort, ledger, lending
        self._going_on: dict[str, asyncio.Task[Outcome | None]] = {}

    def add_to(self, server: aio.Server) -> None:
        rpc.add_ControllerServicer_to_server(self, server)

    # -- the service -----------------------------------------------------------------------------

    async def Sync(self, request: pb.SyncVersionRequest, context: Context) -> pb.OperationAnswer:
        async def do() -> Outcome:
            operation = await self._controller.sync(request.version)
            left = operation.left_behind()
            return Outcome("published", epoch=operation.epoch, version=operation.version, left_behind=left)

        return await self._answer(context, request.operation_id, ["sync", request.version], do)

    async def Pause(self, request: pb.PauseRequest, context: Context) -> pb.OperationAnswer:
        await _require_mode(context, request.mode, pb.Drain.values())

        async def do() -> Outcome:
            operation = await self._controller.pause(_MODES.get(request.mode))
            left = operation.left_behind()
            return Outcome("paused", epoch=operation.epoch, version=operation.version, left_behind=left)

        return await self._answer(context, request.operation_id, ["pause", request.mode], do)

    async def Resume(self, request: pb.ResumeRequest, context: Context) -> pb.OperationAnswer:
        async def do() -> Outcome:
            operation = await self._controller.resume()
            left = operation.left_behind()
            return Outcome("resumed", epoch=operation.epoch, version=operation.version, left_behind=left)

        return await self._answer(context, request.operation_id, ["resume"], do)

    async def Lend(self, request: pb.LendDevicesRequest, context: Context) -> pb.OperationAnswer:
        # A device on which a request is frozen cannot be lent.
        await _require_mode(context, request.mode, [pb.DRAIN_UNSPECIFIED, pb.DRAIN_WAIT, pb.DRAIN_ABORT])

        async def do() -> Outcome:
            mode = _MODES.get(request.mode, Mode.WAIT)
            operation = await self._lending.lend(request.operation_id, request.version, mode)
            left = operation.left_behind()
            return Outcome("lent", epoch=operation.epoch, version=self._controller.published, left_behind=left)

        return await self._answer(context, request.operation_id, ["lend", request.version, request.mode], do)

    async def Returned(self, request: pb.DevicesReturnedRequest, context: Context) -> pb.OperationAnswer:
        async def do() -> Outcome:
            operation = await self._lending.returned(request.lend, request.version)
            left = operation.left_behind()
            return Outcome("published", epoch=operation.epoch, version=self._controller.published, left_behind=left)

        return await self._answer(context, request.operation_id, ["returned", request.lend, request.version], do)

    async def Poison(self, request: pb.PoisonRequest, context: Context) -> pb.OperationAnswer:
        if not request.why.strip():
            await _refuse(context, StatusCode.INVALID_ARGUMENT, MALFORMED, "why is empty: say why it is poisoned")

        async def do() -> Outcome:
            member = self._controller.members.get(request.replica)
            if member is None or not self._controller.is_alive(member.incarnation):
                return Outcome("refused", "unknown_replica", f"no replica named {request.replica!r} lives")
            try:
                await member.poison(request.why)
            except CallError as error:
                if isinstance(failure := as_member_error(error), Overruled):
                    self._controller.overrule(str(failure))
                return Outcome("failed", "unanswered", str(failure))
            self._controller.tell(member.incarnation, Replica.Poisoned(why=request.why))
            return Outcome("poisoned", text=f"{member.incarnation} is poisoned, and will be replaced")

        return await self._answer(context, request.operation_id, ["poison", request.replica, request.why], do)

    async def Evacuated(self, request: pb.EvacuatedRequest, context: Context) -> pb.OperationAnswer:
        async def do() -> Outcome:
            if self._cohort.evacuated(request.incarnation):
                return Outcome("evacuated")
            return Outcome("refused", "not_leaving", f"{request.incarnation!r} does not leave")

        return await self._answer(context, request.operation_id, ["evacuated", request.incarnation], do)

    async def Status(self, request: pb.StatusRequest, context: Context) -> pb.StatusAnswer:
        if self._controller.overruled.is_set():
            await self._overruled(context)
        try:
            return await status(self._controller, self._cohort)
        except StoreError as error:
            await _refuse(context, StatusCode.UNAVAILABLE, STORAGE, str(error))

    # -- one operation ---------------------------------------------------------------------------

    async def _answer(
        self, context: Context, operation: str, request: list[Any], do: Callable[[], Awaitable[Outcome]]
    ) -> pb.OperationAnswer:
        if not 0 < len(operation) <= ID_LIMIT:
            text = f"operation_id needs 1 to {ID_LIMIT} characters: take a new one for a new request"
            await _refuse(context, StatusCode.INVALID_ARGUMENT, MALFORMED, text)
        if any(isinstance(part, str) and len(part.encode()) > STRING_LIMIT for part in request):
            text = f"a name or reason has at most {STRING_LIMIT} bytes"
            await _refuse(context, StatusCode.INVALID_ARGUMENT, MALFORMED, text)
        said = json.dumps(request)
        known = await self._known(context, operation, said)
        if known is None or known.outcome is None:
            await self._home(context)
            await self._conclude(context)
            # Nothing comes between this look and the task: there is one for each id.
            known = await self._known(context, operation, said)
        if known is not None and known.outcome is not None:
            return self._message(operation, self._as_of_now(known), known.term, True)
        task = self._going_on.get(operation)
        if task is None:
            try:
                if known is None:
                    self._ledger.begin(operation, said, self._controller.term)
            except StoreError as error:
                await _refuse(context, StatusCode.UNAVAILABLE, STORAGE, f"{error}; nothing was done")
            task = self._going_on[operation] = self._cohort.spawn(self._carry_out(operation, do))
            task.add_done_callback(lambda _: self._going_on.pop(operation, None))
        outcome = await asyncio.shield(task)
        if outcome is None:
            await self._overruled(context)
        return self._message(operation, outcome, self._controller.term, known is not None)

    async def _known(self, context: Context, operation: str, request: str) -> Entry | None:
        """What is known of an id; refuses one that was another request."""
        try:
            known = self._ledger.entry(operation)
        except StoreError as error:
            await _refuse(context, StatusCode.UNAVAILABLE, STORAGE, f"{error}; nothing was done")
        if known is not None and known.request != request:
            text = f"operation {operation} was another request: take a new id for a new request"
            await _refuse(context, StatusCode.INVALID_ARGUMENT, PAYLOAD, text)
        return known

    async def _conclude(self, context: Context) -> None:
        """Write down what became of the operations of controllers that ended, before anything new changes it."""
        try:
            for left in self._ledger.left_open(self._controller.term):
                self._ledger.finish(left.operation, self._became(left))
        except StoreError as error:
            await _refuse(context, StatusCode.UNAVAILABLE, STORAGE, f"{error}; nothing was done")

    async def _carry_out(self, operation: str, do: Callable[[], Awaitable[Outcome]]) -> Outcome | None:
        """What came of it, once that is durable; None if a higher term rules."""
        try:
            outcome = await do()
        except SyncFailed as failure:
            begun = failure.operation is not None and not failure.operation.outcome.startswith("refused")
            outcome = Outcome(
                "failed" if begun else "refused", failure.reason, str(failure),
                epoch=failure.operation.epoch if failure.operation else 0, version=self._controller.published,
                left_behind=failure.operation.left_behind() if failure.operation else {}, retry=failure.retry,
            )  # fmt: skip
        except (OSError, ManifestError) as error:
            outcome = Outcome("refused", "no_manifest", str(error))
        if self._controller.overruled.is_set() and outcome.result != "published":
            return None
        while True:
            try:
                return self._ledger.finish(operation, outcome)
            except StoreError as error:
                _log.error("what came of operation %s cannot be stored: %s", operation, error)
            await asyncio.sleep(RETRY_S)

    def _became(self, entry: Entry) -> Outcome:
        """What became of an operation whose controller ended; all has come home since."""
        kind, *values = json.loads(entry.request)
        published = self._controller.published
        ended = f"the controller of term {entry.term} ended; what is published is {published}"
        if kind in ("sync", "returned") and published == values[-1]:
            return Outcome("published", version=published)
        if kind == "resume":
            return Outcome("resumed", text=ended, version=published)
        return Outcome("failed", "controller_ended", ended, version=published, retry=True)

    def _as_of_now(self, entry: Entry) -> Outcome:
        """What came of it, and of a pause whether it ended with its controller, of a lend whether it stands."""
        assert entry.outcome is not None
        if entry.outcome.result == "paused" and entry.term != self._controller.term:
            text = f"the pause ended with the controller of term {entry.term}: every gate was reopened"
            return Outcome("failed", "pause_ended", text, version=self._controller.published, retry=True)
        if entry.outcome.result == "lent" and not self._lending.stands(entry.operation):
            text = "the lend is over: what is published is served, and nothing may be trained on its devices"
            return Outcome("failed", "lend_ended", text, version=self._controller.published, retry=True)
        return entry.outcome

    async def _home(self, context: Context) -> None:
        """Wait until what was found has come home, as long as the caller waits."""
        waits = [asyncio.ensure_future(e.wait()) for e in (self._cohort.home, self._controller.overruled)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        if self._controller.overruled.is_set():
            await self._overruled(context)

    async def _overruled(self, context: Context) -> NoReturn:
        text = f"term {self._controller.term} is overruled ({self._controller.why_overruled}): ask the one that rules"
        await _refuse(context, StatusCode.FAILED_PRECONDITION, OVERRULED, text)

    def _message(self, operation: str, outcome: Outcome, term: int, replayed: bool) -> pb.OperationAnswer:
        return pb.OperationAnswer(
            operation_id=operation, replayed=replayed, result=f"RESULT_{outcome.result.upper()}",
            reason=outcome.reason, text=outcome.text, retry=outcome.retry, term=term, epoch=outcome.epoch,
            version=outcome.version, left_behind=outcome.left_behind,
        )  # fmt: skip


async def _require_mode(context: Context, mode: int, taken: Collection[int]) -> None:
    if mode not in taken:
        names = ", ".join(name for name, value in pb.Drain.items() if value in taken)
        text = f"mode {mode} is unknown here: send one of {names}"
        await _refuse(context, StatusCode.INVALID_ARGUMENT, MALFORMED, text)


async def _refuse(context: Context, code: StatusCode, reason: str, text: str) -> NoReturn:
    await refuse(context, code, reason, text, {"machine": "Controller"}, None)
