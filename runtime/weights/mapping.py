"""What a rank holds in terms of canonical tensors, and where each byte of one goes.

Rules of this file:

- A canonical tensor is what a trainer publishes; a resident one is what an engine computes with. A resident
  tensor is one canonical part, or several packed one after another in row-major order (queries, keys and values;
  gate and up), so that each part is one run of its bytes.
- The bytes of a part come in pieces that begin and end anywhere, also within an element.
- Fit is judged before a byte is moved: every resident tensor is covered by parts exactly once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .digest import combine, dtype_name, tensor_digest
from .layout import Layout, row_bytes
from .manifest import TensorEntry, itemsize

if TYPE_CHECKING:
    import torch


class WeightsError(Exception):
    """Weights that cannot be staged: they do not fit the engine, or did not arrive whole."""


class OutOfReach(WeightsError):
    """Nothing came, and nothing that came was wrong: the road cannot be used now, a later try may find it."""


@dataclass(frozen=True, slots=True)
class Pack:
    r"""Resident tensors whose whole name matches `pattern` are made of `parts`, in their order.

    `parts` are templates of the match: `(.*)\.qkv\.(weight|bias)` of `\1.q_proj.\2`, `\1.k_proj.\2`, `\1.v_proj.\2`.
    """

    pattern: str
    parts: tuple[str, ...]


class Place:
    """Where a rank's part of one canonical tensor lies: a run of bytes of a resident tensor."""

    def __init__(self, entry: TensorEntry, shape: tuple[int, ...], target: torch.Tensor, columns: tuple[int, int, int]):
        """`shape`: of the part; `target`: its bytes, flat; `columns`: as of `row_bytes`."""
        self.entry, self.shape, self.target = entry, shape, target
        self._row, self._first, self._last = columns

    def put(self, offset: int, content: torch.Tensor) -> None:
        """Take what is the rank's of the canonical tensor's bytes from `offset` on; `content` is flat bytes."""
        width = self._last - self._first
        if width == self._row:
            self.target[offset : offset + content.numel()].copy_(content)
            return
        if width == 0:
            return
        at, end = offset, offset + content.numel()
        if at % self._row:
            stop = min(end, at - at % self._row + self._row)
            self._put_run(at, content[: stop - at])
            at = stop
        rows = (end - at) // self._row
        if rows:
            begin = at // self._row
            whole = content[at - offset : at - offset + rows * self._row].view(rows, self._row)
            self.target[begin * width : (begin + rows) * width].view(rows, width).copy_(
                whole[:, self._first : self._last]
            )
            at += rows * self._row
        if at < end:
            self._put_run(at, content[at - offset :])

    def _put_run(self, offset: int, content: torch.Tensor) -> None:
        """Bytes of one row."""
        row, column = divmod(offset, self._row)
        begin, stop = max(column, self._first), min(column + content.numel(), self._last)
        if begin < stop:
            at = row * (self._last - self._first) + begin - self._first
            self.target[at : at + stop - begin].copy_(content[begin - column : stop - column])

    def digest(self) -> str:
        """The digest of the part's bytes."""
        return tensor_digest(self.target)


class Holding:
    """What one rank holds: `resident` tensors by name, packed by `packs`, of the parts that `layout` gives `rank`.

    Without a layout it holds each canonical tensor whole. `tied`: names that stand for another one, for a better
    message. Resident tensors are contiguous.
    """

    def __init__(
        self, resident: Mapping[str, torch.Tensor], *, packs: Sequence[Pack] = (), layout: Layout | None = None,
        rank: str = "0", tied: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.resident, self.layout, self.rank, self.tied = resident, layout, rank, dict(tied or {})
        self._parts = {name: _parts(name, packs) for name in resident}

    def empty(self) -> Holding:
        """Another of the same kind, whose memory is new and holds nothing of worth."""
        import torch

        return self.on({n: torch.empty(t.shape, dtype=t.dtype, device=t.device) for n, t in self.resident.items()})

    def on(self, resident: Mapping[str, torch.Tensor]) -> Holding:
        """Another of the same kind on other tensors of the same names and shapes."""
        other = Holding(resident, layout=self.layout, rank=self.rank, tied=self.tied)
        other._parts = self._parts
        return other

    def places(self, version: int, entries: Sequence[TensorEntry]) -> list[Place]:
        """The place of each canonical tensor, in their order.

        Raises WeightsError naming the tensors that do not fit.
        """
        published = {entry.name: entry for entry in entries}
        wanted = {part: name for name, parts in self._parts.items() for part in parts}
        problems = [self._unknown(entry.name) for entry in entries if entry.name not in wanted]
        problems += [f"{name!r} is missing in the manifest" for name in wanted if name not in published]
        found: dict[str, Place] = {}
        for name, parts in self._parts.items():
            if all(part in published for part in parts):
                problems += self._place(name, [published[part] for part in parts], found)
        if problems:
            more = f" (and {len(problems) - 5} more)" if len(problems) > 5 else ""
            raise WeightsError(
                f"version {version} does not fit the engine's model: {'; '.join(problems[:5])}{more}. "
                "Publish from the model folder and dtype that the engine was started with"
            )
        return [found[entry.name] for entry in entries]

    def digest(self, entries: Sequence[TensorEntry]) -> str:
        """The rank's digest, computed now, of canonical tensors that fit."""
        return places_digest(self.places(0, entries))

    def _place(self, name: str, parts: list[TensorEntry], found: dict[str, Place]) -> list[str]:
        """Add the places of one resident tensor's parts; what does not fit."""
        import torch

        held = self.resident[name]
        problems = [
            f"{entry.name!r} is {entry.dtype} in the manifest, {dtype_name(held.dtype)} in the engine"
            for entry in parts
            if entry.dtype != dtype_name(held.dtype)
        ]
        try:
            shapes = [self._shape(entry) for entry in parts]
        except ValueError as error:
            return [*problems, str(error)]
        is_one = len(parts) == 1 and parts[0].name == name
        if shapes[0] != tuple(held.shape) if is_one else sum(map(math.prod, shapes)) != held.numel():
            said = " and ".join(str(entry.shape) for entry in parts)
            own = " and ".join(map(str, shapes))
            part = "" if self.layout is None else f", of which rank {self.rank!r} holds {own}"
            problems.append(f"{name!r} has shape {said} in the manifest{part}, {tuple(held.shape)} in the engine")
        if problems:
            return problems
        flat, at = held.detach().view(-1).view(torch.uint8), 0
        for entry, shape in zip(parts, shapes, strict=True):
            size = itemsize(entry.dtype)
            span = None if self.layout is None else self.layout.span(entry.name, entry.shape, self.rank)
            length = math.prod(shape) * size
            columns = row_bytes(entry.shape, size, span)
            found[entry.name] = Place(entry, shape, flat[at : at + length], columns)
            at += length
        return []

    def _shape(self, entry: TensorEntry) -> tuple[int, ...]:
        return entry.shape if self.layout is None else self.layout.shape(entry.name, entry.shape, self.rank)

    def _unknown(self, name: str) -> str:
        hint = f": it is tied, publish {self.tied[name]!r} only" if name in self.tied else ""
        return f"{name!r} is not a tensor of the engine's model{hint}"


def places_digest(places: Iterable[Place]) -> str:
    """The digest of the parts that lie at these places, computed now."""
    return combine((p.entry.name, p.entry.dtype, p.shape, p.digest()) for p in places)


def _parts(name: str, packs: Sequence[Pack]) -> tuple[str, ...]:
    for pack in packs:
        if match := re.fullmatch(pack.pattern, name):
            return tuple(match.expand(part) for part in pack.parts)
    return (name,)
