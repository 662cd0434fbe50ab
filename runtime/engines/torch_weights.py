"""The weights of a torch engine: the version that is resident, and the one that is staged or to be put in place.

Rules of this file:

- What changes resident tensors runs on the engine's worker, while nothing is computed; each such change is
  counted before it begins, so that who reads meanwhile knows that what he read is worth nothing.
- One version is staged at most: the next staging frees it before it takes memory of its own. So does an install,
  a release of memory, and a staging that fails or is given up, whoever still holds its error: frames let go of it.
- Staging gives way to the engine where processors are few; the digest of an install, for which everybody waits,
  takes all of them.
- In place there is no second copy: staging only judges whether the version fits, and the install writes verified
  buckets over what is resident. One that breaks off after the first byte leaves a mixture, which is never served.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import torch

from ..weights import BucketSource, Manifest, WeightsError
from ..weights.digest import combine, dtype_name, tensor_digest
from ..weights.mapping import Holding
from ..weights.staging import Receiving, stage_for
from .base import NotStaged
from .torch_model import TorchModel

NICENESS, MOST_THREADS = 10, 8
"""Of the thread that stages; of those that compute an install's digest."""


@dataclass(frozen=True, slots=True)
class Staged:
    """A version that can be committed: beside the resident tensors, or by what its buckets come from."""

    manifest: Manifest
    tensors: dict[str, torch.Tensor] | None
    source: BucketSource

    def free(self) -> None:
        """It is not to be committed any more: its memory is free, whoever still refers to it."""
        if self.tensors is not None:
            self.tensors.clear()


@dataclass(frozen=True, slots=True)
class Reading:
    """What was resident when a digest was begun."""

    version: int | None
    tensors: dict[str, torch.Tensor]
    changes: int


class TorchWeights:
    """What a rank holds, and what is staged for it. `version` is what the model's weights are called, none if
    they are not to be served; `in_place`: no second copy is kept."""

    def __init__(self, model: TorchModel, version: int | None, *, in_place: bool) -> None:
        self.version, self.resident, self.in_place = version, version is not None, in_place
        self.staged: Staged | None = None
        self.changes = 0
        self._model = model
        self._manifest: Manifest | None = None
        """Of the last version that was installed."""
        self._one_at_a_time = asyncio.Lock()
        self._receiving: asyncio.Future[dict[str, torch.Tensor]] | None = None
        self._stager = ThreadPoolExecutor(1, "staging", initializer=_give_way)
        self._stop = threading.Event()

    # -- staging, on the event loop --------------------------------------------------------------

    async def stage(
        self, manifest: Manifest, source: BucketSource, accept: Callable[[Staged], Awaitable[None]]
    ) -> None:
        """Gives what can be committed to `accept`, unless it is there. Whoever asks for it meanwhile waits for it.

        Raises WeightsError, and what `accept` raises. Cancelled, it stops at the next bucket.
        """
        async with self._one_at_a_time:
            if not self._is_there(manifest):
                self._require_same_frozen(manifest)
                staged = await self._receive(manifest, source)
                try:
                    await accept(staged)
                except Exception:
                    staged.free()
                    raise

    async def _receive(self, manifest: Manifest, source: BucketSource) -> Staged:
        if self.in_place:
            self.holding.places(manifest.version, manifest.tensors)
            return Staged(manifest, None, source)
        self.staged = None
        await self.end()
        self._stop = stop = threading.Event()
        road, loop = _Stoppable(source, stop), asyncio.get_running_loop()
        work = self._receiving = loop.run_in_executor(self._stager, _received, manifest, road, self.holding)
        work.add_done_callback(self._forget)
        try:
            return Staged(manifest, await asyncio.shield(work), source)
        finally:
            stop.set()

    def _forget(self, work: asyncio.Future[dict[str, torch.Tensor]]) -> None:
        """Let go of what a staging has brought: whoever waits has it, and its error may be nobody's to see."""
        if self._receiving is work:
            self._receiving = None
        if not work.cancelled():
            work.exception()

    async def end(self) -> None:
        """A staging that nobody waits for any more ends, and its memory is free."""
        self._stop.set()
        if self._receiving is not None:
            await asyncio.wait((self._receiving,))

    async def close(self) -> None:
        """Nothing is staged any more."""
        await self.end()
        self._stager.shutdown()

    def _is_there(self, manifest: Manifest) -> bool:
        held, staged = self._manifest, self.staged
        if self.resident and self.version == manifest.version and (held is None or held.digest == manifest.digest):
            return True
        return staged is not None and staged.manifest == manifest

    def _require_same_frozen(self, manifest: Manifest) -> None:
        """Raises WeightsError where a tensor that no training changes is another than in what this run installed."""
        held = self._manifest
        if held is None or held.run != manifest.run:
            return
        before = {entry.name: entry.digest for entry in held.tensors if entry.frozen}
        frozen = [entry for entry in manifest.tensors if entry.frozen and entry.name in before]
        changed = [entry.name for entry in frozen if entry.digest != before[entry.name]]
        if changed:
            raise WeightsError(
                f"version {manifest.version} changes tensors that are frozen since version {held.version}: "
                f"{', '.join(changed[:5])}. The trainer has touched what it must not: "
                "publish from weights that have not changed there"
            )

    # -- on the worker ---------------------------------------------------------------------------

    @property
    def holding(self) -> Holding:
        """The resident tensors as a rank's."""
        return Holding(self._model.tensors, tied=self._model.tied)

    def set_staged(self, staged: Staged) -> None:
        """Raises EngineError where memory was released while the buckets came."""
        self._model.require_memory("stage weights")
        self.staged = staged

    def is_resident(self, version: int) -> bool:
        return self.resident and self.version == version

    def require_staged(self, version: int) -> Staged:
        """What is staged of `version`. Raises NotStaged."""
        if self.staged is None or self.staged.manifest.version != version:
            found = "nothing" if self.staged is None else f"version {self.staged.manifest.version}"
            raise NotStaged(f"version {version} is not staged, {found} is: stage it before the commit")
        return self.staged

    def put(self, staged: Staged) -> None:
        """Write it over the resident tensors, whose addresses stay.

        What it raises leaves them in doubt, but for WeightsError before a change was counted.
        """
        if staged.tensors is not None:
            self._overwrite()
            try:
                self._model.replace(staged.tensors)
                self._model.synchronize()
            finally:
                staged.free()
        else:
            manifest = staged.manifest
            places = self.holding.places(manifest.version, manifest.tensors)
            with torch.no_grad():
                Receiving(manifest, places, begins=self._overwrite).receive(staged.source)
            self._model.synchronize()
        self.staged = None

    def _overwrite(self) -> None:
        self.changes += 1
        self.resident, self._manifest = False, None

    def serve(self, staged: Staged) -> None:
        """What was put is what is served now."""
        self.version, self.resident, self._manifest = staged.manifest.version, True, staged.manifest

    def doubt(self) -> None:
        """What is resident is served no more."""
        self.resident, self.staged = False, None

    def release(self) -> None:
        """Free all memory; a staging that is on its way ends at its next bucket."""
        self._stop.set()
        self.changes += 1
        self.staged, self.resident = None, False
        self._model.release()

    def restore(self) -> None:
        """Take the memory back, if it was released."""
        if self._model.released:
            self.changes += 1
            self._model.restore()

    def digest(self) -> str:
        """The digest of the parameters held now, while nothing changes them. Raises EngineError without memory."""
        digest = self.read(self.begin_reading(), threads=min(MOST_THREADS, os.cpu_count() or 1))
        assert digest is not None, "something else than the worker changed resident tensors"
        return digest

    def begin_reading(self) -> Reading:
        """What is there to be read. Raises EngineError while memory is released."""
        self._model.require_memory("compute a digest")
        return Reading(self.version if self.resident else None, dict(self._model.tensors), self.changes)

    # -- on any thread ---------------------------------------------------------------------------

    def read(self, reading: Reading, threads: int = 1) -> str | None:
        """The digest of what is resident; none where it changed meanwhile."""

        def one(name: str, tensor: torch.Tensor) -> tuple[str, str, tuple[int, ...], str]:
            digest = "" if self.changes != reading.changes else tensor_digest(tensor)
            return name, dtype_name(tensor.dtype), tuple(tensor.shape), digest

        with ThreadPoolExecutor(threads, "digest") as pool:
            entries = list(pool.map(one, reading.tensors.keys(), reading.tensors.values()))
        return combine(entries) if self.changes == reading.changes else None


class _Stoppable:
    """A source that gives no further bucket once it was told to stop."""

    def __init__(self, source: BucketSource, stop: threading.Event) -> None:
        self._source, self._stop = source, stop

    def buckets(self, manifest: Manifest) -> Iterator[tuple[int, memoryview | torch.Tensor]]:
        for found in self._source.buckets(manifest):
            if self._stop.is_set():
                raise WeightsError(f"the staging of version {manifest.version} was given up")
            yield found


def _received(manifest: Manifest, source: BucketSource, holding: Holding) -> dict[str, torch.Tensor]:
    """`stage_for`, whose error holds nothing of what was received."""
    try:
        return stage_for(manifest, source, holding)
    except Exception as error:
        traceback.clear_frames(error.__traceback__)
        raise


def _give_way() -> None:
    """This thread has processors that no other wants: a niceness of its own is Linux's."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
