"""The trainer as the controller reaches it: batches in, versions out, one thing at a time.

Rules of this file:

- A command is answered when the Trainer machine is idle again with its result; the wait is bounded.
- A trainer that has failed, or answers as another life, ends the command with its reason.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from grpc import aio

from ...protocol.client import CallError, dial
from ...protocol.generated import training_pb2, training_pb2_grpc
from ...protocol.generated.trainer_service import TrainerClient

if TYPE_CHECKING:
    from ..training.samples import Sample

INSTANCE = "trainer"
"""The name of a trainer's one instance of Trainer."""


class TrainerError(Exception):
    """The trainer did not do what it was asked to; the text says why."""


class TrainerHandle:
    """One incarnation of the trainer. `within` is how long one command may take, in seconds."""

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
        """One step on a batch of this id; the step's figures. Raises TrainerError."""
        # Only now: batches bring numpy in, which a controller does not need.
        from ..workers.batches import arrays_of, to_messages

        request = training_pb2.SubmitRequest(batch=batch, arrays=to_messages(arrays_of(samples)))
        await self._asked(self._data.Submit(request, timeout=self._within))
        operation = self._operation(f"train.{batch}")
        await self._asked(self._client.train(term=self.term, batch=batch, operation_id=operation))
        await self._until(lambda t: t.state == "IDLE" and t.batch is None, f"train on {batch}")
        result = await self._asked(self._data.Result(training_pb2.ResultRequest(batch=batch), timeout=self._within))
        return dict(result.metrics)

    async def publish(self, version: int) -> None:
        """Write the weights as `version`, durably. Raises TrainerError."""
        operation = self._operation(f"publish.{version}")
        await self._asked(self._client.publish(term=self.term, version=version, operation_id=operation))
        await self._until(lambda t: t.state == "IDLE" and t.version == version, f"publish {version}")

    async def save(self, path: str) -> None:
        """Write a checkpoint. Raises TrainerError."""
        await self._asked(self._client.save(term=self.term, path=path, operation_id=self._operation("save")))
        await self._until(lambda t: t.state == "IDLE", f"save to {path}")

    async def load(self, path: str) -> None:
        """Read a checkpoint. Raises TrainerError."""
        await self._asked(self._client.load(term=self.term, path=path, operation_id=self._operation("load")))
        await self._until(lambda t: t.state == "IDLE", f"load {path}")

    def _operation(self, event: str) -> str:
        return f"{self.term}.{self.incarnation}.{event}.{next(self._numbers)}"

    async def _asked(self, call: Any) -> Any:
        try:
            return await call
        except (CallError, aio.AioRpcError) as error:
            said = error.details() if isinstance(error, aio.AioRpcError) else str(error)
            raise TrainerError(f"{self.incarnation}: {said}") from error

    async def _until(self, holds: Callable[[Any], bool], doing: str) -> None:
        try:
            async with asyncio.timeout(self._within):
                async for seen in self._client.watch():
                    if seen.snapshot.state == "FAILED":
                        raise TrainerError(f"{self.incarnation} failed to {doing}: its log says why")
                    if holds(seen.snapshot):
                        return
        except TimeoutError:
            raise TrainerError(f"{self.incarnation} did not {doing} within {self._within:g} s") from None
        except CallError as error:
            raise TrainerError(f"{self.incarnation}: {error}") from error
        raise TrainerError(f"{self.incarnation} stopped answering; it was to {doing}")
