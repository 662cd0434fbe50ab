"""Fields of bytes as one value of a store, and back; what is read of one that nobody wrote so."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager

from .store import StoreError

_LENGTH = struct.Struct("<I")


def join(*fields: bytes) -> bytes:
    """The fields, each after its length; at most 4 GiB each."""
    return b"".join(piece for field in fields for piece in (_LENGTH.pack(len(field)), field))


def split(data: bytes, count: int) -> list[bytes]:
    """The `count` fields that `join` was given. Raises StoreError for anything that it did not make."""
    fields: list[bytes] = []
    at = 0
    while at + _LENGTH.size <= len(data):
        (length,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size
        fields.append(data[at : at + length])
        at += length
    if at != len(data) or len(fields) != count:
        raise StoreError(f"a stored value of {len(data)} bytes is damaged: put back a copy of the store")
    return fields


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Around what makes values of stored bytes: what it raises where they are damaged, as StoreError of `what`."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise StoreError(f"{what} is damaged ({error!r}): put back a copy of the store") from error
