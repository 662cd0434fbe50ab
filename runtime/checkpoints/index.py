"""The index of a checkpoint: the digest of every file in it, so that a part of one is never taken for the whole.

Rules of this file:

- The index is written last; whatever is read is checked first, each file once.
- What the index does not name is no part of the checkpoint.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

from ..files import write_durably
from ..training.checkpoint import CheckpointError

FORMAT = 1
INDEX = "index.json"
DIGEST_BYTES = 32
_BLOCK = 4 << 20
_AT_ONCE = 8
"""How many files are read at the same time: hashing lets go of the interpreter."""


def seal(folder: Path) -> None:
    """Bring everything in `folder` to the disk, and write the index of it. Raises OSError."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]
    for path in files:
        sync(path)
    digests = {str(path.relative_to(folder)): digest for path, digest in zip(files, _digests(files), strict=True)}
    write_durably(folder / INDEX, json.dumps({"format": FORMAT, "files": digests}, indent=1).encode())
    for path in (*(path for path in folder.rglob("*") if path.is_dir()), folder):
        sync(path)


def verify(folder: Path) -> None:
    """Read every file that the index names. Raises CheckpointError for one that is missing or altered."""
    try:
        body = json.loads((folder / INDEX).read_bytes())
        known, files = body["format"], {str(name): str(digest) for name, digest in body["files"].items()}
    except FileNotFoundError:
        raise CheckpointError(f"{folder / INDEX} is missing: there is no checkpoint of a run") from None
    except OSError as error:
        raise CheckpointError(f"{folder / INDEX} cannot be read ({error.strerror})") from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise CheckpointError(f"{folder / INDEX} is cut or no index: take another checkpoint") from None
    if known != FORMAT:
        raise CheckpointError(f"{folder} has an index of format {known!r}; this reads format {FORMAT}")
    paths = [folder / name for name in files]
    for name, path in zip(files, paths, strict=True):
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise CheckpointError(f"{folder / INDEX} names {name!r}, which lies outside: take another checkpoint")
        if not path.is_file():
            raise CheckpointError(f"{path} is missing: take another checkpoint")
    try:
        for path, wanted, found in zip(paths, files.values(), _digests(paths), strict=True):
            if found != wanted:
                raise CheckpointError(f"{path} was cut or altered after it was saved: take another checkpoint")
    except OSError as error:
        raise CheckpointError(f"{error.filename or folder} cannot be read ({error.strerror})") from error


def sync(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk. Raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _digests(paths: Iterable[Path]) -> list[str]:
    with ThreadPoolExecutor(min(_AT_ONCE, os.cpu_count() or 1)) as pool:
        return list(pool.map(_digest, paths))


def _digest(path: Path) -> str:
    state = hashlib.blake2b(digest_size=DIGEST_BYTES)
    with path.open("rb", buffering=0) as file:
        while block := file.read(_BLOCK):
            state.update(block)
    return state.hexdigest()
