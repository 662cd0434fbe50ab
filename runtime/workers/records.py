"""What a replica records of its leases on the disk: admitted, forwarded, ended, settled or lost.

Rules of this file:

- A lease is recorded before its request is told that it was admitted, and before it reaches the engine;
  so a process that was killed leaves no lease that its next life does not know.
- A terminal record is the whole answer, with the version that made each token.
- Records are encoded where they are made: what cannot be one is told to who gives it, and never reaches a store.
- Each kind of record of a lease is one entry, which is written once; its closure is the last, and closes the key:
  records of closed leases are kept for the store's time, those of open ones for as long as they are open.
"""

from __future__ import annotations

import json
import sys
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...protocol.codec import join, reading, split
from ...protocol.sqlite import open_store
from ...protocol.store import Add, Durability, Keep, Store
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


LOST = "lost"
"""The closure of a lease whose end nobody knows."""
_LEASES = "leases"
_ENCODER = json.JSONEncoder(separators=(",", ":"))
_ADMITTED, _FORWARDED, _ENDED, _CLOSED = "admitted", "forwarded", "ended", "closed"


class LeaseStore:
    """The records of leases in a store. `write` is called from one thread at a time; the rest from the event loop.

    `place` is a store, which the caller closes, or the path of a SQLite file, which is opened as
    `durability`, `keep` and `sole` say (see `open_store`) and closed by `close`. Raises StoreError.
    """

    def __init__(
        self, place: Store | Path, durability: Durability = Durability.STRICT, *, keep: Keep | None = None,
        sole: bool = False,
    ) -> None:  # fmt: skip
        self._opens = isinstance(place, Path)
        self._store = open_store(place, durability, keep=keep, sole=sole) if isinstance(place, Path) else place
        self.immediate = self._store.immediate

    def write(self, records: Sequence[Add]) -> None:
        """Store all of what `encode` made or none. Raises StoreError; the same may then be tried again."""
        self._store.write(records)

    def is_known(self, lease: str) -> bool:
        """Whether this id was admitted here, and its records are still kept."""
        return self._store.has(_LEASES, lease)

    def open_leases(self) -> list[OpenLease]:
        """Leases without a closure, by id."""
        return [_open(lease, self._store.get(_LEASES, lease)) for lease in self._store.keys(_LEASES, without=_CLOSED)]

    def answer(self, lease: str) -> StoredAnswer | None:
        """What is recorded of a lease, None for an unknown one."""
        parts = self._store.get(_LEASES, lease)
        if not parts:
            return None
        admission, terminal = _decoded(lease, parts)
        with reading(f"the closure of lease {lease!r}"):
            closure = parts.get(_CLOSED, b"").decode()
        return StoredAnswer(
            lease, admission.session, admission.incarnation, closure,
            terminal.why if terminal else "", list(admission.prompt), list(terminal.tokens) if terminal else [],
            list(terminal.logprobs) if terminal else [], list(terminal.spans) if terminal else [],
            dict(admission.labels),
        )  # fmt: skip

    def counts(self) -> dict[str, int]:
        """How many of the kept leases there are by closure; those without one under the empty name."""
        with reading("the closure of a lease"):
            counts = Counter(closure.decode() for _, closure in self._store.values(_LEASES, _CLOSED))
        if still_open := len(self._store.keys(_LEASES, without=_CLOSED)):
            counts[""] = still_open
        return dict(counts)

    def close(self) -> None:
        if self._opens:
            self._store.close()


def require_text(**texts: str) -> None:
    """Raises TypeError naming those that are no text, ValueError those that cannot be stored as it."""
    for name, text in texts.items():
        if not isinstance(text, str):
            raise TypeError(f"{name} is {text!r}: give a text")
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ValueError(f"{name} is {text!r}, which is no Unicode: leave surrogates out") from None


def encode(record: LeaseRecord) -> Add:
    """The entry of a record. Raises TypeError, ValueError or OverflowError for values that no record has."""
    match record:
        case Admission():
            facts = [record.session, record.incarnation, record.epoch, record.version, dict(record.labels)]
            return Add(
                _LEASES, record.lease, _ADMITTED, join(_ENCODER.encode(facts).encode(), _pack("I", record.prompt))
            )
        case Forwarding():
            return Add(_LEASES, record.lease, _FORWARDED, b"")
        case Terminal():
            facts = [record.ending.value, record.why, record.spans]
            value = join(_ENCODER.encode(facts).encode(), _pack("I", record.tokens), _pack("f", record.logprobs))
            return Add(_LEASES, record.lease, _ENDED, value)
        case Closure():
            closure = LOST if record.ending is None else record.ending.value
            return Add(_LEASES, record.lease, _CLOSED, closure.encode(), closes=True)


def decode_admission(lease: str, value: bytes) -> Admission:
    """Raises StoreError for a damaged value."""
    facts, prompt = split(value, 2)
    with reading(f"the admission of lease {lease!r}"):
        session, incarnation, epoch, version, labels = json.loads(facts)
        require_text(session=session, incarnation=incarnation)
        return Admission(lease, session, incarnation, epoch, version, _unpack("I", prompt), dict(labels))


def decode_terminal(lease: str, value: bytes) -> Terminal:
    """Raises StoreError for a damaged value."""
    facts, tokens, logprobs = split(value, 3)
    with reading(f"the end of lease {lease!r}"):
        ending, why, spans = json.loads(facts)
        spans = [(int(version), int(count)) for version, count in spans]
        return Terminal(lease, Ending(ending), why, _unpack("I", tokens), _unpack("f", logprobs), spans)


def _decoded(lease: str, parts: Mapping[str, bytes]) -> tuple[Admission, Terminal | None]:
    with reading(f"what is kept of lease {lease!r}"):
        admitted, ended = parts[_ADMITTED], parts.get(_ENDED)
    return decode_admission(lease, admitted), None if ended is None else decode_terminal(lease, ended)


def _open(lease: str, parts: Mapping[str, bytes]) -> OpenLease:
    admission, terminal = _decoded(lease, parts)
    spans: Counter[int] = Counter()
    for version, count in terminal.spans if terminal else ():
        spans[version] += count
    ending = terminal.ending if terminal else None
    return OpenLease(lease, admission.session, admission.incarnation, _FORWARDED in parts, ending, dict(spans))


def _pack(code: str, numbers: Sequence[float]) -> bytes:
    """Four bytes for each number, the lowest first: of whole ones (I) or of floating point (f)."""
    packed = array(code, numbers)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def _unpack(code: str, data: bytes) -> list[Any]:
    packed = array(code, data)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tolist()
