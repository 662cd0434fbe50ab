"""Agents: whoever holds one conversation of a task in a session, from its first prompt to its last grade.

Rules of this file:

- An agent sees its session and its episode, and no replica: it waits inside its turn, and sees only how it ended.
- What is trained on is what the session has recorded. What an agent says of its turns only checks that.
"""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol

from ..models import CharTokenizer
from ..sessions import Prompt, Router, Sampling, SessionClosed, Turn, TurnLost, TurnRefused
from ..sessions.traces import Branch
from ..tasks import Episode


class AttemptFailed(Exception):
    """The conversation could not be completed in its session, and may be begun again in another."""


FAILED = (TurnLost, TurnRefused, SessionClosed, AttemptFailed)
"""What an agent raises for an attempt that failed; anything else is an error of the agent itself."""


@dataclass(slots=True)
class Conversation:
    """One complete conversation: its session, and the grade of each turn, or one for all of it.

    `turns` are what the agent was given, where it sees tokens; they are empty where it sees text only.
    """

    session: str
    rewards: list[float]
    turns: list[Turn] = field(default_factory=list)

    @property
    def reward(self) -> float:
        """The mean of its grades."""
        return sum(self.rewards) / len(self.rewards)

    @property
    def versions(self) -> list[int]:
        """The version of each token that the agent was given."""
        return [v for t in self.turns for v in t.versions]

    def is_told_by(self, found: Sequence[Branch]) -> bool:
        """Whether one branch alone has what the agent was given, turn by turn, with the same labels."""
        if len(found) != 1:
            return False
        branch = found[0]
        told = zip(branch.turns, branch.token_ids, branch.log_probs, branch.versions, strict=True)
        given = [
            (number, token, logprob, version)
            for number, turn in enumerate(self.turns, start=1)
            for token, logprob, version in zip(turn.ids, array("f", turn.logprobs), turn.versions, strict=True)
        ]
        return branch.requests == [t.lease for t in self.turns] and [label for label in told if label[0]] == given


class Agent(Protocol):
    """Who holds conversations."""

    async def converse(self, session: str, episode: Episode, seed: int) -> Conversation:
        """Hold the whole conversation in a session that was just begun; `seed` decides all that is drawn.

        Raises one of `FAILED` for an attempt that failed.
        """
        ...


class Pausing(Protocol):
    """Where turns can be held at their boundaries: `Turns`."""

    def turn(self, name: str) -> AbstractAsyncContextManager[None]: ...


class _NeverPauses:
    def turn(self, name: str) -> AbstractAsyncContextManager[None]:
        return nullcontext()


class DirectAgent:
    """An agent in this process, which works with tokens and calls the router itself.

    `turns` holds it at turn boundaries; `wait(session, turn)` says how many seconds it takes between two turns, as a
    tool would. `took(turn)` is called with each turn that it was given.
    """

    def __init__(
        self, router: Router[Prompt], tokenizer: CharTokenizer, *, temperature: float = 1.0,
        turns: Pausing | None = None, wait: Callable[[str, int], float] | None = None,
        took: Callable[[Turn], None] | None = None,
    ) -> None:  # fmt: skip
        self._router, self._tokenizer, self._temperature = router, tokenizer, temperature
        self._turns: Pausing = turns or _NeverPauses()
        self._wait, self._took = wait, took

    async def converse(self, session: str, episode: Episode, seed: int) -> Conversation:
        """See `Agent`: each turn's prompt is all that was said before, token by token."""
        sampling = Sampling(max_new_tokens=episode.reply_tokens, temperature=self._temperature)
        text: str | None = episode.first()
        context: list[int] = []
        turns: list[Turn] = []
        while text is not None:
            if turns and self._wait is not None and (seconds := self._wait(session, len(turns))) > 0:
                await asyncio.sleep(seconds)
            context += self._tokenizer.encode(text)
            prompt = Prompt(tuple(context), sampling, seed * 64 + len(turns))
            async with self._turns.turn(session):
                turn = await self._router.turn(session, prompt, prompt_ids=prompt.ids)
            context += turn.ids
            turns.append(turn)
            if self._took is not None:
                self._took(turn)
            text = episode.observe(self._tokenizer.decode(turn.ids))
        return Conversation(session, list(episode.rewards), turns)
