"""Production without a model: groups that are finished when a test says so, and agents that follow a script."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from session_kit import SAMPLING, Served

from sluicegate.runtime.production.agent import Agent, Conversation
from sluicegate.runtime.production.finished import FinishedGroup
from sluicegate.runtime.sessions import Prompt, Turn
from sluicegate.runtime.tasks import Episode
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


class Scripted:
    """An agent that does, in the attempts that it is told of, what a test says, and otherwise what `agent` does."""

    def __init__(self, agent: Agent, script: Mapping[str, Callable[[Agent, str], Awaitable[Conversation]]]) -> None:
        self._agent, self._script = agent, script
        self.sessions: list[str] = []
        self.seeds: dict[str, int] = {}
        """By what a session's name ends with: member and attempt."""

    async def converse(self, session: str, episode: Episode, seed: int) -> Conversation:
        self.sessions.append(session)
        name = session.rpartition("-")[2]
        self.seeds[name] = seed
        if name in self._script:
            # A conversation that was tried is not the one that counts: its episode is its own.
            return await self._script[name](self._agent, session)
        return await self._agent.converse(session, episode, seed)


class Talker:
    """A conversation of two turns over the router, with the grades of a test."""

    def __init__(self, served: Served, *rewards: float) -> None:
        self.served, self.rewards = served, rewards or (1.0, 0.5)

    async def converse(self, session: str, episode: Episode, seed: int) -> Conversation:
        context: list[int] = []
        turns: list[Turn] = []
        for said in (5, 6):
            context.append(said)
            work = Prompt(tuple(context), SAMPLING, seed)
            turns.append(await self.served.router.turn(session, work, prompt_ids=work.ids))
            context += turns[-1].ids
        return Conversation(session, list(self.rewards), turns)
