"""What upstreams hold, as far as is known: durably, so that the next life of this server does not guess.

Rules of this file:

- Weights are in doubt on the disk before anybody begins to change them, and known there before anybody is told.
- Weights that a trainer has and nobody else have a manifest that says so: one entry, of no bytes here, whose digest
  is that of the trainer's own word for them.
- What an upstream held before anybody loaded it is a version too: whatever it is, it is that, as found.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from ...protocol.codec import reading
from ...protocol.store import Put, Store
from ..weights import Manifest, TensorEntry
from ..weights.digest import new_digest

FOUND, LOADED = "as found", "loaded by its trainer"
_SPACE, _PART = "upstreams", "holds"


@dataclass(frozen=True, slots=True)
class Holding:
    """`version` and `digest` that an upstream was last told to hold, None and empty where that is in doubt; `started`
    is since when its process ran then, in seconds of Unix time, None where it does not tell."""

    version: int | None = None
    digest: str = ""
    started: float | None = None


class Holdings:
    """By the name of the upstream, in `store`, which is the caller's. Everything raises StoreError."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def of(self, upstream: str) -> Holding | None:
        """None for one that nobody was told anything of."""
        found = self._store.get(_SPACE, upstream).get(_PART)
        with reading(f"what {upstream} holds"):
            return None if found is None else Holding(**json.loads(found))

    def doubt(self, upstream: str) -> None:
        """What it holds is not known any more."""
        held = self.of(upstream)
        self.put(upstream, Holding(started=None if held is None else held.started))

    def put(self, upstream: str, holding: Holding) -> None:
        self._store.write([Put(_SPACE, upstream, _PART, json.dumps(asdict(holding)).encode())])


def manifest(version: int, run: str, step: int, word: str, *, kind: str = LOADED) -> Manifest:
    """The manifest of weights that their trainer calls `word`."""
    digest = new_digest(word.encode()).hexdigest()
    return Manifest(version, run, step, (TensorEntry(kind, "uint8", (0,), digest),), ())


def is_as_found(found: Manifest) -> bool:
    return [tensor.name for tensor in found.tensors] == [FOUND]
