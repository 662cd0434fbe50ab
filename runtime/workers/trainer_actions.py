"""What the Trainer machine asks for: train, publish, save and load, on the one thread that owns torch.

Rules of this file:

- The table lets one thing run at a time; here one thread does it, and the event loop stays free.
- A version is published when its bytes are in shared memory and its manifest is on the disk.
- What was refused before anything changed is undone; any other failure leaves the weights in doubt.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch

from ...protocol.host import MachineHost
from ...statemachines.trainer import Trainer
from ..tracelog import TraceLog
from ..training.checkpoint import CheckpointError
from ..training.deepspeed_trainer import TrainerCore
from ..training.metrics import Metrics
from ..training.samples import Sample
from ..weights import Manifest, ManifestStore, ShmPublisher

_log = logging.getLogger(__name__)
_T = TypeVar("_T")
INSTANCE = "trainer"
"""The name of the one instance of Trainer."""
_REMEMBERED = 64


@dataclass(slots=True)
class Batch:
    """A submitted batch: its samples until they are trained on, and the figures afterwards."""

    digest: bytes
    nbytes: int
    samples: Sequence[Sample] | None
    metrics: Metrics | None = None


class TrainerActions:
    """The one trainer of a process. `host`, which `log` watches, and `failed` are set before use.

    `failed` is told when the trainer has failed. `folder` is where relative paths of checkpoints lie.
    """

    def __init__(
        self, core: TrainerCore, thread: ThreadPoolExecutor, manifests: ManifestStore, publisher: ShmPublisher,
        trace: TraceLog | None, *, dtype: torch.dtype, keep: int, folder: Path,
    ) -> None:  # fmt: skip
        self.host: MachineHost
        self.failed: Callable[[], Awaitable[None]]
        self.log = None if trace is None else trace.of("Trainer")
        self.batches: OrderedDict[str, Batch] = OrderedDict()
        self._core, self._thread, self._trace = core, thread, trace
        self._manifests, self._publisher = manifests, publisher
        self._dtype, self._keep, self._folder = dtype, keep, folder

    @property
    def live(self) -> Any:
        return self.host.live(INSTANCE)

    @property
    def waiting_bytes(self) -> int:
        return sum(batch.nbytes for batch in self.batches.values() if batch.samples is not None)

    async def check(self, samples: Sequence[Sample]) -> None:
        """Raises SampleError, DegenerateGroup or TrainerError for a batch that cannot be trained on now."""
        await asyncio.to_thread(self._core.check, samples, self._newest())

    # -- outputs of the machine ------------------------------------------------------------------

    async def start_training(self, instance: str, batch: str) -> None:
        held = self.batches[batch]
        try:
            held.metrics = await self._run(self._core.train, held.samples, self._newest())
        except Exception as error:
            await self._fail(f"training on {batch} failed", error)
            return
        held.samples = None
        self._forget()
        self.host.step(instance, Trainer.Trained(batch=batch))

    async def start_publishing(self, instance: str, version: int) -> None:
        try:
            manifest = await self._run(self._publish, version)
        except Exception as error:
            await self._fail(f"publishing version {version} failed", error)
            return
        if self._trace is not None:
            self._trace.fact("Trainer", instance, "manifest", version=version, digest=manifest.digest)
        self.host.step(instance, Trainer.Published(version=version))

    async def start_saving(self, instance: str, path: str) -> None:
        try:
            await self._run(self._core.save, self._folder / path)
        except (CheckpointError, OSError) as error:
            self._undone(f"no checkpoint in {path}", error)
        except Exception as error:
            await self._fail(f"saving to {path} failed", error)
        else:
            self.host.step(instance, Trainer.Saved())

    async def start_loading(self, instance: str, path: str) -> None:
        try:
            await self._run(self._core.load, self._folder / path)
        except CheckpointError as error:
            self._undone(f"{path} was not loaded", error)
        except Exception as error:
            await self._fail(f"loading {path} failed", error)
        else:
            self.host.step(instance, Trainer.Loaded())

    # -- inside ----------------------------------------------------------------------------------

    def _newest(self) -> int:
        """The newest version that was ever published; samples cannot be newer."""
        return max(self._manifests.versions(), default=0)

    def _publish(self, version: int) -> Manifest:
        # Buckets without a manifest are what a killed trainer left.
        if version not in self._manifests.versions():
            self._publisher.discard(version)
        tensors = self._core.named_parameters_bucketwise(self._publisher.bucket_bytes)
        manifest = self._publisher.publish(version, self._core.step, tensors, self._dtype)
        self._manifests.put(manifest)
        for old in self._publisher.published()[: -self._keep]:
            self._publisher.discard(old)
        return manifest

    async def _run(self, do: Callable[..., _T], *arguments: Any) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, do, *arguments)

    def _forget(self) -> None:
        trained = [name for name, batch in self.batches.items() if batch.samples is None]
        for name in trained[:-_REMEMBERED]:
            del self.batches[name]

    def _undone(self, what: str, error: Exception) -> None:
        _log.warning("%s: %s", what, error)
        self.host.step(INSTANCE, Trainer.Undone(why=f"{what}: {error}"))

    async def _fail(self, what: str, error: Exception) -> None:
        _log.error(what, exc_info=error)
        self.host.step(INSTANCE, Trainer.Failed(why=f"{what}: {error!r}"))
        await self.failed()
