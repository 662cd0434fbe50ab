"""Who lives where, durably: each life of each process of a run, who rules it, and what is to end.

Rules of this file:

- A life is written down before its process starts and ended when its process is known to be gone; a name
  of a life is never given twice.
- Launchers write lives, ends and holds; controllers write who rules, and orders. An order is taken only
  from the highest term that rules, and stands for ever: it names one life.
- A life that is to retire is not replaced when it ends, whatever ends it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ...protocol.codec import reading
from ...protocol.sqlite import SqliteStore, claim
from ...protocol.store import Add, Put, Store, StoreError
from .register import RULING

_LIVES, _RULERS, _HOLDS, _REASONS = "lives", "rulers", "holds", "orders"


@dataclass(frozen=True, slots=True)
class Life:
    """One life of a process. `control` and `data` are `host:port`, empty before it is ready; `ended` says how."""

    incarnation: str
    name: str
    role: str
    control: str = ""
    data: str = ""
    pid: int = 0
    ended: str | None = None


@dataclass(frozen=True, slots=True)
class Ruler:
    """A controller, by the term that it took; `control` is where it answers."""

    term: int
    incarnation: str
    control: str


class Roster:
    """The roster of one run: in the store of its register, which the caller closes, or in the file of that.

    `looks`: the file is there, and is only read. Everything raises StoreError when it cannot be done.
    """

    def __init__(self, place: Store | Path, *, looks: bool = False) -> None:
        self._opens = isinstance(place, Path)
        self._store: Store = SqliteStore(place, looks=looks) if isinstance(place, Path) else place
        self.file = place if isinstance(place, Path) else place.path if isinstance(place, SqliteStore) else None
        """The file that it lies in, None where it lies in memory."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._opens:
            self._store.close()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Be the one that starts and ends the lives of this roster; the end of the process lets go, too.

        Raises StoreError that names the process which is it. A roster that lies in memory is known to nobody else.
        """
        if self.file is None:
            yield
            return
        try:
            lock = claim_keeping(self.file)
        except StoreError as error:
            raise StoreError(f"the processes of this run are kept already; {error}") from error
        except OSError as error:
            raise StoreError(f"{error.filename}: cannot be opened ({error.strerror})") from error
        with closing(lock):
            yield

    # -- lives: by launchers ---------------------------------------------------------------------

    def begin(self, name: str, role: str) -> str:
        """Write down the next life of `name`; its incarnation."""
        incarnation = f"{name}.{self._store.advance(_count_of(name))}"
        self._store.write([Add(_LIVES, incarnation, "began", _packed(name=name, role=role))])
        return incarnation

    def counts(self) -> dict[str, int]:
        """How many lives each name that is known has had."""
        return {name: self._store.number(_count_of(name)) for name in sorted({life.name for life in self.lives()})}

    def restore(self, counts: Mapping[str, int]) -> None:
        """From now on the lives of these names are numbered above; what was above already stays."""
        for name, count in counts.items():
            self._store.raise_to(_count_of(name), count)

    def enlist(self, incarnation: str, control: str, data: str, pid: int) -> None:
        """The process of the life is this one, and once it is ready it answers there."""
        self._store.write([Put(_LIVES, incarnation, "place", _packed(control=control, data=data, pid=pid))])

    def end(self, incarnation: str, how: str) -> None:
        """The process of the life is gone. The first word of it stands."""
        self._store.write([Add(_LIVES, incarnation, "ended", how.encode(), closes=True)])

    def life(self, incarnation: str) -> Life | None:
        """A life, None if it is not known or was forgotten long after its end."""
        parts = self._store.get(_LIVES, incarnation)
        if "began" not in parts:
            return None
        with reading(f"what is kept of {incarnation!r}"):
            ended = parts["ended"].decode() if "ended" in parts else None
            began, place = json.loads(parts["began"]), json.loads(parts.get("place", b"{}"))
            return Life(incarnation, **began, **place, ended=ended)

    def living(self, role: str | None = None) -> list[Life]:
        """Lives of this role, or of all, that nobody knows to have ended."""
        return self._lives(role, "ended")

    def lives(self, role: str | None = None) -> list[Life]:
        """All lives of this role, or of all."""
        return self._lives(role, None)

    def hold(self, name: str, why: str) -> None:
        """No new life of `name` is started until it is released."""
        self._store.write([Put(_HOLDS, name, "why", why.encode())])

    def release(self, name: str) -> bool:
        """Lives of `name` may be started again; whether it was held."""
        held = name in self.holds()
        self._store.write([Put(_HOLDS, name, "why", b"")])
        return held

    def holds(self) -> dict[str, str]:
        """The names that are held, and why."""
        with reading("what is kept of a hold"):
            return {name: why.decode() for name, why in self._store.values(_HOLDS, "why") if why}

    # -- rule and orders: by controllers ---------------------------------------------------------

    def rule(self, term: int, incarnation: str, control: str) -> None:
        """The controller of this term answers there."""
        self._store.write([Put(_RULERS, f"{term:012d}", "place", _packed(incarnation=incarnation, control=control))])

    def ruler(self) -> Ruler | None:
        """The controller of the highest term of which it is known where it answers, None before the first."""
        known = self._store.values(_RULERS, "place")
        with reading("what is kept of who rules"):
            return Ruler(int(known[-1][0]), **json.loads(known[-1][1])) if known else None

    def ruling(self) -> int:
        """The highest term that was taken."""
        return self._store.number(RULING)

    def order_end(self, incarnation: str, term: int, why: str) -> bool:
        """The process of this life is to end at once; whether the order stands."""
        return self._order("end", incarnation, term, why)

    def order_retirement(self, incarnation: str, term: int, why: str) -> bool:
        """The life is not to be replaced when it ends; whether the order stands."""
        return self._order("retire", incarnation, term, why)

    def ends_ordered(self) -> dict[str, str]:
        """Of the living, those that are to end, and why."""
        ordered = [life.incarnation for life in self.living() if self._is_ordered("end", life.incarnation)]
        with reading("what is kept of an order"):
            return {i: self._store.get(_REASONS, i).get("end", b"").decode() for i in ordered}

    def is_retired(self, incarnation: str) -> bool:
        """Whether the life is not to be replaced."""
        return self._is_ordered("retire", incarnation)

    # -- inside ----------------------------------------------------------------------------------

    def _lives(self, role: str | None, without: str | None) -> list[Life]:
        found = [self.life(incarnation) for incarnation in self._store.keys(_LIVES, without)]
        return [life for life in found if life is not None and role in (None, life.role)]

    def _order(self, kind: str, incarnation: str, term: int, why: str) -> bool:
        """An order is a number, so that whether the term still rules is decided where it is written."""
        self._store.raise_to(f"{kind} {incarnation}", 1, ruled_by=(RULING, term))
        if not self._is_ordered(kind, incarnation) or self.ruling() > term:
            return False
        self._store.write([Add(_REASONS, incarnation, kind, why.encode())])
        return True

    def _is_ordered(self, kind: str, incarnation: str) -> bool:
        return self._store.number(f"{kind} {incarnation}") == 1


def claim_keeping(register: Path) -> FileIO:
    """Be the one that starts and ends the processes of this register, as long as the returned file is open.

    Raises StoreError that names the process which is it, OSError.
    """
    return claim(register.with_name(f"{register.name}.supervisor"))


def _count_of(name: str) -> str:
    return f"life of {name}"


def _packed(**values: Any) -> bytes:
    return json.dumps(values).encode()
