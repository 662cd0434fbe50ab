"""Agents: groups of conversations over live sessions, kept going while weights change under them.

Rules of this file:

- A task's index is claimed once; its group is complete or it is not given.
- A conversation that loses its session is begun again under a new session id.
- Nothing here looks at gates: an agent waits inside its turn, and sees only how it ended.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial

from ...statemachines.session import Rebinding
from ..models import CharTokenizer
from ..production.agent import Conversation, DirectAgent
from ..sessions import Prompt, Router, SessionClosed, TurnLost, TurnRefused
from ..sessions.traces import branches
from ..tasks import Episode, Split, Task
from .record import Record

ATTEMPTS = 5
"""How often a conversation is begun before its task fails the run."""
CONSUMER = "trainer"


class ProductionError(Exception):
    """A conversation could not be completed; says which and why."""


@dataclass(frozen=True, slots=True)
class Tools:
    """Agents that use slow tools: the share of groups, and the longest call between two turns in seconds."""

    share: float = 0.25
    longest: float = 3.0


@dataclass(slots=True)
class Group:
    """All conversations of one prompt."""

    index: int
    conversations: list[Conversation]

    @property
    def reward(self) -> float:
        return sum(c.reward for c in self.conversations) / len(self.conversations)


@dataclass(eq=False)
class Agents:
    """Holds conversations over `router`; `seed` decides sampling and tools, not which replica answers."""

    router: Router[Prompt]
    task: Task
    tokenizer: CharTokenizer
    record: Record
    seed: int
    temperature: float = 1.0
    tools: Tools = field(default_factory=Tools)

    async def converse(
        self, name: str, index: int, split: Split, seed: int, pause: Callable[[], float]
    ) -> Conversation:
        """One conversation on the prompt `index`, retried under new session ids. Raises ProductionError."""
        why: Exception | None = None
        for attempt in range(ATTEMPTS):
            session = name if attempt == 0 else f"{name}.retry{attempt}"
            await self.router.sessions.open(session, policy=Rebinding.NEVER, anew=True)
            try:
                conversation = await self._hold(session, self.task.prompt(index, split), seed, pause)
                await self.router.sessions.finish(session)
                return conversation
            except (TurnLost, TurnRefused, SessionClosed) as error:
                why = error
                self.record.retries[type(error).__name__] += 1
                await self.router.sessions.retire(session)
        raise ProductionError(f"{name}: no complete conversation in {ATTEMPTS} attempts: {why}")

    async def _hold(self, session: str, episode: Episode, seed: int, pause: Callable[[], float]) -> Conversation:
        agent = DirectAgent(
            self.router, self.tokenizer, temperature=self.temperature, wait=lambda session, turn: pause(),
            took=lambda turn: self.record.took_turn(turn.versions),
        )  # fmt: skip
        conversation = await agent.converse(session, episode, seed)
        self.record.ended_session(conversation.versions)
        return conversation

    async def group(self, index: int, size: int) -> Group:
        """`size` conversations on the training prompt `index`, at the same time."""
        draw = random.Random(f"{self.seed} {index}")
        slow = draw.random() < self.tools.share

        def pause(draw: random.Random) -> float:
            return draw.uniform(0.2, 1.0) * self.tools.longest if slow else 0.0

        def begin(k: int) -> Coroutine[None, None, Conversation]:
            own = partial(pause, random.Random(f"{self.seed} {index} {k}"))
            return self.converse(f"train-{index}-{k}", index, "train", draw.getrandbits(40), own)

        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(begin(k)) for k in range(size)]
        return Group(index, [t.result() for t in running])

    async def evaluate(self, label: str, prompts: int, at_once: int) -> list[float]:
        """The reward of each of the first held-out prompts, sampled as in training, by the same seeds each time."""
        turn = asyncio.Semaphore(at_once)

        async def one(index: int) -> float:
            async with turn:
                seed = random.Random(f"held out {index}").getrandbits(40)
                conversation = await self.converse(f"{label}-{index}", index, "held_out", seed, lambda: 0.0)
                await self.router.sessions.retire(conversation.session)
                return conversation.reward

        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(one(i)) for i in range(prompts)]
        return [t.result() for t in running]

    async def read(self, group: Group) -> None:
        """Take and release every trace of a group: what was trained on is retired."""
        for conversation in group.conversations:
            taken = await self.router.sessions.take(conversation.session, CONSUMER)
            if not conversation.is_told_by(list(branches(conversation.session, taken))):
                raise ProductionError(f"{conversation.session}: its trace is not what its agent was given")
            await self.router.sessions.release(conversation.session, CONSUMER)


class Production:
    """Keeps `in_flight` groups of `size` going; finished ones wait in a queue of at most `waiting`."""

    def __init__(self, agents: Agents, *, size: int, in_flight: int, waiting: int) -> None:
        self._agents, self._size, self._in_flight = agents, size, in_flight
        self._indices = itertools.count()
        self.finished: asyncio.Queue[Group] = asyncio.Queue(waiting)

    async def run(self) -> None:
        """Go on until cancelled; the first failure ends it."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(self._in_flight):
                tasks.create_task(self._work())

    async def _work(self) -> None:
        while True:
            await self.finished.put(await self._agents.group(next(self._indices), self._size))

    async def gather(self, count: int) -> list[Group]:
        """The next `count` finished groups."""
        return [await self.finished.get() for _ in range(count)]
