"""The data plane of one case against a live worker: requests, and what their streams must have told."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from contextlib import suppress
from typing import Any

from google.protobuf.message import DecodeError
from grpc import StatusCode, aio
from live_commands import BOUND, LEFT, Commands, numbers
from messages import HUGE, Fence, Generate
from rollout_kit import POSITIONS, REASON, VOCABULARY

from sluicegate.protocol.client import dial
from sluicegate.protocol.generated import rollout_pb2
from sluicegate.protocol.generated.gate_service import GATE
from sluicegate.protocol.refusals import detail

WAYS_IN = {
    "", "closed", "hold_full", "hold_expired", "client_full", "other_version", "reused", "poisoned", "aborted",
    "stale_server",
}  # fmt: skip
"""Why a request that could run was not let in."""
OVER = {"ENDED", "SETTLED", "LOST"}
CLOSURES = {"stop": "completed", "length": "completed"}
"""How a lease closed, where a stream says it in another word."""


class Requests(Commands):
    """Sends requests, each in a task of its own, and what session servers say of them."""

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
            server=_server(drawn.server), life=self._server_life(drawn.server, drawn.server_life),
        )  # fmt: skip
        if drawn.version is not None:
            request.version = (self.life.now.version or 0) if drawn.version == "held" else self._version(drawn.version)
        content = drawn.damage.of(request.SerializeToString())
        channel = dial(self.life.ready["data"]) if drawn.leave == "cuts the connection" else self.life.data
        call = channel.unary_stream("/sluicegate.v1.Rollout/Generate")(content, timeout=BOUND)
        chunks, fenced = list[Any](), dict(self.life.fenced)
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
        self._judge(content, drawn.leave != "reads all", chunks, code, found, fenced)

    def _judge(
        self, content: bytes, leaves: bool, chunks: list[Any], code: StatusCode, found: Any, fenced: dict[str, int]
    ) -> None:
        """`fenced`: as it was when the request was sent."""
        said = (content[:300], code, found)
        try:
            request = rollout_pb2.GenerateRequest.FromString(content)
        except DecodeError:
            request = None
        if chunks and request is not None:
            assert request.life >= fenced.get(request.server, 0), said
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
            if found.reason == "STALE_SERVER":
                assert request.life < self.life.fencing.get(request.server, 0), said
            self.met[f"not let in: {found.reason.lower()}"] += 1

    def _can_run(self, request: Any) -> bool:
        prompt, sampling = request.prompt_token_ids, request.sampling
        return (
            max(len(text.encode()) for text in (request.request_id, request.session, request.server)) <= 256
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
        assert kept.closure == CLOSURES.get(reason, reason), (kept, reason)
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

    async def _fence(self, drawn: Fence) -> None:
        life = self._server_life(drawn.server, drawn.life)
        content = drawn.damage.of(
            rollout_pb2.FenceRequest(server=_server(drawn.server), life=life).SerializeToString()
        )
        request = None
        with suppress(DecodeError):
            request = rollout_pb2.FenceRequest.FromString(content)
            self.life.fencing[request.server] = max(request.life, self.life.fencing.get(request.server, 0))
        fenced = dict(self.life.fenced)
        call = self.life.data.unary_unary("/sluicegate.v1.Rollout/Fence")(content, timeout=drawn.leave or BOUND)
        if drawn.leave == 0.0:
            call.cancel()
        try:
            part: Any = await call
        except aio.AioRpcError as error:
            code, found = self._status("Fence", content, error), detail(error, GATE.reply)
            if drawn.leave is not None and code in LEFT:
                return
            assert code in (StatusCode.INVALID_ARGUMENT, StatusCode.FAILED_PRECONDITION), (content, code, found)
            assert found is not None
            if code is StatusCode.INVALID_ARGUMENT:
                assert request is None or not 1 <= len(request.server.encode()) <= 256, content
            else:
                self.met["fences: stale"] += 1
                assert found.reason == "STALE_SERVER"
                assert request is not None
                assert request.life < self.life.fencing[request.server], (content, found)
            return
        except asyncio.CancelledError:
            if drawn.leave != 0.0 or (now := asyncio.current_task()) is None or now.cancelling():
                raise
            return
        assert request is not None
        assert request.life >= fenced.get(request.server, 0), (request, fenced)
        self.life.fenced[request.server] = max(request.life, self.life.fenced.get(request.server, 0))
        self._is_fenced(request, rollout_pb2.FenceAnswer.FromString(part))

    def _is_fenced(self, request: Any, answer: Any) -> None:
        """Nothing of the earlier lives is open, and what the answer tells of their leases is what is recorded."""
        self.met["fences"] += 1
        self.met["fenced leases"] += len(answer.leases)
        for run in self.life.front.leases.runs.values():
            is_earlier = run.sender.server == request.server and run.sender.life < request.life
            assert run.ending or not is_earlier, (request, run.lease)
        for lease in answer.leases:
            kept = self.life.front.records.answer(lease.request_id)
            reason = REASON.Name(lease.ending).removeprefix("FINISH_REASON_").lower()
            assert kept is not None
            assert (kept.closure, kept.session) == (CLOSURES.get(reason, reason), lease.session), (kept, lease)

    def _server_life(self, server: str, offset: int) -> int:
        known = self.life.fencing.get(_server(server), 0)
        return offset if offset in HUGE else min(max(0, known + offset), HUGE[1])


def _server(drawn: str) -> str:
    return "x" * 5000 if drawn == "long" else drawn
