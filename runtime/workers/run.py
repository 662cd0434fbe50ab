"""One lease on its way through a replica: what the engine tells of it, and what its client has not heard yet.

Rules of this file:

- What the engine tells becomes the lease's events, whether the client listens or not.
- Tokens that the table ignores are neither recorded nor delivered.
- Tokens are packed where they come in, as they are recorded: what is none is told to who gives it.
"""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ...statemachines.compiler import Outcome
from ...statemachines.lease import Lease
from ..engines import Finish, Request, Token

if TYPE_CHECKING:
    from .leases import Leases


class Run:
    """One lease on its way: a sink of the engine, and what its client has not heard yet."""

    __slots__ = (
        "_leases", "began", "client", "ending", "epoch", "fresh", "ids", "is_told", "lease", "logprobs",
        "reason", "request", "session", "spans", "timer", "version", "waits", "wake", "why",
    )  # fmt: skip

    def __init__(
        self, leases: Leases, request: Request, session: str, epoch: int, version: int | None,
        *, client: str = "", waits: bool = False,
    ) -> None:  # fmt: skip
        self._leases, self.client = leases, client
        self.waits, self.is_told = waits, False
        """Whether it waits to go on to the engine; whether its client knows what it was admitted to."""
        self.began = asyncio.get_running_loop().time()
        self.lease, self.session, self.request = request.request_id, session, request
        self.epoch, self.version = epoch, version
        """Of the gate, at the moment when it admitted the request."""
        self.ids, self.logprobs = array("I"), array("f")
        self.spans: list[tuple[int, int]] = []
        self.fresh: list[Token] = []
        """Tokens that the client has not heard of."""
        self.reason = ""
        """How the engine ended it."""
        self.why = ""
        self.ending = ""
        """How the lease closed: an ending, or `lost`; empty while it is open."""
        self.wake = asyncio.Event()
        self.timer: asyncio.TimerHandle | None = None
        """Of what it waits for now: to go on, or to be settled."""

    def step(self, event: Any) -> Outcome:
        return self._leases.host.step(self.lease, event, self.lease)

    def cancel(self) -> None:
        """The client no longer wants it."""
        if not self.ending:
            self.step(Lease.Cancel())

    # -- what the engine tells -------------------------------------------------------------------

    def tokens(self, tokens: Sequence[Token]) -> None:
        """Raises TypeError and OverflowError for what is no token, before anything has changed."""
        if self.ending:
            return
        ids, logprobs = array("I", [t.id for t in tokens]), array("f", [t.logprob for t in tokens])
        at = 0
        for version, group in groupby(tokens, key=lambda t: t.version):
            made = list(group)
            its = slice(at, at := at + len(made))
            if self.step(Lease.Progress(count=len(made), version=version)).kind != "stay":
                continue
            self.ids += ids[its]
            self.logprobs += logprobs[its]
            if self.spans and self.spans[-1][0] == version:
                self.spans[-1] = (version, self.spans[-1][1] + len(made))
            else:
                self.spans.append((version, len(made)))
            self.fresh.extend(made)
        self.wake.set()

    def suspended(self, epoch: int) -> None:
        if not self.ending:
            self.step(Lease.Frozen())
            self._leases.gate.frozen(self.lease, epoch)

    def continued(self, epoch: int) -> None:
        if not self.ending:
            self.step(Lease.Thawed())
            self._leases.gate.thawed(self.lease, epoch)

    def finished(self, finish: Finish) -> None:
        self._leases.engine_ended(self, finish)

    def lost(self, why: str) -> None:
        self._leases.engine_lost(self, why)
