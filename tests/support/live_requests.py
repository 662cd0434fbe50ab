"""The data plane of one case against a live worker: requests, and what their streams must have told."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from typing import Any

from google.protobuf.message import DecodeError
from grpc import StatusCode, aio
from live_commands import BOUND, LEFT, Commands, numbers
from messages import Generate
from rollout_kit import POSITIONS, REASON, VOCABULARY

from sluicegate.protocol.client import dial
from sluicegate.protocol.generated import rollout_pb2
from sluicegate.protocol.generated.gate_service import GATE
from sluicegate.protocol.refusals import detail

WAYS_IN = {"", "closed", "hold_full", "hold_expired", "client_full", "other_version", "reused", "poisoned", "aborted"}
"""Why a request that could run was not let in."""
OVER = {"ENDED", "SETTLED", "LOST"}


class Requests(Commands):
    """Sends requests, each in a task of its own, and lets those that wait go on."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.proceeded: set[str] = set()
        """Leases that somebody has let go on."""

    def _named(self, drawn: str, which: int = 0) -> str:
        known = self.leases[which % len(self.leases)] if self.leases else "nobody"
        made = {"fresh": "r.", "long": "x" * 5000, "😀": "😀" * 60, "\0\n": "\0\n"}
        if drawn in made:
            return f"{made[drawn]}{next(numbers)}"
        return known if drawn in ("known", "again") else drawn

    async def _generate(self, drawn: Generate, ready: asyncio.Event) -> None:
        life = self.life.ready["incarnation"]
        sampling = rollout_pb2.SamplingParams(
            max_tokens=drawn.max_tokens, temperature=drawn.temperature, top_p=drawn.top_p, seed=drawn.seed
        )
        request = rollout_pb2.GenerateRequest(
            request_id=self._named(drawn.name), session=drawn.session, hold=drawn.hold,
            labels={name: "y" * size for name, size in drawn.labels},
            incarnation={"ours": life, "long": "x" * 9000}.get(drawn.life, drawn.life),
            prompt_token_ids=[drawn.token] * drawn.prompt, sampling=sampling, waits=drawn.waits,
        )  # fmt: skip
        if drawn.version is not None:
            request.version = (self.life.now.version or 0) if drawn.version == "held" else self._version(drawn.version)
        content = drawn.damage.of(request.SerializeToString())
        channel = dial(self.life.ready["data"]) if drawn.leave == "cuts the connection" else self.life.data
        call = channel.unary_stream("/sluicegate.v1.Rollout/Generate")(content, timeout=BOUND)
        chunks = list[Any]()
        code, found = StatusCode.OK, None
        try:
            leaves_after = {"at once": 0, "first": 1, "second": 2, "cuts the connection": 1}.get(drawn.leave)
            if leaves_after == 0:
                call.cancel()
            async with asyncio.timeout(0.01 if drawn.leave == "soon" else None):
                async for part in call:
                    chunk: Any = rollout_pb2.GenerateChunk.FromString(part)
                    chunks.append(chunk)
                    if chunk.lease:
                        self.leases.append(chunk.lease)
                        if drawn.max_tokens > 100:
                            self.long.add(chunk.lease)
                    ready.set()
                    if len(chunks) == leaves_after:
                        break
        except TimeoutError:
            code = StatusCode.CANCELLED
        except aio.AioRpcError as error:
            code, found = self._status("Generate", content, error), detail(error, GATE.reply)
        except asyncio.CancelledError:
            if drawn.leave != "at once" or (now := asyncio.current_task()) is None or now.cancelling():
                raise
            code = StatusCode.CANCELLED
        finally:
            ready.set()
            call.cancel()
            if channel is not self.life.data:
                await channel.close()
        self._judge(content, drawn.leave != "reads all", chunks, code, found)

    def _judge(self, content: bytes, leaves: bool, chunks: list[Any], code: StatusCode, found: Any) -> None:
        said = (content[:300], code, found)
        try:
            request = rollout_pb2.GenerateRequest.FromString(content)
        except DecodeError:
            request = None
        if leaves and (code in LEFT or code is StatusCode.OK):
            return
        if request is None:
            assert (code, found and found.reason) == (StatusCode.INVALID_ARGUMENT, "MALFORMED"), said
        elif request.incarnation not in ("", self.life.ready["incarnation"]):
            assert (code, found.reason) == (StatusCode.FAILED_PRECONDITION, "INCARNATION"), said
        elif not self._can_run(request):
            assert (code, found and found.reason) == (StatusCode.INVALID_ARGUMENT, "MALFORMED"), said
        elif code is StatusCode.OK:
            self.met["answers"] += 1
            self._is_answer(chunks)
            if request.waits and chunks[0].lease not in self.proceeded:
                self.met["never went on"] += 1
                assert chunks[-1].finish_reason == REASON.FINISH_REASON_NOT_SENT, (said, chunks)
        else:
            assert code is StatusCode.FAILED_PRECONDITION, said
            assert found.reason.lower() in WAYS_IN, said
            self.met[f"not let in: {found.reason.lower()}"] += 1

    def _can_run(self, request: Any) -> bool:
        prompt, sampling = request.prompt_token_ids, request.sampling
        return (
            max(len(request.request_id.encode()), len(request.session.encode())) <= 256
            and 0 <= request.hold < math.inf
            and bool(prompt) and max(prompt) < VOCABULARY
            and 1 <= sampling.max_tokens <= POSITIONS - len(prompt)
            and 0 <= sampling.temperature < math.inf and 0 < sampling.top_p <= 1
        )  # fmt: skip

    def _is_answer(self, chunks: list[Any]) -> None:
        """What the stream told is what is recorded."""
        first, last = chunks[0], chunks[-1]
        reason = REASON.Name(last.finish_reason).removeprefix("FINISH_REASON_").lower()
        kept = self.life.front.records.answer(first.lease)
        assert kept is not None
        assert kept.closure == {"stop": "completed", "length": "completed"}.get(reason, reason), (kept, reason)
        ids = [t for chunk in chunks for t in chunk.token_ids]
        spans = Counter[int]()
        for span in (span for chunk in chunks for span in chunk.spans):
            spans[span.version] += span.count
        if kept.closure in ("completed", "aborted", "failed"):
            assert (kept.tokens, dict(kept.spans)) == (ids, dict(spans)), (kept, ids)
        assert list(spans) == sorted(spans)
        assert not any(chunk.finish_reason for chunk in chunks[:-1])

    async def _proceed(self, lease: str) -> None:
        self.proceeded.add(lease)
        try:
            call = self.life.data.unary_unary("/sluicegate.v1.Rollout/Proceed")
            part: Any = await call(rollout_pb2.ProceedRequest(request_id=lease).SerializeToString(), timeout=BOUND)
        except aio.AioRpcError as error:
            if self._status("Proceed", b"", error) is not StatusCode.INVALID_ARGUMENT or len(lease.encode()) <= 256:
                raise
            return
        answer = rollout_pb2.ProceedAnswer.FromString(part)
        self.met[f"proceeds: {answer.running}"] += 1
        model = self.life.leases.models.get(lease)
        assert answer.running or model is None or model.state in OVER, (lease, model)
