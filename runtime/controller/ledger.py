"""What was asked of a run's controllers, durably: each operation id, its request, and what came of it.

Rules of this file:

- An id is written down before anything is done for it, and has one outcome, the first that is written.
- A controller that ended leaves ids without an outcome; its successor says what became of them.
- An id with an outcome is kept as long as the store keeps what is closed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from ...protocol.codec import reading
from ...protocol.store import Add, Store

_SPACE = "operations"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an operation. `result` is published, paused, resumed, lent, poisoned, evacuated, refused or failed.

    `reason` is a name for programs, `text` says it to a person; `left_behind` has the replicas that the
    operation went on without, and why; `retry` says of a refusal whether another operation may be taken later.
    """

    result: str
    reason: str = ""
    text: str = ""
    epoch: int = 0
    version: int | None = None
    left_behind: Mapping[str, str] = field(default_factory=dict)
    retry: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """An operation id: its request, the term of the controller that took it, and its outcome if there is one."""

    operation: str
    request: str
    term: int
    outcome: Outcome | None


class Ledger:
    """The ledger of one run, in the store of its register. Everything raises StoreError when it cannot be done."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def begin(self, operation: str, request: str, term: int) -> Entry:
        """Write the id down, if nobody has; what stands of it."""
        taken = json.dumps({"request": request, "term": term}).encode()
        self._store.write([Add(_SPACE, operation, "taken", taken)])
        entry = self.entry(operation)
        assert entry is not None
        return entry

    def finish(self, operation: str, outcome: Outcome) -> Outcome:
        """What came of it; the outcome that stands."""
        said = json.dumps(asdict(outcome)).encode()
        self._store.write([Add(_SPACE, operation, "outcome", said, closes=True)])
        entry = self.entry(operation)
        return outcome if entry is None or entry.outcome is None else entry.outcome

    def left_open(self, term: int) -> list[Entry]:
        """The ids without an outcome that controllers of other terms have taken."""
        found = [self.entry(operation) for operation in self._store.keys(_SPACE, "outcome")]
        return [entry for entry in found if entry is not None and entry.term != term]

    def entry(self, operation: str) -> Entry | None:
        """What is known of an id."""
        parts = self._store.get(_SPACE, operation)
        if "taken" not in parts:
            return None
        with reading(f"what is kept of operation {operation!r}"):
            outcome = Outcome(**json.loads(parts["outcome"])) if "outcome" in parts else None
            return Entry(operation, **json.loads(parts["taken"]), outcome=outcome)
