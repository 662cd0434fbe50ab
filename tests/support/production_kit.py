"""Production without a model: groups that are finished when a test says so, and samples of given versions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from sluicegate.runtime.production.finished import FinishedGroup
from sluicegate.runtime.training.samples import Sample


def sample(session: str = "s", group: str = "g", versions: tuple[int, ...] = (0, 0), reward: float = 1.0) -> Sample:
    """A prompt of one token, and an answer whose tokens were made by these versions."""
    made = len(versions)
    turns, log_probs = (0, *(1,) * made), (0.0, *(-1.0,) * made)
    return Sample(session, group, (5,) * (1 + made), turns, log_probs, (0, *versions), (reward,))


def finished(number: int, versions: tuple[int, ...] = (0, 0)) -> FinishedGroup:
    """A group of two samples, of which the second has these versions."""
    name = f"group-{number}"
    samples = (sample(f"{name}-0", name, (max(versions),)), sample(f"{name}-1", name, versions))
    return FinishedGroup(number, samples, min(versions), 1.0, tuple(each.session for each in samples))


class Maker:
    """Makes a group at once, or when it is let go; `makes` can be another way to it."""

    def __init__(self, makes: Callable[[int], Awaitable[FinishedGroup]] | None = None) -> None:
        self.begun: list[int] = []
        self.cancelled: list[int] = []
        self.drained = 0
        self._makes = makes
        self._held: dict[int, asyncio.Event] = {}

    def hold(self, *numbers: int) -> None:
        """These are finished only once they are let go."""
        for number in numbers:
            self._held[number] = asyncio.Event()

    def let_go(self, *numbers: int) -> None:
        for number in numbers:
            self._held.pop(number).set()

    async def __call__(self, number: int) -> FinishedGroup:
        self.begun.append(number)
        try:
            if number in self._held:
                await self._held[number].wait()
            return finished(number) if self._makes is None else await self._makes(number)
        except asyncio.CancelledError:
            self.cancelled.append(number)
            raise

    async def drain(self, within: float) -> None:
        self.drained += 1


async def turns(of: int = 20) -> None:
    """Let everything run that can, without time passing."""
    for _ in range(of):
        await asyncio.sleep(0)
