"""One replica as the controller reaches it: its gate's client, and waiting for what a gate becomes.

Rules of this file:

- A wait watches the gate's transitions and is bounded; it never polls by sleeping.
- Operation ids say what they are for; one is used again only while no answer has arrived.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping
from typing import Any

from grpc import aio

from ...protocol.client import CallError, Refused, Reply, dial
from ...protocol.generated.gate_service import GateClient
from ...statemachines.sorts import Mode
from .converge import Advice, Next, converge


class MemberError(Exception):
    """A member cannot go on with an operation; the text is the reason that reports show."""


class Member:
    """One incarnation of a replica. Times are in seconds.

    `control` and `data` are `host:port`; `term` is the controller's, `settle` how long one call may take.
    """

    def __init__(self, replica: str, incarnation: str, control: str, data: str, *, term: int, call: float) -> None:
        self.replica, self.incarnation, self.control, self.data = replica, incarnation, control, data
        self._channel: aio.Channel = dial(control)
        self.gate = GateClient(self._channel, replica, incarnation=incarnation, deadline=call)
        self.term = term
        self._numbers = itertools.count(1)

    async def close(self) -> None:
        await self._channel.close()

    def operation(self, epoch: int, event: str) -> str:
        """A new operation id."""
        return f"{self.term}.{epoch}.{self.incarnation}.{event}.{next(self._numbers)}"

    async def claim(self) -> Reply[Any]:
        """Take the gate over for this term."""
        return await self.gate.claim(term=self.term, operation_id=self.operation(0, "claim"))

    async def seal(self, epoch: int, mode: Mode, window_ms: int) -> Reply[Any]:
        operation = self.operation(epoch, "seal")
        return await self.gate.seal(term=self.term, epoch=epoch, mode=mode, window=window_ms, operation_id=operation)

    async def drain(self, epoch: int) -> Reply[Any]:
        return await self.gate.drain(term=self.term, epoch=epoch, operation_id=self.operation(epoch, "drain"))

    async def install(self, epoch: int, version: int, digests: Mapping[str, str]) -> Reply[Any]:
        operation = self.operation(epoch, "install")
        return await self.gate.install(
            term=self.term, epoch=epoch, version=version, digests=digests, operation_id=operation
        )

    async def lend(self, epoch: int) -> str:
        """Lend the device out; the name of the lend, which gives it back."""
        operation = self.operation(epoch, "lend")
        await self.gate.lend(term=self.term, epoch=epoch, lend=operation, operation_id=operation)
        return operation

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
        """The first snapshot for which `holds(snapshot, number)`. Raises MemberError after `within` seconds."""
        last: Any = None
        try:
            async with asyncio.timeout(within):
                watch = self.gate.watch()
                async for seen in watch:
                    last = seen.snapshot
                    if seen.incarnation != self.incarnation:
                        raise MemberError(f"{self.incarnation} has ended: {seen.incarnation} answers")
                    if holds(seen.snapshot, seen.number):
                        return seen.snapshot
        except TimeoutError:
            state = "unknown" if last is None else last.state
            raise MemberError(f"{self.incarnation} did not get on within {within:g} s: its gate is {state}") from None
        except CallError as error:
            raise MemberError(str(error)) from error
        raise MemberError(f"{self.incarnation} stopped answering")

    async def perform(
        self, advice: Advice, version: int, digests: Mapping[str, str], mode: Mode, window_ms: int
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
            case Next.POISON:
                why = "it holds a version that is not durable"
                await self.gate.poison(term=self.term, why=why, operation_id=self.operation(epoch, "poison"))
            case _:
                raise MemberError(f"{self.incarnation}: nothing to perform for {advice.next}")

    async def converge(
        self, version: int, epoch: int, digests: Mapping[str, str], *, mode: Mode, window_ms: int, within: float,
        is_durable: Callable[[int], bool],
    ) -> Any:  # fmt: skip
        """Bring the gate to `version` open, by `converge` alone; the last snapshot.

        Raises MemberError when that cannot be done, or not within `within` seconds.
        """
        try:
            async with asyncio.timeout(within):
                while True:
                    seen = await self.gate.get()
                    gate = seen.snapshot
                    durable = gate.version is not None and is_durable(gate.version)
                    advice = converge(gate, version, epoch, is_durable=durable)
                    match advice.next:
                        case Next.DONE:
                            return gate
                        case Next.REPLACE:
                            raise MemberError(f"{self.incarnation} is poisoned")
                        case Next.RAISE_TARGET:
                            raise MemberError(f"{self.incarnation} is above {version}, at {gate.version}")
                        case Next.WAIT:
                            await self.until(lambda g, n, last=seen.number: n != last, within)
                        case _:
                            await self._try(advice, version, digests, mode, window_ms, seen.number, within)
        except TimeoutError:
            raise MemberError(f"{self.incarnation} did not converge to {version} within {within:g} s") from None
        except CallError as error:
            raise MemberError(str(error)) from error

    async def _try(
        self, advice: Advice, version: int, digests: Mapping[str, str], mode: Mode, window_ms: int,
        seen: int, within: float,
    ) -> None:  # fmt: skip
        """Perform; after a refusal that may pass, wait until the gate has changed."""
        try:
            await self.perform(advice, version, digests, mode, window_ms)
        except Refused as refusal:
            if not refusal.retry:
                raise
            last = max(seen, refusal.number)
            await self.until(lambda gate, number: number != last, within)
