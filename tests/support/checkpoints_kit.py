"""A run without processes, over real files: its trainer's weights are one number, and its cohort is a register."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch

from sluicegate.runtime.checkpoints import Checkpoints, Run, RunState
from sluicegate.runtime.controller.register import Register
from sluicegate.runtime.controller.roster import Roster
from sluicegate.runtime.training.checkpoint import complete, partial_of, prepare
from sluicegate.runtime.weights import ManifestStore, ShmPublisher


class Trainer:
    """A trainer whose weights are one number, its step; what it is asked is noted."""

    def __init__(self, folder: Path, asked: list[str]) -> None:
        self.step, self._asked = 0, asked
        self._manifests = ManifestStore(folder / "manifests")
        self._publisher = ShmPublisher("r", root=folder / "shm")

    async def publish(self, version: int) -> None:
        self._asked.append(f"publish {version}")
        tensors = [("w", torch.full((2,), float(self.step)))]
        self._manifests.put(self._publisher.publish(version, self.step, tensors, torch.float32))

    async def save(self, path: str) -> None:
        self._asked.append("save")
        await asyncio.to_thread(self._save, Path(path))

    def _save(self, path: Path) -> None:
        prepare(path)
        (partial_of(path) / "step").write_text(str(self.step))
        complete(path, {"step": self.step})

    async def load(self, path: str) -> None:
        self._asked.append("load")
        self.step = int(await asyncio.to_thread((Path(path) / "step").read_text))


class Cohort:
    """Publishes what it is asked to sync, in the register, as a controller of the highest term does."""

    def __init__(self, register: Register, asked: list[str]) -> None:
        self._register, self._asked = register, asked
        self._term = register.new_term()

    async def sync(self, version: int) -> None:
        self._asked.append(f"sync {version}")
        self._register.next_epoch()
        assert self._register.publish(version, self._term)


class Prompts:
    """A sampler that counts."""

    def __init__(self) -> None:
        self.drawn = 0

    def state(self) -> Mapping[str, Any]:
        return {"drawn": self.drawn}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.drawn = state["drawn"]


class Life:
    """One life of a run in a folder, over the same files as the one before; `kept` is what its `Run` has besides."""

    def __init__(self, folder: Path, stack: ExitStack, name: str = "r", **kept: Any) -> None:
        self.asked: list[str] = []
        self.sampler = Prompts()
        register = stack.enter_context(Register(folder / "register.db"))
        roster = stack.enter_context(Roster(folder / "register.db"))
        self.run = Run(
            name=name, register=register, roster=roster, manifests=ManifestStore(folder / "manifests"),
            checkpoints=Checkpoints(folder / "checkpoints"), max_staleness=2, **{"sampler": self.sampler, **kept},
        )  # fmt: skip
        self.trainer = Trainer(folder, self.asked)

    def cohort(self) -> Cohort:
        return Cohort(self.run.register, self.asked)

    async def start(self, state: RunState) -> tuple[Trainer, Cohort]:
        self.asked.append(f"start at {state.step}")
        self.run.roster.begin("r0", "rollout")
        return self.trainer, self.cohort()


@contextmanager
def life(folder: Path, name: str = "r") -> Iterator[Life]:
    with ExitStack() as stack:
        yield Life(folder, stack, name)


async def played(folder: Path, steps: int = 3) -> None:
    """A life that starts, trains, saves at each step, and takes one more number that it never publishes."""
    with life(folder) as first:
        await first.start(RunState(run="r", step=0, published=0, newest=0))
        cohort = first.cohort()
        await first.run.cold_start(first.trainer, cohort)
        for step in range(1, steps + 1):
            first.trainer.step, first.sampler.drawn = step, 10 * step
            version = first.run.register.next_version()
            await first.trainer.publish(version)
            await cohort.sync(version)
            await first.run.save(first.trainer, step)
        first.run.register.next_version()


def lose_register(folder: Path) -> None:
    for path in folder.glob("register.db*"):
        path.unlink()
