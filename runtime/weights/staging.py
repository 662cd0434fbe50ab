"""Weights beside the resident ones: received bucket by bucket, each verified, complete or refused.

Staging never touches what an engine holds: a bucket that is corrupt, cut, missing or repeated costs the
staging buffer and nothing else. Which road brought the bytes makes no difference here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

from .digest import DIGEST_BYTES, dtype_name
from .manifest import Manifest

if TYPE_CHECKING:
    import torch


class WeightsError(Exception):
    """Weights that cannot be staged: they do not fit the engine, or did not arrive whole."""


class BucketSource(Protocol):
    """A road: gives each bucket of a manifest once, as (number, bytes valid until the next is asked for)."""

    def buckets(self, manifest: Manifest) -> Iterator[tuple[int, memoryview]]: ...


class Staging:
    """A buffer for one version, on the device of the tensors that it will replace."""

    def __init__(
        self, manifest: Manifest, resident: Mapping[str, torch.Tensor], tied: Mapping[str, str] | None = None
    ) -> None:
        """`resident`: the engine's canonical tensors, of which only name, shape, dtype and device are read;
        `tied`: names that stand for another one, for a better message.

        Raises WeightsError naming the tensors that do not fit.
        """
        import torch

        require_fit(manifest, resident, tied or {})
        self.manifest = manifest
        self.tensors = {
            entry.name: torch.empty(entry.shape, dtype=held.dtype, device=held.device)
            for entry in manifest.tensors
            for held in (resident[entry.name],)
        }
        self._flat = [self.tensors[entry.name].view(-1).view(torch.uint8) for entry in manifest.tensors]
        self._missing = set(range(len(manifest.buckets)))

    def put(self, number: int, content: memoryview) -> None:
        """Takes one bucket. Raises WeightsError when it is unknown, repeated, cut or corrupt."""
        import torch

        where = f"bucket {number} of version {self.manifest.version}"
        if not 0 <= number < len(self.manifest.buckets):
            raise WeightsError(f"{where} is not in the manifest")
        if number not in self._missing:
            raise WeightsError(f"{where} came twice")
        bucket = self.manifest.buckets[number]
        if len(content) != bucket.length:
            raise WeightsError(f"{where} has {len(content)} bytes, {bucket.length} expected")
        if hashlib.blake2b(content, digest_size=DIGEST_BYTES).hexdigest() != bucket.digest:
            raise WeightsError(f"{where} is corrupt: its digest is not the manifest's")
        received = torch.frombuffer(bytearray(content) if content.readonly else content, dtype=torch.uint8)
        start = 0
        for piece in bucket.pieces:
            target = self._flat[piece.tensor][piece.offset : piece.offset + piece.length]
            target.copy_(received[start : start + piece.length])
            start += piece.length
        self._missing.discard(number)

    def finish(self) -> dict[str, torch.Tensor]:
        """The staged tensors by name. Raises WeightsError when a bucket did not come."""
        if self._missing:
            raise WeightsError(
                f"version {self.manifest.version}: buckets {sorted(self._missing)} "
                f"of {len(self.manifest.buckets)} did not come"
            )
        return self.tensors


def stage_from(
    manifest: Manifest,
    source: BucketSource,
    resident: Mapping[str, torch.Tensor],
    tied: Mapping[str, str] | None = None,
) -> dict[str, torch.Tensor]:
    """Receives every bucket of `source` and returns the staged tensors. Raises WeightsError."""
    staging = Staging(manifest, resident, tied)
    for number, content in source.buckets(manifest):
        staging.put(number, content)
    return staging.finish()


def require_fit(manifest: Manifest, resident: Mapping[str, torch.Tensor], tied: Mapping[str, str]) -> None:
    """Raises WeightsError unless the manifest has exactly the resident tensors: names, shapes, dtypes."""
    problems: list[str] = []
    for entry in manifest.tensors:
        held = resident.get(entry.name)
        if held is None:
            hint = f": it is tied, publish {tied[entry.name]!r} only" if entry.name in tied else ""
            problems.append(f"{entry.name!r} is not a tensor of the engine's model{hint}")
        elif tuple(held.shape) != entry.shape:
            problems.append(
                f"{entry.name!r} has shape {entry.shape} in the manifest, {tuple(held.shape)} in the engine"
            )
        elif dtype_name(held.dtype) != entry.dtype:
            problems.append(f"{entry.name!r} is {entry.dtype} in the manifest, {dtype_name(held.dtype)} in the engine")
    published = {entry.name for entry in manifest.tensors}
    problems += [f"{name!r} is missing in the manifest" for name in resident if name not in published]
    if problems:
        more = f" (and {len(problems) - 5} more)" if len(problems) > 5 else ""
        raise WeightsError(
            f"version {manifest.version} does not fit the engine's model: {'; '.join(problems[:5])}{more}. "
            "Publish from the model folder and dtype that the engine was started with"
        )
