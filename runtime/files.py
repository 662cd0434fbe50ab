"""Durable small files: a reader sees the old content or the new, never a part, also after a power cut."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_durably(path: Path, content: bytes) -> None:
    """Replaces `path` by `content`: written beside it, synced, renamed, and the folder synced.

    Raises OSError when the disk refuses, and nothing is left beside it. Then `path` is as it was, and so not there
    where it is new; but where the folder alone could not be synced, a file that was replaced has the new content,
    of which it is not known whether it outlives a power cut.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not os.path.lexists(path)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    try:
        sync(path.parent)
    except OSError:
        if is_new:
            path.unlink(missing_ok=True)
        raise


def sync(path: Path) -> None:
    """Returns once the file or folder is on the disk. Raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
