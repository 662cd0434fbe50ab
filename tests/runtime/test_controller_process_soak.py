"""Controllers that are killed at random moments of syncs under load, in each mode, judged by their trace."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest
from controller_kit import poisoned_in, running

from sluicegate.runtime.controller.client import OperationFailed
from sluicegate.statemachines.sorts import Mode

KILLS = 12


@pytest.mark.soak
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("mode", list(Mode))
async def test_controllers_killed_at_random_moments_poison_nothing_and_the_next_sync_publishes(
    mode: Mode, tmp_path: Path
) -> None:
    chance = random.Random(mode.value)
    async with running(tmp_path, "r0", "r1", mode=mode) as run:
        workers = [await run.replica("r0"), await run.replica("r1")]
        await run.start_controller()
        run.publish(0)
        await run.status_until(lambda s: [r.state for r in s.replicas] == ["SYNCING", "SYNCING"])
        await run.client.sync(0)
        outcomes: list[str] = []
        for number in range(KILLS):
            version = 2 * number + 1
            run.publish(version)
            async with run.request(workers[0], 300), run.request(workers[1], 300):
                syncing = asyncio.create_task(run.client.sync(version))
                await asyncio.sleep(chance.uniform(0.0, 0.4))
                await run.kill(run.controllers[-1])
            await run.start_controller()
            [outcome] = await asyncio.gather(syncing, return_exceptions=True)
            if isinstance(outcome, OperationFailed):
                outcomes.append(outcome.reason)
            else:
                assert not isinstance(outcome, BaseException), outcome
                outcomes.append(outcome.result)
                assert run.published == version
            run.publish(version + 1)
            done = await run.client.sync(version + 1)
            assert (done.result, done.left_behind) == ("published", {})
        assert set(outcomes) <= {"published", "controller_ended"}, outcomes
        found = await run.client.status()
        assert [(r.incarnation, r.gate, r.version) for r in found.replicas] == [
            ("r0.1", "OPEN", 2 * KILLS), ("r1.1", "OPEN", 2 * KILLS),
        ]  # fmt: skip
    verdict = run.judged()
    assert verdict.valid, verdict.refusal
    assert poisoned_in(tmp_path / "trace.ndjson") == []
