"""Conversations of a group over real sessions: counted by sessions, begun again under new ids, read from the trace."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from production_kit import Scripted, Talker
from session_kit import Host, Served, host, until

from sluicegate.protocol.store import StoreError
from sluicegate.runtime.models import CharTokenizer
from sluicegate.runtime.production import attempts as module
from sluicegate.runtime.production.agent import Agent, AttemptFailed, Conversation, DirectAgent
from sluicegate.runtime.production.attempts import Attempts, ProductionError
from sluicegate.runtime.production.evaluation import Evaluation
from sluicegate.runtime.production.sampler import Sampler
from sluicegate.runtime.production.turns import Turns
from sluicegate.runtime.sessions import Turn
from sluicegate.runtime.tasks import Episode, Recall

Script = Mapping[str, Callable[[Agent, str], Awaitable[Conversation]]]


@asynccontextmanager
async def serving(folder: Path, *, goes: bool = True, **settings: Any) -> AsyncIterator[tuple[Host, Served]]:
    """Sessions whose replica answers at once, or when it is let go."""
    async with host(folder, **settings) as on:
        for replica in on.cohort.lives if goes else ():
            replica.go.set()
            replica.settle.set()
        async with on.server() as served:
            yield on, served


def attempts_of(served: Served, agent: Agent, *, size: int = 2, seed: int = 0, life: str = "agents.1") -> Attempts:
    return Attempts(served.sessions, agent, Recall(), Sampler(seed, None), size=size, seed=seed, life=life)


async def fails_after_a_turn(agent: Agent, session: str) -> Conversation:
    assert isinstance(agent, Talker)
    await agent.served.turn(session)
    raise AttemptFailed("its tool is broken")


async def test_a_group_has_a_sample_of_each_session_as_it_was_recorded(tmp_path: Path) -> None:
    async with serving(tmp_path) as (_, served):
        attempts = attempts_of(served, Talker(served))
        group = await attempts(7)
        assert (group.number, group.oldest, group.reward, len(set(group.sessions))) == (7, 0, 0.75, 2)
        assert [sample.session for sample in group.samples] == list(group.sessions)
        sample = group.samples[0]
        assert (sample.group, sample.token_ids, sample.turns) == ("group-7", (5, 1, 2, 6, 1, 2), (0, 1, 1, 0, 2, 2))
        assert (sample.log_probs, sample.rewards) == ((0.0, -1.0, -1.0, 0.0, -1.0, -1.0), (1.0, 0.5))
        await until(lambda: not served.sessions.facts)  # what was read is let go
        assert attempts.counts == {"valid": 2}
        again = await attempts(7)
        assert not set(again.sessions) & set(group.sessions), "a group that is begun again has other sessions"


async def test_what_the_agent_says_that_it_was_given_has_to_be_what_was_recorded(tmp_path: Path) -> None:
    class Lies(Talker):
        async def converse(self, session: str, episode: Episode, seed: int) -> Conversation:
            told = await super().converse(session, episode, seed)
            told.turns[1].versions = [0, 1]
            return told

    async with serving(tmp_path) as (_, served):
        with pytest.raises(ProductionError, match="its trace is not what its agent was given"):
            await attempts_of(served, Lies(served))(0)


async def test_a_conversation_that_failed_is_begun_again_under_a_new_id_with_the_same_draw(tmp_path: Path) -> None:
    async with serving(tmp_path) as (_, served):
        agent = Scripted(Talker(served), {"1": fails_after_a_turn, "1.retry1": fails_after_a_turn})
        attempts = attempts_of(served, agent)
        group = await attempts(3)
        assert [s.rpartition("-")[2] for s in group.sessions] == ["0", "1.retry2"]
        assert len(set(agent.sessions)) == 4
        assert agent.seeds["1"] == agent.seeds["1.retry1"] == agent.seeds["1.retry2"] != agent.seeds["0"]
        assert attempts.counts == {"valid": 2, "AttemptFailed": 2}
        await until(lambda: not served.sessions.facts)  # those that failed are ended too
        other = Scripted(Talker(served), {})
        await attempts_of(served, other, life="agents.2")(3)
        assert other.seeds["1"] == agent.seeds["1"], "what is drawn hangs on the group, not on the life of the run"


async def test_the_first_failure_is_what_is_told_of_a_conversation_that_never_completed(tmp_path: Path) -> None:
    def fails(why: str) -> Callable[[Agent, str], Awaitable[Conversation]]:
        async def fail(agent: Agent, session: str) -> Conversation:
            raise AttemptFailed(why)

        return fail

    names = ["1", *(f"1.retry{k}" for k in range(1, 5))]
    script = {name: fails(f"failure {number}") for number, name in enumerate(names)}
    async with serving(tmp_path) as (_, served):
        with pytest.raises(ProductionError, match="no complete conversation in 5 attempts: failure 0") as told:
            await attempts_of(served, Scripted(Talker(served), script))(0)
        assert isinstance(told.value.__cause__, AttemptFailed)


async def test_an_error_of_the_agent_itself_ends_its_group_at_once_and_leaves_sessions_to_be_drained(
    tmp_path: Path,
) -> None:
    async def breaks(agent: Agent, session: str) -> Conversation:
        raise ZeroDivisionError("in the agent's own code")

    async def lingers(agent: Agent, session: str) -> Conversation:
        await asyncio.sleep(60)
        raise AssertionError

    async with serving(tmp_path) as (_, served):
        attempts = attempts_of(served, Scripted(Talker(served), {"0": lingers, "1": breaks}))
        told = r"-0-1: train prompt 0 of task \S+: ZeroDivisionError: in the agent's own code"
        with pytest.raises(ProductionError, match=told) as found:
            await attempts(0)
        assert isinstance(found.value.__cause__, ZeroDivisionError)
        assert len(served.sessions.facts) == 2
        await attempts.drain(5.0)
        await until(lambda: not served.sessions.facts)


async def test_what_nothing_was_recorded_of_is_no_attempt_that_counts(tmp_path: Path) -> None:
    async def ungraded(agent: Agent, session: str) -> Conversation:
        found = await Talker(agent.served, 1.0, 1.0, 1.0).converse(session, Recall().prompt(0), 0)  # pyright: ignore[reportAttributeAccessIssue]
        return Conversation(session, found.rewards)

    async with serving(tmp_path) as (_, served):
        attempts = attempts_of(served, Scripted(Talker(served), {"0": ungraded}))
        group = await attempts(0)
        assert [s.rpartition("-")[2] for s in group.sessions] == ["0.retry1", "1"]
        assert attempts.counts == {"valid": 2, "Ungraded": 1}
        await until(lambda: not served.sessions.facts)  # also one whose trace was read


async def test_the_end_of_a_session_is_asked_for_until_it_is_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: list[object] = []
    monkeypatch.setattr(module, "END_S", 0.3)
    async with serving(tmp_path, store=0.2) as (_, served):
        store: Any = served.sessions.kept._store
        write = store.write

        def full(changes: Any) -> None:
            refused.append(changes)
            raise StoreError("the disk is full")

        async def fails(agent: Agent, session: str) -> Conversation:
            monkeypatch.setattr(store, "write", full)
            raise AttemptFailed("first")

        attempts = attempts_of(served, Scripted(Talker(served), {"0": fails}), size=1)
        with pytest.raises(ProductionError, match="first"):
            await attempts(0)
        assert len(refused) > 1
        with pytest.raises(TimeoutError, match=r"was not acknowledged within 0\.1 s"):
            await attempts.drain(0.1)
        monkeypatch.setattr(store, "write", write)
        await attempts.drain(10.0)
        await until(lambda: not served.sessions.facts)


async def test_a_request_that_was_left_is_aborted_until_its_replica_says_that_it_is_over(tmp_path: Path) -> None:
    async with serving(tmp_path, goes=False) as (on, served):
        attempts = attempts_of(served, Talker(served), size=1)
        making = asyncio.ensure_future(attempts(0))
        replica = on.cohort.lives[0]
        await until(lambda: replica.forwarded)
        making.cancel()
        with pytest.raises(asyncio.CancelledError):
            await making
        await attempts.drain(5.0)
        (session,) = served.sessions.facts
        assert served.state(session) == "RETIRING", "its lease has no end yet"
        replica.settle.set()
        await until(lambda: not served.sessions.facts)
        assert set(replica.aborted) == set(replica.forwarded)


async def test_a_direct_agent_says_all_that_was_said_before_and_waits_at_turn_boundaries(tmp_path: Path) -> None:
    took: list[Turn] = []
    turns = Turns()

    def waits(session: str, turn: int) -> float:
        if turn == 1:
            turns.pause()
            asyncio.get_running_loop().call_later(0.05, lambda: (noted.append(len(took)), turns.resume()))
        return 0.001

    noted: list[int] = []
    async with serving(tmp_path) as (_, served):
        agent = DirectAgent(
            served.router, CharTokenizer(Recall().alphabet), turns=turns, wait=waits, took=took.append
        )  # fmt: skip
        await served.sessions.open("s")
        conversation = await agent.converse("s", Recall(turns=3, held_out_prompts=64).prompt(0), 4)
        assert (noted, conversation.turns, len(conversation.rewards)) == ([1], took, 3)
        assert conversation.reward == sum(conversation.rewards) / 3
        prompts = [list(turn.prompt_ids) for turn in took]
        assert prompts[1][: len(prompts[0]) + 2] == [*prompts[0], 1, 2]


async def test_an_evaluation_has_the_same_prompts_and_draws_each_time_and_counts_apart(tmp_path: Path) -> None:
    async with serving(tmp_path) as (_, served):
        agent = Scripted(Talker(served), {"0": fails_after_a_turn})
        attempts = attempts_of(served, agent)
        evaluation = Evaluation(attempts, every=3, prompts=4, at_once=2)
        assert [step for step in range(8) if evaluation.due(step)] == [0, 3, 6]
        assert not Evaluation(attempts, every=0, prompts=1, at_once=1).due(0)
        assert await evaluation.run() == [0.75] * 4
        first = dict(agent.seeds)
        assert await evaluation.run() == [0.75] * 4
        assert agent.seeds == first
        assert (attempts.counts, evaluation.counts) == ({}, {"valid": 8, "AttemptFailed": 2})
        await until(lambda: not served.sessions.facts)
        with pytest.raises(ValueError, match="prompts 0"):
            Evaluation(attempts, every=1, prompts=0, at_once=1)


async def test_an_id_that_was_used_is_a_failed_attempt(tmp_path: Path) -> None:
    async with serving(tmp_path) as (_, served):
        attempts = attempts_of(served, Talker(served))
        await served.sessions.open("agents.1-0-0-0")
        group = await attempts(0)
        assert group.sessions == ("agents.1-0-0-0.retry1", "agents.1-0-0-1")
        assert served.state("agents.1-0-0-0") == "NEW", "it is not ended by who did not begin it"


@pytest.mark.parametrize("grade", [5.0, -0.1, float("nan"), "1"])
async def test_a_grade_that_is_no_number_between_0_and_1_ends_production_with_its_prompt(
    tmp_path: Path, grade: Any
) -> None:
    async with serving(tmp_path) as (_, served):
        with pytest.raises(ProductionError, match=r"train prompt 0 of task \S+ has the grades .*: give numbers in"):
            await attempts_of(served, Talker(served, 1.0, grade))(0)
