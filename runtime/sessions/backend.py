"""What runs the requests of turns: from admission to the end, whatever the replica is.

Rules of this file:

- A request says once what it was admitted to, before anything of it runs; it goes on when it is told to.
- What ran is told in order, each token with its label; the last word says how it ended, once that is recorded.
- A request whose end was not told may still run: `is_over` ends it and finds out.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import grpc
from grpc import aio

from ...protocol.client import CallError, Rejected, dial
from ...protocol.generated import rollout_pb2, rollout_pb2_grpc
from ...protocol.generated.gate_service import GATE
from ...protocol.generated.lease_service import LeaseClient
from ...protocol.refusals import detail
from ..watching.context import carried
from .cohort import Place
from .errors import TurnLost, TurnRefused
from .sampling import Sampling

W = TypeVar("W")
FINISH = rollout_pb2.FinishReason
ASK_SOON_S, ASK_AGAIN_S, CALL_S = 0.01, 0.2, 2.0
"""Pause between two questions about a lease whose end was not told, at first and at most, and how long an answer may
take."""
ENDS_S = 700.0
"""A replica ends every lease within its own bounds (settled, or given up and poisoned); this is longer."""


class Admitted(NamedTuple):
    """The first word: what the request was admitted to."""

    version: int | None


class Made(NamedTuple):
    """Tokens, with natural logarithms of their probabilities and the versions that made them."""

    ids: Sequence[int]
    logprobs: Sequence[float]
    versions: Sequence[int]


class Over(NamedTuple):
    """The last word: how it ended (`stop`, `length`, or an ending of a lease in lower case), and why."""

    ending: str
    text: str = ""


Word = Any
"""Admitted, Made, Over, or what a backend has besides."""


@dataclass(frozen=True, slots=True)
class Request(Generic[W]):
    """One request of a turn. `pin` is the one version that it accepts; `waits`: it goes on when it is told to;
    `hold`: the seconds that it may be held at a closed gate."""

    session: str
    lease: str
    work: W
    pin: int | None
    waits: bool
    hold: float


class Backend(Protocol[W]):
    """Runs requests on replicas."""

    def run(self, place: Place, request: Request[W]) -> AsyncGenerator[Word, None]:
        """Words of the request. Raises TurnRefused where nothing has run, TurnLost where that is not known.

        Whoever leaves it has the request aborted.
        """
        ...

    async def proceed(self, place: Place, lease: str) -> bool:
        """Let a request that waits go on; whether it does."""
        ...

    async def is_over(self, place: Place, lease: str, is_alive: Callable[[], bool]) -> bool:
        """Abort the request, and wait until it has settled or is lost; its replica's end ends it too.

        False if that is not known after `ENDS_S`.
        """
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a rollout worker is given."""

    ids: Sequence[int]
    sampling: Sampling
    seed: int


class Workers:
    """Rollout workers, over gRPC; a `Backend[Prompt]`."""

    def __init__(self) -> None:
        self._channels: dict[str, aio.Channel] = {}
        self._stubs: dict[str, Any] = {}

    async def close(self) -> None:
        for channel in self._channels.values():
            await channel.close()

    async def run(self, place: Place, request: Request[Prompt]) -> AsyncGenerator[Word, None]:
        """See `Backend.run`."""
        work, sampling = request.work, request.work.sampling
        asked = rollout_pb2.GenerateRequest(
            request_id=request.lease, session=request.session, incarnation=place.incarnation,
            prompt_token_ids=work.ids, hold=request.hold, version=request.pin, waits=request.waits,
            sampling=rollout_pb2.SamplingParams(
                max_tokens=sampling.max_new_tokens, temperature=sampling.temperature, top_p=sampling.top_p,
                seed=work.seed, stop_token_ids=sampling.stop_ids,
            ),
        )  # fmt: skip
        try:
            async with self._call(place, asked, request.hold) as chunks:
                async for chunk in chunks:
                    if chunk.lease:
                        yield Admitted(chunk.version if chunk.HasField("version") else None)
                    elif chunk.finish_reason:
                        name = FINISH.Name(chunk.finish_reason).removeprefix("FINISH_REASON_").lower()
                        yield Over(name, chunk.text)
                        return
                    else:
                        versions = [s.version for s in chunk.spans for _ in range(s.count)]
                        yield Made(chunk.token_ids, chunk.log_probs, versions)
        except aio.AioRpcError as error:
            found = detail(error, GATE.reply)
            if found is not None:
                text = error.details() or found.reason
                raise TurnRefused(request.session, found.reason.lower(), text, retry=found.retry) from error
            text = f"the stream broke ({error.code().name})"
            raise TurnLost(request.session, request.lease, "broken", text) from error
        raise TurnLost(request.session, request.lease, "broken", "the stream ended without an end")

    @asynccontextmanager
    async def _call(
        self, place: Place, asked: rollout_pb2.GenerateRequest, within: float
    ) -> AsyncIterator[Any]:
        call = self._stub(place.data).Generate(
            asked, timeout=max(0.1, within), metadata=carried()
        )
        try:
            yield call
        finally:
            call.cancel()

    async def proceed(self, place: Place, lease: str) -> bool:
        """See `Backend.proceed`: a call that is not answered is made again, since repeats change nothing."""
        stub: Any = self._stub(place.data)
        asked = rollout_pb2.ProceedRequest(request_id=lease)
        for _ in range(3):
            try:
                return (await stub.Proceed(asked, timeout=CALL_S)).running
            except aio.AioRpcError:
                await asyncio.sleep(ASK_AGAIN_S)
        return False

    async def is_over(self, place: Place, lease: str, is_alive: Callable[[], bool]) -> bool:
        """See `Backend.is_over`."""
        client = LeaseClient(self._channel(place.control), lease, incarnation=place.incarnation, deadline=CALL_S)
        data: Any = self._stub(place.data)
        aborted, pause = False, ASK_SOON_S
        try:
            async with asyncio.timeout(ENDS_S):
                while is_alive():
                    try:
                        # Remembered by the replica, so that a request still on its way is refused.
                        if not aborted:
                            await data.Abort(rollout_pb2.AbortRequest(request_id=lease), timeout=CALL_S)
                            aborted = True
                        if (await client.get()).snapshot.state in ("SETTLED", "LOST"):
                            return True
                    except Rejected as error:
                        if error.code is grpc.StatusCode.NOT_FOUND:
                            return True
                    except (CallError, aio.AioRpcError):
                        pass
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, ASK_AGAIN_S)
        except TimeoutError:
            return False
        return True

    def _stub(self, target: str) -> Any:
        # Made once: it registers its methods with the channel, which takes longer than a call of one.
        stub = self._stubs.get(target)
        if stub is None:
            stub = self._stubs[target] = rollout_pb2_grpc.RolloutStub(self._channel(target))
        return stub

    def _channel(self, target: str) -> aio.Channel:
        channel = self._channels.get(target)
        if channel is None:
            channel = self._channels[target] = dial(target)
        return channel
