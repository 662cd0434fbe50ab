"""A run's beginnings and its checkpoints: cold start, saving, cold resume, and a trainer that is begun again.

Rules of this file:

- Nothing serves before a version is published and synced: gates begin sealed.
- Restored weights are published under a new number, above every number that was ever taken; their manifest
  names the restored step. So a label stays unambiguous, also one of a version that was abandoned.
- A checkpoint is verified before any process is started from it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ..controller.register import Register
from ..controller.roster import Roster
from ..production.groups import Groups
from ..training.checkpoint import CheckpointError
from ..weights.config import WeightsConfig
from ..weights.manifest import ManifestError, ManifestStore
from ..weights.opening import open_store
from ..weights.shm import remove_run
from .folder import Checkpoint, Checkpoints
from .retention import needed_manifests, oldest_needed
from .state import RunState, Sampler

_log = logging.getLogger(__name__)
LEAP = 1_000_000
"""What numbering leaps by where the register was lost: how many were taken after the checkpoint is not known."""


def forget_weights(weights: WeightsConfig, run: str, *, shm_root: Path | None = None) -> None:
    """Remove the bytes that earlier lives of a run published, so that no replica comes home to them.

    For a run that is resumed cold, before its processes start; manifests stay. Raises OSError.
    """
    if weights.store == "shm":
        remove_run(run, shm_root)
        return
    store = open_store(weights, run)
    for version in store.published():
        store.discard(version)


class ResumeError(Exception):
    """The run cannot be begun so; says why, and what to do."""


class Trains(Protocol):
    """The trainer group as a run reaches it: `TrainerHandle`. Each raises when it was not done."""

    async def publish(self, version: int) -> Any: ...

    async def save(self, path: str) -> Any: ...

    async def load(self, path: str) -> Any: ...


class Syncs(Protocol):
    """Who brings the cohort to a version, and raises if it was not published: a controller or a client of one."""

    async def sync(self, version: int) -> Any: ...


class NoSampler:
    """The sampler of a run whose data follow from the group's number alone."""

    def state(self) -> Mapping[str, Any]:
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        pass


@dataclass(frozen=True)
class Run:
    """What a run keeps of itself, and what it saves. `max_staleness` is the trainer's, in versions."""

    name: str
    register: Register
    roster: Roster
    manifests: ManifestStore
    checkpoints: Checkpoints
    max_staleness: int
    groups: Groups = field(default_factory=Groups)
    sampler: Sampler = field(default_factory=NoSampler)

    def state(self, step: int) -> RunState:
        """Where the run stands after the trainer's `step`. Raises ResumeError before anything is published."""
        published = self.register.published
        if published is None:
            raise ResumeError("nothing is published yet: there is nothing to save")
        # What JSON cannot hold is told here, before anything is written.
        sampler = json.loads(json.dumps(dict(self.sampler.state())))
        return RunState(
            run=self.name, step=step, published=published, newest=max(published, self.register.newest),
            next_group=self.groups.next_group, in_flight=self.groups.in_flight, data_epoch=self.groups.data_epoch,
            sampler=sampler, term=self.register.term, epoch=self.register.epoch, lives=self.roster.counts(),
        )  # fmt: skip

    # -- saving ----------------------------------------------------------------------------------

    async def save(self, trainer: Trains, step: int, *, rest: float | None = None) -> Path:
        """Save a checkpoint between two steps, which the caller holds back meanwhile; where it lies.

        Groups in flight are recorded to be begun again; with `rest` it is waited so many seconds until none is.
        Replicas have no part in it, whatever their gates are. Raises NotAtRest, CheckpointError, ResumeError, and
        what `trainer` raises; then what was saved before is as it was.
        """
        async with AsyncExitStack() as stack:
            if rest is not None:
                await stack.enter_async_context(self.groups.at_rest(rest))
            state = self.state(step)
            oldest = oldest_needed(state.published, self.max_staleness, [self.groups.oldest])
            try:
                manifests = await asyncio.to_thread(needed_manifests, self.manifests, state.published, oldest)
            except (OSError, ManifestError) as error:
                raise CheckpointError(f"a manifest that the checkpoint needs cannot be read: {error}") from error
            writing = stack.enter_context(self.checkpoints.begin())
            await _to_its_end(writing.put, state, manifests)
            await trainer.save(str(writing.trainer.absolute()))
            await _to_its_end(writing.complete)
        return writing.path

    def prune(self, *, unread: Iterable[int] = ()) -> list[int]:
        """Remove the manifests of versions of which no token can be trained on any more; their versions.

        `unread` are versions of samples that lie elsewhere and were not read. What a checkpoint has stays too.
        Raises OSError.
        """
        published = self.register.published
        if published is None:
            return []
        oldest = oldest_needed(published, self.max_staleness, [self.groups.oldest, *unread])
        return self.manifests.prune(published=published, oldest=oldest, named=self.checkpoints.named_versions())

    # -- beginnings ------------------------------------------------------------------------------

    async def cold_start(self, trainer: Trains, cohort: Syncs) -> int:
        """Publish the first version, 0 in a new run, and open the gates with it; the version.

        A run that ended before its first checkpoint begins again so, under a number above all that were taken.
        Raises ResumeError where there is a checkpoint, or the register was lost, CheckpointError where that cannot be
        told, StoreError, and what `trainer` and `cohort` raise.
        """
        if paths := self.checkpoints.paths():
            raise ResumeError(f"{paths[-1]} is a checkpoint of this run: resume it cold, or begin one elsewhere")
        published, numbered = self.register.published, self.manifests.versions()
        if numbered and numbered[-1] > self.register.newest:
            raise ResumeError(
                f"{self.manifests.folder} has a manifest of version {numbered[-1]}, of which the register knows "
                "nothing: it was lost, and so were the terms that gates obey; begin a run elsewhere"
            )
        if published is not None:
            _log.warning(
                "version %d is published, and no checkpoint was saved in %s: the run begins anew from the trainer's "
                "weights as they are", published, self.checkpoints.folder,
            )  # fmt: skip
        version = self.register.next_version()
        await trainer.publish(version)
        await cohort.sync(version)
        return version

    async def cold_resume(self, start: Callable[[RunState], Awaitable[tuple[Trains, Syncs]]]) -> tuple[Checkpoint, int]:
        """Go on from the newest checkpoint that verifies, when no process of the run lives; it, and the new version.

        `start` is called once all is verified and numbered: it removes what earlier lives published, by
        `forget_weights`, and starts controller, replicas and trainer. Nothing serves before that is synced. Raises
        ResumeError, CheckpointError, StoreError, and what `start` and what it starts raise.
        """
        checkpoint = await self._latest()
        self._number(checkpoint)
        self.groups.restore(checkpoint.state)
        self.sampler.restore(checkpoint.state.sampler)
        trainer, cohort = await start(checkpoint.state)
        return checkpoint, await self._publish_restored(checkpoint, trainer, cohort)

    async def resume_trainer(self, trainer: Trains, cohort: Syncs) -> tuple[Checkpoint, int]:
        """Have a new life of the trainer go on from the newest checkpoint that verifies; it, and the new version.

        Replicas and what runs on them go on: groups in flight stay so, those that were trained on since the
        checkpoint are begun again, and samples of the versions that are abandoned keep their labels, by which the
        trainer judges how stale they are. Raises as `cold_resume`.
        """
        checkpoint = await self._latest()
        # Their training went with the trainer, whatever comes of the rest.
        self.groups.rewind(checkpoint.state)
        return checkpoint, await self._publish_restored(checkpoint, trainer, cohort)

    # -- inside ----------------------------------------------------------------------------------

    async def _latest(self) -> Checkpoint:
        found = await asyncio.to_thread(self.checkpoints.latest)
        for name, why in found.passed_over.items():
            _log.error("%s is passed over: %s", name, why)
        if found.checkpoint is None:
            tried = "; ".join(found.passed_over.values()) or "there is none"
            raise ResumeError(f"no checkpoint in {self.checkpoints.folder} can be resumed from: {tried}")
        if found.passed_over:
            await asyncio.to_thread(self.checkpoints.put_aside, list(found.passed_over))
        return found.checkpoint

    def _number(self, checkpoint: Checkpoint) -> None:
        """Raise every number above all that were taken, and put the checkpoint's manifests back.

        What is done again after it was interrupted comes to the same numbers.
        """
        state, kept = checkpoint.state, checkpoint.manifests
        if state.run != self.name:
            raise ResumeError(f"{checkpoint.path} is of run {state.run!r}, this is {self.name!r}: give its folder")
        there, needed = self.manifests.versions(), kept.versions()
        manifests_survive = bool(there) and there[-1] >= needed[-1]
        register_survives = self.register.newest >= state.newest and self.register.term >= state.term
        leap = 0 if register_survives else LEAP
        if leap:
            _log.warning("the register is older than %s: terms, epochs and lives leap by %d", checkpoint.path, leap)
        newest = max(state.newest, *there, *needed) + (0 if manifests_survive else leap)
        self.roster.restore({name: count + leap for name, count in state.lives.items()})
        # Last of the numbers: it tells whether all were raised. Before the manifests: those of the checkpoint must
        # not pass for ones that survived.
        self.register.restore(term=state.term + leap, epoch=state.epoch + leap, newest=newest)
        try:
            for version in needed:
                self.manifests.put(kept.get(version))
        except (OSError, ManifestError) as error:
            raise ResumeError(f"the manifests of {checkpoint.path} cannot be put back: {error}") from error

    async def _publish_restored(self, checkpoint: Checkpoint, trainer: Trains, cohort: Syncs) -> int:
        await trainer.load(str(checkpoint.trainer.absolute()))
        version = self.register.next_version()
        await trainer.publish(version)
        step = self.manifests.get(version).step
        if step != checkpoint.state.step:
            raise ResumeError(
                f"version {version} is of step {step}, {checkpoint.path} of step {checkpoint.state.step}: the trainer "
                "did not load it; nothing was synced"
            )
        await cohort.sync(version)
        return version


async def _to_its_end(write: Callable[..., None], *given: Any) -> None:
    """Write in a thread. Whoever is cancelled meanwhile waits for its end: nothing is removed under its hands."""
    writing = asyncio.ensure_future(asyncio.to_thread(write, *given))
    try:
        await asyncio.shield(writing)
    except asyncio.CancelledError:
        await asyncio.wait((writing,))
        raise
