"""One process with all that stands in front of upstreams: their gates, a controller, sessions, and HTTP.

Rules of this file:

- One process at a time has a folder. What an earlier one left is ended before anything new begins.
- It ends from the outside in: clients are let finish, then gates are closed, then the controller ends.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from ...protocol.server import Service
from ...protocol.sqlite import SqliteStore, claim
from ..controller.controller import Controller
from ..controller.ledger import Ledger
from ..controller.process import ruling
from ..controller.roster import Roster
from ..gate import EmbeddedGate
from ..gate.blocks import Install
from ..serving.process import ROLE, require_listening, serving_with
from ..sessions import Router
from ..tracelog import TraceLog
from ..watching.settings import watching
from ..workers.process import open_log, stop_signals
from .backend import Job, Relays
from .config import RelayConfig
from .desk import WindowDesk
from .fleet import Fleet
from .holding import Holdings
from .tier import Relay
from .upstream import Upstream

KNOWN_S = 10.0
"""How long the controller may take to take note of what an earlier process left."""


async def run(config: RelayConfig, announce: Callable[[dict[str, Any]], None]) -> None:
    """Serve until this process is told to end. `announce` is given the facts of the ready line.

    Raises StoreError, ServerError, ConfigError when it cannot start.
    """
    with stop_signals() as stop, watching(config.watching, run=config.run, process="serve", incarnation="") as shown:
        async with relaying(config) as facts:
            announce({**facts, **shown})
            await stop.wait()


@asynccontextmanager
async def relaying(config: RelayConfig) -> AsyncIterator[dict[str, Any]]:
    """A server in front of upstreams that answers, and the facts of its ready line."""
    require_listening(config.http)
    async with AsyncExitStack() as stack:
        config.state.mkdir(parents=True, exist_ok=True)
        stack.enter_context(contextlib.closing(claim(config.state / "serve")))
        ruled = config.controller
        store = stack.enter_context(contextlib.closing(SqliteStore(ruled.register)))
        roster = Roster(store)
        named = [(f"upstream-{number}", url) for number, url in enumerate(config.upstreams)]
        for name in roster.holds().keys() - dict(named).keys():
            roster.release(name)
        upstreams = {
            name: await stack.enter_async_context(Upstream(name, url, config.reach)) for name, url in named
        }

        def gate(upstream: Upstream, life: str, install: Install) -> EmbeddedGate:
            return EmbeddedGate(
                upstream.name, install=install, state=config.state / upstream.name, manifests=ruled.manifests,
                bounds=config.bounds, trace=config.trace, run=config.run, incarnation=life, access=config.access,
                quiesce=upstream.rest,
            )  # fmt: skip

        fleet = Fleet(upstreams, roster, Holdings(store), gate)
        desks = list[WindowDesk]()

        def also(controller: Controller, ledger: Ledger) -> Sequence[Service]:
            fleet.controller = controller
            life = f"trainer.{controller.term}"
            log = open_log(config.trace, "trainer", life, run=config.run, process="trainer")
            kept: TraceLog | None = None if log is None else stack.enter_context(log)
            desks.append(WindowDesk(controller, ledger, config.run, life, kept))
            desks[0].fleet = fleet
            return desks

        controller, facts = await stack.enter_async_context(ruling(ruled, has_bytes=fleet.has_bytes, also=also))
        await _end_earlier(controller, roster)
        await stack.enter_async_context(fleet)
        await stack.enter_async_context(desks[0])
        relays = await stack.enter_async_context(Relays(fleet.find))

        def tier(router: Router[Job]) -> Relay:
            return Relay(router, token_ids=config.token_ids, list_models=fleet.models)

        server = await stack.enter_async_context(serving_with(config.server, relays, tier))
        yield {**server, "kind": ROLE, "control": facts["control"], "upstreams": dict(named)}


async def _end_earlier(controller: Controller, roster: Roster) -> None:
    """The gates that an earlier process left have ended with it: the controller is told so, once it knows of them."""
    left = roster.living("rollout")
    async with asyncio.timeout(KNOWN_S):
        while not all(life.incarnation in controller.replicas for life in left if life.control):  # noqa: ASYNC110 - told to nobody
            await asyncio.sleep(0.01)
    for life in left:
        roster.end(life.incarnation, "its server ended")
    await controller.changed.until(lambda: not any(controller.is_alive(life.incarnation) for life in left), KNOWN_S)
