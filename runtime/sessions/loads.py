"""Which replica a session is bound to: the least loaded, without an avalanche onto one that is new.

Rules of this file:

- Load is the number of sessions that may still run there, those that are being bound included.
- A replica that has few sessions gets new ones faster, by no more than `SHARE` of what would be even: what comes
  all at once is spread, however empty one of them is.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Sequence

from .cohort import Place

RECENT = 32
"""How many of the last bindings are looked at."""
SHARE = 1.5


class Loads:
    """Counts sessions by the incarnation that they are bound to."""

    def __init__(self) -> None:
        self.sessions: dict[str, set[str]] = {}
        """Those that may still run, by incarnation."""
        self._binding: Counter[str] = Counter()
        self._recent: deque[str] = deque(maxlen=RECENT)

    def __getitem__(self, incarnation: str) -> int:
        return len(self.sessions.get(incarnation, ())) + self._binding[incarnation]

    def choose(self, places: Sequence[Place]) -> Place:
        """One of `places`, which is not empty, to bind a session to."""
        recently = Counter(self._recent)
        most = math.ceil(SHARE * RECENT / len(places)) if len(places) > 1 else RECENT
        may = [place for place in places if recently[place.incarnation] < most] or places
        return min(may, key=lambda place: (self[place.incarnation], place.replica))

    def binds(self, incarnation: str) -> None:
        """A session is being bound there."""
        self._binding[incarnation] += 1
        self._recent.append(incarnation)

    def bound(self, incarnation: str) -> None:
        """It is bound by now, or will not be."""
        self._binding[incarnation] -= 1
        if not self._binding[incarnation]:
            del self._binding[incarnation]

    def place(self, session: str, incarnation: str | None, before: str | None) -> None:
        """Where a session may run from now on; None: nowhere any more. `before` is where it could until now."""
        if before == incarnation:
            return
        if before is not None and (held := self.sessions.get(before)) is not None:
            held.discard(session)
            if not held:
                del self.sessions[before]
        if incarnation is not None:
            self.sessions.setdefault(incarnation, set()).add(session)
