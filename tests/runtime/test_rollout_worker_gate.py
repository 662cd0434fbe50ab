"""What a worker's gate promises over the real engine: escalation, windows, lending, poison."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from grpc import StatusCode, aio

from sluicegate.protocol.client import Refused as ControlRefused
from sluicegate.protocol.generated.gate_service import GATE
from sluicegate.protocol.refusals import detail
from sluicegate.runtime.engines import TorchEngine
from sluicegate.statemachines.sorts import Mode

from ..support.rollout_kit import Refused, Weights, command, first_tokens, last, served, slow_down, standing

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def weights(tmp_path: Path) -> Weights:
    return Weights("gate-test", tmp_path)


async def test_a_drain_that_waits_can_be_escalated_to_keep(weights: Weights) -> None:
    async with served(weights) as (gate, _):
        await gate.update(1)
        whole = await gate.generate(max_tokens=600, seed=4)
        stream = gate.stream(max_tokens=600, seed=4)
        await first_tokens(stream)
        await gate.seal(Mode.WAIT)
        await command(gate, "drain")
        assert (await command(gate, "escalate", mode=Mode.KEEP)).snapshot.mode is Mode.KEEP
        assert (await command(gate, "escalate", mode=Mode.ABORT)).kind == "ignore"
        snapshot = await gate.until(lambda g: g.quiet == g.ranks)
        assert len(snapshot.suspended) == 1
        await command(gate, "resume")
        await gate.close()
        answer = await last(stream)
        assert (answer.reason, answer.ids) == ("length", whole.ids)


async def test_a_drain_that_overran_its_window_reopens_and_is_escalated_the_next_time(
    weights: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(weights) as (gate, engine):
        await gate.update(1)
        slow_down(engine, monkeypatch)
        stream = gate.stream(max_tokens=4000, request_id="long")
        await first_tokens(stream)
        await gate.seal(Mode.WAIT, window=400)
        await command(gate, "drain")
        reopened = await gate.until(lambda g: g.state == "REOPENED")
        assert (reopened.version, reopened.active) == (1, {"long"})
        with pytest.raises(ControlRefused, match="not_drained"):
            await gate.install(2)
        await gate.close()
        await gate.update(2, Mode.ABORT)
        assert (await last(stream)).reason == "aborted"
        assert (await gate.generate()).versions == [2] * 8


async def test_a_renewed_window_replaces_the_old_one(weights: Weights) -> None:
    async with served(weights) as (gate, _):
        await gate.update(1)
        await gate.seal(window=500)
        assert (await command(gate, "renew", window=60_000)).snapshot.timer == 1
        await asyncio.sleep(1.0)
        assert (await gate.now()).state == "SEALED"
        await command(gate, "renew", window=200)
        assert (await gate.until(lambda g: g.state == "REOPENED")).timer == 2


async def test_a_device_that_is_still_lent_when_its_window_ends_is_in_doubt(weights: Weights) -> None:
    """R37, T2: nothing runs on a lent device, and nobody knows when the trainer leaves it."""
    async with served(weights) as (gate, engine):
        await gate.update(1)
        await gate.seal(window=2000)
        await gate.drain()
        await command(gate, "lend", lend="x")
        with pytest.raises(ControlRefused, match="lent_out"):
            await gate.install(2)
        with pytest.raises(Refused, match="CLOSED"):
            await gate.generate()
        assert not engine.health().resident
        assert (await gate.until(lambda g: g.state == "POISONED")).lent == "x"
        assert "the device was lent" in (await standing(gate)).why


async def test_nothing_is_staged_while_the_device_is_lent(weights: Weights) -> None:
    async with served(weights) as (gate, _):
        await gate.update(1)
        weights.publish(2)
        await gate.seal()
        await gate.drain()
        await command(gate, "lend", lend="x")
        with pytest.raises(aio.AioRpcError) as refused:
            await gate.stage(2)
        found = detail(refused.value, GATE.reply)
        assert found is not None
        assert (refused.value.code(), found.reason, found.retry) == (StatusCode.FAILED_PRECONDITION, "WEIGHTS", True)
        await command(gate, "returned", lend="x")
        assert (await gate.install(2)).version == 2


async def test_a_gate_without_weights_stays_closed_and_a_later_seal_takes_it_back(weights: Weights) -> None:
    """Its first operation was left draining: no deadline can open it, and nothing but a seal begins anew."""
    async with served(weights) as (gate, _):
        await gate.seal(window=200)
        await command(gate, "drain")
        await gate.until(lambda g: g.quiet == g.ranks)
        await asyncio.sleep(0.6)
        assert (await gate.now()).state == "DRAINING"
        await gate.seal()
        assert (await gate.now()).state == "SEALED"
        await gate.update(1)
        assert (await gate.generate()).versions == [1] * 8


async def test_a_poisoned_gate_settles_what_is_frozen_as_aborted_and_keeps_its_reason(weights: Weights) -> None:
    async with served(weights) as (gate, _):
        await gate.update(1)
        stream = gate.stream(max_tokens=3000, request_id="frozen")
        before = list((await first_tokens(stream, 3)).ids)
        await gate.seal(Mode.KEEP)
        await gate.drain()
        await gate.gate.poison(term=gate.term, why="the test says so", operation_id=gate.operation("poison", 0))
        answer = await last(stream)
        assert (answer.reason, answer.ids[: len(before)]) == ("aborted", before)
        assert (await gate.lease_state("frozen")).ending == "aborted"
        assert (await gate.now()).suspended == frozenset()
        with pytest.raises(Refused) as refused:
            await gate.generate(hold=30.0)
        assert (refused.value.reason, refused.value.retry) == ("poisoned", False)
        shown = await standing(gate)
        assert (shown.state, shown.why, dict(shown.refused)) == ("POISONED", "the test says so", {"poisoned": 1})
        with pytest.raises(ControlRefused, match="poisoned"):
            await gate.seal()


class SlowToCommit(TorchEngine):
    """Commits a second time only after a long while."""

    commits = 0

    async def commit(self, version: int) -> dict[str, str]:
        SlowToCommit.commits += 1
        if version > 1:
            await asyncio.sleep(6)
        return await super().commit(version)


async def test_a_frozen_lease_whose_time_is_over_during_an_install_is_found_out_after_it(weights: Weights) -> None:
    async with served(weights, SlowToCommit, lease_ms=4000) as (gate, _):
        await gate.update(1)
        stream = gate.stream(max_tokens=3000, request_id="frozen")
        await first_tokens(stream)
        await gate.seal(Mode.KEEP)
        await gate.drain()
        assert (await gate.install(2)).state == "INSTALLING"
        await gate.reopen()
        assert (await last(stream)).reason == "discarded"
        await gate.close()
        assert (await gate.generate()).versions == [2] * 8


async def test_what_runs_behind_a_poisoned_gate_goes_on_to_its_end(weights: Weights) -> None:
    async with served(weights) as (gate, _):
        await gate.update(1)
        stream = gate.stream(max_tokens=300, request_id="runs")
        await first_tokens(stream)
        await gate.gate.poison(term=gate.term, why="a test", operation_id=gate.operation("poison", 0))
        answer = await last(stream)
        assert (answer.reason, answer.versions) == ("length", [1] * 300)
        assert (await gate.now()).active == frozenset()
        assert (await gate.lease_state("runs")).ending == "completed"
