"""Where a process keeps what must outlive it: answers by operation id, snapshots, counters.

Rules of this file:

- A record is one operation's step and answer; a list of records is written in one transaction, and
  what `write` returned for is on the disk.
- Answers are kept for at least `retention` seconds; the last snapshot of an instance until it is
  forgotten; counters for ever.
- Look-ups are short and answered where they are asked; only `write` waits for the disk, and is called
  from one thread at a time, not the caller's loop.
- Counters move in one transaction, so that two processes never hold one number.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

WEEK = 7 * 24 * 3600.0


class StoreError(Exception):
    """The store cannot be used; says which file, what was found and how to mend it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A stored answer: a digest of the request that it answered, and the reply's bytes."""

    payload: bytes
    reply: bytes


@dataclass(frozen=True, slots=True)
class Saved:
    """The last stored snapshot of an instance."""

    incarnation: str
    number: int
    snapshot: bytes


@dataclass(frozen=True, slots=True)
class Record:
    """One step of an instance: its operation's answer, if it was one, and the snapshot, if it changed."""

    machine: str
    instance: str
    operation: str
    answer: Answer | None
    saved: Saved | None


class Store(Protocol):
    """What the wire needs of a store."""

    immediate: bool
    """Whether `write` costs so little that it may run in the event loop."""

    def answer(self, machine: str, instance: str, operation: str) -> Answer | None:
        """The answer that was given to this operation, if it is still kept."""
        ...

    def saved(self, machine: str, instance: str) -> Saved | None: ...

    def instances(self, machine: str) -> list[str]: ...

    def write(self, records: Sequence[Record]) -> None:
        """Store all of them or none. Raises StoreError; the same records may then be tried again."""
        ...

    def forget(self, machine: str, instance: str) -> None:
        """Drop an instance's snapshot; answers that it gave are kept for their time."""
        ...

    def counter(self, name: str) -> int:
        """The counter's value, 0 at first."""
        ...

    def advance(self, name: str) -> int:
        """Add 1 and return the new value, which no one else ever gets."""
        ...

    def raise_to(self, name: str, value: int) -> bool:
        """Set a counter that is lower to `value`; whether it was lower."""
        ...

    def close(self) -> None: ...


class MemoryStore:
    """A store that ends with its process: for instances whose next life begins anew.

    `retention` is in seconds.
    """

    immediate = True

    def __init__(self, retention: float = 3600.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._retention, self._clock = retention, clock
        self._answers: dict[tuple[str, str, str], tuple[float, Answer]] = {}
        self._saved: dict[tuple[str, str], Saved] = {}
        self._counters: dict[str, int] = {}

    def answer(self, machine: str, instance: str, operation: str) -> Answer | None:
        found = self._answers.get((machine, instance, operation))
        return found[1] if found else None

    def saved(self, machine: str, instance: str) -> Saved | None:
        return self._saved.get((machine, instance))

    def instances(self, machine: str) -> list[str]:
        return sorted(i for m, i in self._saved if m == machine)

    def write(self, records: Sequence[Record]) -> None:
        now = self._clock()
        for r in records:
            if r.saved is not None:
                self._saved[r.machine, r.instance] = r.saved
            if r.answer is not None:
                self._answers[r.machine, r.instance, r.operation] = (now, r.answer)
        # Answers lie in the order of their time: a few old ones go with each write.
        for key in [k for k, _ in zip(self._answers, range(2 * len(records)), strict=False)]:
            if self._answers[key][0] + self._retention >= now:
                break
            del self._answers[key]

    def forget(self, machine: str, instance: str) -> None:
        self._saved.pop((machine, instance), None)

    def counter(self, name: str) -> int:
        return self._counters.get(name, 0)

    def advance(self, name: str) -> int:
        self._counters[name] = value = self.counter(name) + 1
        return value

    def raise_to(self, name: str, value: int) -> bool:
        lower = self.counter(name) < value
        if lower:
            self._counters[name] = value
        return lower

    def close(self) -> None:
        pass


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
