"""Agents over HTTP while weights are swapped: all are answered, none is moved, each token is the engine's."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest
from agents_kit import Account, Agents, account, agents_run

from sluicegate.runtime.supervisor import Budget
from sluicegate.statemachines.sorts import Mode

MODES = [Mode.WAIT, Mode.ABORT, Mode.KEEP]


async def play(
    folder: Path, mode: Mode, *, agents: int, turns: int, updates: int, longest: int = 24, servers: int = 1
) -> tuple[Agents, Account]:
    """So many agents of so many turns while so many updates happen."""
    names = tuple(f"sessions-{n}" for n in range(servers))
    async with agents_run(folder, "rollout-0", "rollout-1", servers=names, mode=mode) as run:
        talk = Agents(run, names, agents, turns, longest)
        async with asyncio.timeout(1500):
            playing = asyncio.create_task(talk.play())
            for version in range(2, 2 + updates):
                await progress(talk, agents * turns * (version - 1) // (updates + 2), playing)
                run.publish(version)
                assert (await run.client.sync(version, within=120)).result == "published"
            await playing
    return talk, account(run, talk)


async def progress(talk: Agents, turns: int, playing: asyncio.Task[None]) -> None:
    """Return once so many turns were told."""
    while len(talk.told) < turns and not playing.done():  # noqa: ASYNC110 - agents tell nobody
        await asyncio.sleep(0.05)


def check(talk: Agents, found: Account, *, agents: int, turns: int, updates: int, mode: Mode) -> None:
    assert len(talk.retired) == agents, "an agent has no session that came to its end"
    assert len([t for t in talk.told if t.session in set(talk.retired)]) == agents * turns
    assert talk.broken == 0
    assert len(found.versions) > updates / 2
    print(
        f"{mode}: {len(talk.told)} turns told, {found.compared} tokens compared, endings {dict(found.endings)}, "
        f"refused {dict(talk.refusals)}, {len(found.versions)} versions, trace of {found.verdict.lines} lines valid"
    )


@pytest.mark.slow
@pytest.mark.timeout(400)
async def test_agents_are_answered_through_updates_and_what_is_exported_is_what_engines_made(tmp_path: Path) -> None:
    talk, found = await play(tmp_path, Mode.KEEP, agents=8, turns=5, updates=4, servers=2)
    check(talk, found, agents=8, turns=5, updates=4, mode=Mode.KEEP)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("mode", MODES)
async def test_fifty_agents_of_twenty_turns_through_twenty_updates(tmp_path: Path, mode: Mode) -> None:
    talk, found = await play(tmp_path, mode, agents=50, turns=20, updates=20, longest=48)
    check(talk, found, agents=50, turns=20, updates=20, mode=mode)


async def kills(folder: Path, count: int, *, agents: int, turns: int) -> tuple[Agents, Account]:
    """The same, while a session server is killed at random moments."""
    draw, names = random.Random(5), ("sessions-0", "sessions-1")
    budget = Budget(lives=count + 1, all_lives=count + 1)
    async with agents_run(folder, "rollout-0", "rollout-1", servers=names, mode=Mode.KEEP, budget=budget) as run:
        talk = Agents(run, names, agents, turns)
        async with asyncio.timeout(1500):
            playing = asyncio.create_task(talk.play())
            for number in range(count):
                await progress(talk, agents * turns * (number + 1) // (count + 2), playing)
                await asyncio.sleep(draw.uniform(0, 0.5))
                name = draw.choice(names)
                victim = run.supervisor.present(name)
                assert victim is not None
                victim.kill()
                await run.replica(name, int(victim.incarnation.rpartition(".")[2]) + 1)
                run.publish(number + 2)
                await run.client.sync(number + 2, within=120)
            await playing
    return talk, account(run, talk)


def check_kills(talk: Agents, found: Account, count: int, agents: int) -> None:
    assert len(talk.retired) == agents
    assert len(found.verdict.killed) == count
    assert set(found.endings) <= {"completed", "aborted", "not_sent", "discarded"}
    print(
        f"{count} kills: {len(talk.told)} turns told, {talk.broken} calls broke off, {found.compared} tokens compared, "
        f"endings {dict(found.endings)}, refused {dict(talk.refusals)}, trace of {found.verdict.lines} lines valid"
    )


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_session_server_that_is_killed_loses_doubles_and_moves_nothing(tmp_path: Path) -> None:
    talk, found = await kills(tmp_path, 3, agents=8, turns=6)
    check_kills(talk, found, 3, 8)


@pytest.mark.soak
@pytest.mark.timeout(1800)
async def test_twenty_kills_of_session_servers(tmp_path: Path) -> None:
    talk, found = await kills(tmp_path, 20, agents=20, turns=20)
    check_kills(talk, found, 20, 20)
