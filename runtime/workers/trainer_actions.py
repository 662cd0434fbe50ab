"""What a rank's Trainer machine asks for: train, publish, save and load, on the one thread that owns torch.

Rules of this file:

- The table lets one thing run at a time; here one thread does it, and the event loop stays free.
- Ranks agree on what they are about to do before anything of it begins, and tell each other what went wrong.
- A version is published when its bytes are stored, every rank has the same weights, and its manifest is on
  the disk, in this order. The first rank writes; the others only compute what it must have written.
- What was refused before anything changed is undone; any other failure leaves the weights in doubt.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

import torch

from ...protocol.host import MachineHost
from ...statemachines.trainer import Trainer
from ..tracelog import TraceLog
from ..training import group
from ..training.agreement import GroupError
from ..training.checkpoint import CheckpointError
from ..training.deepspeed_trainer import TrainerCore, TrainerError
from ..training.metrics import Metrics
from ..training.samples import Sample
from ..weights import Manifest, ManifestError, ManifestStore, WeightStore, tally
from ..weights.layout import Layout

_log = logging.getLogger(__name__)
_T = TypeVar("_T")
GROUP = "trainer"
"""The name of the instance of Trainer that is the whole group of ranks."""
_REMEMBERED = 64


class Unchanged(Exception):
    """Something could not be done, on any rank, and nothing has changed."""


class Together(Protocol):
    """How a rank agrees with the others; both raise GroupError where they do not come."""

    def agree(self, what: str) -> None:
        """Returns once all ranks are about to do the same."""
        ...

    def outcome(self, problem: str) -> str:
        """The problems of all ranks, of which this rank's is `problem`."""
        ...


class Ranks:
    """The ranks of the process group that was joined. They wait for each other: `begins` seconds until all are told
    what to do, `within` seconds until each has done a part of it."""

    def __init__(self, begins: float, within: float) -> None:
        self._begins, self._within = begins, within

    def agree(self, what: str) -> None:
        group.agree(what, self._begins)

    def outcome(self, problem: str) -> str:
        return group.agree_outcome(problem, self._within)


@dataclass(slots=True)
class Batch:
    """A submitted batch: its samples until they are trained on, and the figures afterwards."""

    digest: bytes
    nbytes: int
    samples: Sequence[Sample] | None
    metrics: Metrics | None = None


@dataclass(frozen=True, slots=True)
class Publishing:
    """How a rank publishes. `store` is the first rank's, the others have none; buckets of the last `keep` versions
    are kept."""

    manifests: ManifestStore
    store: WeightStore | None
    bucket_bytes: int
    dtype: torch.dtype
    keep: int
    layouts: tuple[Layout, ...] = ()


class RankActions:
    """One rank of a trainer, as the instance `name`. `host` and `failed` are set before use.

    `failed` is told when the rank has failed. `folder` is where relative paths of checkpoints lie.
    """

    def __init__(
        self, name: str, core: TrainerCore, thread: ThreadPoolExecutor, publishing: Publishing, trace: TraceLog | None,
        *, together: Together, folder: Path,
    ) -> None:  # fmt: skip
        self.host: MachineHost
        self.failed: Callable[[], Awaitable[None]]
        self.name = name
        self.batches: OrderedDict[str, Batch] = OrderedDict()
        self._core, self._thread, self._trace = core, thread, trace
        self._publishing, self._together, self._folder = publishing, together, folder

    def take(self, name: str, batch: Batch, limit: int) -> Batch:
        """The batch of this name from now on: this one, unless there is one already.

        At most `limit` bytes wait to be trained on. Beyond that the oldest give way, but for the one that the trainer
        is at work on: who submitted them may have gone, and nobody would ever train on them.
        """
        held = self.batches.setdefault(name, batch)
        at_work = {self.host.live(instance).batch for instance in self.host.instances()}
        for old in [each for each, found in self.batches.items() if found.samples is not None]:
            if self.waiting_bytes <= limit:
                break
            if old != name and old not in at_work:
                _log.warning("batch %r was not trained on, and gives way to %r", old, name)
                del self.batches[old]
        return held

    @property
    def waiting_bytes(self) -> int:
        return sum(batch.nbytes for batch in self.batches.values() if batch.samples is not None)

    async def check(self, samples: Sequence[Sample]) -> None:
        """Raises SampleError, DegenerateGroup or TrainerError for a batch that cannot be trained on now."""
        await asyncio.to_thread(self._core.check, samples, self._newest())

    # -- outputs of the machine ------------------------------------------------------------------

    async def start_training(self, instance: str, job: int, batch: str) -> None:
        if (held := self.batches.get(batch)) is None:
            why = f"batch {batch!r} gave way to newer ones: submit it again"
            self.host.step(instance, Trainer.Undone(rank=instance, job=job, why=why))
            return

        def train() -> Metrics:
            self._begin(f"train on {batch} ({held.digest.hex()})")
            return self._core.train(held.samples or (), self._newest())

        if (metrics := await self._does(job, f"training on {batch}", train)) is None:
            return
        held.metrics, held.samples = metrics, None
        self._forget()
        self.host.step(instance, Trainer.Trained(rank=instance, job=job))

    async def start_publishing(self, instance: str, job: int, version: int) -> None:
        what = f"publishing version {version}"
        if (written := await self._does(job, what, lambda: self._write(version))) is None:
            return
        digest, is_first = written
        # Nobody says that the version is published before the trace has its manifest.
        if is_first and self._trace is not None:
            self._trace.fact("Trainer", GROUP, "manifest", version=version, digest=digest)
        if await self._does(job, what, lambda: self._everywhere(lambda: True)):
            self.host.step(instance, Trainer.Published(rank=instance, job=job, digest=digest))

    async def start_saving(self, instance: str, job: int, path: str) -> None:
        def save() -> bool:
            self._begin(f"save in {path}")
            self._core.save(self._folder / path)
            return True

        if await self._does(job, f"saving in {path}", save):
            self.host.step(instance, Trainer.Saved(rank=instance, job=job))

    async def start_loading(self, instance: str, job: int, path: str) -> None:
        def load() -> bool:
            self._begin(f"load {path}")
            self._core.load(self._folder / path)
            return True

        if await self._does(job, f"loading {path}", load):
            self.host.step(instance, Trainer.Loaded(rank=instance, job=job))

    # -- inside ----------------------------------------------------------------------------------

    def _newest(self) -> int:
        """The newest version that was ever published; samples cannot be newer."""
        return max(self._publishing.manifests.versions(), default=0)

    def _begin(self, what: str) -> None:
        """Raises Unchanged where not all ranks are about to do this."""
        try:
            self._together.agree(what)
        except GroupError as error:
            raise Unchanged(str(error)) from error

    def _write(self, version: int) -> tuple[str, bool]:
        """The digest of this rank's weights, and whether it is the rank that has made them durable as this version."""
        self._begin(f"publish version {version}")
        self._everywhere(lambda: self._require_unused(version))
        how = self._publishing
        if (store := how.store) is None:
            digest = self._everywhere(lambda: tally(self._tensors(), how.dtype))
            self._together.agree(f"publish weights of digest {digest}")
            return digest, False
        durable = False
        try:
            manifest = self._everywhere(lambda: self._store(store, version))
            # Ranks that differ must not leave a version that anybody could install.
            self._together.agree(f"publish weights of digest {manifest.digest}")
            try:
                how.manifests.put(manifest)
            except (OSError, ManifestError) as error:
                raise Unchanged(self._together.outcome(str(error))) from error
            durable = True
        finally:
            if not durable:
                self._remove(store, lambda: [version])
        self._remove(store, lambda: store.published()[: -how.keep])
        return manifest.digest, True

    def _remove(self, store: WeightStore, versions: Callable[[], list[int]]) -> None:
        """What cannot be removed now is in nobody's way, and goes later: it changes nothing of what was published."""
        try:
            for version in versions():
                store.discard(version)
        except OSError as error:
            _log.warning("bytes that are no longer needed stay for now: %s", error)

    def _require_unused(self, version: int) -> None:
        if version in self._publishing.manifests.versions():
            raise ManifestError(f"version {version} was published before: number above every manifest")

    def _store(self, store: WeightStore, version: int) -> Manifest:
        # Bytes without a manifest are what a killed trainer left.
        store.discard(version)
        tensors, how = self._tensors(), self._publishing
        try:
            return store.publish(
                version, self._core.step, tensors, how.dtype, frozen=self._core.frozen, layouts=how.layouts
            )
        finally:
            # The other ranks draw to the end.
            tensors.close()

    def _tensors(self) -> Generator[tuple[str, torch.Tensor], None, None]:
        return self._core.named_parameters_bucketwise(self._publishing.bucket_bytes)

    def _everywhere(self, do: Callable[[], _T]) -> _T:
        """What `do` gives here. Raises Unchanged on every rank where the disk or the memory refuses on one."""
        made: list[_T] = []
        problem: Exception | None = None
        try:
            made.append(do())
        except (TrainerError, GroupError):
            # These are every rank's.
            raise
        except Exception as error:
            problem = error
        told = self._together.outcome("" if problem is None else str(problem) or repr(problem))
        if problem is not None and not isinstance(problem, (OSError, ManifestError)):
            raise problem
        if told:
            raise Unchanged(told) from problem
        return made[0]

    async def _does(self, job: int, what: str, work: Callable[[], _T]) -> _T | None:
        """What `work` gives; None where it was undone or has failed, and the machine knows."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except (Unchanged, CheckpointError) as error:
            _log.warning("%s was not done: %s", what, error)
            self.host.step(self.name, Trainer.Undone(rank=self.name, job=job, why=f"{what}: {error}"))
        except Exception as error:
            _log.exception("%s failed", what)
            self.host.step(self.name, Trainer.Failed(rank=self.name, why=f"{what}: {error or repr(error)}"))
            await self.failed()
        return None

    def _forget(self) -> None:
        trained = [name for name, batch in self.batches.items() if batch.samples is None]
        for name in trained[:-_REMEMBERED]:
            del self.batches[name]
