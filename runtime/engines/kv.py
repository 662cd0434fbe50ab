"""Keys and values of a batch whose rows come and go, for any transformers model with full attention.

Rows are aligned to the right: the newest token of every row is in the last column, and what lies before a
row's start is padding that the mask hides. So one decoding step appends one column for all rows, a row
that joins is padded on its left, and when rows leave the columns that nobody needs are cut off: the
width is always the length of the longest row.
"""

from __future__ import annotations

import torch
from transformers.cache_utils import Cache, DynamicLayer

# Columns allocated ahead: a step then writes in place instead of copying the whole batch.
_HEADROOM = 64


class GrowingLayer(DynamicLayer):
    """One layer's keys and values as views of larger buffers."""

    def __init__(self) -> None:
        super().__init__()
        self._buffers: tuple[torch.Tensor, ...] = ()

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: object, **kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Appends columns; returns all keys and values."""
        width, added = self.get_seq_length(), key_states.shape[-2]
        if not self._buffers:
            self.lazy_initialization(key_states, value_states)
            self._buffers = _room(key_states, added), _room(value_states, added)
        elif width + added > self._buffers[0].shape[-2]:
            self._buffers = tuple(_copied(held, width + added) for held in self.both())
        keys, values = self._buffers
        keys[:, :, width : width + added] = key_states
        values[:, :, width : width + added] = value_states
        self.keys, self.values = keys[:, :, : width + added], values[:, :, : width + added]
        return self.keys, self.values

    def keep(self, rows: torch.Tensor, cut: int) -> None:
        """Keeps only `rows`, in that order, without their first `cut` columns."""
        self._set([held[rows, :, cut:] for held in self.both()])

    def join(self, other: GrowingLayer) -> None:
        """Puts the rows of `other` below these, both aligned to the right."""
        self._set([_below(mine, its) for mine, its in zip(self.both(), other.both(), strict=True)])

    def both(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values in use."""
        assert self.keys is not None
        assert self.values is not None
        return self.keys, self.values

    def _set(self, both: list[torch.Tensor]) -> None:
        width = both[0].shape[-2]
        self._buffers = tuple(_copied(held, width) for held in both)
        self.keys, self.values = (buffer[:, :, :width] for buffer in self._buffers)


def new_cache() -> Cache:
    """An empty cache for one forward pass and those that follow it."""
    return Cache(layer_class_to_replicate=GrowingLayer)


def width(cache: Cache) -> int:
    """Columns in use."""
    return cache.get_seq_length()


def keep_rows(cache: Cache, rows: torch.Tensor, cut: int) -> None:
    """Keeps only `rows` of every layer, without their first `cut` columns."""
    for layer in _layers(cache):
        layer.keep(rows, cut)


def join_rows(cache: Cache, other: Cache) -> None:
    """Puts the rows of `other` below those of `cache` in every layer."""
    for mine, joining in zip(_layers(cache), _layers(other), strict=True):
        mine.join(joining)


def _layers(cache: Cache) -> list[GrowingLayer]:
    layers = [layer for layer in cache.layers if isinstance(layer, GrowingLayer)]
    assert len(layers) == len(cache.layers)
    return layers


def _room(like: torch.Tensor, columns: int) -> torch.Tensor:
    rows, heads, _, size = like.shape
    # Zeros, not garbage: a NaN in a masked column would still reach every row through 0 * NaN.
    return like.new_zeros(rows, heads, columns + _HEADROOM, size)


def _copied(held: torch.Tensor, columns: int) -> torch.Tensor:
    buffer = _room(held, columns)
    buffer[:, :, : held.shape[-2]] = held
    return buffer


def _below(top: torch.Tensor, bottom: torch.Tensor) -> torch.Tensor:
    columns = max(top.shape[-2], bottom.shape[-2])
    pads = (torch.nn.functional.pad(t, (0, 0, columns - t.shape[-2], 0)) for t in (top, bottom))
    return torch.cat(tuple(pads))
