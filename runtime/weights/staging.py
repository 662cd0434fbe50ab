"""New weights on their way to their places: received bucket by bucket, each verified, complete or refused.

Rules of this file:

- No byte of a bucket is put anywhere before the whole bucket has the manifest's digest.
- Staging puts them beside the resident ones: a bucket that is corrupt, cut, missing or repeated costs the
  staging buffer and nothing else. Put in place, it leaves what is resident in doubt, which its caller tells.
- Which road brought the bytes makes no difference here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

from .digest import new_digest, slices
from .manifest import Manifest
from .mapping import Holding, Place, WeightsError

if TYPE_CHECKING:
    import torch


class BucketSource(Protocol):
    """A road: gives each bucket of a manifest once, by its number.

    The bytes are host memory, or a flat tensor of bytes on any device; they are valid until the next bucket is
    asked for.
    """

    def buckets(self, manifest: Manifest) -> Iterator[tuple[int, memoryview | torch.Tensor]]: ...


class Receiving:
    """Puts the buckets of one version to their places, each once and verified."""

    def __init__(self, manifest: Manifest, places: list[Place], begins: Callable[[], None] | None = None) -> None:
        """`places`: of the manifest's tensors, in their order; `begins`: called before the first byte is put."""
        self.manifest = manifest
        self._places, self._begins = places, begins
        self._missing = set(range(len(manifest.buckets)))

    def put(self, number: int, content: memoryview | torch.Tensor) -> None:
        """Takes one bucket. Raises WeightsError when it is unknown, repeated, cut or corrupt."""
        import torch

        where = f"bucket {number} of version {self.manifest.version}"
        if not 0 <= number < len(self.manifest.buckets):
            raise WeightsError(f"{where} is not in the manifest")
        if number not in self._missing:
            raise WeightsError(f"{where} came twice")
        bucket = self.manifest.buckets[number]
        length = len(content) if isinstance(content, memoryview) else content.numel()
        if length != bucket.length:
            raise WeightsError(f"{where} has {length} bytes, {bucket.length} expected")
        if _digest(content) != bucket.digest:
            raise WeightsError(f"{where} is corrupt: its digest is not the manifest's")
        if isinstance(content, memoryview):
            received = torch.frombuffer(bytearray(content) if content.readonly else content, dtype=torch.uint8)
        else:
            received = content
        if self._begins is not None:
            self._begins()
            self._begins = None
        start = 0
        for piece in bucket.pieces:
            self._places[piece.tensor].put(piece.offset, received[start : start + piece.length])
            start += piece.length
        if received.device.type == "cuda":
            # The lender takes its memory back with the next bucket.
            torch.cuda.current_stream(received.device).synchronize()
        self._missing.discard(number)

    def require_whole(self) -> None:
        """Raises WeightsError when a bucket did not come."""
        if self._missing:
            raise WeightsError(
                f"version {self.manifest.version}: buckets {sorted(self._missing)} "
                f"of {len(self.manifest.buckets)} did not come"
            )

    def receive(self, source: BucketSource) -> None:
        """Takes every bucket of `source`. Raises WeightsError."""
        for number, content in source.buckets(self.manifest):
            self.put(number, content)
        self.require_whole()


class Staging:
    """A buffer for one version, on the devices of the tensors that it will replace."""

    def __init__(self, manifest: Manifest, holding: Holding) -> None:
        """`holding`: what the rank holds, of which only names, shapes, dtypes and devices are read.

        Raises WeightsError naming the tensors that do not fit.
        """
        # Judged before memory is taken.
        holding.places(manifest.version, manifest.tensors)
        self.manifest = manifest
        self.holding = holding.empty()
        places = self.holding.places(manifest.version, manifest.tensors)
        self._receiving = Receiving(manifest, places)

    def put(self, number: int, content: memoryview | torch.Tensor) -> None:
        """See `Receiving.put`."""
        self._receiving.put(number, content)

    def finish(self) -> dict[str, torch.Tensor]:
        """The staged tensors by the names of the resident ones. Raises WeightsError when a bucket did not come."""
        self._receiving.require_whole()
        return dict(self.holding.resident)


def stage_for(manifest: Manifest, source: BucketSource, holding: Holding) -> dict[str, torch.Tensor]:
    """Receives every bucket of `source` beside what is held; the staged tensors. Raises WeightsError."""
    staging = Staging(manifest, holding)
    for number, content in source.buckets(manifest):
        staging.put(number, content)
    return staging.finish()


def stage_from(
    manifest: Manifest,
    source: BucketSource,
    resident: Mapping[str, torch.Tensor],
    tied: Mapping[str, str] | None = None,
) -> dict[str, torch.Tensor]:
    """`stage_for` of canonical tensors that are held whole, of which `tied` names stand for another one."""
    return stage_for(manifest, source, Holding(resident, tied=tied))


def _digest(content: memoryview | torch.Tensor) -> str:
    digest = new_digest()
    for part in (content,) if isinstance(content, memoryview) else slices(content):
        digest.update(part)
    return digest.hexdigest()
