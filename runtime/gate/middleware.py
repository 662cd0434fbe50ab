"""The gate in front of an ASGI app: requests on some paths pass it, others go by.

Rules of this file:

- The lease lasts until the app has returned, which is after the last byte of a streamed answer.
- A client that leaves is noticed while its request waits at the door, and while the app works on it, once
  the request has been read up to `READ_AHEAD`: the app is cancelled, and what it ran is settled as aborted.
- An answer that has begun cannot become a refusal: it is cut, so that it does not look whole.
- Nothing of the app's own is read or changed but the status and headers of its answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Iterable, MutableMapping, Sequence
from typing import Any, Literal

from ..workers.door import Refusal
from .embedded import ID_LIMIT, EmbeddedGate
from .lease import GateLease, LeaseEnded

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
READ_AHEAD = 16
"""Messages of a request that are taken before its app asks for them: a server's are at most some 64 KiB each."""
TRY_AGAIN = 1013
"""The code of a websocket that is closed for now."""


class GateMiddleware:
    """An ASGI app: `app` behind `gate`, which is open while it is called.

    `paths`: a request passes the gate if its path is one of these, or below one that ends with `/`.
    `session` is the header with the session's id; with `required` a request without it is answered 400.
    `hold`: seconds that a request may wait at a closed gate, the gate's own bound if not given. A request that
    is not let in is answered 503, with `Retry-After: retry_after` (seconds) where it may come again, else with
    `x-should-retry: false`. Websockets on these paths are refused (`close`), or go by the gate (`pass`).

    The app finds the lease in `scope["sluicegate.lease"]`. Answers carry `x-lease-id` and, what the request was
    admitted to, `x-model-version`; an answer of 500 or above settles as failed.
    """

    def __init__(
        self, app: App, gate: EmbeddedGate, *, paths: Sequence[str] = ("/v1/",), session: str = "x-session-id",
        required: bool = False, hold: float | None = None, retry_after: int = 1,
        websockets: Literal["close", "pass"] = "close",
    ) -> None:  # fmt: skip
        if isinstance(paths, str) or not paths or not all(p.startswith("/") and "*" not in p for p in paths):
            raise ValueError(
                f"paths is {paths!r}: give a list of paths that begin with '/', without '*'; one that ends with '/' "
                "stands for all below it"
            )
        if websockets not in ("close", "pass"):
            raise ValueError(f"websockets is {websockets!r}: give 'close' or 'pass'")
        self._app, self._gate = app, gate
        self._exact = frozenset(p for p in paths if not p.endswith("/"))
        self._below = tuple(p for p in paths if p.endswith("/"))
        self._session, self._required = session.lower().encode(), required
        self._hold, self._retry_after, self._websockets = hold, retry_after, websockets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind = scope["type"]
        if kind not in ("http", "websocket") or not self._is_gated(scope["path"]):
            await self._app(scope, receive, send)
        elif kind == "http":
            await self._http(scope, receive, send)
        elif self._websockets == "pass":
            await self._app(scope, receive, send)
        else:
            await receive()
            await send({"type": "websocket.close", "code": TRY_AGAIN, "reason": "requests go through the gate"})

    def _is_gated(self, path: str) -> bool:
        return path in self._exact or path.startswith(self._below)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        session = next((v for name, v in scope["headers"] if name == self._session), b"").decode("latin-1")
        if len(session) > ID_LIMIT or (self._required and not session):
            text = f"header {self._session.decode()}: give the session's id, at most {ID_LIMIT} characters"
            await _answer(send, 400, "no_session" if not session else "malformed", text, ())
            return
        client = _Client(receive, send)
        work = asyncio.create_task(self._admitted(scope, client, session))
        watch = asyncio.create_task(client.watch())
        try:
            await asyncio.wait((work, watch), return_when=asyncio.FIRST_COMPLETED)
            # Servers also say that a client has left once it has its whole answer.
            if not work.done() and not client.has_answer:
                work.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await work
                return
            await work
        finally:
            for task in (work, watch):
                task.cancel()
            await asyncio.gather(work, watch, return_exceptions=True)

    async def _admitted(self, scope: Scope, client: _Client, session: str) -> None:
        has_begun = False
        try:
            peer = scope.get("client")
            async with self._gate.admit(session, hold=self._hold, client=peer[0] if peer else "") as lease:

                async def labelled(message: Message) -> None:
                    nonlocal has_begun
                    if message["type"] == "http.response.start":
                        has_begun = True
                        message = {**message, "headers": _labelled(message.get("headers", ()), lease)}
                        if message["status"] >= 500:
                            lease.fail(f"the app answered {message['status']}")
                    await client.send(message)

                await self._app({**scope, "sluicegate.lease": lease}, client.receive, labelled)
        except Refusal as refusal:
            await self._refuse(client.send, refusal.reason, refusal.text, refusal.retry)
        except LeaseEnded as ended:
            if has_begun:
                raise
            await self._refuse(client.send, ended.ending, str(ended), ended.retry)

    async def _refuse(self, send: Send, reason: str, text: str, retry: bool) -> None:
        header = (b"retry-after", str(self._retry_after).encode()) if retry else (b"x-should-retry", b"false")
        await _answer(send, 503, reason, text, (header,))


class _Client:
    """Who asked: hands on what it sends, at most `READ_AHEAD` messages before the app asks, and knows when it left."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self.has_answer = False
        """Whether it was sent the last byte."""
        self._next: asyncio.Queue[Message] = asyncio.Queue(READ_AHEAD)
        self._left = asyncio.Event()

    async def watch(self) -> None:
        """Return when the client has left."""
        while (message := await self._receive())["type"] != "http.disconnect":
            await self._next.put(message)
        self._left.set()
        # Where there is no room nobody waits for it.
        with contextlib.suppress(asyncio.QueueFull):
            self._next.put_nowait({"type": "http.disconnect"})

    async def send(self, message: Message) -> None:
        """What an app sends."""
        kind = message["type"]
        if (kind == "http.response.body" and not message.get("more_body", False)) or kind == "http.response.pathsend":
            self.has_answer = True
        await self._send(message)

    async def receive(self) -> Message:
        """What an app receives."""
        if self._next.empty() and self._left.is_set():
            return {"type": "http.disconnect"}
        return await self._next.get()


def _labelled(headers: Iterable[tuple[bytes, bytes]], lease: GateLease) -> list[tuple[bytes, bytes]]:
    own = [(b"x-lease-id", lease.id.encode())]
    if lease.version is not None:
        own.append((b"x-model-version", str(lease.version).encode()))
    names = {name for name, _ in own}
    return [(n, v) for n, v in headers if n.lower() not in names] + own


async def _answer(send: Send, status: int, reason: str, text: str, headers: Iterable[tuple[bytes, bytes]]) -> None:
    body = json.dumps({"error": {"type": reason, "message": text}}).encode()
    head = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})
