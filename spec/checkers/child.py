"""A checker's process, held by a thread of its own, so that it never outlives whoever asked."""

from __future__ import annotations

import ctypes
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Generic, TypeVar

Said = TypeVar("Said")

_prctl = getattr(ctypes.CDLL(None), "prctl", None)
_PR_SET_PDEATHSIG = 1


def _bound_to(parent: int) -> Callable[[], None] | None:
    """What a new process does first, so that it ends with the thread that has started it, however that ends.

    Linux only: elsewhere a process outlives a parent that was killed with SIGKILL.
    """
    if (prctl := _prctl) is None:
        return None

    def bind() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)

    return bind


class Child(Generic[Said]):
    """A process and what it says, read from its output by `read`.

    An interrupt is raised in the main thread only, at any point of it: there it could fall between
    the start of the process and the moment from which somebody is bound to end it.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        folder: Path | None,
        read: Callable[[Iterator[str]], Iterator[Said]],
        talks: bool = False,
    ) -> None:
        """`talks`: it is also told lines, by `tell`; else it has no input."""
        self.said: queue.SimpleQueue[Said | int | OSError] = queue.SimpleQueue()
        self._command, self._folder, self._read, self._talks = command, folder, read, talks
        self._lock = threading.Lock()
        self._stopping = False
        self._process: subprocess.Popen[str] | None = None
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._work, name=name)

    def start(self) -> None:
        """Start it; `said` then gives what it says and at last its exit status, or why it did not start."""
        self._thread.start()

    def tell(self, line: str) -> None:
        """Write a line to its input; without effect once it has ended, which `said` tells."""
        self._ready.wait()
        process = self._process
        if process is None or process.stdin is None:
            return
        try:
            process.stdin.write(line + "\n")
            process.stdin.flush()
        except (OSError, ValueError):
            # It ended just now; its input may be closed already.
            return

    def kill(self) -> None:
        """End it, if it is not at its end."""
        with self._lock:
            self._stopping = True
            if self._process:
                self._process.kill()

    def stop(self) -> None:
        """End it, if it is not at its end, and wait until it is gone."""
        self.kill()
        if self._thread.ident is not None:
            self._thread.join()

    def _work(self) -> None:
        try:
            process = subprocess.Popen(
                self._command,
                cwd=self._folder,
                stdin=subprocess.PIPE if self._talks else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                start_new_session=True,
                preexec_fn=_bound_to(os.getpid()),
            )
        except OSError as error:
            self._ready.set()
            self.said.put(error)
            return
        with process:
            with self._lock:
                self._process = process
                if self._stopping:
                    process.kill()
            self._ready.set()
            assert process.stdout is not None
            for said in self._read(process.stdout):
                self.said.put(said)
        self.said.put(process.returncode)
