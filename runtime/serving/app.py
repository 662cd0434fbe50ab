"""The HTTP server that agents and trainers talk to: what it serves, and how a call comes to its answer.

Rules of this file:

- Nothing of a call that is refused goes any further: it is read whole and judged before anything is done for it.
- A stream begins once its call was admitted, so that whatever comes before that has a status of its own.
- What these paths do not name is not there: no engine can be controlled through it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Match, Route

from ...protocol.roles import Role
from ...protocol.store import StoreError
from ..chat.form import Ask
from ..sessions import SessionError, Sessions
from ..sessions.errors import Elsewhere
from ..sessions.ids import ForgedId
from .answering import Answering, Exchanges, Repeat
from .answers import label_headers
from .callers import Caller, Callers
from .config import HttpSettings
from .errors import HttpError, refusal
from .forwarding import Forwarding
from .hooks import Hooks, NoHooks
from .reading import parse, session_of, stripped
from .refusing import http_error
from .sessions_api import SessionsApi
from .tiers import ANTHROPIC, OPENAI, Api, Tier

T = TypeVar("T")
_log = logging.getLogger(__name__)
Work = Callable[[Request, bytes], Awaitable[Response]]
_ONCE = (
    "authorization", "x-api-key", "x-session-id", "x-task-id", "idempotency-key", "x-stainless-retry-count",
)  # fmt: skip


ROUTES: tuple[tuple[str, str, Api, str], ...] = (
    ("POST", "/v1/chat/completions", OPENAI, "chat_completions"),
    ("POST", "/v1/messages", ANTHROPIC, "messages"),
    ("POST", "/v1/responses", OPENAI, "responses"),
    ("GET", "/v1/models", OPENAI, "models"),
    ("GET", "/health", OPENAI, "health"),
)
"""Method, path, the API whose form errors have, and the method of `Service`; sessions have a table of their own."""


class Service:
    """What one session server does for HTTP calls; `tier` answers them. `health` says how it stands."""

    def __init__(
        self, sessions: Sessions, tier: Tier, exchanges: Exchanges, callers: Callers, forwarding: Forwarding,
        settings: HttpSettings, hooks: Hooks, *, health: Callable[[], dict[str, Any]],
    ) -> None:  # fmt: skip
        self.sessions, self.tier, self.exchanges, self.callers = sessions, tier, exchanges, callers
        self._forwarding, self._settings, self._hooks = forwarding, settings, hooks
        # Somebody's own may be a kind of `NoHooks`.
        self._is_hooked = type(hooks) is not NoHooks
        self._health = health
        self._api = SessionsApi(sessions, callers, settings, forwarding)

    def app(self) -> Starlette:
        """The ASGI app."""
        here = [(method, path, api, getattr(self, name)) for method, path, api, name in ROUTES]
        theirs = [(method, path, OPENAI, work) for method, path, work in self._api.routes()]
        routes = [self._route(*route) for route in (*here, *theirs)]
        app = Starlette(routes=routes, exception_handlers={404: self._missing, 405: self._wrong_method})
        # Nobody is sent to where a header of the call says that this server is.
        app.router.redirect_slashes = False
        return app

    def _route(self, method: str, path: str, api: Api, work: Work) -> Route:
        async def handle(request: Request) -> Response:
            try:
                _require_once(request)
                body = await self._body(request) if method in ("POST", "PUT") else b""
                try:
                    return await work(request, body)
                except Elsewhere as error:
                    return await _while_there(request, self._forwarding.forward(request, body, error.server))
                except SessionError as error:
                    raise http_error(error) from error
                except ForgedId as error:
                    raise refusal("malformed", str(error)) from error
                except StoreError as error:
                    raise refusal("storage", f"what is kept cannot be read now ({error}): come again") from error
            except HttpError as error:
                if error.raw is not None and api is OPENAI:
                    return Response(error.raw.body, error.status, error.headers, error.raw.kind)
                return JSONResponse(api.error(error), error.status, error.headers)
            except ClientDisconnect:
                return Response(status_code=400)

        return Route(path, handle, methods=[method])

    async def _body(self, request: Request) -> bytes:
        """The whole body. Raises HttpError for one that is too large or too slow."""
        limit, body = self._settings.body_bytes, bytearray()
        too_large = refusal("too_large", f"the body has more than {limit} bytes")
        # A number: the connection has judged it.
        if int(request.headers.get("content-length", "0")) > limit:
            raise too_large
        try:
            async with asyncio.timeout(self._settings.read):
                async for piece in request.stream():
                    body += piece
                    if len(body) > limit:
                        raise too_large
        except TimeoutError:
            raise refusal("slow", f"the body did not come within {self._settings.read:g} s") from None
        return bytes(body)

    # -- generation ------------------------------------------------------------------------------

    async def chat_completions(self, request: Request, body: bytes) -> Response:
        """A generation as OpenAI's API has it, whole or as a stream; `session_id` or X-Session-ID says of which
        session."""
        return await self._generate(OPENAI, request, body)

    async def messages(self, request: Request, body: bytes) -> Response:
        """A generation as Anthropic's API has it, whole or as a stream; `session_id` or X-Session-ID says of which
        session."""
        return await self._generate(ANTHROPIC, request, body)

    async def _generate(self, api: Api, request: Request, raw: bytes) -> Response:
        caller = self.callers.of(request.headers)
        caller.require(Role.DATA)
        self.callers.count(caller)
        body = parse(raw)
        session = session_of(request.headers.get("x-session-id"), body)
        asked = stripped(body)
        # By what the client asks: a hook may make another body of it each time.
        repeat = Repeat.of(session, api.name, asked, request.headers)
        ask = await self._read(request, api, session, raw, asked)
        await self._open(session, caller, request)
        if repeat.repeats and not self.exchanges.knows(repeat):
            # What may be told again is on the disk before.
            await self.sessions.stored(session, self.sessions.kept.pending(session))
        answering = self.exchanges.join(repeat) or self.tier.retold(repeat, ask, self.exchanges.since(repeat))
        if answering is None:
            generations = len(self.sessions.kept.tree(session))
            answering = self.exchanges.begin(
                repeat, ask, lambda answering: self._answer(api, answering), generations=generations
            )
        with answering.heard():
            if not ask.stream:
                await _while_there(request, answering.over())
                return self._whole(api, answering)
            await _while_there(request, answering.begun())
            assert answering.first_labels is not None
            headers = {**label_headers(answering.first_labels), "cache-control": "no-cache"}
            return StreamingResponse(self._events(api, answering), 200, headers, "text/event-stream")

    async def _answer(self, api: Api, answering: Answering) -> None:
        await self.tier.answer(answering)
        self.sessions.touch(answering.repeat.session)
        if self._is_hooked:
            self.exchanges.afterwards(self._after(api, answering))

    async def _after(self, api: Api, answering: Answering) -> None:
        try:
            async with asyncio.timeout(self._settings.hook):
                await self._hooks.after(answering.repeat.session, api.name, self.tier.whole(api, answering))
        except Exception:
            _log.exception("the hook after an answer failed, or was too slow; the answer stands")

    async def _before(self, session: str, api: Api, body: dict[str, Any]) -> dict[str, Any]:
        """The body that is answered, as JSON has it. Raises HttpError: what the hook says, or that it failed."""
        bound = asyncio.timeout(self._settings.hook)
        try:
            async with bound:
                made = await self._hooks.before(session, api.name, body)
        except HttpError:
            raise
        except Exception as error:
            took_long = f"took more than {self._settings.hook:g} s"
            said = took_long if bound.expired() else f"failed ({type(error).__name__})"
            _log.exception("the hook before a call %s", said)
            raise refusal("hook_failed", f"a hook of this server {said}") from error
        try:
            return parse(json.dumps(made).encode())
        except Exception as error:
            _log.exception("the hook before a call gave what is no body")
            raise refusal("hook_failed", f"a hook of this server gave no body of a call ({error})") from error

    async def _read(self, request: Request, api: Api, session: str, raw: bytes, asked: dict[str, Any]) -> Ask:
        """What a call asks, once the hook has seen it. Raises HttpError."""
        if not self._is_hooked:
            return self.tier.read(api, asked)
        body = await _while_there(request, self._before(session, api, asked))
        try:
            return self.tier.read(api, body)
        except HttpError as error:
            # What was wrong before is the client's own. From the bytes: a hook may change what it is given.
            self.tier.read(api, stripped(parse(raw)))
            raise refusal("hook_failed", f"a hook of this server broke the call ({error.text})") from error

    async def _open(self, session: str, caller: Caller, request: Request) -> None:
        # What is over stays so, also for who has no room for more.
        self.sessions.require_here(session)
        self._api.require_room(caller, session)
        owner = caller.name if not caller.rules or session not in self.sessions else self.sessions.facts[session].owner
        await self.sessions.open(
            session, owner=owner, tier=self.tier.tier, task=request.headers.get("x-task-id", "")[:256]
        )

    def _whole(self, api: Api, answering: Answering) -> Response:
        assert answering.labels is not None
        return JSONResponse(self.tier.whole(api, answering), 200, label_headers(answering.labels))

    async def _events(self, api: Api, answering: Answering) -> AsyncIterator[bytes]:
        assert answering.first_labels is not None
        with answering.heard():
            stream = self.tier.stream(api, answering)
            yield stream.begin(answering.usage)
            try:
                async for delta in answering.follow():
                    if events := stream.delta(delta):
                        yield events
                assert answering.usage is not None
                yield stream.end(answering.usage, answering.labels)
            except HttpError as error:
                yield stream.error(error)

    # -- the rest --------------------------------------------------------------------------------

    async def responses(self, request: Request, body: bytes) -> Response:
        """Not there: 501."""
        raise refusal("not_implemented", "this server has no /v1/responses: use /v1/chat/completions")

    async def models(self, request: Request, body: bytes) -> Response:
        """The model that answers."""
        self.callers.of(request.headers)
        return Response(await self.tier.models(), media_type="application/json")

    async def health(self, request: Request, body: bytes) -> Response:
        """How the server stands: `ok`, `installing` while weights are swapped, `waiting`, or `storage`."""
        return JSONResponse(self._health())

    async def _missing(self, request: Request, error: Exception) -> Response:
        api = ANTHROPIC if request.url.path.startswith("/v1/messages") else OPENAI
        found = refusal("not_found", f"there is no {request.method} {request.url.path} here")
        return JSONResponse(api.error(found), found.status)

    async def _wrong_method(self, request: Request, error: Exception) -> Response:
        found = refusal("method_not_allowed", f"{request.url.path} does not take {request.method}")
        fits = [r.methods for r in request.app.routes if r.matches(request.scope)[0] is not Match.NONE]
        return JSONResponse(OPENAI.error(found), found.status, {"allow": ", ".join(sorted(set().union(*fits)))})


def _require_once(request: Request) -> None:
    """Raises HttpError for a header that says two things of who calls, or of which call it is."""
    for name in _ONCE:
        if len(set(request.headers.getlist(name))) > 1:
            raise refusal("malformed", f"header {name}: it is given with two values, give one of them")


async def _while_there(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """What `work` gives, as long as the client is there. Raises ClientDisconnect once it has left."""

    async def left() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    doing, leaving = asyncio.ensure_future(work), asyncio.ensure_future(left())
    try:
        await asyncio.wait((doing, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            raise ClientDisconnect
        return doing.result()
    finally:
        for task in (doing, leaving):
            task.cancel()
        await asyncio.gather(doing, leaving, return_exceptions=True)
