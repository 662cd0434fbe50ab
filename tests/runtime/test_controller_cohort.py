"""What a controller does beside plain syncs: pausing, raising, escalating, returning devices, being overruled."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from controller_in_process import ruled
from scripted_cohort import Cohort, join_all, scripted_cohort
from scripted_replica import ScriptedReplica

from sluicegate.protocol import sqlite
from sluicegate.protocol.client import dial
from sluicegate.protocol.generated.replica_service import ReplicaClient
from sluicegate.protocol.sqlite import SqliteStore
from sluicegate.runtime.controller.client import OperationFailed
from sluicegate.runtime.controller.controller import SyncFailed
from sluicegate.runtime.controller.converge import Next, converge, reaches
from sluicegate.runtime.controller.ledger import Ledger
from sluicegate.runtime.controller.member import MemberError
from sluicegate.runtime.controller.register import Register
from sluicegate.runtime.controller.roster import Roster
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.replica import Replica
from sluicegate.statemachines.sorts import Mode


@pytest.fixture
async def cohort(tmp_path: Path) -> AsyncIterator[Cohort]:
    async with scripted_cohort(tmp_path) as made:
        yield made


@pytest.fixture
def register(tmp_path: Path) -> Register:
    return Register(tmp_path / "r.db")


def gates(cohort: Cohort) -> list[tuple[str, int | None]]:
    return [(r.gate.state, r.gate.version) for r in cohort.replicas.values()]


async def test_a_pause_keeps_gates_drained_beyond_their_window_and_no_sync_is_taken(
    cohort: Cohort, register: Register
) -> None:
    async with cohort.controller(register, deadline=1.0, takeover=0.8) as controller:
        await join_all(cohort, controller)
        cohort.publish(0)
        await controller.sync(0)
        operation = await controller.pause()
        assert controller.is_paused
        assert not controller.is_idle
        await asyncio.sleep(2.5)
        assert gates(cohort) == [("DRAINING", 0)] * 2
        assert [r.rules().count("Renew:renews") > 1 for r in cohort.replicas.values()] == [True, True]
        cohort.publish(1)
        with pytest.raises(SyncFailed, match="paused") as refused:
            await controller.sync(1)
        assert (refused.value.reason, refused.value.retry) == ("paused", True)
        with pytest.raises(SyncFailed, match="already") as again:
            await controller.pause()
        assert (again.value.reason, again.value.retry) == ("paused", True)
        await controller.resume()
        assert gates(cohort) == [("OPEN", 0)] * 2
        assert {m.replica for m in controller.serving()} == {"a", "b"}
        assert operation.left_behind() == {}
        with pytest.raises(SyncFailed, match="not paused"):
            await controller.resume()
        await controller.sync(1)
        assert gates(cohort) == [("OPEN", 1)] * 2
    # Nothing was loaded again for the pause: the weights stayed where they were.
    assert [r.rules().count("Install:installs") for r in cohort.replicas.values()] == [2, 2]


async def test_a_pause_without_enough_members_leaves_everything_open(cohort: Cohort, register: Register) -> None:
    async with cohort.controller(register, deadline=1.0, minimum=2) as controller:
        with pytest.raises(SyncFailed, match="nothing is published"):
            await controller.pause()
        await join_all(cohort, controller)
        cohort.publish(0)
        await controller.sync(0)
        cohort.replicas["b"].silent = True
        with pytest.raises(SyncFailed, match="b: "):
            await controller.pause()
        assert controller.paused is None
        assert gates(cohort)[0] == ("OPEN", 0)
        cohort.replicas["b"].silent = False


async def test_a_gate_above_what_is_published_raises_the_target_for_all_if_its_bytes_are_durable(
    cohort: Cohort, register: Register
) -> None:
    async with cohort.controller(register) as controller:
        await join_all(cohort, controller)
        cohort.publish(0)
        await controller.sync(0)
        cohort.publish(1)
        async with ScriptedReplica("c", "c.1", cohort.replicas["a"].digest) as late:
            # As an operation left it whose controller ended: verified, and not reopened.
            late.host.step("c", Gate.Seal(term=0, epoch=register.next_epoch(), mode=Mode.WAIT, window=60_000))
            late.host.step("c", Gate.Drain(term=0, epoch=late.gate.epoch))
            await asyncio.sleep(0.05)
            late.host.step("c", Gate.Install(term=0, epoch=late.gate.epoch, version=1, digests={"0": late.digest}))
            await controller.join("c", "c.1", late.target, "")
            assert (late.gate.state, late.gate.version) == ("OPEN", 1)
            assert register.published == 1 == controller.published
            assert controller.is_behind("a")
            assert [m.replica for m in controller.serving()] == ["c"]
            for replica in ("a", "b"):
                await controller.catch_up(replica)
            assert gates(cohort) == [("OPEN", 1)] * 2
            assert {m.replica for m in controller.serving()} == {"a", "b", "c"}


async def test_a_gate_above_what_is_published_is_poisoned_if_its_bytes_are_nowhere(
    cohort: Cohort, register: Register
) -> None:
    async with cohort.controller(register) as controller:
        await join_all(cohort, controller)
        cohort.publish(0)
        await controller.sync(0)
        async with ScriptedReplica("c", "c.1", "of weights that are lost") as late:
            late.host.step("c", Gate.Seal(term=0, epoch=register.next_epoch(), mode=Mode.WAIT, window=60_000))
            late.host.step("c", Gate.Drain(term=0, epoch=late.gate.epoch))
            await asyncio.sleep(0.05)
            late.host.step("c", Gate.Install(term=0, epoch=late.gate.epoch, version=1, digests={"0": late.digest}))
            with pytest.raises(MemberError, match="poisoned"):
                await controller.join("c", "c.1", late.target, "")
            assert late.gate.state == "POISONED"
        assert register.published == 0


async def test_a_replica_that_joins_once_the_published_bytes_are_gone_waits_for_the_next_version(
    tmp_path: Path,
) -> None:
    """A1: an install that finds no bytes poisons, so none is asked for."""
    async with ruled(tmp_path, "a") as cohort:
        cohort.publish(0)
        assert (await cohort.client.sync(0)).result == "published"
        cohort.discard(0)
        with Roster(tmp_path / "register.db") as roster:
            life = roster.begin("b", "rollout")
            async with ScriptedReplica("b", life) as late, asyncio.timeout(30):
                roster.enlist(life, late.target, "", 0)
                behind = ""
                while "bytes of version 0" not in behind:
                    await asyncio.sleep(0.05)
                    found = await cohort.client.status()
                    behind = next((r.why_behind for r in found.replicas if r.replica == "b"), "")
                assert "Install:starts" not in late.rules()
                cohort.replicas["b"] = late
                cohort.publish(1)
                assert (await cohort.client.sync(1)).left_behind == {}
                assert [(r.gate.state, r.gate.version) for r in cohort.replicas.values()] == [("OPEN", 1)] * 2


async def test_a_replica_that_leaves_is_retired_once_the_register_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "BUSY_S", 0.02)
    async with ruled(tmp_path, "a", "b") as cohort, dial(cohort.control) as channel, asyncio.timeout(30):
        lives = [cohort.replicas[name].incarnation for name in "ab"]
        controller = cohort.controller
        assert await controller.changed.until(lambda: set(map(controller.state_of, "ab")) == {"SYNCING"}, 20)
        with Roster(tmp_path / "register.db") as roster:
            other = sqlite3.connect(tmp_path / "register.db", isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            for life in lives:
                client = ReplicaClient(channel, life, incarnation=controller.incarnation)
                assert (await client.leave()).kind == "go"
            # One dies before its retirement is written: it is not replaced either.
            controller.tell(lives[1], Replica.Exited(why="its process ended"))
            await asyncio.sleep(0.5)
            assert [roster.is_retired(life) for life in lives] == [False, False]
            other.execute("ROLLBACK")
            other.close()
            is_written = False
            while not is_written:
                await asyncio.sleep(0.05)
                is_written = all(map(roster.is_retired, lives)) and lives[1] in roster.ends_ordered()
        assert [controller.replicas.live(life).state for life in lives] == ["LEAVING", "DEAD"]


async def test_a_drain_that_did_not_end_in_its_time_is_escalated_the_next_time(
    cohort: Cohort, register: Register
) -> None:
    async with cohort.controller(register, deadline=1.0, takeover=0.5) as controller:
        await join_all(cohort, controller)
        cohort.publish(0)
        await controller.sync(0)
        slow = cohort.replicas["b"]
        slow.host.step("b", Gate.Admit(lease="l", pin=None))
        cohort.publish(1)
        assert set((await controller.sync(1)).left_behind()) == {"b"}
        assert "Escalate:escalates" not in slow.rules()
        await controller.members["b"].until(lambda g, n: g.state == "REOPENED", 5)
        await controller.members["b"].close_gate(slow.gate.epoch, 1)
        cohort.publish(2)
        syncing = asyncio.create_task(controller.sync(2))
        await controller.members["b"].until(lambda g, n: g.mode is Mode.ABORT, 5)
        slow.host.step("b", Gate.Settle(lease="l"))
        assert (await syncing).left_behind() == {}
        assert "Escalate:escalates" in slow.rules()
        cohort.publish(3)
        await controller.sync(3)
        assert slow.rules().count("Escalate:escalates") == 1


async def test_the_end_of_a_process_ends_every_wait_for_it_at_once(cohort: Cohort, register: Register) -> None:
    async with cohort.controller(register, deadline=30.0) as controller:
        await join_all(cohort, controller)
        cohort.publish(0)
        await controller.sync(0)
        cohort.replicas["b"].silent = True
        cohort.publish(1)
        began = time.monotonic()
        syncing = asyncio.create_task(controller.sync(1))
        await controller.members["b"].until(lambda g, n: g.state == "DRAINING", 10)
        controller.tell("b.1", Replica.Exited(why="killed by the test"))
        operation = await syncing
        assert time.monotonic() - began < 15
        assert "killed by the test" in operation.dropped["b"]
        assert gates(cohort)[0] == ("OPEN", 1)
    assert (cohort.stopped, cohort.replaced) == (["b.1"], ["b.1"])


async def test_a_catch_up_that_does_not_get_on_holds_no_operation_up(cohort: Cohort, register: Register) -> None:
    async with cohort.controller(register, deadline=30.0, call=0.5) as controller:
        await join_all(cohort, controller)
        cohort.publish(0)
        await controller.sync(0)
        async with ScriptedReplica("c", "c.1", cohort.replicas["a"].digest) as late:
            late.silent = True
            joining = asyncio.create_task(controller.join("c", "c.1", late.target, ""))
            assert await controller.changed.until(lambda: "c" in controller.members, 10)
            await controller.members["c"].until(lambda g, n: g.state == "DRAINING", 10)
            cohort.publish(1)
            began = time.monotonic()
            operation = await controller.sync(1)
            assert time.monotonic() - began < 15
            assert operation.members == ("a", "b")
            with pytest.raises(MemberError, match="operation began"):
                await joining
            # It joins at what is published by then, by the same function.
            late.silent, late.digest = False, cohort.replicas["a"].digest
            late.host.step("c", Gate.Quiesced(epoch=late.gate.epoch, rank="0"))
            await controller.catch_up("c")
            assert (late.gate.state, late.gate.version) == ("OPEN", 1)


async def test_a_watch_that_breaks_off_drops_nobody(cohort: Cohort, register: Register) -> None:
    async with cohort.controller(register, deadline=20.0) as controller:
        await join_all(cohort, controller)
        cohort.publish(0)
        await controller.sync(0)
        replica = cohort.replicas["b"]
        replica.silent = True
        cohort.publish(1)
        syncing = asyncio.create_task(controller.sync(1))
        await controller.members["b"].until(lambda g, n: g.state == "DRAINING", 10)
        # Every watch of this gate ends, as when its connection was reset.
        for watcher in list(replica.host._slot("b").watchers):
            watcher.end()
        await asyncio.sleep(0.3)
        replica.host.step("b", Gate.Quiesced(epoch=replica.gate.epoch, rank="0"))
        assert (await syncing).dropped == {}
        assert gates(cohort) == [("OPEN", 1)] * 2


async def test_an_overruled_controller_stops_at_once_and_changes_nothing(cohort: Cohort, register: Register) -> None:
    async with cohort.controller(register) as old:
        await join_all(cohort, old)
        cohort.publish(0)
        await old.sync(0)
        await old.pause()
        async with cohort.controller(register) as new:
            await join_all(cohort, new)
            assert gates(cohort) == [("OPEN", 0)] * 2
            before = [r.host.snapshot(r.name) for r in cohort.replicas.values()]
            # It hears of it with its next renewal.
            async with asyncio.timeout(10):
                await old.overruled.wait()
            for ask in (old.pause, old.resume, lambda: old.sync(1)):
                with pytest.raises(SyncFailed, match="higher term") as refused:
                    await ask()
                assert refused.value.reason == "overruled"
            assert [r.host.snapshot(r.name) for r in cohort.replicas.values()] == before
            assert new.published == register.published == 0
            assert old.syncs.live("sync").state == "FAILED"


@pytest.mark.parametrize("trains", [True, False])
async def test_a_lent_device_is_renewed_while_its_trainer_may_use_it_and_taken_back_once_it_does_not(
    trains: bool, cohort: Cohort, register: Register
) -> None:
    uses = {"device": trains}

    async def uses_device() -> bool:
        return uses["device"]

    async with cohort.controller(register) as old:
        await join_all(cohort, old)
        cohort.publish(0)
        await old.sync(0)
        lent = cohort.replicas["a"]
        member = old.members["a"]
        epoch = register.next_epoch()
        await member.seal(epoch, Mode.WAIT, 60_000)
        await member.drain(epoch)
        await member.until(lambda g, n: g.quiet == g.ranks, 5)
        await member.lend(epoch)
        async with cohort.controller(register, uses_device, deadline=6.0, takeover=0.0) as new:
            joining = asyncio.create_task(join_all(cohort, new))
            if trains:
                await asyncio.sleep(2.5)
                assert lent.gate.lent is not None
                assert "Renew:renews" in lent.rules()
                uses["device"] = False
            await joining
            assert (lent.gate.state, lent.gate.version, lent.gate.lent) == ("OPEN", 0, None)
            assert "Returned:returns" in lent.rules()


def test_what_a_gate_installs_raises_the_target_only_if_it_is_durable() -> None:
    gate = Gate.initial(ranks=frozenset({"0"})).replace(state="INSTALLING", version=1, target=2, resident=True)
    assert reaches(gate) == 2
    assert converge(gate, 1, 5, is_durable=True).next is Next.RAISE_TARGET
    assert converge(gate, 1, 5, is_durable=False).next is Next.WAIT
    done = gate.replace(version=2, verified=frozenset({"0"}))
    assert converge(done, 1, 5, is_durable=False).next is Next.POISON
    assert converge(done, 2, 5, is_durable=True).next is Next.REOPEN


async def test_what_a_controller_that_ended_left_open_is_told_as_it_was_before_anything_new(tmp_path: Path) -> None:
    async with ruled(tmp_path, "r0") as run:
        run.publish(0)
        await run.client.sync(0)
        with contextlib.closing(SqliteStore(tmp_path / "register.db")) as store:
            Ledger(store).begin("left", '["sync", 0]', 0)
        run.publish(1)
        await run.client.sync(1)
        answer = await run.client.sync(0, operation_id="left")
        assert (answer.result, answer.version, answer.replayed) == ("published", 0, True)


async def test_a_manifest_that_cannot_be_read_ends_an_operation_and_no_controller(tmp_path: Path) -> None:
    async with ruled(tmp_path, "r0") as run:
        run.publish(0)
        await run.client.sync(0)
        await run.client.pause()
        (tmp_path / "manifests").rename(tmp_path / "away")
        answer = await run.client.resume(within=20.0)
        assert "what it should hold cannot be told" in answer.left_behind["r0"]
        (tmp_path / "away").rename(tmp_path / "manifests")
        assert (await run.client.status()).term == 1
        gate = run.replicas["r0"].gate
        assert await run.controller.changed.until(lambda: gate.state == "OPEN", 30.0)


async def test_a_pause_is_over_with_its_last_member(tmp_path: Path) -> None:
    async with ruled(tmp_path, "r0") as run:
        run.publish(0)
        await run.client.sync(0)
        await run.client.pause()
        await run.client.poison("r0", "a test")
        assert await run.controller.changed.until(lambda: run.controller.paused is None, 20.0)
        status = await run.client.status()
        assert (status.paused, status.HasField("operation")) == (False, False)
        with pytest.raises(OperationFailed, match="not paused"):
            await run.client.resume()
