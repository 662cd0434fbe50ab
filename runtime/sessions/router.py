"""Sessions and their turns: binding, generation through the bound replica, and what became of a lease.

Rules of this file:

- The Session machine says what may happen; this file carries requests and reports what happened.
- A session is bound only while no operation runs, to the least loaded replica at the published version.
- A lease is out of the session only when its end is known: its replica has settled or lost it, or the
  replica's process has ended.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import grpc
from grpc import aio

from ...protocol.client import CallError, Rejected, dial
from ...protocol.generated import rollout_pb2, rollout_pb2_grpc
from ...protocol.generated.gate_service import GATE
from ...protocol.generated.lease_service import LeaseClient
from ...protocol.generated.session_service import SESSION
from ...protocol.host import MachineHost
from ...protocol.refusals import Detail, detail
from ...protocol.store import Store
from ...protocol.tasks import Tasks
from ...statemachines.compiler import Outcome
from ...statemachines.session import Rebinding, Session
from ..controller.controller import Controller
from ..controller.member import Member
from ..tracelog import TraceLog
from .sampling import Sampling
from .traces import Tree

FINISH = rollout_pb2.FinishReason
ASK_AGAIN_S, CALL_S = 0.2, 2.0
"""Pause between two questions about a lease whose stream broke, and how long an answer may take."""
ENDS_S = 700.0
"""A replica ends every lease within its own bounds (settled, or given up and poisoned); this is longer."""


class SessionClosed(Exception):
    """The session takes no turn: it is finished, retired or lost; `reason` says which."""

    def __init__(self, session: str, outcome: Outcome) -> None:
        super().__init__(f"session {session}: {outcome.text}")
        self.reason, self.retry = outcome.reason, outcome.retry


class TurnRefused(Exception):
    """The replica refused the request; with `retry` it may be sent again, under a new lease."""

    def __init__(self, session: str, found: Detail, text: str) -> None:
        super().__init__(f"session {session}: {text}")
        self.reason, self.retry = found.reason.lower(), found.retry


class TurnLost(Exception):
    """The turn's outcome is unknown or it failed: its tokens are not to be used."""


@dataclass(slots=True)
class Turn:
    """One completed turn: tokens with their log-probabilities and versions, in order."""

    lease: str
    prompt_ids: list[int]
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    versions: list[int] = field(default_factory=list)
    reason: str = ""


@dataclass(slots=True)
class _Call:
    """A request of a turn. `sent_to` is the replica that may hold it; None before it, and once its end is known."""

    session: str
    lease: str
    sent_to: Member | None = None


class SessionActions:
    """What the Session machine asks for. The router settles what was not sent when its call ends."""

    def __init__(self, traces: dict[str, Tree]) -> None:
        self._traces = traces

    async def settle_not_sent(self, instance: str, leases: frozenset[str]) -> None:
        """Nothing: the turn that holds the lease sees the session's state, and ends it itself."""

    async def free_trace(self, instance: str) -> None:
        self._traces.pop(instance, None)


class Router:
    """Runs the turns of sessions over the replicas of `controller`. Use as `async with`.

    `patience` is how long a turn may wait for a replica to be bound to, and `call` how long a
    generation may take, in seconds.
    """

    def __init__(
        self, controller: Controller, *, incarnation: str, store: Store, log: TraceLog | None = None,
        patience: float = 60.0, call: float = 120.0,
    ) -> None:  # fmt: skip
        self._controller, self._patience, self._call = controller, patience, call
        self.traces: dict[str, Tree] = {}
        logged = log.of("Session") if log else None
        self.sessions = MachineHost(
            SESSION,
            SessionActions(self.traces),
            incarnation=incarnation,
            store=store,
            observer=logged,
            lives=logged.lives if logged else None,
        )
        self._channels: dict[str, aio.Channel] = {}
        self._bound: Counter[str] = Counter()
        self._numbers: dict[str, itertools.count[int]] = {}
        self._endings = Tasks()

    async def __aenter__(self) -> Self:
        await self.sessions.__aenter__()
        await self._endings.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            try:
                await self._endings.__aexit__(kind, error, trace)
            finally:
                await self.sessions.__aexit__(kind, error, trace)
        finally:
            for channel in self._channels.values():
                await channel.close()

    # -- the life of a session -------------------------------------------------------------------

    def open(self, session: str, policy: Rebinding = Rebinding.NEVER) -> None:
        """A new session. Raises ValueError if the id was used."""
        if session in self._numbers:
            raise ValueError(f"session {session} was opened before: take a new id")
        self.sessions.create(session, policy=policy)
        self._numbers[session] = itertools.count(1)
        self.traces[session] = Tree()

    async def finish(self, session: str) -> None:
        """The conversation is complete. Raises SessionClosed if it cannot be."""
        await self._durably(session, Session.Finish())

    async def take(self, session: str, consumer: str) -> Tree:
        """Begin to read the trace as `consumer`. Raises SessionClosed."""
        await self._durably(session, Session.Take(consumer=consumer))
        return self.traces[session]

    async def release(self, session: str, consumer: str) -> None:
        """The trace was read: the session retires. Raises SessionClosed."""
        await self._durably(session, Session.Release(consumer=consumer))
        self._forget(session)

    async def retire(self, session: str) -> None:
        """End the session, whatever it was doing. Raises SessionClosed while its trace is read."""
        await self._durably(session, Session.Retire())
        self._forget(session)

    def lose(self, incarnation: str) -> list[str]:
        """An incarnation has ended: the sessions that were bound to it are lost; their ids."""
        lost = []
        for session in self.sessions.instances():
            outcome = self.sessions.step(session, Session.Lose(incarnation=incarnation), cause=incarnation)
            if outcome.kind == "go":
                lost.append(session)
        return lost

    # -- turns -----------------------------------------------------------------------------------

    async def turn(self, session: str, prompt_ids: list[int], sampling: Sampling, seed: int) -> Turn:
        """One generation of the session; waits at a closed gate, again and again within the bounds.

        Raises SessionClosed, TurnRefused (not to be retried), TurnLost.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + self._call
        while True:
            call = _Call(session, f"{session}.{next(self._numbers[session])}")
            begun = self.sessions.step(session, Session.BeginTurn(lease=call.lease), cause=call.lease)
            if begun.refused:
                raise SessionClosed(session, begun)
            try:
                turn = await self._generate(call, prompt_ids, sampling, seed, until - loop.time())
                spans = [(version, len(list(same))) for version, same in itertools.groupby(turn.versions)]
                self.traces[session].grow(turn.lease, prompt_ids, turn.ids, turn.logprobs, spans, turn.reason)
                return turn
            except TurnRefused as refusal:
                if not refusal.retry or loop.time() >= until:
                    raise
            finally:
                if call.sent_to is None:
                    self._end_turn(call)
                else:
                    # Whoever stops waiting does not end the turn: the lease's end does.
                    self._endings.create_task(self._end_when_known(call, call.sent_to))
            await asyncio.sleep(ASK_AGAIN_S)

    async def _generate(
        self, call: _Call, prompt_ids: list[int], sampling: Sampling, seed: int, within: float
    ) -> Turn:
        session, lease = call.session, call.lease
        live = self.sessions.live(session)
        binding = live.state == "BINDING"
        member = await self._choose(session) if binding else self._bound_member(session, live)
        if binding and not (live.state == "BINDING" and lease in live.leases):
            raise TurnLost(f"session {session} was {live.state.lower()} while it waited to be bound")
        request = rollout_pb2.GenerateRequest(
            request_id=lease, session=session, incarnation=member.incarnation, prompt_token_ids=prompt_ids, hold=within,
            sampling=rollout_pb2.SamplingParams(
                max_tokens=sampling.max_new_tokens, temperature=sampling.temperature, top_p=sampling.top_p, seed=seed,
                stop_token_ids=sampling.stop_ids,
            ),
        )  # fmt: skip
        turn = Turn(lease, list(prompt_ids))
        if binding:
            # A gate that its deadline reopened may serve a version that is not published: not for binding.
            if self._controller.published is not None:
                request.version = self._controller.published
            self._bound[member.incarnation] += 1
        call.sent_to = member
        try:
            async for chunk in self._stream(member, request, within):
                if chunk.lease and binding:
                    await self._bind(session, lease, member)
                elif chunk.finish_reason:
                    call.sent_to = None
                    return self._ended(session, turn, chunk)
                else:
                    turn.ids.extend(chunk.token_ids)
                    turn.logprobs.extend(chunk.log_probs)
                    turn.versions.extend(s.version for s in chunk.spans for _ in range(s.count))
        except aio.AioRpcError as error:
            found = detail(error, GATE.reply)
            if found is not None:
                call.sent_to = None
                raise TurnRefused(session, found, error.details() or found.reason) from error
            raise TurnLost(f"session {session}, lease {lease}: the stream broke ({error.code().name})") from error
        finally:
            if binding and live.incarnation != member.incarnation:
                self._bound[member.incarnation] -= 1
        raise TurnLost(f"session {session}, lease {lease}: the stream ended without an end")

    async def _bind(self, session: str, lease: str, member: Member) -> None:
        """The replica has admitted the session's first lease. Raises TurnLost if it no longer waits for that."""
        bound = Session.Bound(replica=member.replica, incarnation=member.incarnation)
        outcome = await self.sessions.apply(session, bound, durable=True, cause=lease)
        if outcome.kind != "go":
            raise TurnLost(f"session {session} no longer waits to be bound")
        if not self._controller.is_alive(member.incarnation):
            # Its end was told before the session could hear of it.
            self.sessions.step(session, Session.Lose(incarnation=member.incarnation), cause=member.incarnation)

    def _end_turn(self, call: _Call) -> None:
        self.sessions.step(call.session, Session.EndTurn(lease=call.lease), cause=call.lease)
        self._forget(call.session)

    async def _end_when_known(self, call: _Call, member: Member) -> None:
        """End the turn once its lease has settled or is lost; a lease without an end keeps it open."""
        if await self._is_over(member, call.lease):
            self._end_turn(call)

    def _ended(self, session: str, turn: Turn, chunk: rollout_pb2.GenerateChunk) -> Turn:
        turn.reason = FINISH.Name(chunk.finish_reason).removeprefix("FINISH_REASON_").lower()
        if turn.reason not in ("stop", "length"):
            raise TurnLost(f"session {session}, lease {turn.lease}: {turn.reason} ({chunk.text})")
        if not len(turn.ids) == len(turn.logprobs) == len(turn.versions):
            raise TurnLost(f"session {session}, lease {turn.lease}: tokens and their labels do not match")
        return turn

    async def _stream(
        self, member: Member, request: rollout_pb2.GenerateRequest, within: float
    ) -> AsyncIterator[rollout_pb2.GenerateChunk]:
        stub = rollout_pb2_grpc.RolloutStub(self._channel(member.data))
        call = stub.Generate(request, timeout=max(0.1, within))
        try:
            async for chunk in call:
                yield chunk
        finally:
            call.cancel()

    # -- replicas --------------------------------------------------------------------------------

    async def _choose(self, session: str) -> Member:
        """The least loaded replica at the published version, while no operation runs."""
        controller = self._controller

        def is_ready() -> bool:
            return controller.is_idle and bool(controller.serving())

        if not await controller.changed.until(is_ready, self._patience):
            text = f"no replica at the published version within {self._patience:g} s"
            raise TurnRefused(session, Detail("NO_REPLICA", "BINDING", False, False, None), text)
        return min(controller.serving(), key=lambda m: (self._bound[m.incarnation], m.replica))

    def _bound_member(self, session: str, live: Any) -> Member:
        member = self._controller.members.get(live.replica)
        if member is None or member.incarnation != live.incarnation:
            raise TurnLost(f"session {session} is bound to {live.incarnation}, which has ended")
        return member

    async def _is_over(self, member: Member, lease: str) -> bool:
        """Abort the lease, and wait until it has settled or is lost; its replica's end ends it too.

        False if that is not known after `ENDS_S`.
        """
        client = LeaseClient(self._channel(member.control), lease, incarnation=member.incarnation, deadline=CALL_S)
        data = rollout_pb2_grpc.RolloutStub(self._channel(member.data))
        aborted = False
        try:
            async with asyncio.timeout(ENDS_S):
                while self._controller.is_alive(member.incarnation):
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
                    await asyncio.sleep(ASK_AGAIN_S)
        except TimeoutError:
            return False
        return True

    def _channel(self, target: str) -> aio.Channel:
        channel = self._channels.get(target)
        if channel is None:
            channel = self._channels[target] = dial(target)
        return channel

    async def _durably(self, session: str, event: Any) -> None:
        outcome = await self.sessions.apply(session, event, durable=True, cause=session)
        if outcome.refused:
            raise SessionClosed(session, outcome)

    def _forget(self, session: str) -> None:
        """A retired session stays known by its id only."""
        if session in self.sessions and (live := self.sessions.live(session)).state == "RETIRED":
            if live.incarnation is not None:
                self._bound[live.incarnation] -= 1
            self.sessions.drop(session)
