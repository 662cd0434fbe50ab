"""The process of a session server: one life of it, with its sessions, the replicas that it follows, and HTTP.

Rules of this file:

- One process at a time is a server of a name: the next one waits for nobody, and is refused.
- It answers once its sessions are restored. It ends by refusing what is new, and giving what runs its time.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import uvicorn

from ...protocol.server import ServerError, is_loopback
from ...protocol.sources import AccessError
from ...protocol.sqlite import claim, open_store
from ...protocol.store import Store
from ...protocol.tasks import Tasks
from ..chat.template import ChatError, Template
from ..config import ConfigError
from ..controller.client import ControllerClient
from ..controller.roster import Roster
from ..sessions import Prompt, Router, Sessions, Workers
from ..sessions.backend import Backend
from ..sessions.evacuation import evacuate
from ..sessions.following import FollowedCohort
from ..sessions.ids import keep
from ..watching.context import begin_sessions
from ..workers.process import log_path, open_log, stop_signals
from .answering import Exchanges
from .app import Service
from .callers import Callers
from .calls import Watched, told
from .config import HttpSettings, ServerConfig, SessionsConfig
from .connections import connections
from .exact import Exact
from .forwarding import Forwarding
from .hooks import Hooks, load
from .tiers import Tier

W = TypeVar("W")
ROLE = "sessions"
"""The role of session servers in the roster."""


async def run(config: SessionsConfig, announce: Callable[[dict[str, Any]], None]) -> int | None:
    """Serve until this process is told to end. `announce` is given the facts of the ready line.

    Raises StoreError, ServerError, ConfigError when it cannot start.
    """
    with stop_signals() as stop:
        async with serving(config) as facts:
            announce(facts)
            await stop.wait()
    return None


@asynccontextmanager
async def serving(config: SessionsConfig) -> AsyncIterator[dict[str, Any]]:
    """A session server of rollout workers that answers, and the facts of its ready line."""
    require_listening(config.http)
    try:
        template = await asyncio.to_thread(Template.load, config.model)
    except ChatError as error:
        raise ServerError(str(error)) from error
    context = config.context or context_of(config.model)

    def tier(router: Router[Prompt]) -> Tier:
        return Exact(router, template, context=context, model=config.model.name)

    async with serving_with(config, Workers(), tier) as facts:
        yield facts


@asynccontextmanager
async def serving_with(
    config: ServerConfig, backend: Backend[W], tier: Callable[[Router[W]], Tier]
) -> AsyncIterator[dict[str, Any]]:
    """A session server whose calls `backend` runs and `tier` answers, and the facts of its ready line."""
    callers, hooks = _checked(config)
    async with AsyncExitStack() as stack:
        config.store.parent.mkdir(parents=True, exist_ok=True)
        stack.enter_context(contextlib.closing(claim(Path(f"{config.store}.{config.name}"))))
        store = open_store(config.store, config.durability, keep=keep(config.sessions.id_life))
        stack.callback(store.close)
        roster = stack.enter_context(Roster(config.register))
        life = config.incarnation or _begin_life(roster, config.name)
        log = open_log(config.trace, config.name, life, run=config.run, process=ROLE)
        if log is not None:
            stack.enter_context(log)
        sessions = Sessions(store, server=config.name, incarnation=life, settings=config.sessions, log=log)
        watched = _watched(config, sessions)
        stack.callback(begin_sessions(watched))
        await stack.enter_async_context(sessions)
        cohort = await stack.enter_async_context(FollowedCohort(roster, sessions.lose))
        router = await stack.enter_async_context(Router(sessions, cohort, backend))
        address = await stack.enter_async_context(
            _answering(config, life, roster, store, cohort, router, tier(router), callers, hooks, watched)
        )
        if not config.incarnation:
            roster.enlist(life, "", address, 0)
            stack.callback(roster.end, life, "stopped")
        yield {
            "kind": ROLE,
            "incarnation": life,
            "control": "",
            "data": address,
            "url": f"{_scheme(config)}://{address}",
            "trace": "" if config.trace is None else str(log_path(config.trace, config.name, life)),
        }


@asynccontextmanager
async def answering(
    config: ServerConfig, life: str, roster: Roster, store: Store, cohort: FollowedCohort, router: Router[W],
    tier: Tier,
) -> AsyncIterator[str]:  # fmt: skip
    """HTTP in front of sessions and a router that live in this process already; its URL.

    `life` is the incarnation of the sessions, `store` the store that they are kept in. Raises ServerError, ConfigError.
    """
    callers, hooks = _checked(config)
    watched = _watched(config, router.sessions)
    with contextlib.ExitStack() as stack:
        stack.callback(begin_sessions(watched))
        async with _answering(config, life, roster, store, cohort, router, tier, callers, hooks, watched) as address:
            yield f"{_scheme(config)}://{address}"


@asynccontextmanager
async def _answering(
    config: ServerConfig, life: str, roster: Roster, store: Store, cohort: FollowedCohort, router: Router[W],
    tier: Tier, callers: Callers, hooks: Hooks, watched: Watched,
) -> AsyncIterator[str]:  # fmt: skip
    sessions, exchanges = watched.sessions, watched.exchanges
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(exchanges)
        controller = await stack.enter_async_context(ControllerClient.of_register(config.register))
        forwarding = await stack.enter_async_context(
            Forwarding(
                config.name, lambda name: _where(roster, name, _scheme(config)),
                lambda: [life.name for life in roster.living(ROLE)], certificate=config.http.certificate,
                longest=config.sessions.call,
            )
        )  # fmt: skip
        service = Service(
            sessions, tier, exchanges, callers, forwarding, config.http, hooks,
            health=lambda: health(config, life, tier.tier, cohort, sessions, exchanges),
        )  # fmt: skip
        # Its failure ends the server: replicas that leave would wait for ever.
        group = await stack.enter_async_context(Tasks())
        stack.callback(group.create_task(evacuate(router, store, roster, controller)).cancel)
        app = told(service.app(), watched)
        yield await stack.enter_async_context(listening(app, config.http, config.stop_ms / 1000))


def _checked(config: ServerConfig) -> tuple[Callers, Hooks]:
    """Who may call, and the hooks. Raises ServerError, ConfigError for settings that cannot be served."""
    require_listening(config.http)
    require_certificate(config.http)
    try:
        return Callers(config.http), load(config.hooks)
    except AccessError as error:
        raise ServerError(str(error)) from error


def _watched(config: ServerConfig, sessions: Sessions) -> Watched:
    return Watched(sessions, Exchanges(grace=config.http.grace, remember=config.http.remember))


def _scheme(config: ServerConfig) -> str:
    return "https" if config.http.certificate else "http"


def health(
    config: ServerConfig, life: str, tier: str, cohort: FollowedCohort, sessions: Sessions, exchanges: Exchanges
) -> dict[str, Any]:
    """How the server stands: `ok`; `installing` while an operation runs, which no probe should end it for; `waiting`
    where nothing can be bound."""
    serving, storage = cohort.serving(), sessions.host.journal.failure
    if storage is not None:
        status = "storage"
    elif cohort.phase and not cohort.is_idle:
        status = "installing"
    else:
        status = "ok" if serving else "waiting"
    return {
        "status": status,
        "server": config.name,
        "tier": tier,
        "incarnation": life,
        "operation": "" if cohort.is_idle else cohort.phase,
        "published": cohort.published,
        "replicas": {place.incarnation: place.state for place in cohort.living()},
        "sessions": len(sessions.facts),
        "calls": exchanges.running,
        "storage": "" if storage is None else str(storage),
    }


@asynccontextmanager
async def listening(app: Any, settings: HttpSettings, grace: float) -> AsyncIterator[str]:
    """Serve the app over HTTP; `host:port`. Raises ServerError."""
    try:
        port = socket.create_server((settings.address, settings.port), backlog=2048)
    except OSError as error:
        text = f"cannot listen on {settings.address}:{settings.port} ({error.strerror}): take another port, or 0"
        raise ServerError(text) from error
    with port:
        # Taken over by its connections: asyncio does this itself only for sockets that say their protocol. Without it
        # the end of each answer, and each event of a stream, waits for the client's delayed acknowledgement.
        port.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        config = uvicorn.Config(
            app, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=max(1, round(grace)),
            ssl_certfile=settings.certificate or None, ssl_keyfile=settings.key or None, server_header=False,
            http=connections(settings.read), ws="none",
        )  # fmt: skip
        server = _Server(config)
        task = asyncio.create_task(server.serve([port]))
        try:
            while not (server.started or task.done()):  # noqa: ASYNC110 - uvicorn tells nobody
                await asyncio.sleep(0.005)
            if task.done():
                await task
                raise ServerError(f"cannot serve HTTP on {settings.address}:{settings.port}")
            yield f"{settings.address}:{port.getsockname()[1]}"
        finally:
            server.should_exit = True
            await task


class _Server(uvicorn.Server):
    """Leaves signals to the process."""

    def capture_signals(self) -> Any:
        return contextlib.nullcontext()


def require_listening(settings: HttpSettings) -> None:
    """Raises ServerError for an address that others reach, where nobody would be known."""
    is_known = bool(settings.certificate and settings.tokens)
    if not (is_known or is_loopback(settings.address) or settings.i_accept_plaintext_beyond_loopback):
        raise ServerError(
            f"{settings.address} is reachable from other machines and nobody who calls would be known: give "
            "http.certificate, http.key and http.tokens, listen on 127.0.0.1, or set "
            "http.i_accept_plaintext_beyond_loopback"
        )


def require_certificate(settings: HttpSettings) -> None:
    """Raises ServerError for a certificate and key that TLS cannot use."""
    if settings.certificate:
        try:
            # With a password nobody is asked for one on a terminal.
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(settings.certificate, settings.key, lambda: "")
        except OSError as error:
            raise ServerError(
                f"http.certificate {settings.certificate} and http.key {settings.key} cannot be used "
                f"({error.strerror or error}): give PEM files that belong together, the key without a password"
            ) from error


def context_of(model: Path) -> int:
    """The most tokens that a model of this folder reads. Raises ConfigError."""
    try:
        found = json.loads((model / "config.json").read_text())["max_position_embeddings"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"context: {model}/config.json does not say it ({error!r}): give it") from error
    return int(found)


def _begin_life(roster: Roster, name: str) -> str:
    """Write the next life of this server down; earlier ones have ended, since this one has their claim."""
    for life in roster.living(ROLE):
        if life.name == name:
            roster.end(life.incarnation, "its next life began")
    return roster.begin(name, ROLE)


def _where(roster: Roster, name: str, scheme: str) -> str:
    found = [life.data for life in roster.living(ROLE) if life.name == name and life.data]
    return f"{scheme}://{found[-1]}" if found else ""
