"""The conversations of a group: each held until one attempt at it is valid, and read from what its session recorded.

Rules of this file:

- An attempt is a session of its own. It is valid once its agent is through, its session is finished and its trace has
  what was graded; how many are valid is counted by sessions, never by samples or by answers.
- A session that failed, or was left, is ended, and that is asked for again until it is acknowledged.
- A group is complete or it is not given. What is told of one that is not is the first failure.
- What is drawn follows from the seed, the group's number and the member alone, whichever attempt it is.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ...statemachines.session import Rebinding
from ..sessions import SessionClosed, SessionError, Sessions, StorageDown
from ..sessions.errors import GONE
from ..sessions.traces import branches
from ..tasks import Split, Task
from ..training.samples import Sample
from .agent import FAILED, Agent, AttemptFailed, Conversation
from .finished import FinishedGroup, Ungraded, oldest_of, samples_of
from .sampler import Sampler
from .turns import TurnsClosed

_log = logging.getLogger(__name__)
ATTEMPTS = 5
"""How often a conversation is begun before its task ends production."""
CONSUMER = "trainer"
ASK_AGAIN_S = 0.1
"""How long until what was not acknowledged is asked for again."""
END_S = 10.0
"""How long the end of a session is asked for before its conversation goes on in another; it is asked for later too."""


class ProductionError(Exception):
    """A conversation could not be completed; says which and why. The cause is its first failure."""


@dataclass(frozen=True, slots=True)
class Valid:
    """An attempt that counts: its conversation, and the samples that its session has recorded."""

    conversation: Conversation
    samples: tuple[Sample, ...]


class Attempts:
    """Makes groups of `size` conversations of `agent` on prompts of `task`: what `Production` is given as `make`.

    `seed` decides what is drawn. `life` names this life of the run: session ids begin with it, and no two are the
    same. `attempts` is how often one conversation is begun at most.
    """

    def __init__(
        self, sessions: Sessions, agent: Agent, task: Task, sampler: Sampler, *, size: int, seed: int, life: str,
        attempts: int = ATTEMPTS,
    ) -> None:  # fmt: skip
        self._sessions, self._agent, self._task, self._sampler = sessions, agent, task, sampler
        self._size, self._seed, self._attempts = size, seed, attempts
        self.life = life
        self._begun = itertools.count()
        self._open: set[str] = set()
        """Sessions that were begun and whose end is not acknowledged."""
        self._doubtful: set[str] = set()
        """Those of which it is not known whether they will begin."""
        self.counts: Counter[str] = Counter()
        """How many attempts came to what: `valid`, or why they failed; those of evaluations are not among them."""

    async def __call__(self, number: int) -> FinishedGroup:
        """All conversations of the group, at the same time. Raises the first failure of one: ProductionError."""
        # A group that is begun again has other sessions: those of its first time are retired, or still run.
        name = f"{self.life}-{next(self._begun)}-{number}"
        index = self._sampler.place(number).index
        try:
            async with asyncio.TaskGroup() as tasks:
                members = [
                    tasks.create_task(
                        self.one(f"{name}-{k}", index, "train", self._draw(f"{number} {k}"), group=f"group-{number}")
                    )
                    for k in range(self._size)
                ]
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from failures.exceptions[0].__cause__
        valid = [member.result() for member in members]
        samples = tuple(sample for each in valid for sample in each.samples)
        return FinishedGroup(
            number, samples, oldest_of(samples), sum(each.conversation.reward for each in valid) / len(valid),
            tuple(each.conversation.session for each in valid),
        )  # fmt: skip

    async def one(
        self, name: str, index: int, split: Split, seed: int, *, group: str = "", counts: Counter[str] | None = None
    ) -> Valid:
        """One conversation on a prompt, begun again under a new session id where it failed. Raises ProductionError.

        `group` names what its samples are compared with; `counts` is counted in, instead of `self.counts`.
        """
        counted = self.counts if counts is None else counts
        first: Exception | None = None
        for attempt in range(self._attempts):
            session = name if attempt == 0 else f"{name}.retry{attempt}"
            try:
                valid = await self._attempt(session, index, split, seed, group)
            except (*FAILED, Ungraded, StorageDown) as error:
                first = first or error
                counted[type(error).__name__] += 1
                await self._end(session, END_S)
            else:
                counted["valid"] += 1
                return valid
        raise ProductionError(f"{name}: no complete conversation in {self._attempts} attempts: {first}") from first

    async def drain(self, within: float) -> None:
        """End every session that was begun and left. Raises TimeoutError where that is not acknowledged in time."""
        async with asyncio.TaskGroup() as tasks:
            for session in tuple(self._open):
                tasks.create_task(self._end(session, within))
        if self._open:
            some = ", ".join(sorted(self._open)[:3])
            raise TimeoutError(
                f"the end of {len(self._open)} sessions ({some}) was not acknowledged within {within:g} s: the next "
                "life of the session server ends them"
            )

    # -- inside ----------------------------------------------------------------------------------

    def _of(self, session: str, index: int, split: Split) -> str:
        return f"{session}: {split} prompt {index} of task {self._task.name}"

    def _draw(self, what: str) -> int:
        return random.Random(f"{self._seed} {what}").getrandbits(40)

    async def _attempt(self, session: str, index: int, split: Split, seed: int, group: str) -> Valid:
        self._open.add(session)
        try:
            await self._sessions.open(session, policy=Rebinding.NEVER, anew=True)
        except (StorageDown, asyncio.CancelledError):
            self._doubtful.add(session)
            raise
        except Exception:
            # Whosever it is, it was not begun here.
            self._open.discard(session)
            raise
        try:
            conversation = await self._agent.converse(session, self._task.prompt(index, split), seed)
        except (*FAILED, StorageDown, ProductionError, TurnsClosed):
            raise
        except Exception as error:
            raise ProductionError(f"{self._of(session, index, split)}: {type(error).__name__}: {error}") from error
        if wrong := [g for g in conversation.rewards if not (isinstance(g, int | float) and 0 <= g <= 1)]:
            raise ProductionError(f"{self._of(session, index, split)} has the grades {wrong}: give numbers in [0, 1]")
        if conversation.session != session:
            told = repr(conversation.session) if conversation.session else "no session id"
            raise AttemptFailed(f"session {session!r}: its agent came back with {told}: nothing can be read by that")
        await self._finish(session)
        samples = await self._read(session, conversation, group)
        self._open.discard(session)
        return Valid(conversation, tuple(samples))

    async def _finish(self, session: str) -> None:
        """Finish it; a turn that its agent has left may still have to end."""
        until = asyncio.get_running_loop().time() + END_S
        while True:
            try:
                return await self._sessions.finish(session)
            except SessionClosed as closed:
                if not closed.retry or asyncio.get_running_loop().time() > until:
                    raise
            await asyncio.sleep(ASK_AGAIN_S)

    async def _read(self, session: str, conversation: Conversation, group: str) -> Sequence[Sample]:
        """The samples of a finished session, whose trace is let go: they are held by this process from now on."""
        tree = await self._sessions.take(session, CONSUMER)
        if conversation.turns and not conversation.is_told_by(list(branches(session, tree))):
            raise ProductionError(f"{session}: its trace is not what its agent was given")
        samples = samples_of(session, group, tree, conversation.rewards)
        await self._sessions.release(session, CONSUMER)
        return samples

    async def _end(self, session: str, within: float) -> None:
        """Retire the session, and ask until that is acknowledged, at most `within` seconds; what is left is kept."""
        until = asyncio.get_running_loop().time() + within
        while session in self._open:
            try:
                if session in self._doubtful:
                    # It may begin later, so it is waited for.
                    await self._sessions.open(session, policy=Rebinding.NEVER)
                    self._doubtful.discard(session)
                # One that was read, and had nothing to train on, is let go by its reader.
                if session in self._sessions and self._sessions.live(session).consumer == CONSUMER:
                    await self._sessions.release(session, CONSUMER)
                await self._sessions.retire(session)
                self._open.discard(session)
            except SessionClosed as closed:
                if closed.reason in ("unknown", GONE):
                    # It never began.
                    self._open.discard(session)
                    return
                failed: SessionError = closed
            except StorageDown as error:
                failed = error
            else:
                return
            if asyncio.get_running_loop().time() > until:
                _log.warning("the end of session %s is not acknowledged, and is asked for later: %s", session, failed)
                return
            await asyncio.sleep(ASK_AGAIN_S)
