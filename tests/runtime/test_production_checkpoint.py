"""Checkpoints while agents are at work: nobody is waited for, and a resume begins again what was not trained on."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from checkpoints_kit import Life
from production_kit import Maker, finished

from sluicegate.protocol.tasks import Tasks
from sluicegate.runtime.production.finished import FinishedGroup
from sluicegate.runtime.production.groups import Groups
from sluicegate.runtime.production.production import Production
from sluicegate.runtime.production.sampler import Sampler
from sluicegate.runtime.simulation.clock import VirtualLoop

PROMPTS, PER_STEP, HOUR_S = 6, 2, 3600.0


class Training(Life):
    """A life of a run that makes groups, and writes down what it trains on."""

    def __init__(self, folder: Path, stack: ExitStack, slow: int | None) -> None:
        self._sampler, self._slow = Sampler(5, PROMPTS), slow
        self.groups = Groups(epoch_of=self._sampler.epoch, per_step=PER_STEP)
        super().__init__(folder, stack, groups=self.groups, sampler=self._sampler)
        self.prompts: list[tuple[int, int]] = []
        self.make = Maker(self._made)
        self.production = Production(
            self.groups, self.make, in_flight=2, waiting=1, published=lambda: 0, order="finished"
        )  # fmt: skip

    async def _made(self, number: int) -> FinishedGroup:
        await asyncio.sleep(HOUR_S if number == self._slow else 1.0)
        return finished(number)

    async def train(self, first: int, last: int) -> None:
        """The steps from `first` to `last`, with a checkpoint after each."""
        cohort = self.cohort()
        async with Tasks() as tasks:
            tasks.create_task(self.production.run())
            for step in range(first, last + 1):
                batch = await self.production.gather(PER_STEP, published=step, within=HOUR_S / 2)
                for group in batch:
                    place = self._sampler.place(group.number)
                    self.prompts.append((place.epoch, place.index))
                self.production.trained()
                self.trainer.step = step
                version = self.run.register.next_version()
                await self.trainer.publish(version)
                await cohort.sync(version)
                await self.run.save(self.trainer, step)
            await self.production.close(5.0)


def played(work: Coroutine[Any, Any, None], virtual: float = 4 * HOUR_S) -> float:
    """Run it in virtual time; how many seconds it took."""
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(virtual=virtual)) as runner:
        loop = runner.get_loop()
        runner.run(work)
        return loop.time()


def test_a_checkpoint_does_not_wait_for_a_task_of_an_hour_which_a_resume_begins_again(tmp_path: Path) -> None:
    async def first() -> None:
        with ExitStack() as stack:
            life = Training(tmp_path, stack, slow=1)
            await life.run.cold_start(life.trainer, life.cohort())
            await life.train(1, 2)
            assert 1 in life.make.cancelled

    assert played(first()) < 60, "nobody waited for the hour"

    async def second() -> None:
        with ExitStack() as stack:
            life = Training(tmp_path, stack, slow=None)
            checkpoint, _ = await life.run.cold_resume(life.start)
            assert (checkpoint.state.step, checkpoint.state.next_group) == (2, life.groups.next_group)
            assert 1 in checkpoint.state.in_flight
            await life.train(3, 5)
            assert life.make.begun[0] == 1, "the lowest of what was not trained on comes first"

    played(second())


def test_a_save_at_the_end_of_an_epoch_does_not_play_it_again(tmp_path: Path) -> None:
    """Six prompts and two in a step: each life ends with an epoch."""
    prompts: list[tuple[int, int]] = []

    async def live(first: int, last: int) -> None:
        with ExitStack() as stack:
            life = Training(tmp_path, stack, slow=None)
            life.production.groups.stop()
            if first == 1:
                await life.run.cold_start(life.trainer, life.cohort())
            else:
                checkpoint, _ = await life.run.cold_resume(life.start)
                assert checkpoint.state.data_epoch == checkpoint.state.next_group // PROMPTS  # pyright: ignore[reportOptionalOperand]
            life.groups.start()
            await life.train(first, last)
            prompts.extend(life.prompts)

    for first in (1, 4, 7):
        played(live(first, first + 2))
    assert sorted(prompts) == [(epoch, index) for epoch in range(3) for index in range(PROMPTS)]
