"""Scripted clients: each request is a turn of a session, and what comes of it is kept.

Rules of this file:

- Requests go over the network as anybody's do; the sessions' steps are logged as a session server's are.
- A turn ends when its lease is known to have ended; of a stream that broke, at the end of the run.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from grpc import aio

from ...protocol.client import Reply, dial
from ...protocol.generated import rollout_pb2, rollout_pb2_grpc
from ...protocol.generated.gate_service import GATE
from ...protocol.generated.lease_service import LeaseClient
from ...protocol.generated.session_service import SESSION
from ...protocol.host import MachineHost
from ...protocol.refusals import Detail, detail
from ...statemachines.session import Rebinding, Session
from ..tracelog import TraceLog
from .engine import made_by, place_of

if TYPE_CHECKING:
    from .lives import ReplicaLife

REASON = rollout_pb2.FinishReason


@dataclass(eq=False, slots=True)
class Answer:
    """What a request has brought so far; `labels` is the version that is said of each token."""

    lease: str
    session: str
    replica: str
    hold: float
    version: int | None = None
    epoch: int = 0
    ids: list[int] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)
    reason: str = ""
    """How it ended: as the last chunk says; `refused`, `broken` or `left`; empty while it has not."""
    refusal: Detail | None = None
    code: Any = None
    chunks: int = 0
    ended: float = 0.0
    """When the end was heard."""
    reads: asyncio.Event = field(default_factory=asyncio.Event)
    """While it is clear the client reads nothing more."""
    call: Any = None
    task: asyncio.Task[None] | None = None

    @property
    def is_admitted(self) -> bool:
        return self.chunks > 0

    @property
    def is_true(self) -> bool:
        """Whether every token is labelled with what made it, and none is missing or there twice."""
        return self.labels == [made_by(t) for t in self.ids] and [place_of(t) for t in self.ids] == [
            *range(len(self.ids))
        ]

    def leave(self) -> None:
        """The client goes away."""
        self.call.cancel()


class Sessions:
    """What the Session machine asks of a process that keeps no traces."""

    async def settle_not_sent(self, instance: str, leases: frozenset[str]) -> None: ...

    async def free_trace(self, instance: str) -> None: ...


class Clients:
    """The clients of a run, in one process."""

    def __init__(self, log: TraceLog, incarnation: str) -> None:
        logged = log.of("Session")
        self.sessions = MachineHost(SESSION, Sessions(), incarnation=incarnation, observer=logged, lives=logged.lives)
        self.answers: list[Answer] = []
        self._turns: dict[str, int] = {}
        self._open: dict[str, str] = {}

    def ask(
        self, life: ReplicaLife, *, tokens: int, session: str, lease: str, pin: int | None, hold: float,
        incarnation: str, within: float | None,
    ) -> Answer:  # fmt: skip
        """Begin a turn; it goes on by itself."""
        session = session or f"s{len(self._turns) + 1}"
        if session not in self.sessions:
            self.sessions.create(session, policy=Rebinding.NEVER)
        number = self._turns[session] = self._turns.get(session, 0) + 1
        answer = Answer(lease or f"{session}.{number}", session, life.replica, hold)
        answer.reads.set()
        self.answers.append(answer)
        if not lease:
            # An id that is used a second time is no turn of its own.
            self.sessions.step(session, Session.BeginTurn(lease=answer.lease), answer.lease)
            self._open[answer.lease] = session
        request = rollout_pb2.GenerateRequest(
            request_id=answer.lease, session=session, incarnation=incarnation,
            prompt_token_ids=(1, 2, 3), version=pin, hold=hold,
            sampling=rollout_pb2.SamplingParams(max_tokens=tokens, top_p=1.0),
        )  # fmt: skip
        stub: Any = rollout_pb2_grpc.RolloutStub(dial(life.facts["data"]))
        answer.call = stub.Generate(request, timeout=within)
        answer.task = asyncio.get_running_loop().create_task(self._follow(answer, life), name=answer.lease)
        return answer

    async def abort(self, life: ReplicaLife, lease: str) -> bool:
        """Abort a request by its id; whether it was running."""
        stub: Any = rollout_pb2_grpc.RolloutStub(dial(life.facts["data"]))
        return (await stub.Abort(rollout_pb2.AbortRequest(request_id=lease), timeout=60)).running

    async def cancel(self, life: ReplicaLife, lease: str) -> Reply[Any]:
        """Cancel a lease by its machine."""
        return await LeaseClient(dial(life.facts["control"]), lease, incarnation=life.incarnation).cancel()

    async def _follow(self, answer: Answer, life: ReplicaLife) -> None:
        try:
            async for chunk in answer.call:
                answer.chunks += 1
                assert not answer.reason, f"{answer.lease}: something came after the end"
                if chunk.lease:
                    answer.epoch = chunk.epoch
                    answer.version = chunk.version if chunk.HasField("version") else None
                    self._bind(answer, life)
                answer.ids += chunk.token_ids
                answer.labels += [s.version for s in chunk.spans for _ in range(s.count)]
                if chunk.finish_reason:
                    answer.reason = REASON.Name(chunk.finish_reason).removeprefix("FINISH_REASON_").lower()
                await answer.reads.wait()
        except aio.AioRpcError as error:
            answer.code, answer.refusal = error.code(), detail(error, GATE.reply)
            answer.reason = answer.reason or (
                "refused" if answer.refusal else "left" if answer.call.was_left else "broken"
            )
        answer.ended = asyncio.get_running_loop().time()
        if answer.reason not in ("broken", "left"):
            self.end_turn(answer.lease)

    def _bind(self, answer: Answer, life: ReplicaLife) -> None:
        if answer.lease in self._open and self.sessions.live(answer.session).state == "BINDING":
            bound = Session.Bound(replica=life.replica, incarnation=life.incarnation)
            self.sessions.step(answer.session, bound, answer.lease)

    def end_turn(self, lease: str) -> None:
        """The lease is over."""
        session = self._open.pop(lease, None)
        if session is not None:
            self.sessions.step(session, Session.EndTurn(lease=lease), lease)

    async def end(self) -> None:
        """Everything has ended: what was not heard is over too."""
        tasks = [a.task for a in self.answers if a.task is not None]
        for answer in self.answers:
            answer.reads.set()
        if tasks:
            await asyncio.wait(tasks, timeout=60)
        for lease in list(self._open):
            self.end_turn(lease)
        for task in tasks:
            task.result()


@asynccontextmanager
async def clients(log: TraceLog, incarnation: str) -> AsyncIterator[Clients]:
    """Clients that are there."""
    made = Clients(log, incarnation)
    async with made.sessions:
        yield made
