"""Runs of checkers side by side, all of which end when one must.

An interrupt reaches the main thread only, while other threads wait for the runs: so each run says here
how it is ended, and whoever started several ends them all.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")

_lock = threading.Lock()
_running: list[Callable[[], None]] = []
_over = False


class Ended(RuntimeError):
    """A run is not begun, since all are being ended."""


def side_by_side(jobs: Sequence[Callable[[], Result]], width: int) -> Generator[Result, None, None]:
    """The results of `jobs` in their order, of which `width` run at a time, each in a thread of its own.

    Closed before its end, or left by an exception, it ends every run of a checker, begins no other
    job, and returns once all threads are done. Wrap it in `contextlib.closing`.
    """
    pool = ThreadPoolExecutor(width)
    waiting = [pool.submit(job) for job in jobs]
    try:
        for future in waiting:
            yield future.result()
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        with _all_ended():
            pool.shutdown()
        raise
    pool.shutdown()


@contextlib.contextmanager
def _all_ended() -> Iterator[None]:
    """End what runs, and let nothing begin while the block lasts."""
    global _over
    with _lock:
        _over, running = True, tuple(_running)
    for end in running:
        end()
    try:
        yield
    finally:
        _over = False


@contextlib.contextmanager
def endable(end: Callable[[], None]) -> Iterator[None]:
    """While the block lasts, `end` ends what runs in it. Raises Ended where all runs are being ended."""
    with _lock:
        if _over:
            raise Ended("the run was ended from outside")
        _running.append(end)
    try:
        yield
    finally:
        with _lock:
            _running.remove(end)
