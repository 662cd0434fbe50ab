"""Folders that hold a whole checkpoint or are not there: written beside, listed with digests, renamed.

Rules of this file:

- A checkpoint says what made it, and is read only by its like; every file is checked before any is used.
- All bytes are on the disk before the name is: a crash at any moment leaves what was there before, or all.
- A folder is written once. What a killed trainer left beside it is no checkpoint, and the next attempt's to remove.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..files import sync, write_durably
from ..weights.digest import new_digest

FORMAT = 2
INDEX = "checkpoint.json"
_BLOCK = 1 << 20


class CheckpointError(Exception):
    """A checkpoint that cannot be written there, or not be read here; nothing was changed."""


def partial_of(folder: Path) -> Path:
    """Where a checkpoint that is to become `folder` is written."""
    return folder.with_name(f".{folder.name}.partial")


def prepare(folder: Path) -> None:
    """Makes the empty folder that all ranks write into; for one rank.

    Raises CheckpointError when `folder` exists, OSError when the disk refuses.
    """
    if folder.exists():
        raise CheckpointError(f"{folder} exists: a checkpoint is never overwritten, choose another folder")
    partial = partial_of(folder)
    if partial.exists():
        shutil.rmtree(partial)
    missing = [parent for parent in partial.parents if not parent.exists()]
    partial.mkdir(parents=True)
    for parent in missing:
        sync(parent.parent)


def complete(folder: Path, content: Mapping[str, Any]) -> None:
    """Lists what was written for `folder`, with digests and `content`, and makes it appear, durably.

    For one rank, after all have written. Raises OSError when the disk refuses; `folder` is not there then.
    """
    partial = partial_of(folder)
    paths = sorted(partial.rglob("*"))
    files = {str(path.relative_to(partial)): _digest(path) for path in paths if path.is_file()}
    body = {"format": FORMAT, **content, "files": files}
    for path in paths:
        sync(path)
    write_durably(partial / INDEX, json.dumps({**body, "check": _check(body)}, indent=1).encode())
    partial.rename(folder)
    try:
        sync(folder.parent)
    except OSError:
        folder.rename(partial)
        raise


def discard(folder: Path) -> None:
    """Removes what was written for `folder`, which does not appear."""
    shutil.rmtree(partial_of(folder), ignore_errors=True)


def require_complete(
    folder: Path, identity: Mapping[str, Any], *, share: tuple[int, int] = (0, 1)
) -> dict[str, Any]:
    """What `complete` wrote, after a check of every file, or of share k of n where n ranks check together.

    Raises CheckpointError when there is none, when it was made by something else than `identity` says
    (a value that is a mapping is compared key by key), or when a file is missing or altered.
    """
    index = read_index(folder)
    wrong = list(_differences(index, identity))
    if wrong:
        shown = [*wrong[:4], f"and {len(wrong) - 4} more"] if len(wrong) > 5 else wrong
        raise CheckpointError(
            f"{folder} was made by another trainer: {'; '.join(shown)}. Load it with the model and settings that it "
            "was saved with (for another number of ranks, and between ZeRO 1 and 2, `sluicegate checkpoint convert`)"
        )
    own, ranks = share
    for name, digest in list(index["files"].items())[own::ranks]:
        path = folder / name
        try:
            found = _digest(path)
        except OSError as problem:
            raise CheckpointError(
                f"{path} cannot be read ({problem.strerror}): the checkpoint is not whole, load another one"
            ) from problem
        if found != digest:
            raise CheckpointError(f"{path} is damaged, its digest is not the listed one: load another checkpoint")
    return index


def read_index(folder: Path) -> dict[str, Any]:
    """The index of the checkpoint in `folder`. Raises CheckpointError when there is none, or a damaged one."""
    path = folder / INDEX
    try:
        index = json.loads(path.read_text())
        check, files = index.pop("check", None), dict(index["files"])
    except (FileNotFoundError, NotADirectoryError):
        raise CheckpointError(
            f"{folder} holds no checkpoint: {INDEX} is missing. Give the folder that a save named"
        ) from None
    except OSError as problem:
        raise CheckpointError(f"{path} cannot be read ({problem.strerror}): load another checkpoint") from problem
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        raise CheckpointError(
            f"{path} is not the index of a checkpoint ({problem!r}): load another checkpoint"
        ) from problem
    if index.get("format") != FORMAT:
        raise CheckpointError(f"{folder} has format {index.get('format')!r}; this reads format {FORMAT}")
    if check != _check(index):
        raise CheckpointError(f"{path} is damaged, its check does not match: load another checkpoint")
    return {**index, "files": files, "check": check}


def _check(body: Mapping[str, Any]) -> str:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return new_digest(text.encode()).hexdigest()


def _differences(kept: Mapping[str, Any], wanted: Mapping[str, Any], under: str = "") -> Iterator[str]:
    for key, value in wanted.items():
        other = kept.get(key)
        if isinstance(value, Mapping) and isinstance(other, Mapping):
            yield from _differences(other, value, f"{under}{key}.")
            # A tensor that this model lacks is a difference too.
            yield from (f"{under}{key}.{name} is not in this one" for name in other if name not in value)
        elif other != value:
            yield f"{under}{key} is {other!r} there and {value!r} here"


def _digest(path: Path) -> str:
    state = new_digest()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            state.update(block)
    return state.hexdigest()
