"""The server's side of a machine: what every generated servicer does with a call.

Rules of this file:

- In this order, with no await in between: read the request, replay a repeat, refuse another
  incarnation, refuse what comes after its deadline, step, give the record to the journal.
- Nobody is answered before the step is on the disk. A call that ends earlier, by its deadline or by
  its caller, leaves a whole step, which a repeat of its operation id then tells of.
- Every answer and every refusal shows the instance, with its number.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from hashlib import blake2b
from typing import Any, NoReturn

from grpc import StatusCode, aio

from .host import MachineHost, PayloadMismatch, UnknownInstance
from .journal import Ticket
from .refusals import INCARNATION, LATE, MALFORMED, PAYLOAD, STORAGE, UNKNOWN, refuse
from .roles import Role, Roles
from .store import StoreError
from .wire import REFUSE, WireError, require_short

Context = aio.ServicerContext[Any, Any]
LONGEST = 60.0
"""Seconds that a call waits for the store; most callers' deadlines are shorter."""
ID_LIMIT = 128
"""The longest operation id, in characters."""


class Servicer:
    """Serves the instances of `host`."""

    SERVICE: str
    ROLES: Roles = Role.CONTROL
    """What a caller needs for every method of a machine, also to look."""

    def __init__(self, host: MachineHost) -> None:
        self._host = host

    @property
    def host(self) -> MachineHost:
        """What is served."""
        return self._host

    def add_to(self, server: aio.Server) -> None:
        """Register with a server that has not started yet."""
        raise NotImplementedError

    async def _apply(self, name: str, to_event: Callable[[Any], Any], request: Any, context: Context) -> Any:
        host, instance, fence = self._host, request.instance, request.fence
        try:
            if not 0 < len(fence.operation_id) <= ID_LIMIT:
                raise WireError(
                    f"fence.operation_id needs 1 to {ID_LIMIT} characters: take a new one for a new request"
                )
            require_short(request)
            event = to_event(request)
            payload = blake2b(request.SerializeToString(deterministic=True), digest_size=16, key=name.encode()).digest()
            done = host.recall(instance, fence.operation_id, payload)
            if done is None:
                if fence.incarnation != host.incarnation:
                    await self._refuse_life(name, instance, fence.incarnation, context)
                await self._refuse_late(name, context)
                done = host.operate(instance, event, fence.operation_id, payload)
        except WireError as error:
            await self._refuse(context, StatusCode.INVALID_ARGUMENT, MALFORMED, error, name)
        except PayloadMismatch as error:
            await self._refuse(context, StatusCode.INVALID_ARGUMENT, PAYLOAD, error, name, host.present(instance)[0])
        except UnknownInstance as error:
            await self._refuse(context, StatusCode.NOT_FOUND, UNKNOWN, error, name)
        except StoreError as error:
            # Whether it is a repeat cannot be told.
            await self._refuse(context, StatusCode.UNAVAILABLE, STORAGE, f"{error}; nothing was done", name)
        reply, ticket = done
        if ticket is not None:
            await self._stored(ticket, name, context)
        if reply.kind == REFUSE:
            await self._refuse(context, StatusCode.FAILED_PRECONDITION, reply.reason, reply.text, name, reply)
        return reply

    async def _get(self, request: Any, context: Context) -> Any:
        try:
            reply, ticket = self._host.present(request.instance)
        except UnknownInstance as error:
            await self._refuse(context, StatusCode.NOT_FOUND, UNKNOWN, error, "Get")
        if ticket is not None:
            await self._stored(ticket, "Get", context)
        return reply

    async def _watch(self, request: Any, context: Context) -> AsyncIterator[Any]:
        try:
            async for transition in self._host.watch(request.instance):
                yield transition
        except UnknownInstance as error:
            await self._refuse(context, StatusCode.NOT_FOUND, UNKNOWN, error, "Watch")

    async def _stored(self, ticket: Ticket, name: str, context: Context) -> None:
        """Wait for the disk, for as long as the caller does, and a while for one that set no deadline."""
        try:
            async with asyncio.timeout(LONGEST):
                await ticket.wait()
        except TimeoutError:
            text = f"the store did not answer within {LONGEST} s: ask again with the same operation id"
            await self._refuse(context, StatusCode.UNAVAILABLE, STORAGE, text, name)

    async def _refuse_life(self, name: str, instance: str, asked: str, context: Context) -> None:
        reply, ticket = self._host.present(instance)
        if ticket is not None:
            await self._stored(ticket, name, context)
        text = f"this is life {self._host.incarnation!r}, not {asked!r}: look at the instance again"
        await self._refuse(context, StatusCode.FAILED_PRECONDITION, INCARNATION, text, name, reply, fence=True)

    async def _refuse_late(self, name: str, context: Context) -> None:
        left = context.time_remaining()
        if left is not None and left <= 0:
            text = "the deadline passed before the step: nothing was done"
            await self._refuse(context, StatusCode.DEADLINE_EXCEEDED, LATE, text, name)
        if self._host.journal.failure is not None:
            text = f"{self._host.journal.failure}; nothing was done"
            await self._refuse(context, StatusCode.UNAVAILABLE, STORAGE, text, name)

    async def _refuse(
        self,
        context: Context,
        code: StatusCode,
        reason: str,
        text: object,
        name: str,
        reply: Any = None,
        fence: bool = False,
    ) -> NoReturn:
        wire = self._host.wire
        facts = {"machine": wire.name, "event": name}
        if reply is not None:
            facts["state"] = wire.states[reply.snapshot.state]
            facts["retry"] = "true" if reply.retry else "false"
            facts["fence"] = "true" if fence or (reply.rule and reply.rule in wire.fences) else "false"
        await refuse(context, code, reason, str(text), facts, reply)
