"""The trainer over gRPC: batches and figures on the data plane, and what its control plane asks first.

Rules of this file:

- A batch is judged whole when it is submitted, and again when it is to be trained on: the table is asked
  only for a batch that the trainer can train on.
- The head hands a batch on to the other ranks, and has it when each of them has it.
- A batch's id is used once; the same batch again changes nothing.
- A batch that nobody trains on gives way to newer ones: what waits is bounded, and nothing is full for good.
"""

from __future__ import annotations

import asyncio
import contextlib
from hashlib import blake2b
from typing import Any, NoReturn

from grpc import StatusCode, aio

from ...protocol.generated import training_pb2 as pb
from ...protocol.generated import training_pb2_grpc as rpc
from ...protocol.generated.trainer_service import TRAINER, TrainerServicer
from ...protocol.host import MachineHost
from ...protocol.refusals import MALFORMED, PAYLOAD, UNKNOWN, cut, detail, refuse
from ..training.errors import TrainerError
from .batches import from_messages, samples_of
from .trainer_actions import Batch, RankActions
from .trainer_group import GroupActions
from .trainer_jobs import Jobs

Context = aio.ServicerContext[Any, Any]
ID_LIMIT = 256
"""The longest batch id, in characters."""
LONGEST_S = 10.0
"""The longest that a question for an outcome is left open."""
BATCH, NOT_TRAINED, NOT_SUBMITTED = "BATCH", "NOT_TRAINED", "NOT_SUBMITTED"
"""Reasons of refusals of batches: it cannot be trained on, not yet, unknown."""
RANK = "RANK"
"""Reason of a refusal: a rank of the trainer could not be reached."""


class TrainerControl(TrainerServicer):
    """The generated service, with batches looked at before the table is asked to train."""

    def __init__(self, host: MachineHost, actions: RankActions) -> None:
        super().__init__(host)
        self._actions = actions

    async def Train(self, request: Any, context: Context) -> Any:
        operation, name, instance = request.fence.operation_id, request.batch, request.instance
        is_repeat = self._host.steps.answer(TRAINER.name, instance, operation) is not None
        if instance in self._host and not is_repeat and self._host.live(instance).batch != name:
            batch = self._actions.batches.get(name)
            if batch is None or batch.samples is None:
                said = "was not submitted, or gave way to newer ones" if batch is None else "was trained on before"
                text = f"batch {name!r} {said}"
                await self._refuse_batch(context, NOT_SUBMITTED, text, instance)
            try:
                await self._actions.check(batch.samples)
            except (ValueError, TrainerError) as error:
                await self._refuse_batch(context, BATCH, str(error), instance)
        return await super().Train(request, context)

    async def _refuse_batch(self, context: Context, reason: str, text: str, instance: str) -> NoReturn:
        await _refuse(context, StatusCode.FAILED_PRECONDITION, reason, text, "Train", self._actions, instance)


class TrainerDataServicer(rpc.TrainerDataServicer):
    """Takes batches of at most `limit` bytes, and keeps twice as much of those that wait to be trained on.

    In the head, `group` hands them on. `jobs` tells what became of those of the process's machines.
    """

    SERVICE = "sluicegate.v1.TrainerData"

    def __init__(self, actions: RankActions, group: GroupActions | None, jobs: Jobs, *, limit: int) -> None:
        self._actions, self._group, self._jobs, self._limit = actions, group, jobs, limit

    def add_to(self, server: aio.Server) -> None:
        rpc.add_TrainerDataServicer_to_server(self, server)

    async def Submit(self, request: pb.SubmitRequest, context: Context) -> pb.SubmitAnswer:
        actions, name = self._actions, request.batch
        if not 0 < len(name) <= ID_LIMIT:
            await self._refuse(context, StatusCode.INVALID_ARGUMENT, MALFORMED, f"batch: 1 to {ID_LIMIT} characters")
        digest = blake2b(request.SerializeToString(deterministic=True), digest_size=16).digest()
        held = actions.batches.get(name)
        if held is None:
            nbytes = request.ByteSize()
            if nbytes > self._limit:
                text = f"the batch has {nbytes} bytes, at most {self._limit} are taken: send less at a time"
                await self._refuse(context, StatusCode.INVALID_ARGUMENT, BATCH, text)
            try:
                samples = await asyncio.to_thread(lambda: samples_of(from_messages(request.arrays)))
                await actions.check(samples)
            except (ValueError, TrainerError) as error:
                await self._refuse(context, StatusCode.INVALID_ARGUMENT, BATCH, str(error))
            if self._group is not None:
                await self._hand_on(request, context)
            held = actions.take(name, Batch(digest, nbytes, samples), 2 * self._limit)
        if held.digest != digest:
            text = f"batch {name!r} was another one: take a new id for a new batch"
            await self._refuse(context, StatusCode.INVALID_ARGUMENT, PAYLOAD, text)
        return pb.SubmitAnswer(batch=name, waiting_bytes=actions.waiting_bytes)

    async def Result(self, request: pb.ResultRequest, context: Context) -> pb.ResultAnswer:
        batch = self._actions.batches.get(request.batch)
        if batch is None:
            text = f"batch {request.batch!r} is not known here: submit it, or ask sooner"
            await self._refuse(context, StatusCode.NOT_FOUND, UNKNOWN, text)
        if batch.metrics is None:
            text = f"batch {request.batch!r} has not been trained on"
            await self._refuse(context, StatusCode.FAILED_PRECONDITION, NOT_TRAINED, text, retry=True)
        return pb.ResultAnswer(batch=request.batch, step=batch.metrics.step, metrics=batch.metrics.figures())

    async def Outcome(self, request: pb.OutcomeRequest, context: Context) -> pb.OutcomeAnswer:
        if (job := self._jobs.get(request.instance, request.job)) is None:
            text = f"no job {request.job} of {request.instance!r} is known here: it never began, or long ago"
            await self._refuse(context, StatusCode.NOT_FOUND, UNKNOWN, text)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(request.wait_ms / 1000, LONGEST_S)):
                await job.over.wait()
        return pb.OutcomeAnswer(became=job.became, why=cut("; ".join(job.why)), digest=job.digest)

    async def _hand_on(self, request: pb.SubmitRequest, context: Context) -> None:
        assert self._group is not None
        try:
            await self._group.submit(request)
        except ExceptionGroup as errors:
            error = next((e for e in errors.exceptions if isinstance(e, aio.AioRpcError)), None)
            if error is None:
                raise
            found, text = detail(error, TRAINER.reply), f"a rank of the trainer took no batch: {error.details()}"
            if found is None:
                await self._refuse(context, StatusCode.UNAVAILABLE, RANK, text, retry=True)
            await self._refuse(context, error.code(), found.reason, text, retry=found.retry)

    async def _refuse(
        self, context: Context, code: StatusCode, reason: str, text: str, *, retry: bool = False
    ) -> NoReturn:
        await _refuse(context, code, reason, text, "Submit", self._actions, self._actions.name, retry=retry)


async def _refuse(
    context: Context,
    code: StatusCode,
    reason: str,
    text: str,
    event: str,
    actions: RankActions,
    instance: str,
    *,
    retry: bool = False,
) -> NoReturn:
    reply, _ = actions.host.present(instance)
    reply.reason, reply.text, reply.retry = reason.lower(), cut(text), retry
    facts = {
        "machine": "Trainer",
        "event": event,
        "state": actions.host.live(instance).state,
        "retry": "true" if retry else "false",
        "fence": "false",
    }
    await refuse(context, code, reason, text, facts, reply)
