"""A disk that is full for one open file of this process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def full_disk(path: Path) -> Iterator[None]:
    """Meanwhile what this process writes to the file at `path`, which it has open once, finds no space left."""
    opened = next(int(n) for n in os.listdir("/proc/self/fd") if _target(n) == str(path))
    kept, full = os.dup(opened), os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, opened)
    try:
        yield
    finally:
        os.dup2(kept, opened)
        os.close(kept)
        os.close(full)


def _target(descriptor: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:  # the one that the list was read by
        return ""
