"""The store of one host: a SQLite file."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from .store import WEEK, Answer, Record, Saved, StoreError

_SCHEMA = """
CREATE TABLE answers (machine TEXT, instance TEXT, operation TEXT, at REAL, payload BLOB, reply BLOB,
                      PRIMARY KEY (machine, instance, operation)) STRICT, WITHOUT ROWID;
CREATE INDEX answers_at ON answers (at);
CREATE TABLE instances (machine TEXT, instance TEXT, incarnation TEXT, number INTEGER, snapshot BLOB,
                        PRIMARY KEY (machine, instance)) STRICT, WITHOUT ROWID;
CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER) STRICT, WITHOUT ROWID;
PRAGMA user_version = 1;
"""
_VERSION = 1


class SqliteStore:
    """A store in one SQLite file: write-ahead log, synchronous FULL, strict tables.

    `retention` is in seconds. Raises StoreError if the file is not such a store.
    """

    immediate = False

    def __init__(self, path: Path, retention: float = WEEK, clock: Callable[[], float] = time.time) -> None:
        self._path, self._retention, self._clock = path, retention, clock
        self._swept = 0.0
        try:
            self._writer = self._connect()
            with self._writer:
                self._writer.execute("BEGIN IMMEDIATE")
                version = self._writer.execute("PRAGMA user_version").fetchone()[0]
                if version == 0:
                    for statement in _SCHEMA.split(";"):
                        self._writer.execute(statement)
            if version not in (0, _VERSION):
                raise StoreError(
                    f"{path}: a store of version {version}; this program reads {_VERSION}: use its own file"
                )
            # Reads go through a connection of their own, so that they never wait for a write.
            self._reader = self._connect()
        except sqlite3.Error as error:
            raise StoreError(f"{path}: not a usable store ({error}): give a path that can be written") from error

    def answer(self, machine: str, instance: str, operation: str) -> Answer | None:
        row = self._reader.execute(
            "SELECT payload, reply FROM answers WHERE machine = ? AND instance = ? AND operation = ?",
            (machine, instance, operation),
        ).fetchone()
        return Answer(*row) if row else None

    def saved(self, machine: str, instance: str) -> Saved | None:
        row = self._reader.execute(
            "SELECT incarnation, number, snapshot FROM instances WHERE machine = ? AND instance = ?",
            (machine, instance),
        ).fetchone()
        return Saved(*row) if row else None

    def instances(self, machine: str) -> list[str]:
        rows = self._reader.execute("SELECT instance FROM instances WHERE machine = ? ORDER BY instance", (machine,))
        return [row[0] for row in rows]

    def write(self, records: Sequence[Record]) -> None:
        now = self._clock()
        answers = [
            (r.machine, r.instance, r.operation, now, r.answer.payload, r.answer.reply)
            for r in records
            if r.answer is not None
        ]
        # Within one transaction only the last snapshot of an instance can be seen.
        last = {(r.machine, r.instance): r.saved for r in records if r.saved is not None}
        rows = [(*key, saved.incarnation, saved.number, saved.snapshot) for key, saved in last.items()]
        try:
            with self._writer:
                self._writer.execute("BEGIN IMMEDIATE")
                if now - self._swept > self._retention / 16:
                    self._writer.execute("DELETE FROM answers WHERE at < ?", (now - self._retention,))
                    self._swept = now
                self._writer.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?)", answers)
                self._writer.executemany("INSERT OR REPLACE INTO instances VALUES (?, ?, ?, ?, ?)", rows)
        except sqlite3.Error as error:
            raise StoreError(f"{self._path}: cannot write ({error}): free the disk or mend its rights") from error

    def forget(self, machine: str, instance: str) -> None:
        self._change("DELETE FROM instances WHERE machine = ? AND instance = ?", (machine, instance))

    def counter(self, name: str) -> int:
        row = self._reader.execute("SELECT value FROM counters WHERE name = ?", (name,)).fetchone()
        return row[0] if row else 0

    def advance(self, name: str) -> int:
        grow = "INSERT INTO counters VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET value = value + 1 RETURNING value"
        return self._change(grow, (name,))[0][0]

    def raise_to(self, name: str, value: int) -> bool:
        grow = (
            "INSERT INTO counters VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
            " WHERE value < excluded.value RETURNING value"
        )
        return bool(self._change(grow, (name, value)))

    def close(self) -> None:
        self._reader.close()
        self._writer.close()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=5.0, isolation_level=None, check_same_thread=False)
        mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        if mode != "wal":
            raise StoreError(f"{self._path}: no write-ahead log on this file system ({mode}): use a local disk")
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def _change(self, statement: str, values: tuple[str | int, ...]) -> list[tuple[int, ...]]:
        # A connection of its own: the writer's may be in the middle of a transaction in its thread.
        connection = self._connect()
        try:
            return connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"{self._path}: cannot write ({error}): free the disk or mend its rights") from error
        finally:
            connection.close()
