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

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
