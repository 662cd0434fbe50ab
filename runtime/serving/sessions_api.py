"""Sessions over HTTP: begun, looked at, finished, read by a consumer, retired.

Rules of this file:

- Whoever began a session reads and changes it; who has the role control does so with any, and alone takes traces.
- A trace is read by its present consumer. Of a session whose tokens nobody knows no samples are made.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from ...protocol.roles import Role
from ...statemachines.session import Rebinding
from ..sessions import Sessions
from ..sessions.errors import NotYours
from .callers import Caller, Callers
from .config import HttpSettings
from .errors import refusal
from .export import pieces
from .forwarding import Forwarding
from .reading import At, malformed, parsed

Work = Callable[[Request, bytes], Awaitable[Response]]
MOST_AT_ONCE = 100_000
"""The most sessions of one call."""
RENEW_S, LOST_S = 2.0, 10.0
"""How long another server may take to hear that a consumer lives, and to give back what a dead one read."""
_LIMIT = re.compile(r"[0-9]{1,6}")


ROUTES: tuple[tuple[str, str, str], ...] = (
    ("POST", "/v1/sessions", "begin"),
    ("GET", "/v1/sessions", "list"),
    ("POST", "/v1/sessions/retire", "retire_many"),
    ("GET", "/v1/sessions/{session}", "show"),
    ("DELETE", "/v1/sessions/{session}", "retire"),
    ("POST", "/v1/sessions/{session}/finish", "finish"),
    ("POST", "/v1/sessions/{session}/retire", "retire"),
    ("POST", "/v1/sessions/{session}/take", "take"),
    ("GET", "/v1/sessions/{session}/trace", "trace"),
    ("POST", "/v1/sessions/{session}/release", "release"),
    ("POST", "/v1/consumers/{consumer}/renew", "renew"),
    ("POST", "/v1/consumers/{consumer}/lost", "lost"),
)
"""Method, path, and the method of `SessionsApi`."""


class SessionsApi:
    """The endpoints below `/v1/sessions` and `/v1/consumers`."""

    def __init__(self, sessions: Sessions, callers: Callers, settings: HttpSettings, forwarding: Forwarding) -> None:
        self._sessions, self._callers, self._settings = sessions, callers, settings
        self._forwarding = forwarding

    def routes(self) -> list[tuple[str, str, Work]]:
        """Method, path and what is done."""
        return [(method, path, getattr(self, name)) for method, path, name in ROUTES]

    def require_room(self, caller: Caller, session: str) -> None:
        """Raises HttpError where the caller's token has as many sessions as it may."""
        if caller.name and session not in self._sessions:
            own = self.owned[caller.name]
            if own >= self._settings.sessions_per_token:
                text = f"token {caller.name!r} has {own} sessions: finish some, and have them released"
                raise refusal("too_many_sessions", text)

    @property
    def owned(self) -> Counter[str]:
        """How many sessions each token has."""
        return self._sessions.owned

    # -- begin -----------------------------------------------------------------------------------

    async def begin(self, request: Request, body: bytes) -> Response:
        """Issue an id, and write the session down with what the body says of it."""
        caller = self._caller(request, Role.DATA)
        asked = parsed(body or b"{}")
        policy, task = _policy(asked["policy"]), asked["task"].text(0, 256) if asked["task"].is_given else ""
        session = self._sessions.ids.issue()
        self.require_room(caller, session)
        if policy is not None or task:
            await self._sessions.open(session, owner=caller.name, policy=policy, task=task, anew=True)
        return JSONResponse({"id": session, "object": "session"}, 201)

    async def list(self, request: Request, body: bytes) -> Response:
        """The sessions in a state, at most `limit` of them; those of the caller alone unless it rules."""
        caller = self._caller(request, Role.DATA, Role.CONTROL)
        state, limit = request.query_params.get("state", ""), request.query_params.get("limit", "1000")
        if not _LIMIT.fullmatch(limit) or not 0 < int(limit) <= MOST_AT_ONCE:
            raise refusal("malformed", f"limit: expected a whole number from 1 to {MOST_AT_ONCE}")
        found = []
        for session, facts in self._sessions.facts.items():
            if (caller.rules or facts.owner == caller.name) and state in ("", self._sessions.live(session).state):
                found.append({"id": session, "state": self._sessions.live(session).state, "task": facts.task})
                if len(found) == int(limit):
                    break
        return JSONResponse({"object": "list", "data": found})

    async def show(self, request: Request, body: bytes) -> Response:
        """How a session stands: state, binding, turns that run, generations that are stored."""
        session = self._own(request)
        live, facts = self._sessions.live(session), self._sessions.facts[session]
        return JSONResponse(
            {
                "id": session, "object": "session", "state": live.state, "tier": facts.tier, "policy": str(live.policy),
                "task": facts.task, "replica": live.replica, "incarnation": live.incarnation, "binding": live.binding,
                "turns": len(live.leases), "consumer": live.consumer,
                "generations": len(self._sessions.kept.tree(session)),
            }
        )  # fmt: skip

    # -- the rest of its life --------------------------------------------------------------------

    async def finish(self, request: Request, body: bytes) -> Response:
        """The conversation is complete: its trace can be taken. Refused while a turn is active."""
        session = self._own(request)
        await self._sessions.finish(session)
        return _said(session, "FINISHED")

    async def retire(self, request: Request, body: bytes) -> Response:
        """End the session, once its turns have ended; refused while its trace is read. The id is used up."""
        session = self._own(request)
        await self._sessions.retire(session)
        return _said(session, "RETIRED" if session not in self._sessions else self._sessions.live(session).state)

    async def retire_many(self, request: Request, body: bytes) -> Response:
        """Retire the sessions that the body names; the answer has those that were not, and why."""
        caller = self._caller(request, Role.DATA, Role.CONTROL)
        names = [name.text(1, 256) for name in parsed(body)["ids"].list(1, MOST_AT_ONCE)]
        refused, mine = dict[str, str](), list[str]()
        for session in names:
            facts = self._sessions.facts.get(session)
            if facts is not None and facts.owner and not caller.rules and facts.owner != caller.name:
                refused[session] = "not_yours"
            else:
                mine.append(session)
        refused |= await self._sessions.retire_all(mine)
        return JSONResponse({"retired": len(set(names)) - len(refused), "refused": refused})

    async def take(self, request: Request, body: bytes) -> Response:
        """Begin to read the trace as the `consumer` of the body, one life of a process (role control)."""
        self._caller(request, Role.CONTROL)
        session, consumer = request.path_params["session"], _consumer(parsed(body)["consumer"])
        tree = await self._sessions.take(session, consumer)
        tier = self._sessions.facts[session].tier
        return JSONResponse({"id": session, "state": "TRAINING", "tier": tier, "generations": len(tree)})

    async def trace(self, request: Request, body: bytes) -> Response:
        """What is trained on, as lines of JSON, for the present `consumer` of the query (role control)."""
        self._caller(request, Role.CONTROL)
        session, consumer = request.path_params["session"], request.query_params.get("consumer", "")
        tree = self._sessions.read(session, consumer)
        if (tier := self._sessions.facts[session].tier) != "exact":
            text = f"session {session}: its upstream tells {tier} and no tokens, which nobody trains on"
            raise refusal("text_only", text)

        async def content() -> AsyncIterator[bytes]:
            # Of a trace that is read nothing changes, and making lines of much of it takes seconds.
            made = pieces(session, tree)
            while piece := await asyncio.to_thread(next, made, b""):
                # Asked for anew: nobody reads on whose session is another's by now.
                self._sessions.read(session, consumer)
                yield piece

        return StreamingResponse(content(), media_type="application/x-ndjson")

    async def release(self, request: Request, body: bytes) -> Response:
        """The `consumer` of the body has read the trace: the session retires and the trace is freed (role control)."""
        self._caller(request, Role.CONTROL)
        session = request.path_params["session"]
        await self._sessions.release(session, _consumer(parsed(body)["consumer"]))
        return _said(session, "RETIRED")

    async def renew(self, request: Request, body: bytes) -> Response:
        """The consumer lives, for all servers; `unanswered` names those that could not be told (role control)."""
        self._caller(request, Role.CONTROL)
        consumer = request.path_params["consumer"]
        self._sessions.hear(consumer)
        told = await self._forwarding.tell(request, RENEW_S)
        return JSONResponse({"consumer": consumer, "unanswered": [name for name in told if told[name] is None]})

    async def lost(self, request: Request, body: bytes) -> Response:
        """The consumer has died: what it read, of all servers, can be taken again; `unanswered` names those that could
        not be told (role control)."""
        self._caller(request, Role.CONTROL)
        consumer = request.path_params["consumer"]
        given_back = await self._sessions.consumer_lost(consumer)
        told = await self._forwarding.tell(request, LOST_S)
        for answer in filter(None, told.values()):
            given_back += answer["given_back"]
        unanswered = [name for name in told if told[name] is None]
        return JSONResponse({"consumer": consumer, "given_back": given_back, "unanswered": unanswered})

    # -- inside ----------------------------------------------------------------------------------

    def _caller(self, request: Request, *roles: Role) -> Caller:
        """Who asks, with one of the roles. Raises HttpError."""
        caller = self._callers.of(request.headers)
        if not caller.roles.intersection(roles):
            caller.require(roles[0])
        return caller

    def _own(self, request: Request) -> str:
        """The session of the path, which the caller may read and change. Raises HttpError, SessionError."""
        caller, session = self._caller(request, Role.DATA, Role.CONTROL), request.path_params["session"]
        self._sessions.live(session)
        owner = self._sessions.facts[session].owner
        if owner and not caller.rules and owner != caller.name:
            raise NotYours(session)
        self._sessions.touch(session)
        return session


def _said(session: str, state: str) -> Response:
    return JSONResponse({"id": session, "object": "session", "state": state})


def _policy(given: At) -> Rebinding | None:
    if not given.is_given:
        return None
    try:
        return Rebinding(given.text())
    except ValueError:
        raise malformed(f"expected one of {', '.join(Rebinding)}", given.path) from None


def _consumer(given: At) -> str:
    return given.text(1, 256)
