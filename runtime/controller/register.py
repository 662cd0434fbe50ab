"""The durable register of a run: terms, epochs, version numbers and what is published.

Rules of this file:

- Every number is taken in one write and never given twice.
- `published` never falls, and only the controller of the highest term that was claimed moves it.
- What restores a register that was lost only raises its numbers; what is published it leaves as it is.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from ...protocol.sqlite import SqliteStore
from ...protocol.store import Durability, Store, StoreError

_TERM, RULING, _EPOCH, _VERSION, _PUBLISHED = "term", "ruling", "epoch", "version", "published"

RegisterError = StoreError
"""What a register raises that cannot be opened, read or written."""


class Register:
    """The numbers of one run, shared by its controllers.

    `place` is a store, which the caller closes, or the path of a SQLite file of which this is all; `looks`:
    that is there, and is only read. Everything raises RegisterError when it cannot be done.
    """

    def __init__(self, place: Store | Path, durability: Durability = Durability.STRICT, *, looks: bool = False) -> None:
        self._opens = isinstance(place, Path)
        self._store: Store = SqliteStore(place, durability, looks=looks) if isinstance(place, Path) else place

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._opens:
            self._store.close()

    def new_term(self) -> int:
        """A term that no controller had; from now on lower ones publish nothing."""
        term = self._store.advance(_TERM)
        self._store.raise_to(RULING, term)
        return term

    def next_epoch(self) -> int:
        """The number of a new operation."""
        return self._store.advance(_EPOCH)

    def next_version(self) -> int:
        """The number of a new publication; the first one is 0."""
        return self._store.advance(_VERSION) - 1

    @property
    def term(self) -> int:
        """The highest term that was taken."""
        return self._store.number(_TERM)

    @property
    def epoch(self) -> int:
        """The number of the last operation."""
        return self._store.number(_EPOCH)

    @property
    def newest(self) -> int:
        """The highest version number that was taken, -1 before the first."""
        return self._store.number(_VERSION) - 1

    def restore(self, *, term: int, epoch: int, newest: int) -> None:
        """From now on every number that is given is above these, in one write; what was above already stays."""
        self._store.raise_all({_TERM: term, RULING: term, _EPOCH: epoch, _VERSION: newest + 1})

    @property
    def published(self) -> int | None:
        """The published version, or None before the first."""
        # Stored is the count of versions up to it: numbers begin at 0.
        return self._store.number(_PUBLISHED) - 1 if self._store.number(_PUBLISHED) else None

    def publish(self, version: int, term: int) -> bool:
        """Write `published = version` if no higher term rules and it is not lower; whether it stands."""
        if self._store.raise_to(_PUBLISHED, version + 1, ruled_by=(RULING, term)):
            return True
        return self.published == version and self._store.number(RULING) <= term
