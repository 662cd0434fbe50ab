"""The caller's side of a machine: what every generated client does for a call.

Rules of this file:

- A call has one deadline for all its tries. While no answer arrives it is tried again, a bounded
  number of times, with the same operation id: the instance then answers once, whatever was lost.
- An answer is never retried here, not even a refusal that says "later": that takes a new id.
- A client speaks to one life of its instance. It learns which from its first answer, and refuses to
  go on with another: whoever wants the next life makes a new client.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from grpc import StatusCode, aio

from .access import ACCESS, Access, channel_credentials
from .bearer import with_token
from .network import NETWORK
from .refusals import FORBIDDEN, INCARNATION, UNAUTHENTICATED, Detail, detail
from .wire import KINDS, Wire, WireError

V = TypeVar("V", covariant=True)

CHANNEL_OPTIONS = (
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.use_local_subchannel_pool", 1),
    # Who is called is in the register: no proxy of the environment is between.
    ("grpc.enable_http_proxy", 0),
)
NO_ANSWER = frozenset(
    {
        StatusCode.UNAVAILABLE,
        StatusCode.DEADLINE_EXCEEDED,
        StatusCode.CANCELLED,
        StatusCode.UNKNOWN,
        StatusCode.INTERNAL,
        StatusCode.RESOURCE_EXHAUSTED,
    }
)
"""Codes which, without our details, say nothing about what the instance did."""


@dataclass(frozen=True, slots=True)
class Retry:
    """How often and how soon a call without an answer is tried again; times in seconds."""

    tries: int = 16
    first: float = 0.05
    factor: float = 2.0
    longest: float = 1.0

    def pause(self, tried: int) -> float:
        """How long to wait after `tried` tries: growing, bounded, and never the same for two callers."""
        return min(self.longest, self.first * self.factor ** (tried - 1)) * random.uniform(0.5, 1.0)


@dataclass(frozen=True, slots=True)
class Seen(Generic[V]):
    """An instance as it was at change `number` of life `incarnation`.

    From a watch also: the event, rule and cause of that change, and whether it is `fresh`: the
    present state, after changes that may have been left out.
    """

    snapshot: V
    number: int
    incarnation: str
    fresh: bool = True
    event: str = ""
    rule: str = ""
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Reply(Generic[V]):
    """What came of an event: its kind (go, stay, ignore) and rule, and the instance after it.

    `replayed` says that the answer is that of an earlier call with this operation id; the snapshot
    is then the one of that time.
    """

    snapshot: V
    number: int
    incarnation: str
    replayed: bool
    kind: str
    rule: str
    operation_id: str


class CallError(Exception):
    """A call that brought no reply; `operation_id` was its own."""

    def __init__(self, text: str, operation_id: str = "") -> None:
        super().__init__(text)
        self.operation_id = operation_id


class Unreachable(CallError):
    """No answer came in time. What the instance did is unknown: the same operation id asks it."""


class Rejected(CallError):
    """The call itself was wrong: a malformed request, an unknown instance, a missing right."""

    def __init__(self, text: str, operation_id: str, code: StatusCode, reason: str) -> None:
        super().__init__(text, operation_id)
        self.code, self.reason = code, reason

    @property
    def is_turned_away(self) -> bool:
        """Whether the server only does not know this caller, or gives it no such role: it is there, and well."""
        return self.reason in (UNAUTHENTICATED.lower(), FORBIDDEN.lower())


class Refused(CallError):
    """The instance refused the event. With `retry` the same event may be taken later, by a new call."""

    def __init__(self, machine: str, event: str, operation_id: str, found: Detail, view: Any) -> None:
        reply = found.reply
        self.machine, self.event, self.state = machine, event, found.state
        self.reason: str = reply.reason or found.reason.lower()
        self.text: str = reply.text
        self.rule: str = reply.rule
        self.retry, self.replayed = found.retry, bool(reply.replayed)
        self.snapshot = view
        self.number: int = reply.number
        self.incarnation: str = reply.incarnation
        said = f"{machine} in {self.state} refused {event}: {self.reason}" + (f" ({self.text})" if self.text else "")
        super().__init__(said + (", may be retried" if self.retry else ""), operation_id)


class Stale(Refused):
    """A fence refused: the caller's incarnation, term or epoch is not the instance's."""


def dial(address: str, access: Access | None = None) -> aio.Channel:
    """A channel to `host:port`, by the process's own settings if no others are given. Raises AccessError."""
    access = access or ACCESS.get()
    credentials = channel_credentials(access)
    options = {
        **dict(CHANNEL_OPTIONS),
        "grpc.max_receive_message_length": access.message_bytes,
        # A refusal comes in headers, with the snapshot of its instance: it may be as large as an answer.
        "grpc.max_metadata_size": access.message_bytes,
        "grpc.absolute_max_metadata_size": access.message_bytes,
    }
    if credentials is not None:
        # It also bounds how long a connection may take to be made, and TLS has more to do for one.
        options["grpc.min_reconnect_backoff_ms"] = 3000
    channel = NETWORK.get().channel(address, credentials, tuple(options.items()))
    return with_token(channel, access.token) if access.token else channel


def told(error: aio.AioRpcError) -> str:
    """What a failed call says, for people; also where a server only hangs up on who it does not know."""
    said = f"{error.code().name}: {error.details()}"
    if error.code() is StatusCode.UNAVAILABLE and "failed to connect" in said and said.endswith("Socket closed"):
        return f"{said}; the server ended the connection at once: it may want TLS, or another certificate than is given"
    return said


class Client(Generic[V]):
    """Speaks to one life of one instance over `channel`.

    `incarnation` is the life it must be; left empty, the first answer decides. `deadline` is in
    seconds, for a whole call with its retries, where the call does not give its own.
    """

    WIRE: ClassVar[Wire[Any]]
    STUB: ClassVar[Any]

    def __init__(
        self,
        channel: aio.Channel,
        instance: str,
        *,
        incarnation: str = "",
        deadline: float = 10.0,
        retry: Retry | None = None,
    ) -> None:
        self._stub = self.STUB(channel)
        self._instance, self._incarnation = instance, incarnation
        self._deadline, self._retry = deadline, retry or Retry()

    async def get(self, *, deadline: float | None = None) -> Seen[V]:
        """The instance as it is now. Raises Stale if it is another life than this client's."""
        raise NotImplementedError

    async def _call(
        self, event: str, method: Any, request: Any, operation_id: str | None, deadline: float | None
    ) -> Reply[V]:
        operation = operation_id or os.urandom(16).hex()
        if not self._incarnation:
            await self.get(deadline=deadline)
        fence = request.fence
        fence.incarnation, fence.operation_id = self._incarnation, operation
        reply = await self._ask(event, method, request, operation, deadline)
        view = self._view(event, operation, reply.snapshot)
        if not 0 < reply.kind < len(KINDS):
            raise self._unknown(event, operation, f"verdict {reply.kind}")
        return Reply(
            view, reply.number, reply.incarnation, reply.replayed, KINDS[reply.kind], reply.rule, operation
        )  # fmt: skip

    async def _get(self, request: Any, deadline: float | None) -> Seen[V]:
        reply = await self._ask("Get", self._stub.Get, request, "", deadline)
        view = self._view("Get", "", reply.snapshot)
        self._incarnation = self._incarnation or reply.incarnation
        if self._incarnation != reply.incarnation:
            state = self.WIRE.states[reply.snapshot.state]
            raise Stale(self.WIRE.name, "Get", "", Detail(INCARNATION, state, False, True, reply), view)
        return Seen(view, reply.number, reply.incarnation)

    async def _watch(self, request: Any) -> AsyncGenerator[Seen[V], None]:
        call = self._stub.Watch(request)
        try:
            async for t in call:
                view = self._view("Watch", "", t.snapshot)
                yield Seen(view, t.number, t.incarnation, t.fresh, t.event, t.rule, t.cause)
        except aio.AioRpcError as error:
            raise self._failure("Watch", "", error) from error
        finally:
            call.cancel()

    async def _ask(self, event: str, method: Any, request: Any, operation: str, deadline: float | None) -> Any:
        """One answered call; retried while nothing is answered. Raises CallError."""
        within = self._deadline if deadline is None else deadline
        clock = asyncio.get_running_loop().time
        until = clock() + within
        left, tried = within, 0
        while True:
            tried += 1
            more = self._retry.tries - tried
            try:
                # A lost answer must leave time for another try, so one try gets a share of what is left.
                return await method(request, timeout=left / min(more + 1, 4))
            except aio.AioRpcError as error:
                failure = self._failure(event, operation, error)
                if not isinstance(failure, Unreachable):
                    raise failure from error
                pause = self._retry.pause(tried)
                left = until - clock() - pause
                if more <= 0 or left <= 0:
                    raise failure from error
            await asyncio.sleep(pause)

    def _failure(self, event: str, operation: str, error: aio.AioRpcError) -> CallError:
        found = detail(error, self.WIRE.reply)
        code, said = error.code(), error.details()
        where = f"{self.WIRE.name} {self._instance}, {event}: "
        if found is None or code in (StatusCode.UNAVAILABLE, StatusCode.DEADLINE_EXCEEDED):
            if code in NO_ANSWER:
                return Unreachable(f"{where}no answer ({told(error)})", operation)
            return Rejected(f"{where}{code.name}: {said}", operation, code, "")
        if found.reply is None or code is not StatusCode.FAILED_PRECONDITION:
            return Rejected(f"{where}{said}", operation, code, found.reason.lower())
        kind = Stale if found.fence else Refused
        try:
            view = self._view(event, operation, found.reply.snapshot)
        except Rejected as unknown:
            return unknown
        return kind(self.WIRE.name, event, operation, found, view)

    def _view(self, event: str, operation: str, snapshot: Any) -> V:
        """What an answer shows. Raises Rejected where it means nothing here."""
        try:
            return self.WIRE.value(snapshot)
        except WireError as error:
            raise self._unknown(event, operation, str(error)) from error

    def _unknown(self, event: str, operation: str, what: str) -> Rejected:
        text = f"{self.WIRE.name} {self._instance}, {event}: an answer that means nothing here ({what}): "
        return Rejected(f"{text}run one version on both sides", operation, StatusCode.UNIMPLEMENTED, "unknown_answer")
