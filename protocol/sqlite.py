"""The store of one host: a SQLite file with a write-ahead log.

Rules of this file:

- One connection writes, under a lock; another reads and never waits for it.
- A batch is one transaction with one wait for the disk, and few statements: each of them lets go of
  the interpreter and has to win it back from a busy event loop.
- Who opens a store that is there waits for no writer; who only looks changes nothing of the file.
- Closed keys that are kept too long go in small steps beside the writes.
- A file of something else, of another version, or that somebody else writes, in this process or another, is
  refused before anything in it is touched.
"""

from __future__ import annotations

import fcntl
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from io import FileIO
from itertools import groupby
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import WeakSet

from .store import Add, Change, Drop, Durability, Keep, MemoryStore, Put, Store, StoreError

_log = logging.getLogger(__name__)
BUSY_S = 5.0
"""How long one waits for another process that writes."""
APPLICATION, VERSION = 0x51C6A7E0, 1
"""What marks the file as ours, and of which schema."""
_SCHEMA = (
    "CREATE TABLE entries (id INTEGER PRIMARY KEY, space TEXT NOT NULL, key TEXT NOT NULL, part TEXT NOT NULL,"
    " value BLOB NOT NULL, closed REAL) STRICT",
    "CREATE UNIQUE INDEX by_key ON entries (space, key, part)",
    "CREATE INDEX by_age ON entries (closed) WHERE closed IS NOT NULL",
    "CREATE TABLE numbers (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)
_INSERT = "INSERT INTO entries (space, key, part, value, closed) VALUES "
_ADD, _PUT = " ON CONFLICT DO NOTHING", " ON CONFLICT (space, key, part) DO UPDATE SET value = excluded.value"
_RAISE_ANY = (
    "INSERT INTO numbers SELECT ?, ? WHERE ? > 0 AND"
    " coalesce((SELECT value FROM numbers WHERE name = ?), 0) <= ?"
    " ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE value < excluded.value"
)
_RAISE = f"{_RAISE_ANY} RETURNING value"
_ROWS = 64
"""The most entries of one statement."""
_LOG_HEADER, _FRAME_HEADER = 32, 24
_LOG_KEPT = _LOG_HEADER + 16_384 * (4096 + _FRAME_HEADER)
"""What the write-ahead log is cut back to once it is no longer needed, in bytes: whole pages."""


def open_store(
    path: Path, durability: Durability = Durability.STRICT, *, keep: Keep | None = None, sole: bool = False
) -> Store:
    """The store of this durability: in the file, or in memory. Raises StoreError."""
    return MemoryStore(keep) if durability is Durability.OFF else SqliteStore(path, durability, keep=keep, sole=sole)


class SqliteStore:
    """A store in one SQLite file, which is made if it is missing; see `Store`.

    `durability` is strict or process. `sole`: nobody else may open it so at the same time, in this process or
    another; others may still read. `looks`: the file is only read, and not made.
    Raises StoreError if the file is no such store, is damaged, or is not to be had.
    """

    immediate = False

    def __init__(
        self, path: Path, durability: Durability = Durability.STRICT, *, keep: Keep | None = None, sole: bool = False,
        looks: bool = False, clock: Callable[[], float] = time.time,
    ) -> None:  # fmt: skip
        if durability is Durability.OFF:
            raise ValueError("durability off needs no file: use MemoryStore")
        self.path, self.durability = path, durability
        self._keep, self._clock = keep or Keep(), clock
        self._lock = Lock()
        self._claim: FileIO | None = None
        self._closed: int
        opened: list[sqlite3.Connection] = []
        try:
            if looks:
                with _errors(path):
                    self._reader = self._writer = sqlite3.connect(
                        f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=BUSY_S, isolation_level=None,
                        check_same_thread=False,
                    )  # fmt: skip
                    opened.append(self._reader)
                    _refuse_others(path, self._reader, may_be_empty=False)
                self._closed = 0
                return
            _make_folder(path.parent)
            if sole:
                self._claim = claim(path)
                _look_at_log(path)
            with _errors(path):
                opened.append(self._connect())
                self._writer = opened[0]
                self._prepare()
                opened.append(self._connect())
                self._reader = opened[1]
                counted = "SELECT count(*) FROM entries WHERE closed IS NOT NULL"
                self._closed = self._reader.execute(counted).fetchone()[0]
        except BaseException as error:
            for connection in opened:
                connection.close()
            self._let_go()
            if isinstance(error, OSError):
                raise StoreError(f"{path}: cannot be made ({error}): give a path that can be written") from error
            raise

    # -- reads -----------------------------------------------------------------------------------

    def get(self, space: str, key: str) -> dict[str, bytes]:
        return dict(self._read("SELECT part, value FROM entries WHERE space = ? AND key = ?", space, key))

    def has(self, space: str, key: str) -> bool:
        return bool(self._read("SELECT 1 FROM entries WHERE space = ? AND key = ? LIMIT 1", space, key))

    def keys(self, space: str, without: str | None = None) -> list[str]:
        lacks = " AND NOT EXISTS (SELECT 1 FROM entries o WHERE o.space = e.space AND o.key = e.key AND o.part = ?)"
        asked = (space,) if without is None else (space, without)
        sql = f"SELECT DISTINCT key FROM entries e WHERE space = ?{'' if without is None else lacks} ORDER BY key"
        return [key for (key,) in self._read(sql, *asked)]

    def values(self, space: str, part: str) -> list[tuple[str, bytes]]:
        return self._read("SELECT key, value FROM entries WHERE space = ? AND part = ? ORDER BY key", space, part)

    def count(self, space: str) -> int:
        return self._read("SELECT count(*) FROM entries WHERE space = ?", space)[0][0]

    def number(self, name: str) -> int:
        rows = self._read("SELECT value FROM numbers WHERE name = ?", name)
        return rows[0][0] if rows else 0

    # -- writes ----------------------------------------------------------------------------------

    def write(self, changes: Sequence[Change]) -> None:
        now = self._clock()
        with self._transaction() as connection:
            closed = 0
            for kind, same in groupby(changes, key=lambda c: (type(c), isinstance(c, Add) and c.closes)):
                if kind[0] is Drop:
                    closed -= sum(_drop(connection, *change[:2]) for change in same)
                    continue
                rows = [(*change[:4], now if kind[1] else None) for change in same]
                stored = _insert(connection, rows, _PUT if kind[0] is Put else _ADD)
                closed += stored if kind[1] else 0
            closed -= self._prune(connection, now, self._closed + closed, 2 * len(changes))
        self._closed += closed

    def advance(self, name: str) -> int:
        grow = "INSERT INTO numbers VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET value = value + 1 RETURNING value"
        with self._transaction() as connection:
            return connection.execute(grow, (name,)).fetchall()[0][0]

    def raise_to(self, name: str, value: int, *, ruled_by: tuple[str, int] | None = None) -> bool:
        ruler, limit = ruled_by or ("", 0)
        with self._transaction() as connection:
            return bool(connection.execute(_RAISE, (name, value, value, ruler, limit)).fetchall())

    def raise_all(self, numbers: Mapping[str, int]) -> None:
        with self._transaction() as connection:
            connection.executemany(_RAISE_ANY, [(name, value, value, "", 0) for name, value in numbers.items()])

    def close(self) -> None:
        # Whoever is in the middle of a write may be waiting for a disk that never answers.
        if self._lock.acquire(timeout=BUSY_S):
            self._reader.close()
            self._writer.close()
            self._lock.release()
        self._let_go()

    # -- inside ----------------------------------------------------------------------------------

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)

    def _prepare(self) -> None:
        """Make the schema, or refuse what is not ours."""
        writer = self._writer
        is_empty = _refuse_others(self.path, writer, may_be_empty=True)
        mode = _patiently(lambda: writer.execute("PRAGMA journal_mode = WAL").fetchone()[0])
        if mode != "wal":
            raise StoreError(f"{self.path}: no write-ahead log on this file system ({mode}): use a local disk")
        # With a write-ahead log NORMAL flushes only what a checkpoint moves, FULL every transaction.
        writer.execute(f"PRAGMA synchronous = {'FULL' if self.durability is Durability.STRICT else 'NORMAL'}")
        # What is forgotten is overwritten where that costs no write of its own.
        writer.execute("PRAGMA secure_delete = FAST")
        writer.execute(f"PRAGMA journal_size_limit = {_LOG_KEPT}")
        if is_empty:
            with self._transaction() as connection:
                if connection.execute("PRAGMA application_id").fetchone()[0] == 0:
                    for statement in _SCHEMA:
                        connection.execute(statement)
            _refuse_others(self.path, writer, may_be_empty=False)

    def _read(self, sql: str, *values: str) -> list[Any]:
        with _errors(self.path):
            return self._reader.execute(sql, values).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock, _errors(self.path), self._writer as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection

    def _prune(self, connection: sqlite3.Connection, now: float, closed: int, at_most: int) -> int:
        """Forget a few of the oldest closed keys that are kept no longer; how many."""
        keep, sql = self._keep, "SELECT space, key FROM entries WHERE closed < ? ORDER BY closed LIMIT ?"
        old = connection.execute(sql, (now - keep.longest, at_most)).fetchall()
        more = min(at_most, closed - keep.most)
        if more > len(old):
            old = connection.execute(sql, (now - keep.least, more)).fetchall()
        if old:
            connection.executemany("DELETE FROM entries WHERE space = ? AND key = ?", old)
        return len(old)

    def _let_go(self) -> None:
        if self._claim is not None:
            self._claim.close()
            self._claim = None


def _insert(connection: sqlite3.Connection, rows: list[tuple[Any, ...]], conflict: str) -> int:
    """Insert the rows in as few statements as there may be; how many were not there."""
    stored = at = 0
    while at < len(rows):
        # Powers of two, so that a few statements serve every number of rows.
        count = min(_ROWS, 1 << ((len(rows) - at).bit_length() - 1))
        sql = _INSERT + ", ".join(["(?, ?, ?, ?, ?)"] * count) + conflict
        stored += connection.execute(sql, [value for row in rows[at : at + count] for value in row]).rowcount
        at += count
    return stored


def _drop(connection: sqlite3.Connection, space: str, key: str) -> int:
    """Forget a key; how many of its entries had closed it."""
    sql = "DELETE FROM entries WHERE space = ? AND key = ? RETURNING closed"
    return sum(closed is not None for (closed,) in connection.execute(sql, (space, key)).fetchall())


def _refuse_others(path: Path, connection: sqlite3.Connection, *, may_be_empty: bool) -> bool:
    """Raise StoreError for what is no store of ours; whether it is empty, and may become one."""
    # One read of all: another process may be making the file.
    with connection:
        connection.execute("BEGIN")
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
    if may_be_empty and (application, version, tables) == (0, 0, 0):
        return True
    if application != APPLICATION:
        raise StoreError(f"{path}: a SQLite file of something else: give a path of its own")
    if version != VERSION:
        raise StoreError(f"{path}: a store of version {version}, this program reads {VERSION}: use a file of its own")
    return False


def _make_folder(folder: Path) -> None:
    """Make it; the name of one that is new is on the disk when this returns."""
    if not folder.exists():
        _make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        parent = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(parent)
        finally:
            os.close(parent)


def claim(path: Path, *, mend: str = "use a file of its own") -> FileIO:
    """Be the only one that opens this path so, for as long as the returned file is open; its process's end lets go.

    The lock is of the open file and not of the process: a second claim of the same process fails too, and a file
    that is opened and closed beside it lets nothing go. Raises StoreError, with `mend` for who is not to end another.
    """
    file = FileIO(os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644), "r+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(file.fileno(), 32, 0).decode(errors="replace").strip() or "another"
        file.close()
        raise StoreError(f"{path}: process {holder} writes it: end that one, or {mend}") from None
    except BaseException:
        file.close()
        raise
    os.ftruncate(file.fileno(), 0)
    os.pwrite(file.fileno(), str(os.getpid()).encode(), 0)
    CLAIMS.get().add(file)
    return file


def let_go(claims: WeakSet[FileIO]) -> None:
    """What the system does with the claims of a process that ends."""
    for file in list(claims):
        file.close()


_OWN: WeakSet[FileIO] = WeakSet()
CLAIMS: ContextVar[WeakSet[FileIO]] = ContextVar("CLAIMS", default=_OWN)
"""The claims of this process; several processes that are played in one have each their own."""
os.register_at_fork(after_in_child=lambda: let_go(_OWN))  # A child that outlives this process would hold them on.


def _look_at_log(path: Path) -> None:
    """Say so if the last life's write-ahead log ends in the middle of a write."""
    log = Path(f"{path}-wal")
    size = log.stat().st_size if log.exists() else 0
    if size:
        with log.open("rb") as file:
            page = int.from_bytes(file.read(12)[8:], "big") or 1
        if size < _LOG_HEADER or (size - _LOG_HEADER) % (page + _FRAME_HEADER):
            _log.warning(
                "%s: ends in the middle of a write: its process or host died, and what was not whole goes", log
            )


def _patiently(ask: Callable[[], Any]) -> Any:
    """`ask`, again while another process is opening the file: that is one case that SQLite itself does not wait for."""
    until = time.monotonic() + BUSY_S
    while True:
        try:
            return ask()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)


_MENDS = {
    sqlite3.SQLITE_FULL: "the disk is full ({}): free some of it; what was answered is kept, and writing goes on",
    sqlite3.SQLITE_IOERR: "the disk cannot be written or read ({}): look at it, at its quota and at file size limits",
    sqlite3.SQLITE_READONLY: "it can only be read ({}): give this process the right to write it and its folder",
    sqlite3.SQLITE_BUSY: "another process writes it for too long ({}): end that one, or use a file of its own",
    sqlite3.SQLITE_CORRUPT: "it is damaged ({}): put a copy back, or move it away and lose what it held",
    sqlite3.SQLITE_NOTADB: "not a store ({}): give a path of its own",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened ({}): give a path that can be written",
}


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    """What SQLite raises, as StoreError with the mend."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        raise StoreError(f"{path}: {_MENDS.get(code, 'cannot be used ({})').format(error)}") from error
