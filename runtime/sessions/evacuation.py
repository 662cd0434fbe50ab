"""Sessions leave a replica that leaves as planned: moved by their policy, else waited for.

Rules of this file:

- Each server says durably that none of its sessions needs the life any more; once all that live have said so, the
  controller is told.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging

from ...protocol.client import CallError
from ...protocol.store import Add, Store, StoreError
from ..controller.client import ControllerClient
from ..controller.roster import Roster
from .errors import SessionError
from .router import Router

_log = logging.getLogger(__name__)
LOOK_S = 0.5
MOVE_S = 5.0
"""How long a session waits for a replica to be moved to, before the next one is looked at."""
_SPACE = "evacuated"


async def evacuate(router: Router, store: Store, roster: Roster, controller: ControllerClient) -> None:
    """See to every life that leaves, until cancelled."""
    told: set[str] = set()
    while True:
        await asyncio.sleep(LOOK_S)
        for place in router.cohort.living():
            if place.incarnation not in told and router.cohort.is_leaving(place.incarnation):
                with contextlib.suppress(StoreError, CallError):
                    if await _evacuate(router, store, roster, controller, place.incarnation):
                        told.add(place.incarnation)


async def _evacuate(
    router: Router, store: Store, roster: Roster, controller: ControllerClient, incarnation: str
) -> bool:
    """Whether the controller was told that nobody needs this life."""
    sessions = router.sessions
    for session in list(sessions.loads.sessions.get(incarnation, ())):
        with contextlib.suppress(SessionError):
            await router.move(session, MOVE_S)
    if sessions.loads[incarnation]:
        return False
    store.write([Add(_SPACE, incarnation, sessions.server, b"")])
    servers = {life.name for life in roster.living("sessions")}
    if servers - store.get(_SPACE, incarnation).keys() - {sessions.server}:
        return False
    await controller.evacuated(incarnation, within=MOVE_S)
    _log.info("%s: no session needs it any more", incarnation)
    return True
