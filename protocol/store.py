"""Where everything that must outlive a process lies: entries in spaces, and numbers.

Rules of this file:

- An entry is a part of a key in a space. `write` stores all of its changes or none, and when it
  returns they are as safe as the store's durability says.
- A write that depends on what is there is named as such, and decided where the data lie: `Add`,
  `advance`, `raise_to`, `raise_all`. Nobody reads, decides and then writes.
- Look-ups wait for no flush and no network: a store whose data lie elsewhere reads them when it is
  opened, and keeps them. Only `write`, `advance`, `raise_to` and `raise_all` wait.
- A key that was closed is forgotten when it is old, or when too many are kept; an open one only by `Drop`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

HOUR, WEEK = 3600.0, 7 * 24 * 3600.0
_KEY_BYTES = 512
"""What a key takes in memory beside the values of its parts, about."""


class StoreError(Exception):
    """The store cannot be used; says which file, what was found and how to mend it."""


class Durability(StrEnum):
    """What may be lost of that which was answered."""

    STRICT = "strict"
    """Nothing: it is on the disk before anybody is answered."""
    PROCESS = "process"
    """The last moments, when the host loses power or its kernel dies; nothing when only the process does."""
    OFF = "off"
    """Everything, with the process: it is kept in memory."""


@dataclass(frozen=True, slots=True)
class Keep:
    """How long closed keys are kept: at most `longest` seconds, and the newest `most`, but each for `least` seconds.

    `least` is longer than anybody may still ask for one: for answers, than an operation can last.
    """

    longest: float = WEEK
    most: int = 100_000
    least: float = HOUR

    def __post_init__(self) -> None:
        if not 0 <= self.least <= self.longest or self.most < 0:
            raise ValueError(f"{self}: least is at most longest, and none is below 0")


class Put(NamedTuple):
    """Set an entry, whatever was there."""

    space: str
    key: str
    part: str
    value: bytes


class Add(NamedTuple):
    """Set an entry that is not there; one that is there stays. With `closes` the key is closed from then on."""

    space: str
    key: str
    part: str
    value: bytes
    closes: bool = False


class Drop(NamedTuple):
    """Forget a key with all of its parts; one that is not there stays so."""

    space: str
    key: str


Change = Put | Add | Drop


class Store(Protocol):
    """What everything durable needs. All but reads raise StoreError when nothing can be stored."""

    durability: Durability
    immediate: bool
    """Whether `write` costs so little that it may run in the event loop."""

    def get(self, space: str, key: str) -> dict[str, bytes]:
        """The parts of a key, by name; none for a key that is not there."""
        ...

    def has(self, space: str, key: str) -> bool: ...

    def keys(self, space: str, without: str | None = None) -> list[str]:
        """The keys of a space in their order, or only those that have no such part."""
        ...

    def values(self, space: str, part: str) -> list[tuple[str, bytes]]:
        """One part of every key that has it, in the order of the keys."""
        ...

    def count(self, space: str) -> int:
        """How many entries a space has: parts, of all its keys. It takes time that grows with them."""
        ...

    def write(self, changes: Sequence[Change]) -> None:
        """Make all of the changes, in their order, or none; the same ones may then be tried again.

        Called from one thread at a time.
        """
        ...

    def number(self, name: str) -> int:
        """The number's value, 0 at first."""
        ...

    def advance(self, name: str) -> int:
        """Add 1 and return the new value, which no one else ever gets."""
        ...

    def raise_to(self, name: str, value: int, *, ruled_by: tuple[str, int] | None = None) -> bool:
        """Set a number that is lower to `value`; whether it was lower.

        `ruled_by`: only while that other number is not above the given value.
        """
        ...

    def raise_all(self, numbers: Mapping[str, int]) -> None:
        """Set each number that is lower than its value here to it: all of them in one write, or none."""
        ...

    def close(self) -> None: ...


class MemoryStore:
    """A store that ends with its process: for what its next life begins anew.

    `room`: the most bytes that closed keys take, none if it is not bounded: the oldest go beyond that, however
    young, and the newest stays.
    """

    durability = Durability.OFF
    immediate = True

    def __init__(
        self, keep: Keep | None = None, clock: Callable[[], float] = time.monotonic, *, room: int | None = None
    ) -> None:
        self._keep, self._clock, self._room, self._taken = keep or Keep(), clock, room, 0
        self._spaces: dict[str, dict[str, dict[str, bytes]]] = {}
        self._closed: dict[tuple[str, str], tuple[float, int]] = {}
        """When each was closed, and the bytes that it then took; oldest first."""
        self._numbers: dict[str, int] = {}

    def get(self, space: str, key: str) -> dict[str, bytes]:
        return dict(self._spaces.get(space, {}).get(key, {}))

    def has(self, space: str, key: str) -> bool:
        return key in self._spaces.get(space, {})

    def keys(self, space: str, without: str | None = None) -> list[str]:
        return sorted(key for key, parts in self._spaces.get(space, {}).items() if without not in parts)

    def values(self, space: str, part: str) -> list[tuple[str, bytes]]:
        return sorted((key, parts[part]) for key, parts in self._spaces.get(space, {}).items() if part in parts)

    def count(self, space: str) -> int:
        return sum(map(len, self._spaces.get(space, {}).values()))

    def write(self, changes: Sequence[Change]) -> None:
        now = self._clock()
        for change in changes:
            if isinstance(change, Drop):
                self._drop(change.space, change.key)
                continue
            parts = self._spaces.setdefault(change.space, {}).setdefault(change.key, {})
            if isinstance(change, Put):
                parts[change.part] = change.value
            elif change.part not in parts:
                parts[change.part] = change.value
                if change.closes and (change.space, change.key) not in self._closed:
                    size = _KEY_BYTES + sum(map(len, parts.values()))
                    self._closed[change.space, change.key] = (now, size)
                    self._taken += size
        self._prune(now, 2 * len(changes))

    def number(self, name: str) -> int:
        return self._numbers.get(name, 0)

    def advance(self, name: str) -> int:
        self._numbers[name] = value = self.number(name) + 1
        return value

    def raise_to(self, name: str, value: int, *, ruled_by: tuple[str, int] | None = None) -> bool:
        lower = self.number(name) < value and (ruled_by is None or self.number(ruled_by[0]) <= ruled_by[1])
        if lower:
            self._numbers[name] = value
        return lower

    def raise_all(self, numbers: Mapping[str, int]) -> None:
        for name, value in numbers.items():
            self.raise_to(name, value)

    def close(self) -> None:
        pass

    def _prune(self, now: float, at_most: int) -> None:
        while self._room is not None and self._taken > self._room and len(self._closed) > 1:
            self._drop(*next(iter(self._closed)))
        for _ in range(at_most):
            oldest = next(iter(self._closed), None)
            if oldest is None:
                return
            age = now - self._closed[oldest][0]
            if not (age > self._keep.longest or (len(self._closed) > self._keep.most and age > self._keep.least)):
                return
            self._drop(*oldest)

    def _drop(self, space: str, key: str) -> None:
        if (closed := self._closed.pop((space, key), None)) is not None:
            self._taken -= closed[1]
        self._spaces.get(space, {}).pop(key, None)
