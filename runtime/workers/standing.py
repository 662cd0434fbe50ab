"""How the front of a replica stands, for who operates it: served on the control port."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING, Any

from grpc import StatusCode, aio

from ...protocol.generated import front_pb2 as pb
from ...protocol.generated import front_pb2_grpc as rpc
from ...protocol.refusals import refuse
from ..engines import EngineError
from .gate import NotLent

if TYPE_CHECKING:
    from .front import Front
    from .run import Run

MOST = 1000
"""The most open leases that one answer tells of."""

NOT_LENT = "NOT_LENT"
"""The reason of a question for memory that no lend asks for."""


class FrontServicer(rpc.FrontServicer):
    """Shows one front."""

    SERVICE = "sluicegate.v1.Front"

    def __init__(self, front: Front) -> None:
        self._front = front

    def add_to(self, server: aio.Server) -> None:
        rpc.add_FrontServicer_to_server(self, server)

    async def Show(self, request: pb.ShowRequest, context: aio.ServicerContext[Any, Any]) -> pb.Standing:
        front, health = self._front, self._front.engine.health()
        door, leases, failure = front.door, front.leases, front.leases.journal.failure
        # They stand in the order of their admission.
        open_runs = (run for run in leases.runs.values() if not run.ending)
        shown = pb.Standing(
            replica=front.replica, incarnation=front.incarnation, state=front.gate.live.state, why=front.gate.why,
            waiting=len(door), open=leases.open, admitted=door.admitted, held=door.held, left=door.left,
            refused=door.refused, storage="" if failure is None else str(failure),
            engine_ok=health.ok, engine_why=health.why, engine_running=health.running, engine_waiting=health.waiting,
            frozen_epoch=health.frozen_epoch,
            leases=[self._lease(run) for run in itertools.islice(open_runs, min(request.leases, MOST))],
        )  # fmt: skip
        return shown

    async def Digests(self, request: pb.DigestsRequest, context: aio.ServicerContext[Any, Any]) -> pb.HeldDigests:
        front = self._front
        try:
            held = await front.engine.resident_digest()
        except EngineError as error:
            return pb.HeldDigests(replica=front.replica, incarnation=front.incarnation, why=str(error))
        return pb.HeldDigests(
            replica=front.replica, incarnation=front.incarnation, version=held.version, digests=held.digests
        )

    async def Released(
        self, request: pb.ReleasedRequest, context: aio.ServicerContext[Any, Any]
    ) -> pb.ReleasedAnswer:
        try:
            await self._front.gate.until_released(request.lend)
        except NotLent as error:
            facts = {"machine": "Front", "state": self._front.gate.live.state, "retry": "false"}
            await refuse(context, StatusCode.FAILED_PRECONDITION, NOT_LENT, str(error), facts, None)
        return pb.ReleasedAnswer()

    def _lease(self, run: Run) -> pb.OpenLease:
        live, age = self._front.leases.host.live(run.lease), asyncio.get_running_loop().time() - run.began
        return pb.OpenLease(
            lease=run.lease, session=run.session, client=run.client, state=live.state, age=age,
            epoch=run.epoch, version=run.version, tokens=len(run.ids),
        )  # fmt: skip
