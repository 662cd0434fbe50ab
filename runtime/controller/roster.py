"""Who lives where, durably: each life of each process of a run, who rules it, and what is to end.

Rules of this file:

- A life is written down before its process starts and ended when its process is known to be gone; a name
  of a life is never given twice.
- Launchers write lives, ends and holds; controllers write who rules, and orders. An order is taken only
  from the highest term that rules, and stands for ever: it names one life.
- A life that is to retire is not replaced when it ends, whatever ends it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from .database import Database

_SCHEMA = """
CREATE TABLE IF NOT EXISTS lives (
  incarnation TEXT PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, began REAL NOT NULL,
  control TEXT NOT NULL DEFAULT '', data TEXT NOT NULL DEFAULT '', pid INTEGER NOT NULL DEFAULT 0,
  ended TEXT, ended_at REAL) STRICT;
CREATE TABLE IF NOT EXISTS rulers (term INTEGER PRIMARY KEY, incarnation TEXT NOT NULL, control TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS orders (
  incarnation TEXT NOT NULL, kind TEXT NOT NULL, term INTEGER NOT NULL, why TEXT NOT NULL,
  PRIMARY KEY (incarnation, kind)) STRICT;
CREATE TABLE IF NOT EXISTS holds (name TEXT PRIMARY KEY, why TEXT NOT NULL, since REAL NOT NULL) STRICT;
"""
_LIFE = "incarnation, name, role, control, data, pid, ended"


@dataclass(frozen=True, slots=True)
class Life:
    """One life of a process. `control` and `data` are `host:port`, empty before it is ready; `ended` says how."""

    incarnation: str
    name: str
    role: str
    control: str
    data: str
    pid: int
    ended: str | None


@dataclass(frozen=True, slots=True)
class Ruler:
    """A controller, by the term that it took; `control` is where it answers."""

    term: int
    incarnation: str
    control: str


class Roster:
    """The roster of one run. Raises StoreError when its file cannot be used."""

    def __init__(self, path: Path) -> None:
        self._db = Database(path, _SCHEMA)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()

    # -- lives: by launchers ---------------------------------------------------------------------

    def begin(self, name: str, role: str) -> str:
        """Write down the next life of `name`; its incarnation."""
        [(incarnation,)] = self._db.rows(
            "INSERT INTO lives (incarnation, name, role, began)"
            " SELECT ?1 || '.' || (1 + count(*)), ?1, ?2, ?3 FROM lives WHERE name = ?1 RETURNING incarnation",
            name, role, time.time(),
        )  # fmt: skip
        return incarnation

    def enlist(self, incarnation: str, control: str, data: str, pid: int) -> None:
        """The life is ready, and answers there."""
        self._db.rows(
            "UPDATE lives SET control = ?, data = ?, pid = ? WHERE incarnation = ?", control, data, pid, incarnation
        )

    def end(self, incarnation: str, how: str) -> None:
        """The process of the life is gone. The first word of it stands."""
        self._db.rows(
            "UPDATE lives SET ended = ?, ended_at = ? WHERE incarnation = ? AND ended IS NULL",
            how, time.time(), incarnation,
        )  # fmt: skip

    def life(self, incarnation: str) -> Life | None:
        rows = self._db.rows(f"SELECT {_LIFE} FROM lives WHERE incarnation = ?", incarnation)
        return Life(*rows[0]) if rows else None

    def living(self, role: str | None = None) -> list[Life]:
        """Lives of this role, or of all, that nobody knows to have ended, in the order in which they began."""
        return [life for life in self.lives(role) if life.ended is None]

    def lives(self, role: str | None = None) -> list[Life]:
        """All lives of this role, or of all, in the order in which they began."""
        rows = self._db.rows(f"SELECT {_LIFE} FROM lives WHERE ?1 IS NULL OR role = ?1 ORDER BY began, rowid", role)
        return [Life(*row) for row in rows]

    def hold(self, name: str, why: str) -> None:
        """No new life of `name` is started until it is released."""
        self._db.rows("INSERT INTO holds VALUES (?, ?, ?) ON CONFLICT DO NOTHING", name, why, time.time())

    def release(self, name: str) -> bool:
        """Lives of `name` may be started again; whether it was held."""
        return bool(self._db.rows("DELETE FROM holds WHERE name = ? RETURNING name", name))

    def holds(self) -> dict[str, str]:
        """The names that are held, and why."""
        return dict(self._db.rows("SELECT name, why FROM holds ORDER BY since"))

    # -- rule and orders: by controllers ---------------------------------------------------------

    def rule(self, term: int, incarnation: str, control: str) -> None:
        """A controller has taken this term, and answers there."""
        self._db.rows(
            "INSERT INTO rulers VALUES (?, ?, ?)"
            " ON CONFLICT DO UPDATE SET incarnation = excluded.incarnation, control = excluded.control",
            term, incarnation, control,
        )  # fmt: skip

    def ruler(self) -> Ruler | None:
        """The controller of the highest term, None before the first."""
        rows = self._db.rows("SELECT term, incarnation, control FROM rulers ORDER BY term DESC LIMIT 1")
        return Ruler(*rows[0]) if rows else None

    def order_end(self, incarnation: str, term: int, why: str) -> bool:
        """The process of this life is to end at once; whether the order stands."""
        return self._order(incarnation, "end", term, why)

    def order_retirement(self, incarnation: str, term: int, why: str) -> bool:
        """The life is not to be replaced when it ends; whether the order stands."""
        return self._order(incarnation, "retire", term, why)

    def ends_ordered(self) -> dict[str, str]:
        """Of the living, those that are to end, and why."""
        return dict(
            self._db.rows(
                "SELECT incarnation, why FROM orders JOIN lives USING (incarnation)"
                " WHERE kind = 'end' AND ended IS NULL"
            )
        )

    def is_retired(self, incarnation: str) -> bool:
        """Whether the life is not to be replaced."""
        return bool(self._db.rows("SELECT 1 FROM orders WHERE incarnation = ? AND kind = 'retire'", incarnation))

    def _order(self, incarnation: str, kind: str, term: int, why: str) -> bool:
        done = self._db.rows(
            "INSERT INTO orders SELECT ?, ?, ?3, ? WHERE NOT EXISTS (SELECT 1 FROM rulers WHERE term > ?3)"
            " ON CONFLICT DO UPDATE SET term = max(term, excluded.term) RETURNING term",
            incarnation, kind, term, why,
        )  # fmt: skip
        return bool(done)
