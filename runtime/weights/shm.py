"""The road on one host: buckets as files in shared memory, written by a trainer, read by engines.

Rules of this file
- A version's folder appears under its name only when every bucket in it is complete.
- Readers copy a bucket into private memory before it is verified, so that what was verified is what is
  used, and a file cut by another process is an error instead of a bus error in a mapping.
- Names carry the run's id: after a killed process the launcher removes what is left by `remove_run`.

Files in the shared-memory file system are used rather than `multiprocessing.shared_memory`: there, a
reader that attaches is registered as an owner too and removes the segment when it exits.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Collection, Generator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ..naming import RULE, is_name
from .layout import Layout
from .manifest import Manifest
from .mapping import OutOfReach, WeightsError
from .packing import BUCKET_BYTES, pack

if TYPE_CHECKING:
    import torch

_LONGEST = 100
"""The longest id of a run, in characters."""


def default_root() -> Path:
    """The shared-memory file system where there is a writable one, else the folder for temporary files."""
    shared = Path("/dev/shm")
    return shared if os.access(shared, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())


def require_run(run: str) -> str:
    """`run`. Raises ValueError when it cannot be part of a file name."""
    if not is_name(run) or len(run) > _LONGEST:
        raise ValueError(f"run id {run!r}: {RULE}, at most {_LONGEST} characters")
    return run


def run_folder(run: str, root: Path | None = None) -> Path:
    """Where the buckets of `run` lie. Raises ValueError when `run` cannot be part of a file name."""
    return (root or default_root()) / f"sluicegate-{require_run(run)}"


def remove_run(run: str, root: Path | None = None) -> bool:
    """Removes every bucket of `run`, whoever left it; says whether there was anything."""
    folder = run_folder(run, root)
    if not folder.exists():
        return False
    shutil.rmtree(folder)
    return True


class ShmPublisher:
    """Writes versions of the weights for the engines of this host."""

    def __init__(self, run: str, *, root: Path | None = None, bucket_bytes: int = BUCKET_BYTES) -> None:
        """`bucket_bytes`: the most that one bucket holds; a larger tensor is split.

        Raises ValueError for a bad run id or size, PermissionError when the run's folder is another user's.
        """
        if bucket_bytes < 1:
            raise ValueError(f"bucket_bytes must be at least 1, not {bucket_bytes}")
        self.run = run
        self.folder = run_folder(run, root)
        self.bucket_bytes = bucket_bytes
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = self.folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise PermissionError(f"{self.folder} is not a folder of this user: choose another run id")

    def publish(
        self,
        version: int,
        step: int,
        named_tensors: Iterable[tuple[str, torch.Tensor]],
        dtype: torch.dtype,
        *,
        frozen: Collection[str] = (),
        layouts: Iterable[Layout] = (),
    ) -> Manifest:
        """Writes all tensors, floating ones cast to `dtype`, and returns the manifest (not yet durable).

        The iterable is drawn one tensor at a time; a trainer may gather each one as it is asked for. `frozen`:
        names of tensors that no training changes; `layouts`: those whose ranks' digests the manifest has.
        Raises FileExistsError when the version is already published, OSError when memory is full; then
        nothing of the version is left.
        """
        final = self._folder(version)
        if final.exists():
            raise FileExistsError(f"version {version} of run {self.run!r} is already published")
        # What a killed publisher left behind was never complete, so it has no reader.
        partial = final.with_name(final.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(mode=0o700)
        try:
            packed = pack(named_tensors, dtype, _Folder(partial), self.bucket_bytes, frozen=frozen, layouts=layouts)
            manifest = packed.manifest(version, self.run, step)
            partial.rename(final)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        return manifest

    def has(self, version: int) -> bool:
        """Whether the buckets of a version are there."""
        return self._folder(version).is_dir()

    def buckets(self, manifest: Manifest, start: int = 0) -> Generator[tuple[int, memoryview], None, None]:
        """As `ShmReader.buckets`."""
        return _read(self.folder, manifest, start)

    def discard(self, version: int) -> None:
        """Removes a version's buckets; one that is not there is no error."""
        shutil.rmtree(self._folder(version), ignore_errors=True)

    def published(self) -> list[int]:
        """The versions whose buckets are there, rising."""
        return versions_in(self.folder)

    def close(self) -> None:
        """Removes every bucket of the run."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _folder(self, version: int) -> Path:
        return self.folder / f"v{version}"


class ShmReader:
    """Reads the buckets of one run; a `BucketSource`."""

    def __init__(self, run: str, *, root: Path | None = None) -> None:
        self.folder = run_folder(run, root)

    def has(self, version: int) -> bool:
        """Whether the buckets of a version are there: its folder appears when all are."""
        return (self.folder / f"v{version}").is_dir()

    def buckets(self, manifest: Manifest, start: int = 0) -> Generator[tuple[int, memoryview], None, None]:
        """Each bucket's number and bytes, in order from `start`; the bytes are valid until the next is asked for.

        Raises WeightsError for a bucket that is missing, cut or too long, OutOfReach for one that cannot be read.
        """
        return _read(self.folder, manifest, start)


def versions_in(folder: Path) -> list[int]:
    """The versions that have a folder of their own in `folder`, rising."""
    numbers = [path.name[1:] for path in folder.glob("v*")]
    return sorted(int(n) for n in numbers if n.isascii() and n.isdecimal() and n == str(int(n)))


def bucket_path(folder: Path, number: int) -> Path:
    """The file of bucket `number` in a version's folder."""
    return folder / f"b{number:05d}"


def _read(folder: Path, manifest: Manifest, start: int) -> Generator[tuple[int, memoryview], None, None]:
    longest = max((bucket.length for bucket in manifest.buckets), default=0)
    memory = memoryview(bytearray(longest))
    for number, bucket in enumerate(manifest.buckets[start:], start):
        path = bucket_path(folder / f"v{manifest.version}", number)
        view = memory[: bucket.length]
        try:
            with path.open("rb", buffering=0) as file:
                size = os.fstat(file.fileno()).st_size
                # One read may stop early, at 2 GiB for instance.
                done = 0
                while done < bucket.length and (got := file.readinto(view[done:])):
                    done += got
        except FileNotFoundError:
            raise WeightsError(
                f"bucket {number} of version {manifest.version} is missing: {path} does not exist"
            ) from None
        except OSError as error:
            text = f"bucket {number} of version {manifest.version} cannot be read: {path}: {error.strerror}"
            raise OutOfReach(text) from error
        if size != bucket.length or done != bucket.length:
            raise WeightsError(
                f"bucket {number} of version {manifest.version} was cut: "
                f"it has {size} bytes, {bucket.length} expected"
            )
        yield number, view


class _Folder:
    """A sink that writes each bucket into a file of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def fits(self, name: str, dtype: str, shape: tuple[int, ...], nbytes: int) -> bool:
        return True

    def begins(self, name: str, dtype: str, shape: tuple[int, ...], nbytes: int) -> None:
        pass

    def write(self, number: int, dtype: str, content: memoryview) -> None:
        # Plain writes: a full file system is an error here, where a mapping would raise a bus error.
        bucket_path(self._folder, number).write_bytes(content)
