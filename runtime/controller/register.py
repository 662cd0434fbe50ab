"""The durable register of a run: terms, epochs, version numbers and what is published.

Rules of this file:

- Every number is taken in one transaction and never given twice.
- `published` never falls, and only the controller of the highest term that was claimed moves it.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from types import TracebackType
from typing import Self

_SCHEMA = """
CREATE TABLE IF NOT EXISTS numbers (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
INSERT OR IGNORE INTO numbers VALUES ('term', 0), ('epoch', 0), ('version', -1), ('published', -1), ('ruling', 0);
"""


class RegisterError(Exception):
    """The register cannot be used; says which file and how to mend it."""


class Register:
    """One SQLite file, shared by the controllers of a run. Raises RegisterError if it is none."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._db = sqlite3.connect(path, timeout=5.0, isolation_level=None)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.executescript(_SCHEMA)
        except sqlite3.Error as error:
            raise RegisterError(f"{path}: not a usable register ({error}): give a path that can be written") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()

    def new_term(self) -> int:
        """A term that no controller had; from now on lower ones publish nothing."""
        term = self._next("term")
        self._change("UPDATE numbers SET value = max(value, ?) WHERE name = 'ruling'", (term,))
        return term

    def next_epoch(self) -> int:
        """The number of a new operation."""
        return self._next("epoch")

    def next_version(self) -> int:
        """The number of a new publication; the first one is 0."""
        return self._next("version")

    @property
    def epoch(self) -> int:
        """The number of the last operation."""
        return self._value("epoch")

    @property
    def published(self) -> int | None:
        """The published version, or None before the first."""
        value = self._value("published")
        return value if value >= 0 else None

    def publish(self, version: int, term: int) -> bool:
        """Write `published = version` if no higher term rules and it is not lower; whether it stands."""
        changed = self._change(
            "UPDATE numbers SET value = max(value, ?) WHERE name = 'published'"
            " AND (SELECT value FROM numbers WHERE name = 'ruling') <= ? RETURNING value",
            (version, term),
        )
        return changed == version

    def _next(self, name: str) -> int:
        value = self._change("UPDATE numbers SET value = value + 1 WHERE name = ? RETURNING value", (name,))
        assert value is not None
        return value

    def _value(self, name: str) -> int:
        return self._db.execute("SELECT value FROM numbers WHERE name = ?", (name,)).fetchone()[0]

    def _change(self, statement: str, values: tuple[int | str, ...]) -> int | None:
        try:
            row = self._db.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise RegisterError(f"{self._path}: cannot write ({error}): free the disk or mend its rights") from error
        return row[0][0] if row else None
