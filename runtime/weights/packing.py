"""Tensors packed into buckets of bounded size: the part of publishing that no store or road knows.

Rules of this file:

- Tensors are drawn one at a time and read in slices of a part of a bucket; beside the model there are two slices
  and, for each dtype, one open bucket, whatever the size of a tensor.
- A bucket has one dtype; a tensor goes on in the next bucket where one is full.
- The tensor's digest and the bucket's are made at the same time, each by a thread of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from .digest import combine, dtype_name, new_digest, published_dtype, slices
from .layout import Layout, ShardDigests
from .manifest import Bucket, Manifest, Piece, TensorEntry, itemsize

if TYPE_CHECKING:
    import torch

BUCKET_BYTES = 32 * 1024 * 1024
_WORTH_A_THREAD = 256 * 1024
_SLICES = 8
"""How many slices a bucket has: while one is drawn, the one before is still held."""


class Sink(Protocol):
    """Where full buckets go."""

    def fits(self, name: str, dtype: str, shape: tuple[int, ...], nbytes: int) -> bool:
        """Whether a tensor may begin within the open bucket of its dtype, which else ends before it."""
        ...

    def begins(self, name: str, dtype: str, shape: tuple[int, ...], nbytes: int) -> None:
        """A tensor begins, whose bytes are in the buckets of its dtype from now on."""
        ...

    def write(self, number: int, dtype: str, content: memoryview) -> None:
        """The bytes of the next bucket, valid until this returns."""
        ...


@dataclass(slots=True)
class _Open:
    """The bucket of one dtype that is being filled; its memory is used again."""

    memory: memoryview
    filled: int = 0
    pieces: list[Piece] = field(default_factory=list)
    digest: Any = field(default_factory=new_digest)

    def add(self, piece: Piece) -> None:
        """What was put at the end; it goes on with the piece before where that is of the same tensor."""
        self.filled += piece.length
        if self.pieces and self.pieces[-1].tensor == piece.tensor:
            before = self.pieces.pop()
            piece = Piece(piece.tensor, before.offset, before.length + piece.length)
        self.pieces.append(piece)


class Packer:
    """Packs tensors into a sink. Use `pack`, unless tensors come from elsewhere than an iterable."""

    def __init__(self, sink: Sink, bucket_bytes: int, pool: ThreadPoolExecutor) -> None:
        self.tensors: list[TensorEntry] = []
        self.buckets: list[Bucket] = []
        self._sink, self._bucket_bytes, self._pool = sink, bucket_bytes, pool
        self._open: dict[str, _Open] = {}

    def add(self, name: str, tensor: torch.Tensor, dtype: torch.dtype, *, is_frozen: bool = False) -> str:
        """The next tensor, cast to `dtype` slice by slice; its digest."""
        kind, shape, index, offset = dtype_name(dtype), tuple(tensor.shape), len(self.tensors), 0
        size = tensor.numel() * itemsize(kind)
        if not self._sink.fits(name, kind, shape, size):
            self._flush(kind)
        self._sink.begins(name, kind, shape, size)
        digest = new_digest()
        for part in slices(tensor, -(-self._bucket_bytes // _SLICES), dtype):
            behind: Future[None] | None = None
            if len(part) >= _WORTH_A_THREAD:
                behind = self._pool.submit(digest.update, part)
            else:
                digest.update(part)
            try:
                offset = self._take(kind, index, offset, part)
            finally:
                if behind is not None:
                    behind.result()
        self.tensors.append(TensorEntry(name, kind, shape, digest.hexdigest(), is_frozen))
        return self.tensors[-1].digest

    def flush(self) -> None:
        """Ends every open bucket."""
        for kind in tuple(self._open):
            self._flush(kind)

    def _take(self, kind: str, index: int, offset: int, part: memoryview) -> int:
        import torch

        bucket = self._open.get(kind)
        if bucket is None:
            # Memory of torch's is touched only as far as it is filled.
            memory = torch.empty(self._bucket_bytes, dtype=torch.uint8).numpy().data
            bucket = self._open[kind] = _Open(memory)
        while part:
            fits = part[: self._bucket_bytes - bucket.filled]
            bucket.memory[bucket.filled : bucket.filled + len(fits)] = fits
            bucket.digest.update(fits)
            bucket.add(Piece(index, offset, len(fits)))
            offset += len(fits)
            part = part[len(fits) :]
            if bucket.filled == self._bucket_bytes:
                self._flush(kind)
                bucket = self._open[kind]
        return offset

    def _flush(self, kind: str) -> None:
        bucket = self._open.get(kind)
        if bucket is None or not bucket.filled:
            return
        content = bucket.memory[: bucket.filled]
        self._sink.write(len(self.buckets), kind, content)
        self.buckets.append(Bucket(kind, bucket.filled, bucket.digest.hexdigest(), tuple(bucket.pieces)))
        self._open[kind] = _Open(bucket.memory)


@dataclass(frozen=True, slots=True)
class Packed:
    """What was packed: a manifest's part that the store does not know."""

    tensors: tuple[TensorEntry, ...]
    buckets: tuple[Bucket, ...]
    layouts: Mapping[str, Mapping[str, str]]

    def manifest(self, version: int, run: str, step: int) -> Manifest:
        """The manifest of it. Raises ManifestError, for instance for a name that came twice."""
        return Manifest(version, run, step, self.tensors, self.buckets, layouts=self.layouts)


def pack(
    named_tensors: Iterable[tuple[str, torch.Tensor]], dtype: torch.dtype, sink: Sink, bucket_bytes: int,
    *, frozen: Collection[str] = (), layouts: Iterable[Layout] = (),
) -> Packed:  # fmt: skip
    """Packs all tensors, floating ones cast to `dtype`, into buckets of at most `bucket_bytes`.

    `frozen`: names of those that no training changes; `layouts`: whose ranks' digests are wanted too, which takes
    one cast tensor beside the model.
    """
    tallies = {layout.name: ShardDigests(layout) for layout in layouts}
    with ThreadPoolExecutor(1, "digest") as pool:
        packer = Packer(sink, bucket_bytes, pool)
        for name, tensor in named_tensors:
            kind = published_dtype(tensor, dtype)
            whole = packer.add(name, tensor, kind, is_frozen=name in frozen)
            for tally in tallies.values():
                tally.add(name, tensor.detach().to(kind), whole)
        packer.flush()
    digests = {name: tally.digests() for name, tally in tallies.items()}
    return Packed(tuple(packer.tensors), tuple(packer.buckets), digests)


def tally(named_tensors: Iterable[tuple[str, torch.Tensor]], dtype: torch.dtype) -> str:
    """The digest of the manifest that `pack` would make of these tensors; nothing is written or kept."""

    def entries() -> Iterable[tuple[str, str, tuple[int, ...], str]]:
        for name, tensor in named_tensors:
            kind, digest = published_dtype(tensor, dtype), new_digest()
            for part in slices(tensor, BUCKET_BYTES, kind):
                digest.update(part)
            yield name, dtype_name(kind), tuple(tensor.shape), digest.hexdigest()

    return combine(entries())
