"""The HTTP calls of a server, told to whoever watches it.

Rules of this file:

- A call is told before anything of it is read, in the task that serves it; its end is told once, when its whole answer
  was sent or its client has left.
- Who is told only looks: a call goes on whatever they raise.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..sessions import Sessions
    from .answering import Exchanges

_log = logging.getLogger(__name__)
_APIS = (("/v1/chat/completions", "openai"), ("/v1/messages", "anthropic"), ("/v1/sessions", "sessions"),
         ("/v1/consumers", "sessions"))  # fmt: skip
APIS = ("openai", "anthropic", "sessions", "other")


@dataclass(slots=True)
class Call:
    """One call. `status` is 0 until its answer begins, and stays so where the client left before; `session` and
    `request` (the lease) are empty where the answer has none. `ended` are called at its end; times are monotonic."""

    api: str
    method: str
    path: str
    headers: dict[str, str]
    began: float = field(default_factory=time.monotonic)
    status: int = 0
    session: str = ""
    request: str = ""
    ended: list[Callable[[], None]] = field(default_factory=list)


@dataclass(slots=True)
class Watched:
    """What can be watched of a server. `calls` are called with each call."""

    sessions: Sessions
    exchanges: Exchanges
    calls: list[Callable[[Call], None]] = field(default_factory=list)


def api_of(path: str) -> str:
    """Which of `APIS` a path belongs to."""
    return next((api for start, api in _APIS if path == start or path.startswith(f"{start}/")), "other")


def told(app: Any, watched: Watched) -> Any:
    """The ASGI app, with its calls told."""

    async def telling(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or not watched.calls:
            await app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        call = Call(api_of(scope["path"]), scope["method"], scope["path"], headers)
        _tell(lambda: [tell(call) for tell in watched.calls])

        async def sending(message: Any) -> None:
            if message["type"] == "http.response.start":
                _note(call, message["status"], message.get("headers", ()))
            await send(message)

        try:
            await app(scope, receive, sending)
        finally:
            for end in call.ended:
                _tell(end)

    return telling


def _note(call: Call, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
    call.status = status
    for name, value in headers:
        if name == b"x-session-id":
            call.session = value.decode("latin-1")
        elif name == b"x-request-id":
            call.request = value.decode("latin-1")


def _tell(tell: Callable[[], Any]) -> None:
    try:
        tell()
    except Exception:
        _log.exception("who watches a call failed, and the call goes on")
