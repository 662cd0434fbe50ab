"""Shuts the earlier lives of session servers out of one life of a replica.

Rules of this file:

- From the moment of a fence nothing of an earlier life enters: not what comes, not what waits at the door. What
  was let in before is cancelled, and its end is waited for.
- A fence is remembered in memory, for this life of the replica only. That suffices: the next life closes every
  lease that this one left open before it serves, and a request that is still on its way names this one.
"""

from __future__ import annotations

from .door import Door, Refusal
from .leases import Leases
from .run import Run, Sender

_SERVERS = 10_000
"""The most session servers with a fence: none is forgotten, so past it new ones are refused."""
_LISTED = 6000
"""The most leases that one answer names, unless more were open: with the longest names it still is one message."""


class Fences:
    """Which life of each session server may use this replica."""

    def __init__(self, door: Door, leases: Leases) -> None:
        self._door, self._leases = door, leases
        self._lives: dict[str, int] = {}

    def refusal(self, sender: Sender) -> Refusal | None:
        """Why nothing may come of this life, None if it may."""
        known = self._lives.get(sender.server, 0)
        if sender.life >= known:
            return None
        text = f"session server {sender.server!r} is in its life {known}, this comes of its life {sender.life}"
        return Refusal("stale_server", text, retry=False)

    async def fence(self, sender: Sender) -> list[Run]:
        """Let nothing of lower lives go on; return their leases once all are closed.

        Those are all that were open, and the latest of the closed ones that are remembered. Raises Refusal.
        """
        if (stale := self.refusal(sender)) is not None:
            raise stale
        if sender.server not in self._lives and len(self._lives) >= _SERVERS:
            text = f"{_SERVERS} session servers are fenced here: none more until the next life of the replica"
            raise Refusal("servers_full", text, retry=False)
        self._lives[sender.server] = sender.life
        self._door.dismiss(lambda call: self.refusal(call.sender))
        runs = [run for run in self._leases.runs.values() if _is_earlier(run.sender, sender)]
        ended, still_open = [run for run in runs if run.ending], [run for run in runs if not run.ending]
        for run in still_open:
            run.cancel()
        for run in still_open:
            await run.closed.wait()
        return [*ended[max(0, len(runs) - _LISTED) :], *still_open]


def _is_earlier(life: Sender, than: Sender) -> bool:
    return life.server == than.server and life.life < than.life
