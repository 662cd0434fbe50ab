"""What was asked of a run's controllers, durably: each operation id, its request, and what came of it.

Rules of this file:

- An id is written down before anything is done for it, and has one outcome, the first that is written.
- A controller that ended leaves ids without an outcome; its successor says what became of them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from .database import Database

KEPT_S = 7 * 24 * 3600.0
"""How long an outcome is kept at least."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS operations (
  id TEXT PRIMARY KEY, request TEXT NOT NULL, term INTEGER NOT NULL, at REAL NOT NULL,
  outcome TEXT, reason TEXT NOT NULL DEFAULT '', text TEXT NOT NULL DEFAULT '', epoch INTEGER NOT NULL DEFAULT 0,
  version INTEGER, left_behind TEXT NOT NULL DEFAULT '{}') STRICT;
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an operation. `result` is published, paused, resumed, poisoned, left, refused or failed.

    `reason` is a name for programs, `text` says it to a person; `left_behind` has the replicas that the
    operation went on without, and why.
    """

    result: str
    reason: str = ""
    text: str = ""
    epoch: int = 0
    version: int | None = None
    left_behind: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """An operation id: its request, the term of the controller that took it, and its outcome if there is one."""

    id: str
    request: str
    term: int
    outcome: Outcome | None


class Ledger:
    """The ledger of one run. Raises StoreError when its file cannot be used."""

    def __init__(self, path: Path) -> None:
        self._db = Database(path, _SCHEMA)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()

    def begin(self, operation: str, request: str, term: int) -> Entry | None:
        """Write the id down; None if that was done, else what is known of it already."""
        self._db.rows("DELETE FROM operations WHERE at < ?", time.time() - KEPT_S)
        new = self._db.rows(
            "INSERT INTO operations (id, request, term, at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING id",
            operation, request, term, time.time(),
        )  # fmt: skip
        return None if new else self.entry(operation)

    def finish(self, operation: str, outcome: Outcome) -> Outcome:
        """What came of it; the outcome that stands."""
        self._db.rows(
            "UPDATE operations SET outcome = ?, reason = ?, text = ?, epoch = ?, version = ?, left_behind = ?"
            " WHERE id = ? AND outcome IS NULL",
            outcome.result, outcome.reason, outcome.text, outcome.epoch, outcome.version,
            json.dumps(dict(outcome.left_behind)), operation,
        )  # fmt: skip
        stands = self.entry(operation)
        return outcome if stands is None or stands.outcome is None else stands.outcome

    def entry(self, operation: str) -> Entry | None:
        rows = self._db.rows(
            "SELECT id, request, term, outcome, reason, text, epoch, version, left_behind FROM operations WHERE id = ?",
            operation,
        )
        if not rows:
            return None
        id_, request, term, result, reason, text, epoch, version, left = rows[0]
        known = None if result is None else Outcome(result, reason, text, epoch, version, json.loads(left))
        return Entry(id_, request, term, known)
