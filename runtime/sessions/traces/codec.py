"""A segment, and the values that it is the first to have attached, as bytes of a store and back."""

from __future__ import annotations

import json
import sys
from array import array
from typing import Any

from ....protocol.codec import join, reading, split
from .tree import Segment, Tree

_FIELDS = 5


def encode(segment: Segment, first_new: int, tree: Tree) -> bytes:
    """The segment with those of the tree's values that have the number `first_new` or a higher one."""
    head = {
        "number": segment.number, "parent": segment.parent, "at": segment.at, "request": segment.request,
        "ending": segment.ending, "spans": segment.spans, "binding": segment.binding,
        "incarnation": segment.incarnation, "attached": sorted(segment.attached), "first_new": first_new,
    }  # fmt: skip
    columns = [segment.given, segment.made, segment.logprobs, *(segment.attached[n] for n in sorted(segment.attached))]
    return join(
        json.dumps(head, separators=(",", ":")).encode(), join(*map(_bytes, columns)), join(*tree.values[first_new:]),
        len(tree.values[first_new:]).to_bytes(4, "little"), segment.note,
    )  # fmt: skip


def decode(data: bytes, tree: Tree) -> Segment:
    """The segment, whose values are kept in `tree` from then on. Raises StoreError for what `encode` did not make."""
    head_bytes, columns, values, count, note = split(data, _FIELDS)
    with reading("a segment of a trace"):
        head = json.loads(head_bytes)
        if head.pop("first_new") != len(tree.values):
            raise ValueError("values that are attached are missing")
        for value in split(values, int.from_bytes(count, "little")):
            tree.keep(value)
        names = head.pop("attached")
        given, made, logprobs, *numbers = split(columns, 3 + len(names))
        spans = tuple((version, count) for version, count in head.pop("spans"))
        attached = {name: _array("I", held) for name, held in zip(names, numbers, strict=True)}
        return Segment(
            **head, given=_array("I", given), made=_array("I", made), logprobs=_array("f", logprobs), spans=spans,
            attached=attached, note=note,
        )  # fmt: skip


def _bytes(values: array[int] | array[float]) -> bytes:
    if sys.byteorder != "little":
        values = values[:]
        values.byteswap()
    return values.tobytes()


def _array(code: str, data: bytes) -> array[Any]:
    values = array(code)
    values.frombytes(data)
    if sys.byteorder != "little":
        values.byteswap()
    return values
