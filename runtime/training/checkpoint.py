"""Folders that hold a whole checkpoint or are not there: written beside, listed with digests, renamed.

A checkpoint says what made it, and is read only by its like; every file is checked before any is used.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..files import write_durably

FORMAT = 1
INDEX = "checkpoint.json"
_BLOCK = 1 << 20


class CheckpointError(Exception):
    """A checkpoint that cannot be written there, or not be read here; nothing was changed."""


def prepare(folder: Path, *, first: bool, barrier: Callable[[], None]) -> Path:
    """The empty folder beside `folder` that all ranks write into; the first rank makes it.

    Raises CheckpointError when `folder` exists.
    """
    if folder.exists():
        raise CheckpointError(f"{folder} exists: a checkpoint is never overwritten, choose another folder")
    partial = folder.with_name(f".{folder.name}.partial")
    barrier()
    if first:
        # What a killed trainer left was never complete.
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
    barrier()
    return partial


def complete(partial: Path, folder: Path, content: Mapping[str, Any]) -> None:
    """Lists what `partial` holds, with digests and `content`, and makes it appear as `folder`."""
    files = {str(path.relative_to(partial)): _digest(path) for path in sorted(partial.rglob("*")) if path.is_file()}
    index = {"format": FORMAT, **content, "files": files}
    write_durably(partial / INDEX, json.dumps(index, indent=1).encode())
    partial.rename(folder)


def require_complete(folder: Path, identity: Mapping[str, Any]) -> dict[str, Any]:
    """What `complete` wrote, after a check of every file.

    Raises CheckpointError when there is none, when it was made by something else than `identity` says
    (a value that is a mapping is compared key by key), or when a file is missing or altered.
    """
    try:
        index = json.loads((folder / INDEX).read_text())
        files = dict(index["files"])
    except FileNotFoundError:
        raise CheckpointError(f"{folder} holds no checkpoint: {INDEX} is missing") from None
    except (json.JSONDecodeError, KeyError, TypeError, UnicodeDecodeError) as problem:
        raise CheckpointError(f"{folder / INDEX} is not the index of a checkpoint: {problem!r}") from problem
    if index.get("format") != FORMAT:
        raise CheckpointError(f"{folder} has format {index.get('format')!r}; this reads format {FORMAT}")
    wrong = list(_differences(index, identity))
    if wrong:
        raise CheckpointError(
            f"{folder} was made by another trainer: {'; '.join(wrong)}. Load it with the model and settings "
            "that it was saved with"
        )
    for name, digest in files.items():
        path = folder / name
        if not path.is_file() or _digest(path) != digest:
            raise CheckpointError(f"{path} is missing or damaged: take another checkpoint")
    return index


def _differences(kept: Mapping[str, Any], wanted: Mapping[str, Any], under: str = ""):
    for key, value in wanted.items():
        other = kept.get(key)
        if isinstance(value, Mapping) and isinstance(other, Mapping):
            yield from _differences(other, value, f"{under}{key}.")
            # A tensor that this model lacks is a difference too.
            yield from (f"{under}{name} is not in this one" for name in other if name not in value)
        elif other != value:
            yield f"{under}{key} is {other!r} there and {value!r} here"


def _digest(path: Path) -> str:
    state = hashlib.blake2b(digest_size=32)
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            state.update(block)
    return state.hexdigest()
