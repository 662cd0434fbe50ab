"""Opens the store and the road that the settings of a run name.

Rules of this file:

- What a store or a road needs is imported when it is opened: a controller has no torch.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from .config import WeightsConfig
from .files import FilesReader, FilesStore
from .layout import Layout
from .manifest import Manifest
from .packing import BUCKET_BYTES
from .shm import ShmPublisher, ShmReader

if TYPE_CHECKING:
    import torch


class WeightStore(Protocol):
    """Where a trainer's side keeps the bytes of published versions."""

    @property
    def bucket_bytes(self) -> int: ...

    def publish(
        self, version: int, step: int, named_tensors: Iterable[tuple[str, torch.Tensor]], dtype: torch.dtype,
        *, frozen: Collection[str] = (), layouts: Iterable[Layout] = (),
    ) -> Manifest:  # fmt: skip
        """Writes all tensors, floating ones cast to `dtype`; whole or not at all. The manifest is not durable yet.

        Raises FileExistsError when the version is there already, OSError when there is no room.
        """
        ...

    def has(self, version: int) -> bool:
        """Whether the bytes of a version are there."""
        ...

    def discard(self, version: int) -> None:
        """Removes a version's bytes; one that is not there is no error."""
        ...

    def published(self) -> list[int]:
        """The versions whose bytes are there, rising."""
        ...

    def buckets(self, manifest: Manifest, start: int = 0) -> Generator[tuple[int, memoryview], None, None]:
        """Each bucket's number and bytes from number `start` on. Raises WeightsError for what cannot be read."""
        ...

    def close(self) -> None:
        """The trainer ends: what does not survive it is removed."""
        ...


class WeightSource(Protocol):
    """A road's end at a replica: a BucketSource that can also be asked what there is."""

    def has(self, version: int) -> bool:
        """Whether a version can be fetched now. Takes no longer than a second."""
        ...

    def buckets(self, manifest: Manifest) -> Iterator[tuple[int, Any]]:
        """Each bucket once, its number and bytes: a memoryview, or a flat tensor of uint8 on any device.

        The bytes are valid until the next is asked for. Raises WeightsError for what does not arrive.
        """
        ...


def open_store(
    weights: WeightsConfig, run: str, *, shm_root: Path | None = None, bucket_bytes: int = BUCKET_BYTES,
    model: Path | None = None,
) -> WeightStore:  # fmt: skip
    """The store of a run, as its trainer writes it. `model`: the folder that training begins with.

    Raises ValueError for a bad run id or size, PermissionError where the folder is another user's.
    """
    if weights.store == "files" and weights.folder is not None:
        return FilesStore(weights.folder, run, bucket_bytes=bucket_bytes, model=model)
    return ShmPublisher(run, root=shm_root, bucket_bytes=bucket_bytes)


def open_source(
    weights: WeightsConfig, run: str, *, manifests: Path, shm_root: Path | None = None, device: str = "cpu",
    receiver: str = "",
) -> WeightSource:  # fmt: skip
    """The road of a run, as its replicas and controllers see it.

    `manifests`: the run's folder of manifests; `device`: where the buckets are wanted; `receiver`: who asks, as
    the trainer's log has it. It goes by the access that holds when it is opened.
    """
    if weights.road == "stream":
        from .stream import StreamSource

        return StreamSource(manifests, receiver=receiver, within=weights.within)
    if weights.road == "broadcast":
        from .broadcast import BroadcastSource

        return BroadcastSource(manifests, receiver=receiver, device=device, within=weights.within)
    if weights.road == "ipc":
        from .ipc import IpcSource

        return IpcSource(manifests, receiver=receiver, device=device, within=weights.within)
    if weights.store == "files" and weights.folder is not None:
        return FilesReader(weights.folder, run)
    return ShmReader(run, root=shm_root)
