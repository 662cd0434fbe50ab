"""Ids of sessions that a server issues: each says when it was, so that an old one is known without being stored.

Rules of this file:

- An issued id is `sg-`, its bucket of time, chance, and a code that only this run's key makes. Nobody else's id
  begins so: an id that was not issued here cannot pass for one.
- An id may be begun until its bucket is over. After that it answers as retired unless its session still lives.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable
from hashlib import blake2b

from ...protocol.store import HOUR, Add, Keep, Store

PREFIX = "sg-"
BUCKET_S = 3600
"""The width of a bucket, in seconds."""
_MAC_BYTES, _CHANCE_BYTES = 8, 10


class ForgedId(ValueError):
    """An id that looks issued and is not this run's."""


class Ids:
    """Issues ids and reads them. `life` is how long an id may be begun, in seconds; `key` is the run's own."""

    def __init__(self, key: bytes, life: float, clock: Callable[[], float] = time.time) -> None:
        self._key, self._life, self._clock = key, life, clock

    def issue(self) -> str:
        """A new id."""
        body = f"{int(self._clock()) // BUCKET_S:x}-{secrets.token_hex(_CHANCE_BYTES)}"
        return f"{PREFIX}{body}-{self._mac(body)}"

    def bucket(self, session: str) -> int | None:
        """The bucket of an issued id, None of one that its client chose. Raises ForgedId."""
        if not session.startswith(PREFIX):
            return None
        body, _, mac = session.removeprefix(PREFIX).rpartition("-")
        if not hmac.compare_digest(mac.encode(), self._mac(body).encode()):
            raise ForgedId(f"session {session!r}: ids that begin with {PREFIX!r} are issued, and this one is not ours")
        return int(body.partition("-")[0], 16)

    def is_expired(self, bucket: int) -> bool:
        """Whether no session of this bucket may begin any more."""
        return self._clock() >= (bucket + 1) * BUCKET_S + self._life

    def _mac(self, body: str) -> str:
        return blake2b(body.encode(), key=self._key, digest_size=_MAC_BYTES).hexdigest()


def key_of(store: Store) -> bytes:
    """The key of a run's issued ids, made if there is none. Raises StoreError."""
    store.write([Add("keys", "issued ids", "", secrets.token_bytes(32))])
    return store.get("keys", "issued ids")[""]


def keep(life: float) -> Keep:
    """How long a store keeps what is closed: a buried id that was issued, until its bucket is over for certain."""
    longest = life + 2 * BUCKET_S
    return Keep(longest=longest, most=1_000_000_000, least=min(longest, HOUR))
