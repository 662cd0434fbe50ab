"""The index of a checkpoint: the digest of every file in it, so that a part of one is never taken for the whole.

Rules of this file:

- The index is written last; whatever is read is checked first, each file once.
- The trainer's part has an index of its own, which is a file of this one: so its files are read once, too.
- What no index names is no part of the checkpoint.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

from ..files import sync, write_durably
from ..training.checkpoint import INDEX as TRAINER_INDEX
from ..training.checkpoint import CheckpointError
from ..weights.digest import new_digest

FORMAT = 1
INDEX = "index.json"
_BLOCK = 4 << 20
_AT_ONCE = 8
"""How many files are read at the same time: hashing lets go of the interpreter."""


def seal(folder: Path, trainer: Path) -> None:
    """Bring everything in `folder` to the disk, and write the index of it. Raises OSError.

    `trainer` is the trainer's part, whose own index covers it.
    """
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    own = [path for path in files if not path.is_relative_to(trainer) or path == trainer / TRAINER_INDEX]
    for path in files:
        sync(path)
    digests = {str(path.relative_to(folder)): digest for path, digest in zip(own, _digests(own), strict=True)}
    write_durably(folder / INDEX, json.dumps({"format": FORMAT, "files": digests}, indent=1).encode())
    for path in (*(path for path in folder.rglob("*") if path.is_dir()), folder):
        sync(path)


def verify(folder: Path) -> None:
    """Read every file that the index in `folder` names. Raises CheckpointError for one that is missing or altered."""
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
    try:
        for name, path in zip(files, paths, strict=True):
            if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
                raise CheckpointError(f"{folder / INDEX} names {name!r}, which lies outside: take another checkpoint")
            if not path.is_file():
                raise CheckpointError(f"{path} is missing: take another checkpoint")
        for path, wanted, found in zip(paths, files.values(), _digests(paths), strict=True):
            if found != wanted:
                raise CheckpointError(f"{path} was cut or altered after it was saved: take another checkpoint")
    except OSError as error:
        where = error.filename or folder
        raise CheckpointError(f"{where} cannot be read ({error.strerror}): take another checkpoint") from error


def _digests(paths: Iterable[Path]) -> list[str]:
    with ThreadPoolExecutor(min(_AT_ONCE, os.cpu_count() or 1)) as pool:
        return list(pool.map(_digest, paths))


def _digest(path: Path) -> str:
    state = new_digest()
    with path.open("rb", buffering=0) as file:
        while block := file.read(_BLOCK):
            state.update(block)
    return state.hexdigest()
