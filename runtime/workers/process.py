"""The life of a worker process: it says when it is ready, and ends when it is told to or left alone.

Rules of this file:

- Standard output carries one line, the ready line; whatever libraries print goes to standard error.
- A worker does not outlive who started it: the system ends it with its parent (Linux), and the end of
  its standard input, where that is a pipe or a socket, tells it everywhere.
- SIGTERM, SIGINT and the end of standard input ask for a graceful end.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import os
import signal
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..tracelog import TraceLog

_PR_SET_PDEATHSIG = 1


def take_stdout() -> int:
    """Keep standard output for the ready line: a file descriptor of it; prints go to standard error."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    return kept


def give_back_stdout(kept: int) -> None:
    """Let processes that this one starts, and prints, have standard output again."""
    sys.stdout.flush()
    os.dup2(kept, 1)


def announce(stdout: int, facts: dict[str, Any]) -> None:
    """Write the ready line. Who no longer listens is not told."""
    with contextlib.suppress(BrokenPipeError):
        os.write(stdout, json.dumps({"ready": True, **facts, "pid": os.getpid()}).encode() + b"\n")


def die_with_parent(parent: int, number: signal.Signals = signal.SIGTERM) -> None:
    """Have the system send this signal when the thread that started this process ends.

    `parent` is the parent's process id as it was at the very start. Raises SystemExit if it has ended.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        raise SystemExit("the parent ended while this worker started")


def open_log(folder: Path | None, name: str, incarnation: str, *, run: str, process: str) -> TraceLog | None:
    """The trace log of this life in `folder`, if there is one."""
    if folder is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    path = log_path(folder, name, incarnation)
    return TraceLog(path, run=run, process=f"{process} {name}", incarnation=incarnation)


def log_path(folder: Path, name: str, incarnation: str) -> Path:
    """Where a life logs its trace."""
    return folder / f"{name}.{incarnation}.ndjson"


@contextlib.contextmanager
def stop_signals() -> Iterator[asyncio.Event]:
    """An event that is set when this process is asked to end."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    watched = _watch_stdin(loop, stop)
    try:
        yield stop
    finally:
        if watched:
            loop.remove_reader(0)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


def _watch_stdin(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> bool:
    try:
        kind = os.fstat(0).st_mode
    except OSError:
        return False
    if not (stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)):
        return False

    def read() -> None:
        # Nothing is ever sent; what can be read is the end.
        if not os.read(0, 4096):
            loop.remove_reader(0)
            stop.set()

    loop.add_reader(0, read)
    return True
