"""The local launcher: worker processes of one host, each life with a name of its own.

Rules of this file:

- A process is told from its earlier lives by its incarnation; an incarnation is never reused.
- An end is known only from the system: `wait` returns when the process is gone, never before.
- Leaving the launcher ends every process within a bound, and by force after it.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

OVERRULED = 3
"""The exit status of a controller that a higher term overruled."""


class LaunchError(Exception):
    """A worker did not start; says which, and shows the end of its log."""


class HostError(LaunchError):
    """This host has no room, memory or process left for a worker: nothing of it was started."""


@dataclass(eq=False)
class Worker:
    """One process: what it said when it was ready, and where its log is."""

    name: str
    incarnation: str
    process: asyncio.subprocess.Process
    log: Path
    ready: dict[str, Any] = field(default_factory=dict)

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def is_running(self) -> bool:
        return self.process.returncode is None

    async def wait(self) -> int:
        """The exit status, once the process is gone; below 0: minus the signal that ended it."""
        return await self.process.wait()

    def kill(self) -> None:
        """End it at once (SIGKILL)."""
        if self.is_running:
            self.process.send_signal(signal.SIGKILL)

    async def stop(self, grace: float) -> int:
        """Ask it to end, and end it by force after `grace` seconds; the exit status."""
        if self.is_running:
            self.process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(grace):
                return await self.wait()
        except TimeoutError:
            self.kill()
            return await self.wait()

    def said_last(self, lines: int = 12) -> str:
        """The end of its log."""
        try:
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])
        except OSError:
            return "(no log)"


class Launcher:
    """Starts workers with their configs and logs under `folder`. Use as `async with`.

    `grace` is how long a worker may take to end, in seconds.
    """

    def __init__(self, folder: Path, *, grace: float = 10.0, environment: Mapping[str, str] | None = None) -> None:
        self.folder, self._grace = folder.resolve(), grace
        self._environment = {**os.environ, **(environment or {})}
        self._lives: dict[str, int] = {}
        self.workers: list[Worker] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop_all()

    def next_incarnation(self, name: str) -> str:
        """A name for the next life of `name`."""
        self._lives[name] = life = self._lives.get(name, 0) + 1
        return f"{name}.{life}"

    async def start(
        self, role: str, name: str, incarnation: str, config: Mapping[str, Any], *, within: float,
        started: Callable[[Worker], None] | None = None,
    ) -> Worker:  # fmt: skip
        """Start `sluicegate worker ROLE CONFIG` and wait for its ready line.

        `started` is told of the process before it is ready. Raises LaunchError if it ends before that, or says
        nothing within `within` seconds; its process is then gone. Raises HostError where it could not be begun.
        """
        path, log = self.folder / f"{incarnation}.json", self.folder / f"{incarnation}.log"
        try:
            path.write_text(json.dumps(config, indent=2))
            with log.open("ab") as sink:
                process = await asyncio.create_subprocess_exec(
                    sys.executable, "-m", "sluicegate", "worker", role, str(path),
                    stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=sink, env=self._environment,
                    start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            raise HostError(f"{incarnation} could not be begun: {error}") from error
        worker = Worker(name, incarnation, process, log)
        self.workers.append(worker)
        if started is not None:
            started(worker)
        assert process.stdout is not None
        try:
            async with asyncio.timeout(within):
                line = await process.stdout.readline()
        except TimeoutError:
            worker.kill()
            await worker.wait()
            text = f"{incarnation} was not ready within {within:g} s; its log ends:\n{worker.said_last()}"
            raise LaunchError(text) from None
        try:
            worker.ready = json.loads(line)
        except ValueError:
            status = await worker.stop(self._grace)
            raise LaunchError(
                f"{incarnation} ended with status {status} before it was ready; its log ends:\n{worker.said_last()}"
            ) from None
        return worker

    async def end(self, worker: Worker) -> None:
        """Ask one to end, and end it by force after its grace."""
        await worker.stop(self._grace)

    async def stop_all(self) -> None:
        """End every worker, all at the same time."""
        async with asyncio.TaskGroup() as group:
            for worker in self.workers:
                group.create_task(worker.stop(self._grace))
