"""A run's durable facts in one SQLite file: how a connection to it is opened, and what its failures say."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ...protocol.store import StoreError


class Database:
    """One connection to a file that several processes share; `schema` is made where it is missing.

    Every statement is a transaction of its own, and is on the disk when its method returns.
    Raises StoreError if the file cannot be used.
    """

    def __init__(self, path: Path, schema: str) -> None:
        self._path = path
        try:
            self._db = sqlite3.connect(path, timeout=5.0, isolation_level=None)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.executescript(schema)
        except sqlite3.Error as error:
            raise StoreError(f"{path}: cannot be used ({error}): give a path that can be written") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._db.close()

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Carry out one statement; its rows. Raises StoreError; nothing was changed then."""
        try:
            return self._db.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"{self._path}: cannot be used ({error}): free the disk or mend its rights") from error
