"""The head's store of weights: a run has one trainer at a time, and what is published outlives a broken group.

Rules of this file:

- The locks of a run are taken before its store is opened, and kept until it is closed. They are of the process:
  the end of one that is killed lets go of them.
- The store ends as its trainer ends: buckets in shared memory go with a group that ends whole, and stay where a rank
  has gone, since replicas may still need them.
- A process is looked up by its number only where that number means it: on this host, in this container.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
import socket
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from ...protocol.sqlite import claim
from ...protocol.store import StoreError
from ..config import ConfigError
from ..weights import WeightStore, open_store
from ..weights.shm import run_folder
from .config import TrainerConfig

_log = logging.getLogger(__name__)
LOCK = "trainer"
"""What a run's trainer claims in the folder of manifests; the file has `.lock` behind it."""
LEAVES_S = 2.0
"""How long one waits for the system to end a trainer that was killed."""


class HeadStore:
    """The store of weights of a head that is the run's only trainer; entered, it is open.

    Entering raises ConfigError where another trainer of the run lives, or where the config names no store that
    can be had.
    """

    weights: WeightStore

    def __init__(self, config: TrainerConfig) -> None:
        self._config = config
        self._ranks: list[int] = []
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> HeadStore:
        config = self._config
        async with AsyncExitStack() as stack:
            try:
                await self._be_alone(stack)
                self.weights = open_store(
                    config.weights, config.run, shm_root=config.shm_root, bucket_bytes=config.bucket_bytes,
                    model=config.model,
                )  # fmt: skip
            except StoreError as error:
                raise ConfigError(f"run {config.run!r} has a trainer already: {error}") from error
            except OSError as error:
                raise ConfigError(f"the weights of run {config.run!r} cannot be kept: {error}") from error
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        async with self._stack:
            if gone := [pid for pid in self._ranks if not lives(pid)]:
                _log.warning("the ranks of processes %s have gone: what was published stays where it is", gone)
            else:
                self.weights.close()

    def belongs_to(self, ranks: Iterable[Mapping[str, Any]]) -> None:
        """The ranks of the group that now stands, by the facts of each."""
        here = own_host()
        self._ranks = [each["pid"] for each in ranks if each["host"] == here]

    async def _be_alone(self, stack: AsyncExitStack) -> None:
        """Take the locks of the run. Raises StoreError, which says who has one, and OSError."""
        clock = asyncio.get_running_loop().time
        until = clock() + LEAVES_S
        while True:
            try:
                async with AsyncExitStack() as taken:
                    self._take(taken)
                    stack.push_async_exit(taken.pop_all())
                return
            except StoreError:
                if clock() > until:
                    raise
                await asyncio.sleep(LEAVES_S / 20)

    def _take(self, taken: AsyncExitStack) -> None:
        config = self._config
        config.manifests.mkdir(parents=True, exist_ok=True)
        mend = "give this one a run and manifests of its own"
        taken.enter_context(contextlib.closing(claim(config.manifests / LOCK, mend=mend)))
        # Runs of one name may have other manifests, and share what lies by the name.
        if config.weights.store == "shm":
            taken.callback(os.close, _claim_folder(run_folder(config.run, config.shm_root)))


def own_host() -> str:
    """Where this process's number means it: the host, and the container."""
    space = Path("/proc/self/ns/pid")
    return f"{socket.gethostname()}/{os.readlink(space)}" if space.is_symlink() else socket.gethostname()


def lives(pid: int) -> bool:
    """Whether a process of this host has this number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        # It is another user's.
        return True
    return True


def _claim_folder(folder: Path) -> int:
    """A descriptor that keeps the folder locked while it is open, and leaves no file. Raises StoreError, OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Who had it may have removed it since it was opened.
        if folder.exists() and os.path.samestat(os.fstat(held), folder.stat()):
            return held
    except BlockingIOError:
        pass
    except BaseException:
        os.close(held)
        raise
    os.close(held)
    raise StoreError(
        f"{folder}: the trainer of another run of this name has it: end that one, or give this one a run of its own"
    )
