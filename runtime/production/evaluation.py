"""Held-out prompts, on a schedule, beside production: nothing that training counts or draws is touched.

Rules of this file:

- The same prompts under the same seeds each time, so that evaluations of one run can be compared.
- Its conversations take no group number, and are never trained on.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter

from .attempts import Attempts


class Evaluation:
    """The first `prompts` held-out prompts, `at_once` at the same time, after every `every` steps, 0 for never.

    `counts` has what became of its attempts. Raises ValueError for counts that cannot be.
    """

    def __init__(self, attempts: Attempts, *, every: int, prompts: int, at_once: int) -> None:
        if every < 0 or prompts < 1 or at_once < 1:
            raise ValueError(f"every {every} must not be negative, prompts {prompts} and at_once {at_once} at least 1")
        self._attempts, self._every, self._prompts, self._at_once = attempts, every, prompts, at_once
        self._runs = itertools.count()
        self.counts: Counter[str] = Counter()

    def due(self, step: int) -> bool:
        """Whether it is due after this step."""
        return self._every > 0 and step % self._every == 0

    async def run(self) -> list[float]:
        """The reward of each prompt, sampled as in training. Raises ProductionError, the first failure."""
        turn, run = asyncio.Semaphore(self._at_once), next(self._runs)

        async def one(index: int) -> float:
            async with turn:
                seed = random.Random(f"held out {index}").getrandbits(40)
                name = f"{self._attempts.life}-held-out-{run}-{index}"
                valid = await self._attempts.one(name, index, "held_out", seed, group=name, counts=self.counts)
                return valid.conversation.reward

        try:
            async with asyncio.TaskGroup() as tasks:
                running = [tasks.create_task(one(index)) for index in range(self._prompts)]
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from failures.exceptions[0].__cause__
        return [each.result() for each in running]
