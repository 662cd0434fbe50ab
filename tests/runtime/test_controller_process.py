"""Controllers as processes that are killed, stopped and taken over, over real replicas, judged by their trace."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from controller_kit import Run, poisoned_in, running

from sluicegate.protocol.client import Rejected
from sluicegate.runtime.controller.client import OperationFailed
from sluicegate.runtime.launcher import OVERRULED, Worker

pytestmark = pytest.mark.slow
Phase = Callable[[Run, int, Worker, Worker], Coroutine[Any, Any, None]]


async def sealing(run: Run, version: int, first: Worker, second: Worker) -> None:
    """One gate has acknowledged the seal, the other's process does not answer."""
    run.publish(version)
    with run.stopped(second):
        await begun(run, version)
        await run.gate_until(first, lambda g: g.state == "SEALED")
        await run.kill(run.controllers[-1])


async def draining(run: Run, version: int, first: Worker, second: Worker) -> None:
    """One gate is drained, the other waits for a request."""
    run.publish(version)
    async with run.request(second) as abort:
        await begun(run, version)
        await run.gate_until(first, lambda g: g.state == "DRAINING" and g.quiet == g.ranks)
        await run.kill(run.controllers[-1])
        await abort()


async def installing(run: Run, version: int, first: Worker, second: Worker) -> None:
    """One gate is verified, the other still installs."""
    run.publish(version, unreadable_for=second.name)
    await begun(run, version)
    await run.gate_until(first, lambda g: g.state == "INSTALLING" and g.verified == g.ranks)
    await run.gate_until(second, lambda g: g.state == "INSTALLING")
    await run.kill(run.controllers[-1])
    await run.let_read(second.name, version)


async def verified(run: Run, version: int, first: Worker, second: Worker) -> None:
    """The last rank was verified, and nothing is recorded."""
    run.publish(version)
    async with until_both_verified(run, version, first, second):
        await run.kill(run.controllers[-1])
    assert run.published == version - 1


async def recorded(run: Run, version: int, first: Worker, second: Worker) -> None:
    """The version is published, and no gate has been reopened."""
    run.publish(version)
    async with until_both_verified(run, version, first, second):
        os.kill(first.pid, signal.SIGSTOP)
        os.kill(second.pid, signal.SIGSTOP)
    try:
        await run.until(lambda: run.published == version)
        await run.kill(run.controllers[-1])
    finally:
        os.kill(first.pid, signal.SIGCONT)
        os.kill(second.pid, signal.SIGCONT)


async def reopening(run: Run, version: int, first: Worker, second: Worker) -> None:
    """One gate is open again, the other's process does not answer."""
    run.publish(version)
    async with until_both_verified(run, version, first, second):
        os.kill(second.pid, signal.SIGSTOP)
    try:
        await run.gate_until(first, lambda g: g.state == "OPEN" and g.version == version)
        await run.kill(run.controllers[-1])
    finally:
        os.kill(second.pid, signal.SIGCONT)


class until_both_verified:
    """Inside, both gates are verified at the version, and the controller cannot write its register."""

    def __init__(self, run: Run, version: int, first: Worker, second: Worker) -> None:
        self.run, self.version, self.workers = run, version, (first, second)
        self.lock = run.register_locked()

    async def __aenter__(self) -> None:
        run, (first, second) = self.run, self.workers
        async with run.request(second) as abort:
            await begun(run, self.version)
            await run.gate_until(first, lambda g: g.state == "DRAINING" and g.quiet == g.ranks)
            self.lock.__enter__()
            await abort()
        for worker in self.workers:
            await run.gate_until(worker, lambda g: g.state == "INSTALLING" and g.verified == g.ranks)

    async def __aexit__(self, *error: Any) -> None:
        self.lock.__exit__(*error)


OPERATIONS: dict[int, asyncio.Task[Any]] = {}


async def begun(run: Run, version: int) -> None:
    """A sync was asked for, whose caller waits for its outcome whatever becomes of the controller."""
    OPERATIONS[version] = asyncio.create_task(run.client.sync(version, operation_id=f"sync-{version}"))


PHASES: tuple[tuple[Phase, bool], ...] = (
    (sealing, False), (draining, False), (installing, True), (verified, True), (recorded, True), (reopening, True),
)  # fmt: skip
"""Each phase in which the controller is killed, and whether its successor publishes the version."""


@pytest.mark.timeout(900)
async def test_whoever_takes_over_brings_everything_home_wherever_the_controller_was_killed(tmp_path: Path) -> None:
    # Replicas that are stopped for a while are not to be replaced for it, however long it takes here.
    # What holds an install up is the reading of its manifest, which staging would have done before.
    async with running(tmp_path, "r0", "r1", patience=100, staging_ms=0) as run:
        first, second = await run.replica("r0"), await run.replica("r1")
        await run.start_controller()
        run.publish(0)
        await run.status_until(lambda s: [r.state for r in s.replicas] == ["SYNCING", "SYNCING"])
        assert (await run.client.sync(0)).result == "published"
        version = 0
        for phase, publishes in PHASES:
            version += 1
            await phase(run, version, first, second)
            await run.start_controller()
            operation = OPERATIONS.pop(version)
            if publishes:
                assert (await operation).result == "published", phase.__name__
            else:
                with pytest.raises(OperationFailed, match="ended") as failed:
                    await operation
                assert (failed.value.reason, failed.value.retry) == ("controller_ended", True), phase.__name__
                assert run.published == version - 1
            # A repeat is answered from what came of it.
            if publishes:
                again = await run.client.sync(version, operation_id=f"sync-{version}")
                assert (again.result, again.replayed, again.version) == ("published", True, version)
            found = await run.status_until(lambda s: not s.taking_over)
            at = version if publishes else version - 1
            shown = [(r.incarnation, r.state, r.gate, r.version) for r in found.replicas]
            assert shown == [("r0.1", "SERVING", "OPEN", at), ("r1.1", "SERVING", "OPEN", at)], phase.__name__
            version += 1
            run.publish(version)
            done = await run.client.sync(version)
            assert (done.result, done.left_behind) == ("published", {}), phase.__name__
        # A pause ends with its controller.
        assert (await run.client.pause(operation_id="pause")).result == "paused"
        assert (await run.client.status()).paused
        assert (await run.gate(first)).state == "DRAINING"
        await run.kill(run.controllers[-1])
        await run.start_controller()
        found = await run.status_until(lambda s: not s.taking_over)
        assert not found.paused
        with pytest.raises(OperationFailed, match="every gate was reopened") as failed:
            await run.client.pause(operation_id="pause")
        assert (failed.value.reason, failed.value.replayed) == ("pause_ended", True)
        with pytest.raises(OperationFailed, match="not paused") as failed:
            await run.client.resume()
        assert not failed.value.begun
        with pytest.raises(Rejected, match="was another request"):
            await run.client.sync(version, operation_id="pause")
        with pytest.raises(OperationFailed, match="no manifest"):
            await run.client.sync(version + 1)
        for worker in (first, second):
            gate = await run.gate(worker)
            assert (gate.state, gate.version, gate.term) == ("OPEN", version, len(PHASES) + 2)
    verdict = run.judged()
    assert verdict.valid, verdict.refusal
    assert poisoned_in(tmp_path / "trace.ndjson") == []


@pytest.mark.timeout(600)
async def test_a_controller_that_slept_through_a_takeover_is_refused_everywhere_and_says_so(tmp_path: Path) -> None:
    async with running(tmp_path, "r0", "r1") as run:
        first, second = await run.replica("r0"), await run.replica("r1")
        old = await run.start_controller()
        run.publish(0)
        await run.status_until(lambda s: [r.state for r in s.replicas] == ["SYNCING", "SYNCING"])
        await run.client.sync(0)
        run.publish(1)
        async with run.request(second) as abort:
            syncing = asyncio.create_task(run.client.sync(1, operation_id="sync-1"))
            await run.gate_until(first, lambda g: g.state == "DRAINING" and g.quiet == g.ranks)
            with run.stopped(old):
                await abort()
                await run.start_controller()
                with pytest.raises(OperationFailed, match="the controller of term 1 ended"):
                    await syncing
                run.publish(2)
                assert (await run.client.sync(2)).left_behind == {}
                before = [(await run.seen(worker)) for worker in (first, second)]
                published, ruler = run.published, run.roster.ruler()
        # It wakes up: whatever it had begun is refused, and it ends.
        async with asyncio.timeout(60):
            assert await old.wait() == OVERRULED
        assert "overruled" in old.said_last()
        after = [(await run.seen(worker)) for worker in (first, second)]
        assert after == before
        assert [(g.state, g.version, g.term) for _, g in after] == [("OPEN", 2, 2)] * 2
        assert (run.published, run.roster.ruler()) == (published, ruler)
        run.publish(3)
        assert (await run.client.sync(3)).result == "published"
    verdict = run.judged()
    assert verdict.valid, verdict.refusal
    assert poisoned_in(tmp_path / "trace.ndjson") == []


@pytest.mark.timeout(600)
async def test_a_replica_killed_while_it_installs_is_replaced_and_one_that_joins_meanwhile_catches_up(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, "r0", "r1", deadline_ms=150_000, staging_ms=0) as run:
        second = await run.replica("r1")
        await run.start_controller()
        run.publish(0)
        await run.status_until(lambda s: [r.state for r in s.replicas] == ["SYNCING", "SYNCING"])
        await run.client.sync(0)
        run.publish(1, unreadable_for="r1")
        syncing = asyncio.create_task(run.client.sync(1))
        await run.gate_until(second, lambda g: g.state == "INSTALLING")
        run.keep_replica("r2")
        await run.replica("r2")
        found = await run.status_until(lambda s: len(s.replicas) == 3)
        assert (found.operation.phase, list(found.operation.awaited)) == ("INSTALLING", ["r1"])
        assert [r.waits_for for r in found.replicas if r.replica == "r1"] == ["ranks 0 to prove version 1"]
        second.kill()
        done = await syncing
        assert (done.result, set(done.left_behind)) == ("published", {"r1"})
        path = tmp_path / "manifests-r1" / "v000001.json"
        path.unlink()
        path.write_bytes(run.weights.store.get(1).to_json())
        wanted = [("r0.1", "SERVING", "OPEN", 1), ("r1.2", "SERVING", "OPEN", 1), ("r2.1", "SERVING", "OPEN", 1)]
        await run.status_until(
            lambda s: sorted((r.incarnation, r.state, r.gate, r.version) for r in s.replicas) == wanted
        )
        # Leaving as planned: nothing is bound to it, its process ends, and nobody replaces it.
        await run.leave("r2.1")
        assert (await run.client.evacuated("r2.1")).result == "evacuated"
        await run.until(lambda: run.roster.life("r2.1").ended is not None)  # pyright: ignore[reportOptionalMemberAccess]
        run.publish(2)
        assert (await run.client.sync(2)).left_behind == {}
        assert {life.incarnation for life in run.roster.living("rollout")} == {"r0.1", "r1.2"}
    verdict = run.judged()
    assert verdict.valid, verdict.refusal
    assert poisoned_in(tmp_path / "trace.ndjson") == []
