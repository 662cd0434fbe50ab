"""The control plane of one case against a live worker: what is sent to it, and how its answers are judged.

Rules of this file:

- What a command means is read from its bytes here, apart from the code that serves it.
- An answer is judged by the one step that its operation caused; a caller that left may have caused one, or none.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from contextlib import suppress
from typing import Any

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.message import DecodeError
from grpc import StatusCode, aio
from live_worker import Life, Shadow, Step, Worker
from messages import HUGE, Command, Next

from sluicegate.protocol.generated.gate_service import GATE
from sluicegate.protocol.generated.lease_service import LEASE
from sluicegate.protocol.refusals import detail
from sluicegate.protocol.wire import KINDS
from sluicegate.runtime.controller.converge import is_drained, is_verified, reaches
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.lease import Lease
from sluicegate.statemachines.sorts import Mode

BOUND = 30.0
"""Seconds that anything may take."""
FORBIDDEN = (StatusCode.INTERNAL, StatusCode.UNKNOWN)
LEFT = (StatusCode.CANCELLED, StatusCode.DEADLINE_EXCEEDED)
_MODES = {1: Mode.WAIT, 2: Mode.ABORT, 3: Mode.KEEP}
numbers = itertools.count(1)


class Malformed(Exception):
    """The bytes mean no command."""


def request_class(service: str, method: str) -> Any:
    described: Any = descriptor_pool.Default().FindServiceByName(service).methods_by_name[method].input_type
    return message_factory.GetMessageClass(described)


def meaning(machine: Any, name: str, request: Any) -> Any:
    """The event that a request means. Raises Malformed."""
    if not 1 <= len(request.fence.operation_id) <= 128:
        raise Malformed
    texts = [request.instance, request.fence.incarnation, *(getattr(request, n, "") for n in ("lend", "why"))]
    texts += [text for pair in getattr(request, "digests", {}).items() for text in pair]
    if max(len(text.encode()) for text in texts) > 4096:
        raise Malformed
    event = next(e for e in machine.ir.events if e.name == name)
    given = {f.name: getattr(request.fence if f.name in ("term", "epoch") else request, f.name) for f in event.fields}
    if "mode" in given:
        if given["mode"] not in _MODES:
            raise Malformed
        given["mode"] = _MODES[given["mode"]]
    if "digests" in given:
        given["digests"] = dict(given["digests"])
    return getattr(machine, name)(**given)


def _near(number: int, offset: int) -> int:
    return min(max(0, number + offset), HUGE[1])


class Commands:
    """`met` counts what was sent, by kind, and how it was answered. Raises AssertionError where something is wrong."""

    def __init__(self, worker: Worker, life: Life, met: Counter[str]) -> None:
        self.worker, self.life, self.met = worker, life, met
        self.weights = worker.weights
        self.streams: list[asyncio.Task[None]] = []
        self.leases: list[str] = []
        self.long: set[str] = set()
        """Leases that would run for seconds."""
        self.last: tuple[str, bytes, str] | None = None
        """The last operation: method, content, id."""
        self.sent: dict[tuple[str, str], set[bytes]] = {}
        self.tries: Counter[tuple[str, str]] = Counter()
        self.answered: dict[tuple[str, str], Any] = {}
        self.operations: set[str] = set()

    async def _command(self, drawn: Command) -> None:
        now, ours = self.life.now, self.life.ready
        request: Any = request_class("sluicegate.v1.Gate", drawn.name)()
        request.instance = {"ours": ours["replica"], "long": "x" * 20_000}.get(drawn.instance, drawn.instance)
        fence = request.fence
        fence.incarnation = {"ours": ours["incarnation"], "long": "x" * 5000}.get(drawn.life, drawn.life)
        fence.operation_id = self._operation(drawn.operation)
        fence.term = drawn.term if drawn.term in HUGE else _near(now.term, drawn.term)
        if hasattr(fence, "epoch"):
            usual = now.epoch + (drawn.name == "Seal")
            fence.epoch = drawn.epoch if drawn.epoch in HUGE else _near(usual, drawn.epoch)
        for part in request.DESCRIPTOR.fields_by_name:
            match part:
                case "mode":
                    request.mode = drawn.mode
                case "window":
                    request.window = drawn.window
                case "lend":
                    request.lend = drawn.text if drawn.name == "Lend" or now.lent is None else now.lent
                case "why":
                    request.why = drawn.text
                case "version":
                    request.version = self._version(drawn.version)
        if drawn.name == "Install":
            request.digests.update(self._digests(drawn.digests, request.version))
        content = drawn.damage.of(request.SerializeToString())
        if drawn.operation == "again" and self.last is not None:
            await self._control("Gate", self.last[0], self.last[1], drawn.leave)
            return
        self.last = (drawn.name, content, fence.operation_id)
        await self._control("Gate", drawn.name, content, drawn.leave)

    def _operation(self, drawn: str) -> str:
        if drawn == "again with another request" and self.last is not None:
            return self.last[2]
        return {"empty": "", "long": "o" * 129}.get(drawn, f"case.{next(numbers)}")

    def _version(self, drawn: int | str) -> int:
        held = reaches(self.life.now) or 0
        if drawn == "next":
            return self.weights.publish(held + 1).version
        if isinstance(drawn, str):
            return held + 2_000_000
        return drawn if drawn in HUGE else max(0, held + drawn)

    def _digests(self, drawn: str, version: int) -> dict[str, str]:
        ranks = self.life.now.ranks
        published = version in self.weights.publisher.published()
        right = self.weights.store.get(version).rank_digests(ranks) if published else dict.fromkeys(ranks, "d")
        changed = {"wrong": dict.fromkeys(ranks, "wrong"), "none": {}, "long": dict.fromkeys(ranks, "x" * 5000)}
        return right | {"9": "d"} if drawn == "of another rank" else changed.get(drawn, right)

    async def _next(self, drawn: Next) -> None:
        now = self.life.now
        name = ""
        match now.state:
            case "OPEN":
                name = "Seal"
            case "SEALED":
                name = "Drain"
            case "DRAINING" if now.lent is not None:
                name = "Returned"
            case "DRAINING" if is_drained(now):
                name = ("Lend" if drawn.mode == 1 and not now.suspended else "Resume") if drawn.other else "Install"
            case "INSTALLING" if is_verified(now):
                name = "Reopen"
            case "REOPENED":
                name = "Close"
        if name:
            await self._command(Command(name, mode=drawn.mode, window=drawn.window))
        else:
            await asyncio.sleep(0.005)

    async def _control(self, machine: str, name: str, content: bytes, leave: float | None = None) -> None:
        """Send a command's bytes, and judge the answer."""
        wire, of, shadow = (GATE, Gate, self.life.gate) if machine == "Gate" else (LEASE, Lease, self.life.leases)
        kind = request_class(f"sluicegate.v1.{machine}", name)
        request = event = None
        with suppress(DecodeError, Malformed):
            request = kind.FromString(content)
            event = meaning(of, name, request)
        key, before = ("", ""), None
        if request is not None and event is not None:
            key = (f"{machine} {request.instance}", request.fence.operation_id)
            self.sent.setdefault(key, set()).add(name.encode() + request.SerializeToString(deterministic=True))
            self.tries[key] += 1
            before = self.answered.get(key)
            self.operations.add(request.fence.operation_id)
        was_there = request is not None and request.instance in shadow.models
        code, reply, found = await self._ask(
            self.life.control, f"/sluicegate.v1.{machine}/{name}", content, leave, wire
        )
        if code in LEFT and leave is not None:
            return
        said = (name, content, code, found or reply)
        if request is None or event is None:
            assert (code, found and found.reason) == (StatusCode.INVALID_ARGUMENT, "MALFORMED"), said
        elif code is StatusCode.INVALID_ARGUMENT:
            assert found.reason == "PAYLOAD", said
            assert len(self.sent[key]) > 1, said
        elif code is StatusCode.NOT_FOUND:
            assert not (was_there and request.instance in shadow.models), said
            assert not shadow.by(key[1], request.instance), said
        elif found is not None and found.reason == "INCARNATION":
            assert request.fence.incarnation != self.life.ready["incarnation"], said
            self._shows(shadow, wire, request.instance, found.reply)
        else:
            answer = reply if found is None else found.reply
            assert code in (StatusCode.OK, StatusCode.FAILED_PRECONDITION), said
            assert request.fence.incarnation == self.life.ready["incarnation"], said
            self._is_step(wire, answer, event, shadow.by(key[1], request.instance))
            assert (found is not None) == (KINDS[answer.kind] == "refuse"), said
            if before is not None:
                assert answer.replayed, said
                before.replayed = True
                assert answer == before, said
            assert not answer.replayed or self.tries[key] > 1, said
            self.answered[key] = answer

    def _is_step(self, wire: Any, answer: Any, event: Any, steps: list[Step]) -> None:
        """The answer tells of the one step that its operation has caused."""
        assert [step.event for step in steps] == [event], (steps, event)
        step = steps[0]
        assert (KINDS[answer.kind], answer.rule, answer.reason, answer.retry, answer.number) == (
            step.outcome.kind, step.outcome.rule, step.outcome.reason, step.outcome.retry, step.number,
        ), (answer, step)  # fmt: skip
        assert wire.value(answer.snapshot) == step.after, (answer, step)

    def _shows(self, shadow: Shadow, wire: Any, instance: str, reply: Any) -> None:
        """The reply shows the instance as it was at the number that it says."""
        seen = shadow.at.get((instance, reply.number))
        assert wire.value(reply.snapshot) == seen, (reply, seen)

    async def _ask(
        self, channel: aio.Channel, path: str, content: bytes, leave: float | None, wire: Any
    ) -> tuple[StatusCode, Any, Any]:
        """Status, reply and details of a call with these bytes."""
        call = channel.unary_unary(path)(content, timeout=BOUND)
        if leave is not None:
            await asyncio.sleep(leave)
            call.cancel()
        try:
            answer: Any = await call
            self.met["OK"] += 1
            return StatusCode.OK, wire.reply.FromString(answer), None
        except aio.AioRpcError as error:
            return self._status(path, content, error), None, detail(error, wire.reply)
        except asyncio.CancelledError:
            if leave is None:
                raise
            return StatusCode.CANCELLED, None, None

    def _status(self, path: str, content: bytes, error: aio.AioRpcError) -> StatusCode:
        code = error.code()
        self.met[code.name] += 1
        assert code not in FORBIDDEN, (path, content, error.details())
        return code
