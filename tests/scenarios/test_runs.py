"""Runs: what was counted before a resume is counted on, and what counts are sessions that came to their end."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

from checkpoints_kit import Life
from production_kit import Scripted, Talker
from session_kit import host, until

from sluicegate.runtime.checkpoints import RunState
from sluicegate.runtime.checkpoints.folder import STATE
from sluicegate.runtime.checkpoints.state import read_state, write_state
from sluicegate.runtime.production.agent import Agent, AttemptFailed, Conversation
from sluicegate.runtime.production.attempts import Attempts
from sluicegate.runtime.production.groups import Groups
from sluicegate.runtime.production.sampler import Sampler
from sluicegate.runtime.tasks import Recall

PROMPTS, PER_STEP = 6, 3


async def test_r67_groups_are_counted_through_a_resume_and_an_epoch_that_was_saved_at_its_end_is_over(
    tmp_path: Path,
) -> None:
    """Saved twice: in the middle of the first epoch, and exactly at its end."""
    sampler = Sampler(0, PROMPTS)
    seen: list[tuple[int, int]] = []
    for life in range(3):
        with ExitStack() as stack:
            groups = Groups(epoch_of=sampler.epoch, per_step=PER_STEP)
            held = Life(tmp_path, stack, groups=groups, sampler=Sampler(0, PROMPTS))
            run = held.run
            if life == 0:
                await run.cold_start(held.trainer, held.cohort())
            else:
                checkpoint, _ = await run.cold_resume(held.start)
                assert (checkpoint.state.next_group, groups.next_group) == (PER_STEP * life, PER_STEP * life)
                assert checkpoint.state.data_epoch == (1 if life == 2 else 0)
            for _ in range(PER_STEP):
                number = await groups.begin(0)
                place = sampler.place(number)
                seen.append((place.epoch, place.index))
                groups.completed(number)
                groups.claim(number)
            groups.trained()
            held.trainer.step = life + 1
            await run.save(held.trainer, life + 1)
    assert [epoch for epoch, _ in seen] == [0] * PROMPTS + [1] * PER_STEP
    assert sorted(index for epoch, index in seen if epoch == 0) == list(range(PROMPTS))


async def test_r67_a_state_of_before_groups_were_counted_still_loads(tmp_path: Path) -> None:
    path = tmp_path / STATE
    write_state(path, RunState(run="r", step=5, published=5, newest=5, next_group=15, data_epoch=2))
    body = json.loads(path.read_bytes())
    del body["next_group"], body["in_flight"], body["data_epoch"], body["sampler"]
    path.write_text(json.dumps(body))
    sampler = Sampler(0, PROMPTS)
    groups = Groups(epoch_of=sampler.epoch, per_step=PER_STEP)
    state = read_state(path)
    groups.restore(state)
    sampler.restore(state.sampler)
    assert (groups.next_group, groups.data_epoch) == (15, 2)
    assert await groups.begin(0) == 15


async def test_r68_what_counts_are_sessions_that_came_to_their_end(tmp_path: Path) -> None:
    """One member fails after a turn, one comes back without a session id, one before it did anything."""

    async def fails_late(agent: Agent, session: str) -> Conversation:
        await talker.served.turn(session)
        raise AttemptFailed("its tool is broken")

    async def has_no_session(agent: Agent, session: str) -> Conversation:
        found = await talker.converse(session, Recall().prompt(0), 0)
        return Conversation("", found.rewards)

    async def fails_early(agent: Agent, session: str) -> Conversation:
        raise AttemptFailed("it never began")

    async with host(tmp_path) as on, on.server() as served:
        on.cohort.lives[0].go.set()
        on.cohort.lives[0].settle.set()
        talker = Talker(served)
        agent = Scripted(talker, {"0": fails_late, "0.retry1": fails_early, "1": has_no_session, "2": fails_early})
        attempts = Attempts(served.sessions, agent, Recall(), Sampler(0, None), size=4, seed=0, life="agents.1")
        group = await attempts(0)
        assert attempts.counts == {"valid": 4, "AttemptFailed": 4}, "eight attempts, of which four are valid"
        assert [s.rpartition("-")[2] for s in group.sessions] == ["0.retry2", "1.retry1", "2.retry1", "3"]
        assert [s.session for s in group.samples] == list(group.sessions), "nothing of those that failed is trained on"
        assert group.reward == 0.75
        await until(lambda: not served.sessions.facts)
