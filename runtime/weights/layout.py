"""Tensor-parallel layouts: which part of each canonical tensor a rank holds, and the digests that follow.

Rules of this file:

- A layout is declared, by patterns over canonical names; the first that matches decides, and what none matches
  is held whole by every rank.
- A rank holds one run of rows along one dimension of each tensor; a run may be empty where the dimension is
  shorter than there are parts.
- A rank's digest is that of the named parts that it holds, each with the shape of the part: in what order or in
  which parameters an engine keeps them makes no difference.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .digest import combine, dtype_name, tensor_digest

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class Split:
    """Tensors whose whole name matches the regular expression `pattern` are split along `dim`.

    `parts`: into how many, 0 for one for each rank; fewer than ranks are shared by neighbours, as heads of
    keys and values are. Raises ValueError for a pattern that is none, or a negative number.
    """

    pattern: str
    dim: int = 0
    parts: int = 0

    def __post_init__(self) -> None:
        try:
            re.compile(self.pattern)
        except re.error as error:
            raise ValueError(f"pattern {self.pattern!r} is no regular expression: {error}") from error
        if self.dim < 0 or self.parts < 0:
            raise ValueError(f"dim is {self.dim} and parts is {self.parts}: give numbers that are not negative")


@dataclass(frozen=True, slots=True)
class Span:
    """The part from row `start` up to `stop` along `dim`."""

    dim: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Layout:
    """How the tensors of a model lie on `ranks`, which are named in the order of their parts.

    Raises ValueError for ranks that are none or repeat, or parts that the ranks cannot share evenly.
    """

    name: str
    ranks: tuple[str, ...]
    splits: tuple[Split, ...] = ()

    def __post_init__(self) -> None:
        if not self.ranks or len(set(self.ranks)) != len(self.ranks):
            raise ValueError(f"layout {self.name!r}: name at least one rank, each once, not {list(self.ranks)}")
        for split in self.splits:
            if split.parts and len(self.ranks) % split.parts:
                raise ValueError(
                    f"layout {self.name!r}: {len(self.ranks)} ranks cannot share the {split.parts} parts of "
                    f"{split.pattern!r} evenly"
                )

    def span(self, name: str, shape: tuple[int, ...], rank: str) -> Span | None:
        """What `rank` holds of the canonical tensor; none if all of it. Raises ValueError naming what is wrong."""
        if rank not in self.ranks:
            raise ValueError(f"layout {self.name!r} has the ranks {list(self.ranks)}, not {rank!r}")
        split = next((split for split in self.splits if re.fullmatch(split.pattern, name)), None)
        if split is None:
            return None
        if split.dim >= len(shape):
            raise ValueError(f"layout {self.name!r} splits {name!r} along dimension {split.dim}, its shape is {shape}")
        parts = split.parts or len(self.ranks)
        part = self.ranks.index(rank) * parts // len(self.ranks)
        size = shape[split.dim]
        return Span(split.dim, size * part // parts, size * (part + 1) // parts)

    def shape(self, name: str, shape: tuple[int, ...], rank: str) -> tuple[int, ...]:
        """The shape of what `rank` holds of the canonical tensor."""
        span = self.span(name, shape, rank)
        if span is None:
            return shape
        return (*shape[: span.dim], span.stop - span.start, *shape[span.dim + 1 :])


def shard(name: str, tensor: torch.Tensor, layout: Layout, rank: str) -> torch.Tensor:
    """What `rank` holds of the canonical `tensor`, as a view of it."""
    span = layout.span(name, tuple(tensor.shape), rank)
    return tensor if span is None else tensor.narrow(span.dim, span.start, span.stop - span.start)


class ShardDigests:
    """The digest that each rank of a layout must hold, from canonical tensors given one at a time."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._entries: dict[str, list[tuple[str, str, tuple[int, ...], str]]] = {rank: [] for rank in layout.ranks}

    def add(self, name: str, tensor: torch.Tensor, whole: str = "") -> None:
        """The next tensor, cast as it is published; `whole`: the digest of all of it, if it is known already."""
        shape, known = tuple(tensor.shape), dict[Span | None, str]()
        if whole:
            known[None] = whole
        for rank, entries in self._entries.items():
            span = self._layout.span(name, shape, rank)
            if span not in known:
                known[span] = tensor_digest(shard(name, tensor, self._layout, rank))
            entries.append((name, dtype_name(tensor.dtype), self._layout.shape(name, shape, rank), known[span]))

    def digests(self) -> dict[str, str]:
        """Rank → digest, over what was added."""
        return {rank: combine(entries) for rank, entries in self._entries.items()}


def layout_digests(tensors: Mapping[str, torch.Tensor], layouts: Iterable[Layout]) -> dict[str, dict[str, str]]:
    """Of each layout by name, the digest that each of its ranks must hold of these canonical tensors."""
    tallies = {layout.name: ShardDigests(layout) for layout in layouts}
    for name, tensor in tensors.items():
        for tally in tallies.values():
            tally.add(name, tensor)
    return {name: tally.digests() for name, tally in tallies.items()}


def row_bytes(shape: tuple[int, ...], itemsize: int, span: Span | None) -> tuple[int, int, int]:
    """A part as columns of a matrix of bytes, row-major as its tensor: bytes of a row, first and last column."""
    if span is None:
        whole = math.prod(shape) * itemsize
        return whole, 0, whole
    inner = math.prod(shape[span.dim + 1 :]) * itemsize
    return shape[span.dim] * inner, span.start * inner, span.stop * inner
