"""What the host keeps of its machines in a store: answers by operation id, and the last snapshot of an instance.

Rules of this file:

- An operation's answer is written once, and closed with that: it is kept for the store's time.
- The snapshot of an instance is overwritten by the next, and stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .codec import join, split
from .store import HOUR, Add, Change, Keep, Put, Store

ANSWERS = Keep(longest=HOUR, most=10_000, least=600.0)
"""How long a repeat gets its answer where answers are kept in memory: ten minutes or more, as long as there is room."""
ROOM = 16 * 1024 * 1024
"""The bytes that they take there at most: each of them has all that its instance held."""
_PART = ""
"""Answers and snapshots have one part only."""


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


Beside = tuple[Change, ...]
"""What its owner has stored in one order with the steps: changes of spaces that are none of a host's."""


class Steps:
    """The answers and snapshots in a store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.immediate = store.immediate

    def answer(self, machine: str, instance: str, operation: str) -> Answer | None:
        """The answer that was given to this operation, if it is still kept."""
        found = self.store.get(f"answers {machine}", operation_key(instance, operation)).get(_PART)
        return None if found is None else decode_answer(found)

    def saved(self, machine: str, instance: str) -> Saved | None:
        found = self.store.get(f"instances {machine}", instance).get(_PART)
        return None if found is None else decode_saved(found)

    def all_saved(self, machine: str) -> dict[str, bytes]:
        """Each instance of which there is a snapshot, with what `decode_saved` reads."""
        return dict(self.store.values(f"instances {machine}", _PART))

    def instances(self, machine: str) -> list[str]:
        """Those of which there is a snapshot."""
        return self.store.keys(f"instances {machine}")

    def write(self, records: Sequence[Record | Beside]) -> None:
        """Store all of them or none. Raises StoreError; the same records may then be tried again."""
        steps = [r for r in records if isinstance(r, Record)]
        changes: list[Change] = [
            Add(f"answers {r.machine}", operation_key(r.instance, r.operation), _PART, encode_answer(r.answer), True)
            for r in steps
            if r.answer is not None
        ]
        # Within one transaction only the last snapshot of an instance can be seen.
        last = {(r.machine, r.instance): r.saved for r in steps if r.saved is not None}
        changes += [Put(f"instances {m}", i, _PART, encode_saved(saved)) for (m, i), saved in last.items()]
        # After the snapshots: an instance that is forgotten has stepped for the last time.
        changes += [change for r in records if not isinstance(r, Record) for change in r]
        self.store.write(changes)


def operation_key(instance: str, operation: str) -> str:
    """Both names as one key; different ones never make the same."""
    return f"{len(instance)}:{instance}{operation}"


def encode_answer(answer: Answer) -> bytes:
    return join(answer.payload, answer.reply)


def decode_answer(data: bytes) -> Answer:
    return Answer(*split(data, 2))


def encode_saved(saved: Saved) -> bytes:
    return join(saved.incarnation.encode(), saved.number.to_bytes(8, "little"), saved.snapshot)


def decode_saved(data: bytes) -> Saved:
    incarnation, number, snapshot = split(data, 3)
    return Saved(incarnation.decode(), int.from_bytes(number, "little"), snapshot)
