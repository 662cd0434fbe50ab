"""Stands before every method of a server: who calls, whether the caller may, and how much at once.

Rules of this file:

- A token that is sent decides alone, whoever's certificate the connection has; so a `data` token never
  reaches what needs `control`. Without one the certificate decides.
- Who may not call is told what to give, and nothing else happens: the method is not entered.
- What comes is read only after its caller was let in; what cannot be read is refused as malformed.
- Tokens are compared in constant time, all of them, and are kept as digests.
"""

from __future__ import annotations

import hmac
import inspect
import os
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import grpc
from google.protobuf.message import DecodeError
from grpc import StatusCode, aio

from .access import Access
from .refusals import CALLS, FORBIDDEN, MALFORMED, UNAUTHENTICATED, refuse
from .roles import ALL_ROLES, ANYBODY, Role
from .sources import Kept
from .tokens import digest, read_tokens

Context = aio.ServicerContext[Any, Any]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: a certificate, a token, or a connection where nobody is known; limits count by the name."""

    name: str
    roles: frozenset[Role]


CALLER: ContextVar[Caller | None] = ContextVar("caller", default=None)
"""Who made the call that is being served."""


def caller_name(context: Context) -> str:
    """By which name the limits of the call's client are counted."""
    caller = CALLER.get()
    return context.peer() if caller is None else caller.name


class Unknown(Exception):
    """Nobody knows who calls; the text says what to give."""


class Callers:
    """Tells who calls a server with these settings. Raises AccessError from the constructor."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._salt = os.urandom(16)
        sources = (access.tokens,) if access.tokens else ()
        self._tokens = Kept(sources, lambda: read_tokens(access.tokens, self._salt) if access.tokens else ())

    def who(
        self, peer: str, metadata: Iterable[tuple[str, str | bytes]], proven: Mapping[str, Iterable[bytes]]
    ) -> Caller:
        """The caller, by the metadata of the call and what its connection has proven. Raises Unknown."""
        if not self._access.knows_callers:
            return Caller(peer, ALL_ROLES)
        sent = [value for key, value in metadata if key.lower() == "authorization"]
        if sent:
            return self._by_token(sent)
        names = _names(proven)
        if not names:
            raise Unknown(self._mend("nobody is known by this connection"))
        roles = frozenset(role for name in names for role in self._access.roles.get(name, ()))
        return Caller(f"certificate {names[0]}", roles)

    def _by_token(self, sent: list[str | bytes]) -> Caller:
        words = sent[0].split() if len(sent) == 1 else []
        given = [word if isinstance(word, bytes) else word.encode(errors="replace") for word in words]
        if len(given) != 2 or given[0].lower() != b"bearer":
            raise Unknown("send one header 'authorization: Bearer TOKEN'")
        sent_digest, found = digest(given[1], self._salt), None
        for token in self._tokens.now():
            if hmac.compare_digest(token.digest, sent_digest):
                found = token
        if found is None:
            raise Unknown(self._mend("this token is not known here"))
        return Caller(f"token {found.name}", found.roles)

    def _mend(self, why: str) -> str:
        ways = ["a certificate that has a role here"] * bool(self._access.roles)
        ways += ["a token of this server's tokens file"] * bool(self._access.tokens)
        return f"{why}: call with {' or '.join(ways)}"


class Guard(aio.ServerInterceptor):
    """Lets a call through to its method, or refuses it. `needs`: of which roles one is needed, by path."""

    def __init__(self, needs: Mapping[str, frozenset[Role]], callers: Callers, calls_per_client: int) -> None:
        self._needs, self._callers, self._limit = needs, callers, calls_per_client
        self._calls: Counter[str] = Counter()
        self._guarded: dict[str, grpc.RpcMethodHandler] = {}

    @property
    def calls(self) -> Mapping[str, int]:
        """How many calls of each caller are being served."""
        return self._calls

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        path: Any = handler_call_details.method
        guarded = self._guarded.get(path)
        if guarded is None:
            handler = await continuation(handler_call_details)
            if handler is None:
                return None
            guarded = self._guarded[path] = self._guard(path, handler)
        return guarded

    def _guard(self, path: str, handler: grpc.RpcMethodHandler) -> grpc.RpcMethodHandler:
        inner: Any = handler.unary_unary or handler.unary_stream or handler.stream_unary or handler.stream_stream
        parse = handler.request_deserializer or bytes
        # What a service declares and does not serve has the generated method still.
        is_served = not inner.__module__.endswith("_pb2_grpc")

        async def read(came: bytes, context: Context) -> Any:
            try:
                return parse(came)
            except DecodeError as error:
                facts = {"method": path, "retry": "false"}
                await refuse(context, StatusCode.INVALID_ARGUMENT, MALFORMED, f"{path}: {error}", facts, None)

        async def read_each(came: AsyncIterator[bytes], context: Context) -> AsyncIterator[Any]:
            async for message in came:
                yield await read(message, context)

        async def read_all(came: Any, context: Context) -> Any:
            return read_each(came, context) if handler.request_streaming else await read(came, context)

        async def require_served(context: Context) -> None:
            if not is_served:
                await context.abort(StatusCode.UNIMPLEMENTED, f"{path} is not served here")

        async def answer(came: Any, context: Context) -> Any:
            name = await self._admit(path, context)
            try:
                request = await read_all(came, context)
                await require_served(context)
                return await inner(request, context)
            finally:
                self._leave(name)

        async def stream(came: Any, context: Context) -> None:
            name = await self._admit(path, context)
            try:
                request = await read_all(came, context)
                await require_served(context)
                made = inner(request, context)
                if not inspect.isasyncgen(made):
                    await made
                    return
                async with aclosing(made) as messages:
                    async for message in messages:
                        await context.write(message)
            finally:
                self._leave(name)

        kinds: Mapping[tuple[bool, bool], Any] = {
            (False, False): grpc.unary_unary_rpc_method_handler,
            (False, True): grpc.unary_stream_rpc_method_handler,
            (True, False): grpc.stream_unary_rpc_method_handler,
            (True, True): grpc.stream_stream_rpc_method_handler,
        }
        behaviour = stream if handler.response_streaming else answer
        kind = kinds[bool(handler.request_streaming), bool(handler.response_streaming)]
        return kind(behaviour, bytes, handler.response_serializer)

    async def _admit(self, path: str, context: Context) -> str:
        """The caller's name, under which the call is counted until it leaves."""
        needs, peer = self._needs.get(path), context.peer()
        facts = {"method": path, "retry": "false"}
        try:
            caller = self._callers.who(peer, context.invocation_metadata() or (), context.auth_context())
        except Unknown as error:
            if needs != ANYBODY:
                await refuse(context, StatusCode.UNAUTHENTICATED, UNAUTHENTICATED, str(error), facts, None)
            caller = Caller(peer, ANYBODY)
        if needs is None or (needs and not needs & caller.roles):
            wanted = " or ".join(sorted(needs or ()))
            text = f"{path} needs the role {wanted}, and {caller.name} has {_said(caller.roles)}: {_GIVE}"
            await refuse(context, StatusCode.PERMISSION_DENIED, FORBIDDEN, text, facts, None)
        if self._calls[caller.name] >= self._limit:
            text = f"{caller.name} has {self._limit} calls here at once: let some end, or raise calls_per_client"
            facts["retry"] = "true"
            await refuse(context, StatusCode.RESOURCE_EXHAUSTED, CALLS, text, facts, None)
        self._calls[caller.name] += 1
        CALLER.set(caller)
        return caller.name

    def _leave(self, name: str) -> None:
        self._calls[name] -= 1
        if not self._calls[name]:
            del self._calls[name]


_GIVE = "use a certificate or token that has it, or add it to the server's roles or tokens"


def _names(proven: Mapping[str, Iterable[bytes]]) -> list[str]:
    """The names in the certificate of a connection, the common name first."""
    found: list[str] = []
    for part in ("x509_common_name", "x509_subject_alternative_name"):
        for name in proven.get(part, ()):
            try:
                found.append(name.decode())
            except UnicodeDecodeError:
                continue
    return found


def _said(roles: frozenset[Role]) -> str:
    return " and ".join(sorted(roles)) or "none"
