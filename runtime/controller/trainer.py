"""The trainer as the controller reaches it: batches in, versions out, one thing at a time.

Rules of this file:

- A command is answered when its job is over on every rank; the wait is bounded.
- What could not be done is told with the reason of each rank, and whether anything has changed by it.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, Any

from grpc import StatusCode, aio

from ...protocol.client import CallError, Refused, dial, told
from ...protocol.generated import training_pb2, training_pb2_grpc
from ...protocol.generated.trainer_service import TrainerClient

if TYPE_CHECKING:
    from ..training.samples import Sample

INSTANCE = "trainer"
"""The name of the instance of Trainer that is the whole group of ranks."""
BEAT_S, SILENT_S, PAUSE_S = 5.0, 10.0, 0.2
"""How long one question for an outcome stays open; how long the trainer may be silent beyond that; and the pause before
it is asked again."""


class TrainerError(Exception):
    """The trainer did not do what it was asked to; the text says why.

    One that is neither of those below: the command was refused and nothing was begun, as for a batch that cannot be
    trained on, a version that is not newer, or a term that is overruled; or no answer came in time, and what became
    of it is not known.
    """


class TrainerUndone(TrainerError):
    """No rank could do it, and nothing has changed: the trainer goes on, and it may be asked again."""


class TrainerRefused(TrainerError):
    """What was sent is wrong in itself, as a batch that cannot be trained on: nothing was begun, and asked again, or of
    another trainer, it is refused again."""


class TrainerFailed(TrainerError):
    """The trainer has failed, and does nothing more: replace it."""


class TrainerHandle:
    """One incarnation of a trainer, of however many ranks. `within` is how long one command may take, in seconds."""

    def __init__(self, incarnation: str, control: str, data: str, *, term: int, within: float) -> None:
        self.incarnation, self.term = incarnation, term
        self._within = within
        self._channels: tuple[aio.Channel, aio.Channel] = (dial(control), dial(data))
        self._client = TrainerClient(self._channels[0], INSTANCE, incarnation=incarnation)
        self._data: Any = training_pb2_grpc.TrainerDataStub(self._channels[1])
        self._numbers = itertools.count(1)

    async def close(self) -> None:
        for channel in self._channels:
            await channel.close()

    async def claim(self) -> None:
        """Take the trainer over for this term. Raises TrainerError."""
        await self._asked(self._client.claim(term=self.term, operation_id=self._operation("claim")))

    async def train(self, batch: str, samples: Sequence[Sample]) -> dict[str, float]:
        """One step on a batch of this id; the step's figures. Raises TrainerUndone, TrainerFailed, TrainerError."""
        # Only now: batches bring numpy in, which a controller does not need.
        from ..workers.batches import arrays_of, to_messages

        request = training_pb2.SubmitRequest(batch=batch, arrays=to_messages(arrays_of(samples)))
        await self._asked(self._data.Submit(request, timeout=self._within))
        operation = self._operation(f"train.{batch}")
        await self._done(self._client.train(term=self.term, batch=batch, operation_id=operation), f"train on {batch}")
        result = await self._asked(self._data.Result(training_pb2.ResultRequest(batch=batch), timeout=self._within))
        return dict(result.metrics)

    async def publish(self, version: int) -> None:
        """Write the weights as `version`, durably. Raises TrainerUndone, TrainerFailed, TrainerError.

        The last one that this incarnation has published is published; one below it is refused, and so is one that
        has a manifest already, as undone.
        """
        operation = self._operation(f"publish.{version}")
        asking = self._client.publish(term=self.term, version=version, operation_id=operation)
        await self._done(asking, f"publish {version}")

    async def save(self, path: str) -> None:
        """Write a checkpoint into the folder `path`, which must not exist; it is whole or not there.

        A relative path lies in the trainer's own folder. Raises TrainerUndone where nothing was written,
        TrainerFailed, TrainerError.
        """
        asking = self._client.save(term=self.term, path=path, operation_id=self._operation("save"))
        await self._done(asking, f"save in {path}")

    async def load(self, path: str) -> None:
        """Read the checkpoint in the folder `path`. Raises TrainerUndone where nothing has changed, TrainerFailed,
        TrainerError."""
        asking = self._client.load(term=self.term, path=path, operation_id=self._operation("load"))
        await self._done(asking, f"load {path}")

    def _operation(self, event: str) -> str:
        return f"{self.term}.{self.incarnation}.{event}.{next(self._numbers)}"

    async def _asked(self, call: Awaitable[Any]) -> Any:
        try:
            return await call
        except Refused as error:
            kind = TrainerFailed if error.reason == "failed" else TrainerError
            raise kind(f"{self.incarnation}: {error}") from error
        except (CallError, aio.AioRpcError) as error:
            is_answer = isinstance(error, aio.AioRpcError)
            said = error.details() if is_answer else str(error)
            wrong = is_answer and error.code() is StatusCode.INVALID_ARGUMENT
            raise (TrainerRefused if wrong else TrainerError)(f"{self.incarnation}: {said}") from error

    async def _done(self, asking: Awaitable[Any], doing: str) -> None:
        """Ask, and wait for the end of the job that this begins, or has begun before."""
        try:
            async with asyncio.timeout(self._within):
                asked = await self._asked(asking)
                # It was done before, by this incarnation.
                if asked.kind == "ignore" and asked.snapshot.state == "IDLE":
                    return
                became = await self._outcome(asked.snapshot.job, doing)
        except TimeoutError:
            raise TrainerError(f"{self.incarnation} did not {doing} within {self._within:g} s") from None
        if became.became == "undone":
            raise TrainerUndone(f"{self.incarnation} could not {doing}, and nothing has changed: {became.why}")
        if became.became != "done":
            raise TrainerFailed(f"{self.incarnation} has failed to {doing}: {became.why}")

    async def _outcome(self, job: int, doing: str) -> Any:
        request = training_pb2.OutcomeRequest(instance=INSTANCE, job=job, wait_ms=int(BEAT_S * 1000))
        clock = asyncio.get_running_loop().time
        heard = clock()
        while True:
            try:
                answer = await self._data.Outcome(request, timeout=BEAT_S + SILENT_S)
            except aio.AioRpcError as error:
                is_silent = error.code() in (StatusCode.UNAVAILABLE, StatusCode.DEADLINE_EXCEEDED)
                if not is_silent or clock() - heard > SILENT_S:
                    text = f"{self.incarnation} does not say what became of it; it was to {doing} ({told(error)})"
                    raise TrainerError(text) from error
                await asyncio.sleep(PAUSE_S)
                continue
            heard = clock()
            if answer.became != "running":
                return answer
