"""Whether a replica is well: one incarnation is asked again and again, and its Replica machine is told.

Rules of this file:

- What a missed probe means is in the table: while a replica said that it installs, none counts.
- A probe that this process was too slow for, or is not let in with, says nothing of the replica.
- Probes go on beside whatever else is done with the replica.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from ...protocol.client import CallError, Rejected
from ...statemachines.replica import Replica
from .member import MemberError

if TYPE_CHECKING:
    from .controller import Controller

_log = logging.getLogger(__name__)
PROBE_S, PROBE_WITHIN_S = 1.0, 3.0
"""How often a replica is asked how it is, and how long it may take to answer."""


async def probe(controller: Controller, replica: str, incarnation: str) -> None:
    """Ask one incarnation how it is, until it is dead or a higher term rules.

    One that has fallen behind is brought to the published version; one that said that it installs and is silent
    for longer than its gate may stay closed is overdue.
    """
    clock = asyncio.get_running_loop().time
    heard = clock()
    while controller.is_alive(incarnation) and not controller.overruled.is_set():
        await asyncio.sleep(PROBE_S)
        member = controller.members.get(replica)
        if member is None or member.incarnation != incarnation:
            continue
        asked = clock()
        try:
            gate = (await member.while_alive(member.gate.get(deadline=PROBE_WITHIN_S))).snapshot
        except MemberError:
            # Its next life has taken its place.
            continue
        except CallError as error:
            if isinstance(error, Rejected) and error.is_turned_away:
                _log.error("%s does not let this controller look at it: %s", incarnation, error)
                continue
            if clock() - asked > 2 * PROBE_WITHIN_S:
                continue
            if clock() - heard > controller.settings.window_ms / 1000:
                controller.tell(incarnation, Replica.Overdue())
            controller.tell(incarnation, Replica.Missed())
            continue
        heard = clock()
        controller.tell(incarnation, Replica.Answered(installing=gate.state == "INSTALLING"))
        if gate.state == "POISONED":
            controller.tell(incarnation, Replica.Poisoned(why="its gate is poisoned"))
        else:
            controller.begin_catching_up()
