"""What a replica records of its leases on the disk: admitted, forwarded, ended, settled or lost.

Rules of this file:

- A lease is recorded before its request is told that it was admitted, and before it reaches the engine;
  so a process that was killed leaves no lease that its next life does not know.
- A terminal record is the whole answer, with the version that made each token; it is written once.
- A list of records is written in one transaction. A record for an unknown lease changes nothing.
"""

from __future__ import annotations

import json
import sqlite3
import time
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...protocol.store import StoreError
from ...statemachines.sorts import Ending


@dataclass(frozen=True, slots=True)
class Admission:
    """A request was admitted."""

    lease: str
    session: str
    incarnation: str
    epoch: int
    version: int | None
    prompt: Sequence[int]
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Forwarding:
    """A request goes to the engine."""

    lease: str


@dataclass(frozen=True, slots=True)
class Terminal:
    """The backend has ended a request. `spans` are (version, count) of tokens that follow each other."""

    lease: str
    ending: Ending
    why: str
    tokens: Sequence[int]
    logprobs: Sequence[float]
    spans: Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Closure:
    """A lease is settled, with this ending, or lost (none). The last record of a lease."""

    lease: str
    ending: Ending | None


LeaseRecord = Admission | Forwarding | Terminal | Closure


@dataclass(frozen=True, slots=True)
class OpenLease:
    """A lease that has no closure; `ending` is that of its terminal record, none if it has none."""

    lease: str
    session: str
    incarnation: str
    forwarded: bool
    ending: Ending | None
    spans: dict[int, int]


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """A lease as it is recorded; `closure` is an ending, `lost`, or empty while it is open."""

    lease: str
    session: str
    incarnation: str
    closure: str
    why: str
    prompt: list[int]
    tokens: list[int]
    logprobs: list[float]
    spans: list[tuple[int, int]]
    labels: dict[str, str]


_VERSION = 1
_SCHEMA = """
CREATE TABLE leases (
  lease TEXT PRIMARY KEY, session TEXT NOT NULL, incarnation TEXT NOT NULL, epoch INTEGER NOT NULL,
  version INTEGER, labels TEXT NOT NULL, prompt BLOB NOT NULL, admitted REAL NOT NULL,
  forwarded INTEGER NOT NULL DEFAULT 0, ending TEXT, why TEXT NOT NULL DEFAULT '', tokens BLOB, logprobs BLOB,
  spans TEXT, closure TEXT, closed REAL
) STRICT, WITHOUT ROWID;
CREATE INDEX open_leases ON leases (lease) WHERE closure IS NULL;
PRAGMA user_version = 1;
"""


class LeaseStore:
    """One SQLite file. `write` is called from one thread at a time; the rest from the event loop.

    Raises StoreError if the file is not such a store.
    """

    immediate = False

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = self._connect()
            version = self._writer.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                self._writer.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
            elif version != _VERSION:
                raise StoreError(
                    f"{path}: leases of version {version}, this program reads {_VERSION}: use a folder of its own"
                )
            self._reader = self._connect()
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"{path}: no usable store of leases ({error}): give a folder of its own") from error

    def write(self, records: Sequence[LeaseRecord]) -> None:
        """Store all of them or none. Raises StoreError; the same records may then be tried again."""
        try:
            with self._writer:
                self._writer.execute("BEGIN IMMEDIATE")
                for record in records:
                    self._writer.execute(*_statement(record))
        except sqlite3.Error as error:
            raise StoreError(f"{self._path}: cannot write ({error}): free the disk or mend its rights") from error

    def is_known(self, lease: str) -> bool:
        """Whether this id was ever admitted here."""
        return self._reader.execute("SELECT 1 FROM leases WHERE lease = ?", (lease,)).fetchone() is not None

    def open_leases(self) -> list[OpenLease]:
        """Leases without a closure, by id."""
        rows = self._reader.execute(
            "SELECT lease, session, incarnation, forwarded, ending, spans FROM leases"
            " WHERE closure IS NULL ORDER BY lease"
        )
        return [
            OpenLease(lease, session, life, bool(forwarded), Ending(ending) if ending else None, _counts(spans))
            for lease, session, life, forwarded, ending, spans in rows
        ]

    def answer(self, lease: str) -> StoredAnswer | None:
        """What is recorded of a lease, None for an unknown one."""
        row = self._reader.execute(
            "SELECT lease, session, incarnation, closure, why, prompt, tokens, logprobs, spans, labels FROM leases"
            " WHERE lease = ?",
            (lease,),
        ).fetchone()
        if row is None:
            return None
        lease, session, incarnation, closure, why, prompt, tokens, logprobs, spans, labels = row
        return StoredAnswer(
            lease, session, incarnation, closure or "", why, list(array("I", prompt)), list(array("I", tokens or b"")),
            list(array("f", logprobs or b"")), [(v, n) for v, n in json.loads(spans or "[]")], json.loads(labels),
        )  # fmt: skip

    def counts(self) -> dict[str, int]:
        """How many leases there are by closure; those without one under the empty name."""
        rows = self._reader.execute("SELECT coalesce(closure, ''), count(*) FROM leases GROUP BY 1")
        return dict(rows.fetchall())

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


def _statement(record: LeaseRecord) -> tuple[str, tuple[object, ...]]:
    match record:
        case Admission():
            return (
                "INSERT INTO leases (lease, session, incarnation, epoch, version, labels, prompt, admitted)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (record.lease, record.session, record.incarnation, record.epoch, record.version,
                 json.dumps(dict(record.labels)), array("I", record.prompt).tobytes(), time.time()),
            )  # fmt: skip
        case Forwarding():
            return "UPDATE leases SET forwarded = 1 WHERE lease = ?", (record.lease,)
        case Terminal():
            return (
                "UPDATE leases SET ending = ?, why = ?, tokens = ?, logprobs = ?, spans = ?"
                " WHERE lease = ? AND ending IS NULL",
                (record.ending.value, record.why, array("I", record.tokens).tobytes(),
                 array("f", record.logprobs).tobytes(), json.dumps(record.spans), record.lease),
            )  # fmt: skip
        case Closure():
            closure = "lost" if record.ending is None else record.ending.value
            sql = "UPDATE leases SET closure = ?, closed = ? WHERE lease = ? AND closure IS NULL"
            return sql, (closure, time.time(), record.lease)


def _counts(spans: str | None) -> dict[int, int]:
    counts: dict[int, int] = {}
    for version, count in json.loads(spans or "[]"):
        counts[version] = counts.get(version, 0) + count
    return counts
