"""The trainer over gRPC: batches and figures on the data plane, and what its control plane asks first.

Rules of this file:

- A batch is judged whole when it is submitted, and again when it is to be trained on: the table is asked
  only for a batch that the trainer can train on.
- A batch's id is used once; the same batch again changes nothing.
"""

from __future__ import annotations

import asyncio
from hashlib import blake2b
from typing import Any, NoReturn

from grpc import StatusCode, aio

from ...protocol.generated import training_pb2 as pb
from ...protocol.generated import training_pb2_grpc as rpc
from ...protocol.generated.trainer_service import TRAINER, TrainerServicer
from ...protocol.host import MachineHost
from ...protocol.refusals import MALFORMED, PAYLOAD, UNKNOWN, cut, refuse
from ..training.deepspeed_trainer import TrainerError
from .batches import from_messages, samples_of
from .trainer_actions import INSTANCE, Batch, TrainerActions

Context = aio.ServicerContext[Any, Any]
ID_LIMIT = 256
"""The longest batch id, in characters."""
BATCH, FULL, NOT_TRAINED, NOT_SUBMITTED = "BATCH", "FULL", "NOT_TRAINED", "NOT_SUBMITTED"
"""Reasons of refusals of batches: it cannot be trained on, too many wait, not yet, unknown."""


class TrainerControl(TrainerServicer):
    """The generated service, with batches looked at before the table is asked to train."""

    def __init__(self, host: MachineHost, actions: TrainerActions) -> None:
        super().__init__(host)
        self._actions = actions

    async def Train(self, request: Any, context: Context) -> Any:
        operation, name = request.fence.operation_id, request.batch
        is_repeat = self._host.steps.answer(TRAINER.name, request.instance, operation) is not None
        if request.instance == INSTANCE and not is_repeat and self._actions.live.batch != name:
            batch = self._actions.batches.get(name)
            if batch is None or batch.samples is None:
                text = f"batch {name!r} " + ("was not submitted" if batch is None else "was trained on before")
                await _refuse(context, StatusCode.FAILED_PRECONDITION, NOT_SUBMITTED, text, "Train", self._actions)
            try:
                await self._actions.check(batch.samples)
            except (ValueError, TrainerError) as error:
                await _refuse(context, StatusCode.FAILED_PRECONDITION, BATCH, str(error), "Train", self._actions)
        return await super().Train(request, context)


class TrainerDataServicer(rpc.TrainerDataServicer):
    """Takes batches of at most `limit` bytes, and twice as much of all that wait."""

    SERVICE = "sluicegate.v1.TrainerData"

    def __init__(self, actions: TrainerActions, *, limit: int) -> None:
        self._actions, self._limit = actions, limit

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
            if actions.waiting_bytes + nbytes > 2 * self._limit:
                text = f"{actions.waiting_bytes} bytes wait to be trained on: train first"
                await self._refuse(context, StatusCode.FAILED_PRECONDITION, FULL, text, retry=True)
            held = actions.batches.setdefault(name, Batch(digest, nbytes, samples))
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

    async def _refuse(
        self, context: Context, code: StatusCode, reason: str, text: str, *, retry: bool = False
    ) -> NoReturn:
        await _refuse(context, code, reason, text, "Submit", self._actions, retry=retry)


async def _refuse(
    context: Context,
    code: StatusCode,
    reason: str,
    text: str,
    event: str,
    actions: TrainerActions,
    *,
    retry: bool = False,
) -> NoReturn:
    reply, _ = actions.host.present(INSTANCE)
    reply.reason, reply.text, reply.retry = reason.lower(), cut(text), retry
    facts = {
        "machine": "Trainer",
        "event": event,
        "state": actions.live.state,
        "retry": "true" if retry else "false",
        "fence": "false",
    }
    await refuse(context, code, reason, text, facts, reply)
