"""A plain client of OpenAI's API as a run's agent: real HTTP, real replicas, and samples from what was recorded."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

import openai
import pytest
import pytest_asyncio
from serving_kit import Chat, chatting, taught

from sluicegate.protocol.sqlite import SqliteStore
from sluicegate.runtime.chat.form import Message, Role, ToolCall
from sluicegate.runtime.chat.template import Template
from sluicegate.runtime.production import http_agent
from sluicegate.runtime.production.agent import AttemptFailed
from sluicegate.runtime.production.finished import samples_of
from sluicegate.runtime.production.http_agent import HttpAgent
from sluicegate.runtime.production.turns import Turns
from sluicegate.runtime.serving.config import SessionsConfig
from sluicegate.runtime.serving.exact import Exact
from sluicegate.runtime.serving.process import answering
from sluicegate.runtime.sessions import Router, Sessions, SessionSettings, Workers
from sluicegate.runtime.sessions.following import FollowedCohort
from sluicegate.runtime.tasks import LookUp, Recall
from sluicegate.runtime.workers.process import open_log

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]

TASK = LookUp(keys=3, turns=2)
TAUGHT = 2
"""The version that was taught to look up."""


def conversation() -> list[Message]:
    """The first training prompt, as it should be played."""
    episode = TASK.prompt(0)
    said: list[Message] = []
    text: str | None = episode.first()
    while text is not None:
        call = ToolCall("", "look_up", f'{{"key": "{text.rstrip("?")}"}}')
        value = episode.wanted
        said += [
            Message(Role.USER, text), Message(Role.ASSISTANT, "", (call,)), Message(Role.TOOL, value),
            Message(Role.ASSISTANT, value),
        ]  # fmt: skip
        text = episode.observe(value)
    return said


@dataclass
class Run:
    """Sessions of this process behind HTTP, and the agent that calls them there."""

    url: str
    sessions: Sessions
    agent: HttpAgent

    async def kept(self, session: str):
        """The trace of a session that is over."""
        await self.sessions.finish(session)
        return await self.sessions.take(session, "trainer")


@contextlib.asynccontextmanager
async def running(chat: Chat) -> AsyncIterator[Run]:
    folder = chat.folder
    config = SessionsConfig(
        name="agents", run="chat", register=folder / "register.db", store=folder / "agents.db",
        model=chat.weights.model, sessions=SessionSettings(patience=20, call=60, persists=True),
    )  # fmt: skip
    template = await asyncio.to_thread(Template.load, chat.weights.model)
    life = chat.roster.begin("agents", "agents")
    with contextlib.closing(SqliteStore(config.store)) as store, contextlib.ExitStack() as stack:
        log = open_log(folder / "trace", "agents", life, run="chat", process="agents")
        assert log is not None
        stack.enter_context(log)
        sessions = Sessions(store, server="agents", incarnation=life, settings=config.sessions, log=log)
        cohort = FollowedCohort(chat.roster, sessions.lose)
        async with sessions, cohort, Router(sessions, cohort, Workers()) as router:
            tier = Exact(router, template, context=4096)
            async with (
                answering(config, life, chat.roster, store, cohort, router, tier) as url,
                HttpAgent(url, temperature=0.0) as agent,
            ):
                yield Run(url, sessions, agent)
    chat.roster.end(life, "stopped")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def run(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Run]:
    async with chatting(tmp_path_factory.mktemp("http"), "rollout-0", version=None) as chat:
        said = conversation()
        chat.weights.models[TAUGHT] = await asyncio.to_thread(taught, chat.weights, said, TASK.prompt(0).tools)
        await chat.update(TAUGHT)
        async with running(chat) as made:
            yield made
    verdict = chat.judged()
    assert verdict.valid, verdict.refusal


async def test_an_episode_with_tools_is_played_and_every_generation_is_graded_as_its_turn_is(run: Run) -> None:
    await run.sessions.open("tools", anew=True)
    episode = TASK.prompt(0)
    told = await run.agent.converse("tools", episode, seed=1)
    assert (episode.total(), episode.calls) == (1.0, 2)
    # A call and a reply in each of two turns.
    assert told.rewards == [1.0] * 4
    (sample,) = samples_of("tools", "prompt-0", await run.kept("tools"), told.rewards)
    assert set(sample.turns) == {0, 1, 2, 3, 4}
    assert {v for v, turn in zip(sample.versions, sample.turns, strict=True) if turn} == {TAUGHT}


async def test_an_episode_without_tools_is_a_plain_conversation_of_bounded_replies(run: Run) -> None:
    await run.sessions.open("plain", anew=True)
    told = await run.agent.converse("plain", Recall(turns=4).prompt(0), seed=1)
    assert len(told.rewards) == 4
    (sample,) = samples_of("plain", "prompt-0", await run.kept("plain"), told.rewards)
    assert all(0 < sample.turns.count(turn) <= 2 for turn in (1, 2, 3, 4))


async def test_equal_seeds_make_equal_conversations(run: Run) -> None:
    made = []
    async with HttpAgent(run.url, temperature=1.0) as agent:
        for session, seed in (("seed-a", 7), ("seed-b", 7), ("seed-c", 8)):
            await run.sessions.open(session, anew=True)
            told = await agent.converse(session, Recall().prompt(0), seed)
            (sample,) = samples_of(session, "g", await run.kept(session), told.rewards)
            made.append(sample.token_ids)
    assert made[0] == made[1] != made[2]


async def test_a_turn_whose_calls_do_not_end_is_replied_with_what_there_is(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_agent, "CALLS", 1)
    await run.sessions.open("calls", anew=True)
    episode = LookUp(keys=3, turns=1).prompt(0)
    told = await run.agent.converse("calls", episode, seed=1)
    assert (episode.calls, episode.total(), told.rewards) == (1, 0.0, [0.0])


async def test_an_agent_waits_at_its_turn_boundaries_while_turns_are_paused(run: Run) -> None:
    turns = Turns()
    turns.pause()
    await run.sessions.open("paused", anew=True)
    async with HttpAgent(run.url, turns=turns) as agent:
        holding = asyncio.create_task(agent.converse("paused", Recall().prompt(0), seed=1))
        await turns.quiesce(5)
        await asyncio.sleep(0.3)
        assert not holding.done()
        assert not list(run.sessions.kept.tree("paused").segments)
        turns.resume()
        assert len((await holding).rewards) == 4
    turns.close()


async def test_what_a_session_is_the_reason_of_may_be_tried_in_another_and_a_wrong_call_is_an_error(run: Run) -> None:
    await run.sessions.open("over", anew=True)
    await run.agent.converse("over", Recall().prompt(0), seed=1)
    await run.sessions.finish("over")
    with pytest.raises(AttemptFailed, match="over"):
        await run.agent.converse("over", Recall().prompt(0), seed=1)
    await run.sessions.open("wrong", anew=True)
    with pytest.raises(openai.BadRequestError):
        async with HttpAgent(run.url, temperature=-1.0) as agent:
            await agent.converse("wrong", Recall().prompt(0), seed=1)
    async with HttpAgent("http://127.0.0.1:9", within=2.0) as agent:
        with pytest.raises(AttemptFailed, match="nobody"):
            await agent.converse("nobody", Recall().prompt(0), seed=1)
