"""Sees to what a supervisor leaves when it is killed: a process of its own, which outlives it and then ends.

Rules of this file:

- It does nothing while its supervisor lives, and nothing after one that ended in order.
- It touches nothing without the lock of those who keep the run's processes: where another has begun, that one sees to
  what is left.
- Workers end by themselves once their parent is gone; who cannot is ended by force after its time. What they shared is
  removed once all are gone.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

LOOK_S = 0.1
GRACE_S = 30.0
"""How long workers may take to end by themselves."""
END_S = 10.0
"""How long the caretaker itself may take to end."""
_IN_ORDER = b"."


@contextlib.contextmanager
def cared_for(register: Path, processes: Path, removes: Sequence[Path], grace: float = GRACE_S) -> Iterator[None]:
    """While this process lives inside, a caretaker stands by; leaving lets it go.

    `processes` is the folder of the workers' configs; `removes` are the folders that go when all workers have gone.
    Raises OSError where no process can be begun.
    """
    words = [sys.executable, "-m", __name__, str(register), str(processes), str(grace), *map(str, removes)]
    with (processes / "caretaker.log").open("ab") as log:
        caretaker = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=log, start_new_session=True
        )
    assert caretaker.stdin is not None
    try:
        yield
    finally:
        with contextlib.suppress(BrokenPipeError), caretaker.stdin as told:
            told.write(_IN_ORDER)
        try:
            caretaker.wait(END_S)
        except subprocess.TimeoutExpired:
            caretaker.kill()
            caretaker.wait()


def workers_in(processes: Path) -> list[int]:
    """The workers that were started with a config of this folder, their ranks among them."""
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            # It has ended meanwhile.
            continue
        if "worker" in words and any(Path(word).parent == processes and word.endswith(".json") for word in words):
            found.append(int(entry.name))
    return found


def take_care(register: Path, processes: Path, grace: float, removes: Sequence[Path]) -> None:
    """Wait until the workers have gone, end those that have not, and remove what they shared."""
    from ..protocol.store import StoreError
    from .controller.roster import claim_keeping

    until = time.monotonic() + grace
    while True:
        try:
            lock = claim_keeping(register)
        except (StoreError, OSError) as error:
            print(f"nothing is done: {error}", file=sys.stderr)
            return
        with contextlib.closing(lock):
            left = workers_in(processes)
            if not left:
                for folder in removes:
                    shutil.rmtree(folder, ignore_errors=True)
                return
            if time.monotonic() > until:
                for worker in left:
                    print(f"process {worker} has not ended by itself: it is ended", file=sys.stderr)
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(worker, signal.SIGKILL)
        time.sleep(LOOK_S)


def main(words: Sequence[str]) -> None:
    """Stand by until the supervisor has ended, and see to what it left if that was not in order."""
    register, processes, grace, *removes = words
    if not sys.stdin.buffer.read():
        take_care(Path(register), Path(processes), float(grace), [Path(folder) for folder in removes])


if __name__ == "__main__":
    main(sys.argv[1:])
