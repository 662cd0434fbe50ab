"""The controller over real gates on real gRPC: barriers, cohort, rollback, catching up, takeover."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from scripted_cohort import Cohort, join_all, scripted_cohort
from scripted_replica import ScriptedReplica

from sluicegate.runtime.controller.controller import SyncFailed
from sluicegate.runtime.controller.converge import Next, converge
from sluicegate.runtime.controller.member import MemberError
from sluicegate.runtime.controller.register import Register
from sluicegate.runtime.controller.sync import INSTANCE
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.replica import Replica
from sluicegate.statemachines.sorts import Mode


@pytest.fixture
async def cohort(tmp_path: Path) -> AsyncIterator[Cohort]:
    async with scripted_cohort(tmp_path) as made:
        yield made


async def test_two_syncs_in_a_row_open_every_gate_at_the_published_version(cohort: Cohort, tmp_path: Path) -> None:
    with Register(tmp_path / "r.db") as register:
        async with cohort.controller(register) as controller:
            await join_all(cohort, controller)
            for version in (register.next_version(), register.next_version()):
                cohort.publish(version)
                operation = await controller.sync(version)
                assert operation.outcome == "published"
                assert list(operation.marks) == ["staged", "sealed", "drained", "installed", "recorded", "end"]
                for replica in cohort.replicas.values():
                    assert (replica.gate.state, replica.gate.version) == ("OPEN", version)
                assert register.published == version == controller.published
            assert {m.replica for m in controller.serving()} == {"a", "b"}
    assert cohort.sync_events()[1:12] == [
        "Begin", "Sealed", "Sealed", "Drained", "Drained", "Installed", "Installed", "Recorded", "Closed", "Closed",
        "Begin",
    ]  # fmt: skip


async def test_no_gate_drains_before_every_gate_is_sealed(cohort: Cohort, tmp_path: Path) -> None:
    moments: list[str] = []
    for replica in cohort.replicas.values():
        replica.host.observe(lambda instance, number, event, *rest: moments.append(type(event).__name__))
    with Register(tmp_path / "r.db") as register:
        async with cohort.controller(register) as controller:
            await join_all(cohort, controller)
            cohort.publish(0)
            await controller.sync(0)
    assert moments.index("Drain") > max(i for i, m in enumerate(moments) if m == "Seal")
    assert moments.index("Install") > max(i for i, m in enumerate(moments) if m == "Quiesced")
    assert moments.index("Reopen") > max(i for i, m in enumerate(moments) if m == "Installed")


async def test_a_member_whose_install_fails_leaves_and_the_others_publish(cohort: Cohort, tmp_path: Path) -> None:
    cohort.replicas["b"].fails = True
    with Register(tmp_path / "r.db") as register:
        async with cohort.controller(register) as controller:
            await join_all(cohort, controller)
            cohort.publish(0)
            operation = await controller.sync(0)
            assert operation.outcome == "published"
            assert set(operation.dropped) == {"b"}
            assert cohort.replicas["b"].gate.state == "POISONED"
            assert [m.replica for m in controller.serving()] == ["a"]
            assert controller.state_of("b") == "SYNCING"
            async with asyncio.TaskGroup() as group:
                probe = group.create_task(controller.probe("b", "b.1"))
                await controller.changed.until(lambda: controller.state_of("b") == "DEAD", 5)
                await asyncio.wait_for(probe, 3)
    assert cohort.replaced == ["b.1"]


async def test_a_rank_that_claims_success_without_the_weights_is_poisoned_not_published(
    cohort: Cohort, tmp_path: Path
) -> None:
    with Register(tmp_path / "r.db") as register:
        async with cohort.controller(register) as controller:
            await join_all(cohort, controller)
            cohort.publish(0)
            for replica in cohort.replicas.values():
                replica.digest = "of something else"
            with pytest.raises(SyncFailed):
                await controller.sync(0)
            assert register.published is None
    assert {r.gate.state for r in cohort.replicas.values()} == {"POISONED"}


async def test_trouble_before_the_first_install_puts_all_back_on_the_old_one(cohort: Cohort, tmp_path: Path) -> None:
    with Register(tmp_path / "r.db") as register:
        async with cohort.controller(register, minimum=2, deadline=1.0) as controller:
            await join_all(cohort, controller)
            cohort.publish(0)
            await controller.sync(0)
            cohort.publish(1)
            cohort.replicas["b"].silent = True
            with pytest.raises(SyncFailed, match=r"rolled back.*b: "):
                await controller.sync(1)
            gate = cohort.replicas["a"].gate
            assert (gate.state, gate.version) == ("OPEN", 0)
            assert controller.syncs.live(INSTANCE).state == "IDLE"
            assert register.published == 0
            # The silent one is left to its own deadline, which reopens it on what it holds.
            await asyncio.sleep(3.5)
            assert (cohort.replicas["b"].gate.state, cohort.replicas["b"].gate.version) == ("REOPENED", 0)


async def test_a_joining_replica_serves_only_after_it_caught_up(cohort: Cohort, tmp_path: Path) -> None:
    with Register(tmp_path / "r.db") as register:
        async with cohort.controller(register) as controller:
            await join_all(cohort, controller)
            for version in (0, 1):
                cohort.publish(version)
                await controller.sync(version)
            digest = cohort.replicas["a"].digest
            async with ScriptedReplica("c", "c.1", digest) as late:
                assert late.gate.state == "SEALED"
                await controller.join("c", "c.1", late.target, "")
                assert (late.gate.state, late.gate.version) == ("OPEN", 1)
                assert late.rules()[1:] == [
                    "Seal:reseals", "Drain:drains_2", "Quiesced:quiets", "Install:installs", "Installed:proves_2",
                    "Reopen:reopens", "Close:closes",
                ]  # fmt: skip
                assert controller.state_of("c") == "SERVING"


async def test_a_higher_term_takes_the_gates_over_and_the_old_controller_publishes_nothing(
    cohort: Cohort, tmp_path: Path
) -> None:
    with Register(tmp_path / "r.db") as register:
        async with cohort.controller(register) as old:
            await join_all(cohort, old)
            cohort.publish(0)
            await old.sync(0)
            async with cohort.controller(register) as new:
                await join_all(cohort, new)
                assert {r.gate.term for r in cohort.replicas.values()} == {new.term}
                cohort.publish(1)
                with pytest.raises(SyncFailed) as failed:
                    await old.sync(1)
                assert (failed.value.reason, failed.value.retry) == ("overruled", False)
                assert register.published == 0
                await new.sync(1)
                assert register.published == 1
                assert not register.publish(2, old.term)


async def test_a_replica_that_stops_answering_is_dead_only_after_its_patience(cohort: Cohort, tmp_path: Path) -> None:
    with Register(tmp_path / "r.db") as register:
        async with cohort.controller(register) as controller:
            await join_all(cohort, controller)
            controller.tell("a.1", Replica.Synced(version=0))
            for _ in range(4):
                controller.tell("a.1", Replica.Missed())
            assert controller.state_of("a") == "SUSPECT"
            controller.tell("a.1", Replica.Answered(installing=True))
            for _ in range(9):
                controller.tell("a.1", Replica.Missed())
            assert controller.state_of("a") == "SERVING"
            controller.tell("a.1", Replica.Exited(why="killed"))
            assert controller.state_of("a") == "DEAD"
            await asyncio.sleep(0.1)
    assert (cohort.stopped, cohort.replaced) == (["a.1"], ["a.1"])


def test_converge_leads_every_reachable_gate_to_open_at_the_target() -> None:
    """From any state that a fault-free gate can be left in, following the advice ends in DONE."""
    digests = {"0": "good"}
    start = Gate.initial(ranks=frozenset({"0"}))
    for leave_at in range(12):
        gate, trail = start, []
        for turn in range(60):
            target = 0 if turn < leave_at else 1
            advice = converge(gate, target, 1 if turn < leave_at else 5, is_durable=True)
            trail.append(f"{gate.state}:{advice.next}")
            event: Any = None
            match advice.next:
                case Next.DONE if target == 1:
                    break
                case Next.DONE:
                    continue
                case Next.SEAL:
                    event = Gate.Seal(term=0, epoch=advice.epoch, mode=Mode.WAIT, window=1)
                case Next.DRAIN:
                    event = Gate.Drain(term=0, epoch=advice.epoch)
                case Next.WAIT if gate.state == "DRAINING":
                    event = Gate.Quiesced(epoch=gate.epoch, rank="0")
                case Next.WAIT:
                    event = Gate.Installed(epoch=gate.epoch, rank="0", digest="good")
                case Next.INSTALL:
                    event = Gate.Install(term=0, epoch=advice.epoch, version=target, digests=digests)
                case Next.REOPEN:
                    event = Gate.Reopen(term=0, epoch=advice.epoch)
                case Next.RESUME:
                    event = Gate.Resume(term=0, epoch=advice.epoch)
                case Next.CLOSE:
                    event = Gate.Close(term=0, epoch=advice.epoch)
            gate, outcome = Gate.step(gate, event)
            assert not outcome.refused, (trail, outcome)
        assert (gate.state, gate.version) == ("OPEN", 1), trail


async def test_a_first_sync_that_failed_while_draining_leaves_no_gate_stuck(cohort: Cohort, tmp_path: Path) -> None:
    with Register(tmp_path / "r.db") as register:
        async with cohort.controller(register, minimum=2, deadline=1.0) as controller:
            await join_all(cohort, controller)
            cohort.publish(0)
            for replica in cohort.replicas.values():
                replica.silent = True
            with pytest.raises(SyncFailed):
                await controller.sync(0)
            assert {r.gate.state for r in cohort.replicas.values()} == {"DRAINING"}
            for replica in cohort.replicas.values():
                replica.silent = False
            cohort.publish(1)
            await controller.sync(1)
            assert {(r.gate.state, r.gate.version) for r in cohort.replicas.values()} == {("OPEN", 1)}


async def test_who_stops_waiting_for_a_sync_does_not_disturb_it_or_the_next_one(cohort: Cohort, tmp_path: Path) -> None:
    with Register(tmp_path / "r.db") as register:
        async with cohort.controller(register) as controller:
            await join_all(cohort, controller)
            cohort.publish(0)
            await controller.sync(0)
            cohort.publish(1)
            waiting = asyncio.create_task(controller.sync(1))
            await controller.changed.until(lambda: not controller.is_idle, 3)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert await controller.changed.until(lambda: controller.published == 1, 3)
            cohort.publish(2)
            await controller.sync(2)
            assert [o.outcome for o in controller.operations] == ["published"] * 3
            assert {(r.gate.state, r.gate.version) for r in cohort.replicas.values()} == {("OPEN", 2)}
            assert len(controller.serving()) == 2


async def test_a_replica_that_ends_while_it_catches_up_is_that_members_error(cohort: Cohort, tmp_path: Path) -> None:
    with Register(tmp_path / "r.db") as register:
        async with cohort.controller(register, call=0.5) as controller:
            await join_all(cohort, controller)
            cohort.publish(0)
            await controller.sync(0)
            async with ScriptedReplica("c", "c.1") as late:
                controller.replicas.create("c.1", patience=5)
                await controller.claim("c", "c.1", late.target, "")
            with pytest.raises(MemberError):
                await controller.catch_up("c")


async def test_a_device_goes_back_whatever_becomes_of_the_training(cohort: Cohort, tmp_path: Path) -> None:
    async def train() -> None:
        assert {r.gate.state for r in cohort.replicas.values()} == {"DRAINING"}
        assert all(r.gate.lent for r in cohort.replicas.values())
        raise RuntimeError("out of memory")

    with Register(tmp_path / "r.db") as register:
        async with cohort.controller(register) as controller:
            await join_all(cohort, controller)
            cohort.publish(0)
            await controller.sync(0)
            with pytest.raises(RuntimeError, match="out of memory"):
                await controller.sync(0, train=train)
            assert {(r.gate.state, r.gate.version) for r in cohort.replicas.values()} == {("OPEN", 0)}


async def test_a_replica_silent_for_longer_than_its_gate_may_be_closed_is_dead_although_it_installs(
    cohort: Cohort, tmp_path: Path
) -> None:
    with Register(tmp_path / "r.db") as register:
        async with cohort.controller(register, deadline=0.6, takeover=0.2, call=0.3) as controller:
            await join_all(cohort, controller)
            controller.tell("a.1", Replica.Synced(version=0))
            controller.tell("a.1", Replica.Answered(installing=True))
            await cohort.replicas["a"].server.__aexit__(None, None, None)
            await asyncio.wait_for(controller.probe("a", "a.1"), 60)
            assert controller.state_of("a") == "DEAD"
