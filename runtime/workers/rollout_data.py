"""The data plane of a rollout worker: generation, abort and staging over gRPC.

Rules of this file:

- A request is read whole before it is shown to the gate; what cannot be run is not admitted.
- A client is who its token or certificate says that it is, or else who holds one connection.
- A call that ends early, by its client or its deadline, cancels its lease; what then becomes of the
  lease does not need the call.
- Once a Proceed is answered with `running`, the request is on its way to the engine, whoever listens.
"""

from __future__ import annotations

import logging
import math
import uuid
from itertools import groupby
from typing import Any, NoReturn

from grpc import StatusCode, aio

from ...protocol.generated import rollout_pb2 as pb
from ...protocol.generated import rollout_pb2_grpc as rpc
from ...protocol.guard import caller_name
from ...protocol.refusals import INCARNATION, MALFORMED, refuse
from ...statemachines.sorts import Ending
from ..engines import EngineError, NoStaging, Request, Token
from ..weights import ManifestError, OutOfReach, WeightsError
from .door import Call, Refusal
from .front import Front
from .gate import Overtaken, StaleTerm
from .leases import LOST
from .run import Run

_log = logging.getLogger(__name__)
Context = aio.ServicerContext[Any, Any]
ID_LIMIT = 256
"""The longest request id or session, in bytes: every reply of the gate names its leases."""
WEIGHTS = "WEIGHTS"
"""The reason of a refused staging."""
STALE_TERM = "STALE_TERM"
"""As the gate's own: a controller of a higher term rules."""
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

    def __init__(self, front: Front, *, longest_prompt: int) -> None:
        """`longest_prompt` is the most tokens of a prompt, whatever the engine could run."""
        self._front, self._longest_prompt = front, longest_prompt

    def add_to(self, server: aio.Server) -> None:
        rpc.add_RolloutServicer_to_server(self, server)

    async def Generate(self, request: pb.GenerateRequest, context: Context) -> None:
        front = self._front
        try:
            run = await front.enter(self._read(request, caller_name(context)))
        except ValueError as error:
            front.door.refuse(MALFORMED.lower(), str(error))
            await self._refuse(context, StatusCode.INVALID_ARGUMENT, MALFORMED, str(error), retry=False)
        except Refusal as refusal:
            await self._refuse(
                context, StatusCode.FAILED_PRECONDITION, refusal.reason, refusal.text, retry=refusal.retry
            )
        try:
            first = pb.GenerateChunk(lease=run.lease, incarnation=front.incarnation, epoch=run.epoch)
            if run.version is not None:
                first.version = run.version
            await context.write(first)
            front.leases.told(run)
            await self._deliver(run, context)
        except BaseException:
            run.cancel()
            raise
        await context.write(pb.GenerateChunk(finish_reason=_finish_reason(run), text=run.why))

    async def Proceed(self, request: pb.ProceedRequest, context: Context) -> pb.ProceedAnswer:
        await self._require_short(context, "Proceed", request.request_id)
        run = self._front.leases.runs.get(request.request_id)
        return pb.ProceedAnswer(running=run is not None and self._front.leases.proceed(run))

    async def Abort(self, request: pb.AbortRequest, context: Context) -> pb.AbortAnswer:
        await self._require_short(context, "Abort", request.request_id)
        run = self._front.leases.runs.get(request.request_id)
        if run is None:
            return pb.AbortAnswer(running=self._front.door.abort(request.request_id))
        running = not run.ending
        run.cancel()
        return pb.AbortAnswer(running=running)

    async def Stage(self, request: pb.StageRequest, context: Context) -> pb.StageAnswer:
        code, reason, retry = StatusCode.FAILED_PRECONDITION, WEIGHTS, False
        try:
            manifest = await self._front.gate.stage(request.version, request.term)
        except NoStaging:
            return pb.StageAnswer(version=request.version, at_install=True)
        except StaleTerm as error:
            reason, text = STALE_TERM, str(error)
        except FileNotFoundError as error:
            code, text = StatusCode.NOT_FOUND, str(error)
        except (ManifestError, WeightsError) as error:
            retry, text = isinstance(error, OutOfReach), str(error)
        except (EngineError, Overtaken) as error:
            # Its memory is lent, it installs, or it ends: what is resident stays, and an install stages by itself.
            retry, text = True, str(error)
        except Exception as error:
            _log.exception("version %d could not be staged", request.version)
            text = f"version {request.version} could not be staged: {error!r}. Its replica's log says where"
        else:
            return pb.StageAnswer(
                version=request.version, digests=manifest.rank_digests(sorted(self._front.gate.live.ranks))
            )
        await self._refuse(context, code, reason, text, retry=retry, event="Stage")

    # -- inside ----------------------------------------------------------------------------------

    def _read(self, request: pb.GenerateRequest, client: str) -> Call:
        """Raises ValueError for a request that could not be run, Refusal for one that is meant for another life."""
        front = self._front
        if request.incarnation and request.incarnation != front.incarnation:
            text = f"this is life {front.incarnation!r}, the request is for {request.incarnation!r}"
            front.door.refuse(INCARNATION.lower(), text)
            raise Refusal(INCARNATION, text, retry=False)
        sampling, chosen = request.sampling, bool(request.request_id)
        if max(len(request.request_id.encode()), len(request.session.encode())) > ID_LIMIT:
            raise ValueError(f"request_id and session: at most {ID_LIMIT} bytes")
        if not 0 <= request.hold < math.inf:
            raise ValueError("hold is a number of seconds, at least 0")
        if len(request.prompt_token_ids) > self._longest_prompt:
            raise ValueError(f"a prompt has at most {self._longest_prompt} tokens here")
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
        front.engine.check(asked)
        pin = request.version if request.HasField("version") else None
        return Call(
            asked, request.session, pin, request.hold, dict(request.labels), chosen, client, waits=request.waits,
        )

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

    async def _require_short(self, context: Context, event: str, request_id: str) -> None:
        if len(request_id.encode()) > ID_LIMIT:
            text = f"request_id: at most {ID_LIMIT} bytes"
            await self._refuse(context, StatusCode.INVALID_ARGUMENT, MALFORMED, text, retry=False, event=event)

    async def _refuse(
        self, context: Context, code: StatusCode, reason: str, text: str, *, retry: bool, event: str = "Admit"
    ) -> NoReturn:
        facts = {
            "machine": "Gate",
            "event": event,
            "state": self._front.gate.live.state,
            "retry": "true" if retry else "false",
            "fence": "true" if reason in (INCARNATION, STALE_TERM) else "false",
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
