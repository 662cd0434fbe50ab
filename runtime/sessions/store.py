"""What is kept of sessions beside their machines: whose each is, its trace, and that its id is used up.

Rules of this file:

- A session belongs to the server that was first to write it down, for ever.
- A segment of a trace is one write. Traces are freed, and states forgotten, in the write that buries the session.
- A buried id is known for ever: one that was issued by its time bucket, once the store no longer has it; one that its
  client chose by the store alone, which keeps it.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import islice

from ...protocol.codec import reading
from ...protocol.journal import Ticket
from ...protocol.steps import Beside
from ...protocol.store import Add, Drop, Store
from ...statemachines.session import Rebinding
from .errors import GONE, SessionClosed
from .traces import Segment, Tree
from .traces.codec import decode, encode

_SESSIONS, _TRACES, _GONE, _CHOSEN = "sessions", "traces", "gone", "gone chosen"
INSTANCES = "instances Session"
"""Where the host of the machines keeps their states."""
_PART = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a session was begun with.

    `server` is the name of the server that it belongs to, `owner` that of the token whose it is (empty: anybody's),
    `issued` whether its id was issued, `tier` what its upstream tells (`exact`, `text`), `task` what it tries to do.
    """

    server: str
    owner: str = ""
    policy: Rebinding = Rebinding.NEVER
    issued: bool = False
    tier: str = "exact"
    task: str = ""


class SessionStore:
    """The sessions of all servers of one host, in one store. `write` stores changes in one order with the steps of
    the machines; `trees`: the most traces that are held in memory.

    Reads raise StoreError. What is written is on the disk once its ticket is done, none if it is already.
    """

    def __init__(self, store: Store, write: Callable[[Beside], Ticket | None], *, trees: int = 4096) -> None:
        self._store, self._write, self._most = store, write, trees
        self._trees: OrderedDict[str, Tree] = OrderedDict()
        self._pending: dict[str, Ticket] = {}
        """Of the last segment that is not on the disk yet, by session: its tree stays in memory."""
        self._chosen = store.count(_CHOSEN)

    # -- whose it is -----------------------------------------------------------------------------

    def facts(self, session: str) -> Facts | None:
        """What a session was begun with, None for one that was not, or is buried."""
        found = self._store.get(_SESSIONS, session).get(_PART)
        return None if found is None else _facts(session, found)

    async def begin(self, session: str, facts: Facts) -> Facts:
        """Write a session down, if nobody has; what stands of it. Raises SessionClosed for one that is over by then."""
        await _done(self._write((Add(_SESSIONS, session, _PART, json.dumps(asdict(facts)).encode()),)))
        stands = None if self.is_buried(session) else self.facts(session)
        if stands is None:
            # Another server began and buried it meanwhile: what was written here is no session.
            await _done(self._write((Drop(_SESSIONS, session),)))
            raise SessionClosed(session, GONE, "is retired")
        return stands

    def of_server(self, server: str) -> dict[str, Facts]:
        """The sessions of one server that are not buried."""
        found = ((session, _facts(session, data)) for session, data in self._store.values(_SESSIONS, _PART))
        return {session: facts for session, facts in found if facts.server == server}

    # -- the end ---------------------------------------------------------------------------------

    def is_buried(self, session: str) -> bool:
        return self._store.has(_CHOSEN, session) or self._store.has(_GONE, session)

    @property
    def held(self) -> int:
        """How many traces are in memory."""
        return len(self._trees)

    @property
    def chosen(self) -> int:
        """How many ids that clients chose are buried, as far as this server knows."""
        return self._chosen

    def bury(self, session: str, issued: bool) -> Ticket | None:
        """The session has retired: its id is used up, and all else of it goes."""
        self._trees.pop(session, None)
        self._chosen += not issued
        drops = (Drop(space, session) for space in (_SESSIONS, _TRACES, INSTANCES))
        return self._write((mark(session, issued), *drops))

    # -- traces ----------------------------------------------------------------------------------

    def tree(self, session: str) -> Tree:
        """The trace of a session, read if it is not in memory. Raises StoreError."""
        tree = self._trees.get(session)
        if tree is None:
            tree = Tree()
            for _, data in sorted(self._store.get(_TRACES, session).items()):
                with reading(f"the trace of session {session!r}"):
                    tree.add(decode(data, tree))
            self._trees[session] = tree
        self._trees.move_to_end(session)
        self._spare()
        return tree

    def grow(
        self, session: str, request: str, prompt: Sequence[int], made: Sequence[int], logprobs: Sequence[float],
        spans: Sequence[tuple[int, int]], ending: str, *, binding: int = 0, incarnation: str = "",
        attached: Mapping[str, Sequence[bytes | None]] | None = None, note: bytes = b"",
    ) -> tuple[Segment, Ticket | None]:  # fmt: skip
        """Add a generation to the session's trace and store it; see `Tree.grow`. Raises ValueError, StoreError."""
        tree = self.tree(session)
        first_new = len(tree.values)
        segment = tree.grow(
            request, prompt, made, logprobs, spans, ending, binding=binding, incarnation=incarnation,
            attached=attached, note=note,
        )  # fmt: skip
        data = encode(segment, first_new, tree)
        ticket = self._write((Add(_TRACES, session, f"{segment.number:08d}", data),))
        if ticket is not None:
            self._pending[session] = ticket
            ticket.then.append(lambda: self._kept(session, ticket))
        return segment, ticket

    def pending(self, session: str) -> Ticket | None:
        """Done once all of the session's trace is on the disk; None if it is."""
        return self._pending.get(session)

    def _kept(self, session: str, ticket: Ticket) -> None:
        if self._pending[session] is ticket:
            del self._pending[session]

    def _spare(self) -> None:
        """Let go of the traces that were used the longest time ago, but for those that are being stored."""
        if (over := len(self._trees) - self._most) > 0:
            for session in [s for s in islice(self._trees, over) if s not in self._pending]:
                del self._trees[session]


def mark(session: str, issued: bool) -> Add:
    """What stays of a session that was buried."""
    return Add(_GONE, session, _PART, b"", closes=True) if issued else Add(_CHOSEN, session, _PART, b"")


def _facts(session: str, data: bytes) -> Facts:
    with reading(f"what is kept of session {session!r}"):
        return _read(data)


@lru_cache(4096)
def _read(data: bytes) -> Facts:
    """Sessions that were begun alike share what they were begun with."""
    held = json.loads(data)
    return Facts(**{**held, "policy": Rebinding(held["policy"])})


async def _done(ticket: Ticket | None) -> None:
    if ticket is not None:
        await ticket.wait()
