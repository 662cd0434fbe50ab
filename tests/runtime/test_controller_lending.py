"""Devices that are lent over the wire: what stands while they are, what comes back, and what ends a lend by itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from controller_in_process import Ruled, ruled
from idle_trainer import idle_trainer

from sluicegate.protocol.client import Rejected
from sluicegate.protocol.host import MachineHost
from sluicegate.runtime.controller.client import OperationFailed
from sluicegate.runtime.controller.process import ruling
from sluicegate.runtime.controller.trainer import INSTANCE
from sluicegate.statemachines.sorts import Mode
from sluicegate.statemachines.trainer import Trainer


class Lent:
    """A cohort of two at version 0, and the trainer that borrows its devices."""

    def __init__(self, cohort: Ruled, trainer: MachineHost) -> None:
        self.cohort, self.client, self.trainer = cohort, cohort.client, trainer

    @property
    def gates(self) -> set[tuple[str, int | None, bool]]:
        """State, version, and whether the device is lent, of all gates."""
        gates = [replica.gate for replica in self.cohort.replicas.values()]
        return {(gate.state, gate.version, gate.lent is not None) for gate in gates}

    async def until(self, holds: Any) -> None:
        async with asyncio.timeout(20):
            while not holds():  # noqa: ASYNC110 - gates tell of their steps elsewhere
                await asyncio.sleep(0.02)

    def train(self, term: int, batch: str) -> bool:
        """Whether a trainer of this term begins to train."""
        return not self.trainer.step(INSTANCE, Trainer.Train(term=term, batch=batch)).refused

    def trained(self) -> None:
        self.trainer.step(INSTANCE, Trainer.Trained(rank="0", job=self.trainer.live(INSTANCE).job))


@asynccontextmanager
async def lending(folder: Path, **settings: Any) -> AsyncIterator[Lent]:
    async with ruled(folder, "a", "b", **settings) as cohort, idle_trainer(cohort.roster, "0") as trainer:
        cohort.publish(0)
        await cohort.client.sync(0)
        yield Lent(cohort, trainer)


async def reason(asking: Any) -> tuple[str, bool, bool]:
    """Why an operation failed: its reason, whether it had begun, whether another may be taken."""
    with pytest.raises(OperationFailed) as failed:
        await asking
    return failed.value.reason, failed.value.begun, failed.value.retry


async def test_devices_are_lent_and_come_back_with_new_weights_and_nothing_else_runs_meanwhile(tmp_path: Path) -> None:
    async with lending(tmp_path) as run:
        client, cohort = run.client, run.cohort
        answer = await client.lend(1, operation_id="lend-1")
        assert (answer.result, answer.operation_id, answer.term, answer.version) == ("lent", "lend-1", 1, 0)
        assert run.gates == {("DRAINING", 0, True)}
        assert (await client.lend(1, operation_id="lend-1")).replayed
        for asking in (client.sync(0), client.pause(), client.lend(2)):
            assert await reason(asking) == ("lent", False, True)
        # What cannot be installed is not taken, and the lend stands.
        assert await reason(client.returned("lend-1", 1)) == ("no_manifest", False, False)
        assert await reason(client.returned("lend-1", 2)) == ("other_version", False, False)
        assert await reason(client.returned("lend-2", 1)) == ("not_lent", False, False)
        cohort.publish(1)
        cohort.discard(1)
        assert await reason(client.returned("lend-1", 1)) == ("no_bytes", False, False)
        assert run.gates == {("DRAINING", 0, True)}
        cohort.publish(1)
        back = await client.returned("lend-1", 1, operation_id="back-1")
        assert (back.result, back.version, back.left_behind) == ("published", 1, {})
        assert run.gates == {("OPEN", 1, False)}
        again = await client.returned("lend-1", 1, operation_id="back-1")
        assert (again.result, again.replayed) == ("published", True)
        assert await reason(client.lend(1, operation_id="lend-1")) == ("lend_ended", True, True)
        assert await reason(client.returned("lend-1", 1)) == ("not_lent", False, False)


async def test_devices_that_come_back_without_new_weights_have_the_old_ones_installed_again(tmp_path: Path) -> None:
    async with lending(tmp_path) as run:
        client = run.client
        for number, version in enumerate((0, 5)):
            lend = (await client.lend(version)).operation_id
            assert run.gates == {("DRAINING", 0, True)}
            assert not any(replica.gate.resident for replica in run.cohort.replicas.values())
            back = await client.returned(lend, 0)
            assert (back.result, back.version, back.left_behind) == ("published", 0, {})
            assert run.gates == {("OPEN", 0, False)}
            assert all(replica.gate.resident for replica in run.cohort.replicas.values())
            installs = [rules.count("Install:installs") for rules in (r.rules() for r in run.cohort.replicas.values())]
            assert installs == [number + 2] * 2
        run.cohort.publish(5)
        assert (await client.sync(5)).version == 5


async def test_what_cannot_be_lent_is_refused_and_every_gate_stays_open(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        cohort = await stack.enter_async_context(ruled(tmp_path, "a", deadline_ms=3000))
        client = cohort.client
        assert (await reason(client.lend(0)))[0] == "nothing_published"
        cohort.publish(3)
        await client.sync(3)
        assert (await reason(client.lend(4)))[0] == "no_trainer"
        await stack.enter_async_context(idle_trainer(cohort.roster, "0"))
        assert (await reason(client.lend(2)))[0] == "not_newer"
        with pytest.raises(Rejected, match="DRAIN_WAIT, DRAIN_ABORT"):
            await client.lend(4, Mode.KEEP)
        await client.pause()
        assert await reason(client.lend(4)) == ("paused", False, True)
        await client.resume()
        assert cohort.replicas["a"].gate.state == "OPEN"
        cohort.replicas["a"].silent = True
        assert await reason(client.lend(4)) == ("rolled_back", True, True)
        assert cohort.replicas["a"].gate.lent is None


async def test_devices_go_back_only_when_no_trainer_may_use_them_and_one_that_failed_is_ended(tmp_path: Path) -> None:
    async with lending(tmp_path, deadline_ms=1500, takeover_ms=5000) as run:
        client, roster = run.client, run.cohort.roster
        lend = await client.lend(1)
        run.trainer.step(INSTANCE, Trainer.Claim(term=lend.term))
        assert run.train(lend.term, "b")
        run.cohort.publish(1)
        assert await reason(client.returned(lend.operation_id, 1)) == ("in_use", False, True)
        assert run.gates == {("DRAINING", 0, True)}
        # However long it trains, the gates' windows are renewed.
        await asyncio.sleep(6.6)
        assert run.gates == {("DRAINING", 0, True)}
        run.trainer.step(INSTANCE, Trainer.Failed(rank="0", why="a test"))
        giving = asyncio.create_task(client.returned(lend.operation_id, 1))
        await run.until(lambda: "trainer.1" in roster.ends_ordered())
        assert run.gates == {("DRAINING", 0, True)}
        # Its next life starts: nobody can have told it to train.
        roster.begin("trainer", "trainer")
        roster.end("trainer.1", "signal 9")
        assert (await giving).version == 1
        assert run.gates == {("OPEN", 1, False)}


async def test_a_lend_that_nobody_gives_back_ends_once_the_trainer_that_stands_idle_has_ended(tmp_path: Path) -> None:
    async with lending(tmp_path, lend_ms=2000) as run:
        client, roster = run.client, run.cohort.roster
        lend = await client.lend(1)
        run.trainer.step(INSTANCE, Trainer.Claim(term=lend.term))
        assert run.train(lend.term, "b")
        await asyncio.sleep(4)
        assert "trainer.1" not in roster.ends_ordered()
        run.trained()
        await run.until(lambda: "trainer.1" in roster.ends_ordered())
        assert "stood idle" in roster.ends_ordered()["trainer.1"]
        assert run.gates == {("DRAINING", 0, True)}
        roster.end("trainer.1", "signal 9")
        await run.until(lambda: run.gates == {("OPEN", 0, False)})
        assert await reason(client.returned(lend.operation_id, 0)) == ("not_lent", False, False)


async def test_a_lend_ends_with_its_controller_once_the_trainer_obeys_the_next_one(tmp_path: Path) -> None:
    async with lending(tmp_path, deadline_ms=4000, takeover_ms=2000) as run:
        client, cohort = run.client, run.cohort
        lend = await client.lend(1, operation_id="lend")
        run.trainer.step(INSTANCE, Trainer.Claim(term=lend.term))
        assert run.train(lend.term, "b")
        async with ruling(replace(cohort.config, incarnation="controller.2")) as (controller, facts):
            cohort.control = facts["control"]
            await cohort.controller.overruled.wait()
            await run.until(lambda: run.trainer.live(INSTANCE).term == 2)
            await asyncio.sleep(1.5)
            # It trains on them: nobody takes them back, least of all who no longer rules.
            assert run.gates == {("DRAINING", 0, True)}
            assert not any("Returned" in rule for replica in cohort.replicas.values() for rule in replica.rules())
            run.trained()
            await controller.changed.until(lambda: len(controller.serving()) == 2, 30)
            assert run.gates == {("OPEN", 0, False)}
            assert not run.train(lend.term, "c")
            assert await reason(client.lend(1, operation_id="lend")) == ("lend_ended", True, True)
            assert await reason(client.returned("lend", 0)) == ("not_lent", False, False)
            again = await client.lend(1)
            assert (again.term, run.gates) == (2, {("DRAINING", 0, True)})
            cohort.publish(1)
            assert (await client.returned(again.operation_id, 1)).version == 1
