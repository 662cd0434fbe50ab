"""One replica as the controller reaches it: its gate's client, and waiting for what a gate becomes.

Rules of this file:

- A wait watches the gate's transitions and is bounded; it never polls by sleeping, and a watch that broke
  off is taken up again. It ends when nothing more can come: the incarnation has ended.
- Operation ids say what they are for; one is used again only while no answer has arrived.
- A gate that refuses the term has a higher one: that is nobody's failure, and is told apart.
- A device is lent once its memory is free, not when its gate has lent it.
- Weights are staged before a gate is sealed for them, and again before an install that comes without a seal: a
  road that is out of reach costs a try, and no gate.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, TypeVar

from grpc import StatusCode, aio

from ...protocol.client import CallError, Refused, Reply, Unreachable, dial, told
from ...protocol.generated import front_pb2, front_pb2_grpc, rollout_pb2, rollout_pb2_grpc
from ...protocol.generated.gate_service import GATE, GateClient
from ...protocol.refusals import detail
from ...statemachines.sorts import Mode
from .converge import Advice, Next, converge, reaches

T = TypeVar("T")

WATCH_AGAIN_S = 0.1
"""Pause before a watch that broke off is taken up again."""


class MemberError(Exception):
    """A member cannot go on with an operation; the text is the reason that reports show."""


class Late(MemberError):
    """A gate did not become what was waited for in time."""


class Above(MemberError):
    """A gate holds or installs `version`, which is durable and newer than the target: the target is to be raised."""

    def __init__(self, text: str, version: int) -> None:
        super().__init__(text)
        self.version = version


class Overruled(Exception):
    """A gate, or the register, is ruled by a higher term."""


def as_member_error(error: CallError) -> MemberError | Overruled:
    """What a call's failure means for an operation."""
    if isinstance(error, Refused) and error.reason == "stale_term":
        return Overruled(str(error))
    return MemberError(str(error))


async def nobody_trains() -> bool:
    """Of a run whose trainer borrows devices within operations of one controller alone."""
    return False


class Member:
    """One incarnation of a replica. Times are in seconds.

    `control` and `data` are `host:port`, `data` is empty where weights are not staged; `term` is the controller's,
    `call` how long one call may take.
    """

    def __init__(self, replica: str, incarnation: str, control: str, data: str, *, term: int, call: float) -> None:
        self.replica, self.incarnation, self.control, self.data = replica, incarnation, control, data
        self._channel: aio.Channel = dial(control)
        self._data: aio.Channel | None = dial(data) if data else None
        self.gate = GateClient(self._channel, replica, incarnation=incarnation, deadline=call)
        self.term = term
        self._numbers = itertools.count(1)
        self._ended = asyncio.Event()
        self._why = ""

    def end(self, why: str) -> None:
        """The incarnation has ended: whoever waits for it is told."""
        self._why = self._why or why
        self._ended.set()

    async def while_alive(self, work: Coroutine[Any, Any, T]) -> T:
        """What `work` gives. Raises MemberError as soon as the incarnation has ended; `work` is then cancelled."""
        doing, ended = asyncio.ensure_future(work), asyncio.ensure_future(self._ended.wait())
        try:
            await asyncio.wait((doing, ended), return_when=asyncio.FIRST_COMPLETED)
            if not doing.done():
                raise MemberError(f"{self.incarnation} has ended: {self._why}")
            return doing.result()
        finally:
            for task in (doing, ended):
                task.cancel()
            await asyncio.gather(doing, ended, return_exceptions=True)

    async def close(self) -> None:
        for channel in filter(None, (self._channel, self._data)):
            await channel.close()

    async def stage(self, version: int, within: float) -> None:
        """Have it receive a version beside the one that it serves; whatever becomes of that, its gate stays as it is.

        One that stages nothing gets it when it installs. Raises MemberError, Overruled.
        """
        if self._data is None:
            return
        stub: Any = rollout_pb2_grpc.RolloutStub(self._data)
        try:
            await stub.Stage(rollout_pb2.StageRequest(version=version, term=self.term), timeout=within)
        except aio.AioRpcError as error:
            if error.code() == StatusCode.UNIMPLEMENTED:
                return
            found = detail(error, GATE.reply)
            if found is not None and found.reason == "STALE_TERM":
                raise Overruled(str(error.details())) from error
            late = error.code() == StatusCode.DEADLINE_EXCEEDED
            said = f"it took longer than {within:.3g} s" if late else error.details()
            raise MemberError(f"{self.incarnation} could not stage version {version}: {said}") from error

    def operation(self, epoch: int, event: str) -> str:
        """A new operation id."""
        return f"{self.term}.{epoch}.{self.incarnation}.{event}.{next(self._numbers)}"

    async def claim(self) -> Reply[Any]:
        """Take the gate over for this term."""
        return await self.gate.claim(term=self.term, operation_id=self.operation(0, "claim"))

    async def seal(self, epoch: int, mode: Mode, window_ms: int) -> Reply[Any]:
        operation = self.operation(epoch, "seal")
        return await self.gate.seal(term=self.term, epoch=epoch, mode=mode, window=window_ms, operation_id=operation)

    async def escalate(self, epoch: int, mode: Mode) -> Reply[Any]:
        operation = self.operation(epoch, "escalate")
        return await self.gate.escalate(term=self.term, epoch=epoch, mode=mode, operation_id=operation)

    async def poison(self, why: str) -> Reply[Any]:
        """Give the replica up."""
        return await self.gate.poison(term=self.term, why=why, operation_id=self.operation(0, "poison"))

    async def drain(self, epoch: int) -> Reply[Any]:
        return await self.gate.drain(term=self.term, epoch=epoch, operation_id=self.operation(epoch, "drain"))

    async def install(self, epoch: int, version: int, digests: Mapping[str, str]) -> Reply[Any]:
        operation = self.operation(epoch, "install")
        return await self.gate.install(
            term=self.term, epoch=epoch, version=version, digests=digests, operation_id=operation
        )

    async def lend(self, epoch: int) -> str:
        """Lend the device out, until its memory is free; the name of the lend, which gives it back."""
        operation = self.operation(epoch, "lend")
        await self.gate.lend(term=self.term, epoch=epoch, lend=operation, operation_id=operation)
        await self._released(operation)
        return operation

    async def _released(self, lend: str) -> None:
        """Wait until the memory of a lend is free, as long as the caller waits. Raises MemberError."""
        stub: Any = front_pb2_grpc.FrontStub(self._channel)
        while True:
            try:
                await stub.Released(front_pb2.ReleasedRequest(lend=lend))
                return
            except aio.AioRpcError as error:
                if error.code() == StatusCode.UNIMPLEMENTED:
                    # A gate that stands before no memory of its own.
                    return
                if error.code() != StatusCode.UNAVAILABLE:
                    text = f"{self.incarnation} has lent its device and does not free its memory: {told(error)}"
                    raise MemberError(text) from error
            await asyncio.sleep(WATCH_AGAIN_S)

    async def returned(self, epoch: int, lend: str) -> Reply[Any]:
        operation = self.operation(epoch, "returned")
        return await self.gate.returned(term=self.term, epoch=epoch, lend=lend, operation_id=operation)

    async def renew(self, epoch: int, window_ms: int) -> Reply[Any]:
        operation = self.operation(epoch, "renew")
        return await self.gate.renew(term=self.term, epoch=epoch, window=window_ms, operation_id=operation)

    async def reopen(self, epoch: int) -> Reply[Any]:
        return await self.gate.reopen(term=self.term, epoch=epoch, operation_id=self.operation(epoch, "reopen"))

    async def resume(self, epoch: int) -> Reply[Any]:
        return await self.gate.resume(term=self.term, epoch=epoch, operation_id=self.operation(epoch, "resume"))

    async def close_gate(self, epoch: int, within: float) -> Reply[Any]:
        """Close, again while leases are still suspended: each refusal is answered by waiting for a change."""
        async with asyncio.timeout(within):
            while True:
                try:
                    return await self.gate.close(
                        term=self.term, epoch=epoch, operation_id=self.operation(epoch, "close")
                    )
                except Refused as refusal:
                    if not refusal.retry:
                        raise
                    seen = refusal.number
                await self.until(lambda gate, number, seen=seen: number != seen or gate.state != "REOPENED", within)

    async def until(self, holds: Callable[[Any, int], bool], within: float) -> Any:
        """The first snapshot for which `holds(snapshot, number)`. Raises Late after `within` seconds, MemberError."""
        last: Any = None
        try:
            async with asyncio.timeout(within):
                while True:
                    with contextlib.suppress(Unreachable):
                        async for seen in self.gate.watch():
                            last = seen.snapshot
                            if seen.incarnation != self.incarnation:
                                raise MemberError(f"{self.incarnation} has ended: {seen.incarnation} answers")
                            if holds(seen.snapshot, seen.number):
                                return seen.snapshot
                    await asyncio.sleep(WATCH_AGAIN_S)
        except TimeoutError:
            state = "unknown" if last is None else last.state
            raise Late(f"{self.incarnation} did not get on within {within:g} s: its gate is {state}") from None
        except CallError as error:
            raise as_member_error(error) from error

    async def converge(
        self, version: int, epoch: int, digests: Mapping[str, str], *, mode: Mode, window_ms: int, within: float,
        is_durable: Callable[[int], Awaitable[bool]], uses_device: Callable[[], Awaitable[bool]] = nobody_trains,
        is_target: Callable[[], bool] = lambda: True,
    ) -> Any:  # fmt: skip
        """Bring the gate to `version` open, by `converge` alone; the last snapshot.

        `is_durable` says whether manifest and bytes of a version are there, without which none is installed;
        `uses_device` whether the trainer that borrowed the device may still train on it; `is_target` whether
        `version` still is what is wanted. Raises Above where the target is, or is to be, another; MemberError
        when it cannot be done, or not within `within` seconds; Overruled.
        """
        is_staged = False
        try:
            async with asyncio.timeout(within):
                while True:
                    seen = await self.gate.get()
                    if not is_target():
                        raise Above(f"{version} is no longer wanted of {self.incarnation}", version)
                    gate, newest = seen.snapshot, reaches(seen.snapshot)
                    advice = converge(
                        gate, version, epoch, is_durable=newest is not None and await is_durable(newest),
                        trainer_uses_device=gate.lent is not None and await uses_device(),
                    )  # fmt: skip
                    match advice.next:
                        case Next.DONE:
                            return gate
                        case Next.REPLACE:
                            raise MemberError(f"{self.incarnation} is poisoned")
                        case Next.RAISE_TARGET if newest is not None:
                            raise Above(f"{self.incarnation} is above {version}, at {newest}", newest)
                        case Next.WAIT:
                            await self.until(lambda g, n, last=seen.number: n != last, within)
                        case Next.INSTALL if not await is_durable(version):
                            # An install that finds no bytes poisons its gate.
                            text = f"the bytes of version {version} are not there any more"
                            raise MemberError(f"{self.incarnation} cannot be brought home: {text}")
                        case Next.SEAL | Next.INSTALL if gate.lent is None and not is_staged:
                            await self.stage(version, within)
                            is_staged = True
                        case _:
                            await self._try(advice, gate, version, digests, mode, window_ms, seen.number, within)
        except TimeoutError:
            raise Late(f"{self.incarnation} did not converge to {version} within {within:g} s") from None
        except CallError as error:
            raise as_member_error(error) from error

    async def _try(
        self, advice: Advice, gate: Any, version: int, digests: Mapping[str, str], mode: Mode, window_ms: int,
        seen: int, within: float,
    ) -> None:  # fmt: skip
        """Perform; after a refusal that may pass, wait until the gate has changed."""
        try:
            await self._perform(advice, gate, version, digests, mode, window_ms)
        except Refused as refusal:
            if not refusal.retry:
                raise
            last = max(seen, refusal.number)
            await self.until(lambda gate, number: number != last, within)

    async def _perform(
        self, advice: Advice, gate: Any, version: int, digests: Mapping[str, str], mode: Mode, window_ms: int
    ) -> None:
        """Do what `converge` advises; `wait` and the ends are the caller's."""
        epoch = advice.epoch
        match advice.next:
            case Next.SEAL:
                await self.seal(epoch, mode, window_ms)
            case Next.DRAIN:
                await self.drain(epoch)
            case Next.INSTALL:
                await self.install(epoch, version, digests)
            case Next.REOPEN:
                await self.reopen(epoch)
            case Next.RESUME:
                await self.resume(epoch)
            case Next.CLOSE:
                await self.gate.close(term=self.term, epoch=epoch, operation_id=self.operation(epoch, "close"))
            case Next.RETURN:
                await self.returned(epoch, gate.lent)
            case Next.RENEW:
                number = (await self.renew(epoch, window_ms)).number
                with contextlib.suppress(Late):
                    await self.until(lambda gate, n: n != number, window_ms / 3000)
            case Next.POISON:
                await self.poison("it holds a version that is not durable")
            case _:
                raise MemberError(f"{self.incarnation}: nothing to perform for {advice.next}")
