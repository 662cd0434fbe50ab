"""The data plane of a rollout worker: generation, abort and staging over gRPC.

Rules of this file:

- A request is read whole before it is shown to the gate; what cannot be run is not admitted.
- A call that ends early, by its client or its deadline, cancels its lease; what then becomes of the
  lease does not need the call.
"""

from __future__ import annotations

import math
import uuid
from itertools import groupby
from typing import Any, NoReturn

from grpc import StatusCode, aio

from ...protocol.generated import rollout_pb2 as pb
from ...protocol.generated import rollout_pb2_grpc as rpc
from ...protocol.refusals import INCARNATION, MALFORMED, STORAGE, refuse
from ...statemachines.sorts import Ending
from ..engines import Engine, Request, Token
from ..weights import ManifestError, WeightsError
from .door import Call, Door, Refusal
from .gate import GateActions
from .leases import LOST, Leases, Run

Context = aio.ServicerContext[Any, Any]
ID_LIMIT = 256
"""The longest request id or session, in characters."""
WEIGHTS = "WEIGHTS"
"""The reason of a refused staging."""
_REASONS = {
    "stop": pb.FINISH_REASON_STOP,
    "length": pb.FINISH_REASON_LENGTH,
    Ending.ABORTED: pb.FINISH_REASON_ABORTED,
    Ending.FAILED: pb.FINISH_REASON_FAILED,
    Ending.NOT_SENT: pb.FINISH_REASON_NOT_SENT,
    Ending.DISCARDED: pb.FINISH_REASON_DISCARDED,
    LOST: pb.FINISH_REASON_LOST,
}


class RolloutServicer(rpc.RolloutServicer):
    """Serves one replica."""

    SERVICE = "sluicegate.v1.Rollout"

    def __init__(
        self, engine: Engine, gate: GateActions, leases: Leases, incarnation: str, *, limit: int, longest: float
    ) -> None:
        """`limit` and `longest` bound the line at the door, see `Door`."""
        self._engine, self._gate, self._leases, self._incarnation = engine, gate, leases, incarnation
        self.door = Door(self._admit, limit=limit, longest=longest)

    def add_to(self, server: aio.Server) -> None:
        rpc.add_RolloutServicer_to_server(self, server)

    async def Generate(self, request: pb.GenerateRequest, context: Context) -> None:
        try:
            call = self._read(request)
            run = await self.door.enter(call)
        except ValueError as error:
            await self._refuse(context, StatusCode.INVALID_ARGUMENT, MALFORMED, str(error), retry=False)
        except Refusal as refusal:
            await self._refuse(
                context, StatusCode.FAILED_PRECONDITION, refusal.reason, refusal.text, retry=refusal.retry
            )
        try:
            await self._leases.record_admission(run, call.labels)
            first = pb.GenerateChunk(lease=run.lease, incarnation=self._incarnation, epoch=run.epoch)
            if run.version is not None:
                first.version = run.version
            await context.write(first)
            self._leases.forward(run)
            await self._deliver(run, context)
        except BaseException:
            run.cancel()
            raise
        await context.write(pb.GenerateChunk(finish_reason=_finish_reason(run), text=run.why))

    async def Abort(self, request: pb.AbortRequest, context: Context) -> pb.AbortAnswer:
        run = self._leases.runs.get(request.request_id)
        running = run is not None and not run.ending
        if run is not None:
            run.cancel()
        return pb.AbortAnswer(running=running)

    async def Stage(self, request: pb.StageRequest, context: Context) -> pb.StageAnswer:
        try:
            manifest = await self._gate.stage(request.version)
        except FileNotFoundError as error:
            await self._refuse(context, StatusCode.NOT_FOUND, WEIGHTS, str(error), retry=False, event="Stage")
        except (ManifestError, WeightsError) as error:
            await self._refuse(context, StatusCode.FAILED_PRECONDITION, WEIGHTS, str(error), retry=False, event="Stage")
        return pb.StageAnswer(version=request.version, digests=manifest.rank_digests(sorted(self._gate.live.ranks)))

    # -- inside ----------------------------------------------------------------------------------

    def _read(self, request: pb.GenerateRequest) -> Call:
        """Raises ValueError for a request that could not be run, Refusal for one that is meant for another life."""
        if request.incarnation and request.incarnation != self._incarnation:
            text = f"this is life {self._incarnation!r}, the request is for {request.incarnation!r}"
            raise Refusal(INCARNATION, text, retry=False)
        sampling, chosen = request.sampling, bool(request.request_id)
        if max(len(request.request_id), len(request.session)) > ID_LIMIT:
            raise ValueError(f"request_id and session: at most {ID_LIMIT} characters")
        if not 0 <= request.hold < math.inf:
            raise ValueError("hold is a number of seconds, at least 0")
        lease = request.request_id or uuid.uuid4().hex
        asked = Request(
            request_id=lease,
            prompt_ids=list(request.prompt_token_ids),
            max_new_tokens=sampling.max_tokens,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            stop_ids=tuple(sampling.stop_token_ids),
            seed=sampling.seed,
        )
        self._engine.check(asked)
        pin = request.version if request.HasField("version") else None
        return Call(asked, request.session, pin, request.hold, dict(request.labels), chosen)

    def _admit(self, call: Call) -> Run | Refusal:
        """Gate and lease step together."""
        if call.chosen and self._leases.is_used(call.lease):
            return Refusal("reused", f"lease {call.lease!r} was used before: take a new id", retry=False)
        if (failure := self._leases.journal.failure) is not None:
            return Refusal(STORAGE, str(failure), retry=True)
        outcome = self._gate.admit(call.lease, call.pin)
        if outcome.refused:
            return Refusal(outcome.reason, outcome.text, retry=outcome.retry)
        gate = self._gate.live
        return self._leases.begin(call.request, call.session, gate.epoch, gate.version)

    async def _deliver(self, run: Run, context: Context) -> None:
        """Tokens as they come, until the lease is closed."""
        while True:
            await run.wake.wait()
            run.wake.clear()
            fresh, run.fresh = run.fresh, []
            if fresh:
                await context.write(_chunk(fresh))
            if run.ending and not run.fresh:
                return

    async def _refuse(
        self, context: Context, code: StatusCode, reason: str, text: str, *, retry: bool, event: str = "Admit"
    ) -> NoReturn:
        facts = {
            "machine": "Gate",
            "event": event,
            "state": self._gate.live.state,
            "retry": "true" if retry else "false",
            "fence": "true" if reason == INCARNATION else "false",
        }
        await refuse(context, code, reason, text, facts, None)


def _chunk(tokens: list[Token]) -> pb.GenerateChunk:
    spans = [
        pb.VersionSpan(version=version, count=sum(1 for _ in group))
        for version, group in groupby(tokens, key=lambda t: t.version)
    ]
    return pb.GenerateChunk(token_ids=[t.id for t in tokens], log_probs=[t.logprob for t in tokens], spans=spans)


def _finish_reason(run: Run) -> Any:
    return _REASONS[run.reason if run.ending == Ending.COMPLETED else run.ending]
