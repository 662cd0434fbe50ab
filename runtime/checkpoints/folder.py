"""The checkpoints of a run in one folder: each is whole or not there, the newest that verifies is found.

Rules of this file:

- A checkpoint is made beside its place, brought to the disk, sealed by its index, and moved there by one rename.
- One process writes or removes at a time; what a killed one left goes with the next begin.
- The last good checkpoint is never removed, and nothing that fails touches a checkpoint that is there.
- A number is used once, and a higher number is newer, whatever its training step.
- Once the run has gone on from an older one, what was passed over is no checkpoint any more: it could verify again.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ...protocol.sqlite import claim
from ...protocol.store import StoreError
from ..files import sync
from ..training.checkpoint import CheckpointError, require_complete
from ..weights.manifest import Manifest, ManifestError, ManifestStore
from .index import seal, verify
from .state import RunState, read_state, write_state

STATE, MANIFESTS, TRAINER = "run.json", "manifests", "trainer"
"""What a checkpoint holds: the run's part, the manifests still needed, and the trainer's part."""
_PREFIX, _PARTIAL, _REMOVED, _DAMAGED = "checkpoint-", ".partial", ".removed", ".damaged"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint that was read: where it lies, and what the run's part says."""

    path: Path
    state: RunState

    @property
    def trainer(self) -> Path:
        """The trainer's part."""
        return self.path / TRAINER

    @property
    def manifests(self) -> ManifestStore:
        """The manifests that came with it."""
        return ManifestStore(self.path / MANIFESTS)


@dataclass(frozen=True, slots=True)
class Found:
    """The newest checkpoint that verifies, and the newer ones that do not, each with why."""

    checkpoint: Checkpoint | None
    passed_over: dict[str, str]


class Writing:
    """A checkpoint that is being made; `trainer` is where the trainer saves, which makes that folder itself."""

    def __init__(self, partial: Path, final: Path) -> None:
        self.path, self._partial = final, partial
        self.trainer = partial / TRAINER

    def put(self, state: RunState, manifests: Iterable[Manifest]) -> None:
        """Write the run's part. Raises CheckpointError."""
        with _told(self._partial):
            write_state(self._partial / STATE, state)
            store = ManifestStore(self._partial / MANIFESTS)
            for manifest in manifests:
                store.put(manifest)

    def complete(self) -> None:
        """Bring it to the disk, and make it appear. Raises CheckpointError; then it is not there."""
        for part in (self._partial / STATE, self.trainer):
            if not part.exists():
                raise CheckpointError(f"{part} was not written: put the state, and save the trainer into it, first")
        with _told(self._partial):
            seal(self._partial, self.trainer)
            if self.path.exists():
                raise CheckpointError(f"{self.path} exists: a checkpoint is never overwritten, remove it by hand")
            self._partial.rename(self.path)
            try:
                sync(self.path.parent)
            except OSError:
                self.path.rename(self._partial)
                raise


class Checkpoints:
    """The checkpoints of one run below `folder`, which is made by the first."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)

    def paths(self) -> list[Path]:
        """Where checkpoints lie, the oldest first; none of them has been looked at.

        Raises CheckpointError where the folder cannot be read: that it holds none is not known then.
        """
        try:
            with os.scandir(self.folder) as entries:
                names = [entry.name for entry in entries if entry.is_dir()]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise CheckpointError(
                f"{self.folder}: its checkpoints cannot be told ({error.strerror}): give a folder that can be read"
            ) from error
        found = ((_number(path), path) for path in map(self.folder.joinpath, names))
        return [path for number, path in sorted(found) if number]

    def verify(self, path: Path) -> Checkpoint:
        """The checkpoint in `path`, after every file of it was read. Raises CheckpointError."""
        verify(path)
        state, manifests = read_state(path / STATE), ManifestStore(path / MANIFESTS)
        trained = require_complete(path / TRAINER, {}).get("step")
        if trained != state.step:
            raise CheckpointError(f"{path} is of step {state.step}, and the trainer's part of step {trained}")
        try:
            for version in {state.published, *manifests.versions()}:
                manifests.get(version)
        except (OSError, ManifestError) as error:
            raise CheckpointError(f"{path}: {error}") from error
        return Checkpoint(path, state)

    def latest(self) -> Found:
        """The newest one that verifies. It may take long: every file of it is read. Raises CheckpointError as `paths`.
        """
        passed_over: dict[str, str] = {}
        for path in reversed(self.paths()):
            try:
                return Found(self.verify(path), passed_over)
            except CheckpointError as error:
                passed_over[path.name] = str(error)
        return Found(None, passed_over)

    def put_aside(self, names: Iterable[str]) -> None:
        """Have these be no checkpoints any more, and lie beside the others for a person. Raises CheckpointError."""
        with self._alone():
            for name in names:
                path = self.folder / name
                with _told(path):
                    path.rename(path.with_name(f"{name}{_DAMAGED}"))
            with _told(self.folder):
                sync(self.folder)

    def named_versions(self) -> set[int]:
        """The versions whose manifests checkpoints have, whether they verify or not."""
        return {version for path in self.paths() for version in ManifestStore(path / MANIFESTS).versions()}

    @contextmanager
    def begin(self) -> Iterator[Writing]:
        """Make a checkpoint: it is there once it is completed; one that is not completed leaves nothing.

        Raises CheckpointError when it cannot be begun, and while another process writes here.
        """
        with self._alone():
            aside = (path.with_suffix("") for path in self.folder.glob(f"{_PREFIX}*{_DAMAGED}"))
            number = max((_number(path) for path in (*self.paths(), *aside)), default=0) + 1
            final = self.folder / f"{_PREFIX}{number:06d}"
            partial = self.folder / f".{final.name}{_PARTIAL}"
            with _told(partial):
                partial.mkdir()
            try:
                yield Writing(partial, final)
            finally:
                shutil.rmtree(partial, ignore_errors=True)

    def prune(self, keep: int) -> list[str]:
        """Remove all but the newest `keep`, and but the newest that verifies; the names of those that went.

        Raises CheckpointError, ValueError for a `keep` below 1.
        """
        if keep < 1:
            raise ValueError(f"keep is {keep}: at least 1 is kept")
        with self._alone():
            paths = self.paths()
            if len(paths) <= keep:
                return []
            found = self.latest().checkpoint
            kept = {*paths[-keep:], *((found.path,) if found is not None else paths)}
            gone = [path for path in paths if path not in kept]
            for path in gone:
                # Under its name it is whole or not there, here too.
                removed = path.with_name(f".{path.name}{_REMOVED}")
                with _told(path):
                    path.rename(removed)
                    shutil.rmtree(removed)
        return [path.name for path in gone]

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Be the one process that writes here; what an earlier one left is removed."""
        with _told(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            try:
                lock = claim(self.folder / "checkpoints")
            except StoreError as error:
                raise CheckpointError(f"{error}; no checkpoint was begun") from error
        with closing(lock):
            with _told(self.folder):
                for left in (*self.folder.glob(f".*{_PARTIAL}"), *self.folder.glob(f".*{_REMOVED}")):
                    shutil.rmtree(left)
            yield


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """What the disk refuses, as a CheckpointError that says where."""
    try:
        yield
    except OSError as error:
        where = error.filename or path
        raise CheckpointError(
            f"{where}: no checkpoint can be written ({error.strerror}): make room, or give a folder that can be "
            "written; what was saved before is as it was"
        ) from error


def _number(path: Path) -> int:
    """The number of a checkpoint by its name; 0 for anything else."""
    digits = path.name.removeprefix(_PREFIX)
    return int(digits) if digits.isascii() and digits.isdecimal() else 0
