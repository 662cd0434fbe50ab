"""The controller process: one life of a controller, with its register, cohort and services.

Rules of this file:

- It answers as soon as it has its term; operations wait until what it found has come home.
- It ends at once when a higher term rules, and says so; when it is told to end it leaves gates as they are:
  their windows and the next controller see to them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from ...protocol.generated.replica_service import ReplicaServicer
from ...protocol.generated.sync_service import SyncServicer
from ...protocol.server import Server, Service
from ...protocol.sqlite import SqliteStore
from ..launcher import OVERRULED
from ..watching.context import begin_controller
from ..weights import ManifestStore, open_source
from ..workers.process import log_path, open_log, stop_signals
from .cohort import Cohort
from .config import ControllerConfig
from .controller import Controller
from .desk import Desk
from .devices import TrainerUse
from .ledger import Ledger
from .lending import Lending
from .register import Register
from .roster import Roster

_log = logging.getLogger(__name__)
NAME = "controller"


async def run(config: ControllerConfig, announce: Callable[[dict[str, Any]], None]) -> int:
    """Rule until this process is told to end, or a higher term rules; the exit status, which says which.

    `announce` is given the facts of the ready line. Raises StoreError, ServerError when it cannot start.
    """
    with stop_signals() as stop:
        async with ruling(config) as (controller, facts):
            announce(facts)
            ends = [asyncio.ensure_future(event.wait()) for event in (stop, controller.overruled)]
            try:
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for end in ends:
                    end.cancel()
    if not controller.overruled.is_set():
        return 0
    _log.error("the controller of term %d is overruled: %s", controller.term, controller.why_overruled)
    return OVERRULED


@asynccontextmanager
async def ruling(
    config: ControllerConfig, *, has_bytes: Callable[[int], Awaitable[bool]] | None = None,
    also: Callable[[Controller, Ledger], Sequence[Service]] = lambda controller, ledger: (),
) -> AsyncIterator[tuple[Controller, dict[str, Any]]]:  # fmt: skip
    """A controller that rules, and the facts of its ready line; leaving ends it at once.

    `has_bytes` says whether a version can be installed, by the road of its weights if not given; `also` gives
    services that are served beside its own.
    """
    life = config.incarnation or f"{NAME}.{uuid.uuid4().hex[:12]}"
    settings = config.settings
    source = open_source(config.weights, config.run, manifests=config.manifests, shm_root=config.shm_root)

    async def there(version: int) -> bool:
        # In a thread: where the road leads to another process, no probe waits for its answer.
        return await asyncio.to_thread(source.has, version)

    async with AsyncExitStack() as stack:
        log = open_log(config.trace, NAME, life, run=config.run, process=NAME)
        if log is not None:
            stack.enter_context(log)
        store = stack.enter_context(contextlib.closing(SqliteStore(config.register)))
        register, roster, ledger = Register(store), Roster(store), Ledger(store)
        cohort = Cohort(roster, config.leave_ms / 1000)
        use = TrainerUse(roster, settings.call)
        controller = cohort.controller = Controller(
            register, ManifestStore(config.manifests), settings, cohort.actions, log, incarnation=life,
            has_bytes=has_bytes or there, uses_device=use,
        )  # fmt: skip
        use.term = controller.term
        stack.callback(begin_controller(controller))
        await stack.enter_async_context(controller)
        stack.callback(controller.stop)
        desk = Desk(controller, cohort, ledger, Lending(controller, use, config.lend_ms / 1000))
        services: list[Service] = [SyncServicer(controller.syncs), ReplicaServicer(controller.replicas), desk]
        services += also(controller, ledger)
        server = await stack.enter_async_context(Server(services, port=config.port, grace=0.2))
        roster.rule(controller.term, life, server.target)
        await stack.enter_async_context(cohort)
        yield (
            controller,
            {
                "kind": NAME,
                "incarnation": life,
                "term": controller.term,
                "control": server.target,
                "trace": "" if config.trace is None else str(log_path(config.trace, NAME, life)),
            },
        )
