"""What a worker's gate promises, line by line, over the real engine: escalation, windows, poison, unknown outcomes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from grpc import StatusCode, aio

from sluicegate.protocol.client import Refused as ControlRefused
from sluicegate.protocol.generated import front_pb2, front_pb2_grpc, rollout_pb2
from sluicegate.protocol.store import StoreError
from sluicegate.runtime.engines import AbortOutcome, EngineError, Finish, Request, TorchEngine
from sluicegate.runtime.workers.records import LeaseStore
from sluicegate.statemachines.sorts import Mode

from ..support.rollout_kit import Answer, Driven, Refused, Weights, driven, first_tokens, served, slow_down

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def weights(tmp_path: Path) -> Weights:
    return Weights("gate-test", tmp_path)


@asynccontextmanager
async def served_clients(gate: Driven, count: int) -> AsyncIterator[list[Driven]]:
    """So many more clients of the replica."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(driven(gate.ready, gate.weights)) for _ in range(count)]


async def command(gate: Driven, event: str, **given: Any) -> Any:
    """A command of the operation that was begun last."""
    method = getattr(gate.gate, event)
    return await method(term=gate.term, epoch=gate.epoch, operation_id=gate.operation(event), **given)


async def standing(gate: Driven, leases: int = 0) -> Any:
    stub: Any = front_pb2_grpc.FrontStub(gate.control)
    return await stub.Show(front_pb2.ShowRequest(leases=leases), timeout=10)


async def shows(gate: Driven, holds: Callable[[Any], Any], within: float = 30.0) -> None:
    """Return when the front stands so; looked at often, since nothing tells."""
    async with asyncio.timeout(within):
        while not holds(await standing(gate)):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def last(stream: Any) -> Answer:
    return [a async for a in stream][-1]


# -- drains and windows ------------------------------------------------------------------------------


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


# -- poison --------------------------------------------------------------------------------------------


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


async def test_a_frozen_lease_that_becomes_unknown_while_weights_are_installed_poisons(weights: Weights) -> None:
    async with served(weights, SlowToCommit, lease_ms=4000) as (gate, _):
        await gate.update(1)
        stream = gate.stream(max_tokens=3000, request_id="frozen")
        await first_tokens(stream)
        await gate.seal(Mode.KEEP)
        await gate.drain()
        assert (await gate.install(2)).state == "POISONED"
        assert "weights were being installed when lease frozen became unknown" in (await standing(gate)).why
        assert (await last(stream)).reason == "discarded"


# -- unknown outcomes ------------------------------------------------------------------------------------


class Mute(TorchEngine):
    """Ends a request without a word.

    `mute`: an abort is done and not answered; `fails_to_list`: that, and `running` fails; `resets`: so many
    aborts fail before they reach it.
    """

    mute = fails_to_list = False
    resets = 0

    def generate(self, request: Request, sink: Any) -> None:
        super().generate(request, _Deaf(sink))

    async def abort(self, request_id: str) -> AbortOutcome:
        if self.resets:
            self.resets -= 1
            raise EngineError("the connection was reset")
        found = await super().abort(request_id)
        if self.fails_to_list or self.mute:
            await asyncio.sleep(60)
        return found

    async def running(self) -> list[str]:
        if self.fails_to_list:
            raise EngineError("the connection was reset")
        return await super().running()


class _Deaf:
    """Hands on everything but the end."""

    def __init__(self, sink: Any) -> None:
        self._sink = sink

    def tokens(self, tokens: Sequence[Any]) -> None:
        self._sink.tokens(tokens)

    def suspended(self, epoch: int) -> None:
        self._sink.suspended(epoch)

    def continued(self, epoch: int) -> None:
        self._sink.continued(epoch)

    def finished(self, finish: Finish) -> None: ...


@pytest.mark.parametrize("way", ["acknowledged", "listed", "at rest", "reset twice"])
async def test_an_unknown_outcome_is_found_out_in_each_of_three_ways_and_poisons_nothing(
    weights: Weights, way: str
) -> None:
    """A3: the request ended without a word; the engine proves it by its answer, its list, or by coming to rest."""
    async with served(weights, Mute, lease_ms=1500, reconcile_ms=6000) as (gate, engine):
        assert isinstance(engine, Mute)
        engine.mute = way == "listed"
        engine.fails_to_list = way == "at rest"
        engine.resets = 2 if way == "reset twice" else 0
        await gate.update(1)
        answer = await gate.generate(max_tokens=5, request_id="lost")
        assert answer.reason == "discarded"
        assert (await gate.lease_state("lost")).ending == "discarded"
        snapshot = await gate.now()
        assert (snapshot.state, snapshot.orphaned) == ("OPEN", frozenset())
        engine.fails_to_list = False
        assert await engine.running() == []


async def test_rest_behind_an_abort_is_not_rest_for_a_drain(weights: Weights) -> None:
    """The drain asks again once the orphan is gone, and installs behind its own answer only."""
    async with served(weights, Mute, lease_ms=1500, reconcile_ms=6000) as (gate, engine):
        assert isinstance(engine, Mute)
        engine.fails_to_list = True
        await gate.update(1)
        task = asyncio.create_task(gate.generate(max_tokens=5, request_id="lost"))
        await gate.until(lambda g: "lost" in g.active)
        await gate.seal()
        await command(gate, "drain")
        orphaned = await gate.until(lambda g: g.orphaned)
        assert orphaned.quiet == frozenset()
        with pytest.raises(ControlRefused, match="not_drained"):
            await gate.install(2)
        assert (await task).reason == "discarded"
        await gate.until(lambda g: g.quiet == g.ranks)
        await gate.install(2)
        await gate.reopen()
        await gate.close()
        assert (await gate.now()).version == 2


class Disk:
    """The disk of the leases' records; while `is_full` nothing can be written."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_full, self._write = False, LeaseStore.write
        monkeypatch.setattr(LeaseStore, "write", lambda store, records: self.write(store, records))

    def write(self, store: LeaseStore, records: Any) -> None:
        if self.is_full:
            raise StoreError("the disk is full")
        self._write(store, records)


async def test_admission_holds_while_nothing_can_be_recorded_and_poisons_nothing(
    weights: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch)
    async with served(weights) as (gate, _):
        await gate.update(1)
        disk.is_full = True
        first = asyncio.create_task(gate.generate(request_id="first"))
        await shows(gate, lambda shown: shown.storage)
        with pytest.raises(Refused) as refused:
            await gate.generate()
        assert (refused.value.reason, refused.value.retry) == ("storage", True)
        second = asyncio.create_task(gate.generate(hold=60.0))
        await shows(gate, lambda shown: shown.waiting)
        assert (await gate.lease_state("first")).state == "ADMITTED"
        disk.is_full = False
        assert [(await t).reason for t in (first, second)] == ["length", "length"]
        assert (await gate.now()).state == "OPEN"


async def test_a_lease_that_waited_long_for_the_disk_is_still_ended_by_its_timer(
    weights: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    """L2: what is not sent yet is not unknown, and its timer goes on."""
    disk = Disk(monkeypatch)
    async with served(weights, lease_ms=1500) as (gate, engine):
        await gate.update(1)
        slow_down(engine, monkeypatch)
        disk.is_full = True
        task = asyncio.create_task(gate.generate(request_id="long", max_tokens=4000))
        await shows(gate, lambda shown: shown.storage)
        await asyncio.sleep(2)
        assert (await gate.lease_state("long")).state == "ADMITTED"
        disk.is_full = False
        assert (await task).reason == "discarded"
        assert (await gate.now()).state == "OPEN"


# -- the door --------------------------------------------------------------------------------------------


async def test_an_abort_finds_a_request_wherever_it_is(weights: Weights) -> None:
    """R14, R21: at the door, before it came, while it runs; and a settled one is left as it is."""
    async with served(weights) as (gate, _):
        await gate.update(1)
        await gate.seal()
        held = asyncio.create_task(gate.generate(request_id="held", hold=60.0))
        await shows(gate, lambda shown: shown.waiting)

        async def abort(lease: str) -> bool:
            answer = await gate.data.Abort(rollout_pb2.AbortRequest(request_id=lease), timeout=10)
            return answer.running

        assert await abort("held")
        with pytest.raises(Refused) as refused:
            await held
        assert (refused.value.reason, refused.value.retry) == ("aborted", False)
        assert not await abort("late")
        await command(gate, "resume")
        await gate.close()
        with pytest.raises(Refused, match="ABORTED"):
            await gate.generate(request_id="late")
        stream = gate.stream(max_tokens=3000, request_id="runs")
        await first_tokens(stream)
        assert await abort("runs")
        assert (await last(stream)).reason == "aborted"
        assert not await abort("runs")
        assert dict((await standing(gate)).refused) == {"aborted": 2}


async def test_limits_are_settings_and_their_refusals_are_counted(weights: Weights) -> None:
    async with served(weights, per_client=2, longest_prompt=6, message_bytes=2000, hold_limit=1) as (gate, _):
        await gate.update(1)
        await gate.seal(Mode.KEEP)
        with pytest.raises(Refused, match="MALFORMED"):
            await gate.generate(prompt=[1] * 7)
        with pytest.raises(aio.AioRpcError) as large:
            await gate.generate(labels={"x": "y" * 4000})
        assert large.value.code() is StatusCode.RESOURCE_EXHAUSTED
        held = asyncio.create_task(gate.generate(hold=60.0))
        await shows(gate, lambda shown: shown.waiting)
        with pytest.raises(Refused, match="HOLD_FULL"):
            await gate.generate(hold=60.0)
        await command(gate, "resume")
        await gate.close()
        await held
        streams = [gate.stream(max_tokens=3500, request_id=f"runs-{n}") for n in range(2)]
        for stream in streams:
            await first_tokens(stream)
        with pytest.raises(Refused) as full:
            await gate.generate()
        assert (full.value.reason, full.value.retry) == ("client_full", True)
        shown = await standing(gate, leases=5)
        assert [(lease.lease, lease.state, lease.version) for lease in shown.leases] == [
            ("runs-0", "FORWARDED", 1), ("runs-1", "FORWARDED", 1),
        ]  # fmt: skip
        assert len({lease.client for lease in shown.leases}) == 1
        assert (shown.admitted, shown.held, shown.open, shown.engine_running) == (3, 1, 2, 2)
        assert dict(shown.refused) == {"malformed": 1, "hold_full": 1, "client_full": 1}
        for stream in streams:
            await stream.aclose()  # pyright: ignore[reportAttributeAccessIssue]
        await gate.until(lambda g: not g.active)
        assert (await gate.generate()).reason == "length"


async def test_every_client_of_a_replica_is_closed_once_the_seal_is_answered(weights: Weights) -> None:
    """R07, R02: what was on its way behind the seal is held, counted, and runs on the weights that it is told of."""
    async with served(weights) as (gate, _), served_clients(gate, 3) as fronts:
        await gate.update(1)
        stop, versions = asyncio.Event(), list[tuple[int | None, set[int]]]()

        async def client(front: Driven) -> None:
            while not stop.is_set():
                answer = await front.generate(max_tokens=4, hold=60.0)
                versions.append((answer.version, set(answer.versions)))

        clients = [asyncio.create_task(client(front)) for front in fronts]
        for version in (2, 3, 4):
            await asyncio.sleep(0.3)
            await gate.seal()
            before = (await standing(gate)).admitted
            await gate.drain()
            await asyncio.sleep(0.2)
            assert (await standing(gate)).admitted == before
            await gate.install(version)
            await gate.reopen()
            await gate.close()
        await asyncio.sleep(0.3)
        stop.set()
        await asyncio.gather(*clients)
        assert all(made == {told} for told, made in versions)
        assert {told for told, _ in versions} == {1, 2, 3, 4}
        shown = await standing(gate)
        assert shown.held >= 3
        assert shown.admitted == len(versions)


class Flaky(TorchEngine):
    """Loses the connection under each command a few times before it gets through."""

    losses = 0

    async def _through(self) -> None:
        if self.losses:
            self.losses -= 1
            raise EngineError("the connection was reset")

    async def freeze(self, epoch: int) -> list[str]:
        await self._through()
        return await super().freeze(epoch)

    async def continue_(self, epoch: int) -> bool:
        await self._through()
        return await super().continue_(epoch)

    async def quiesce(self) -> tuple[str, ...]:
        await self._through()
        return await super().quiesce()

    async def abort(self, request_id: str) -> AbortOutcome:
        await self._through()
        return await super().abort(request_id)


@pytest.mark.parametrize(("mode", "ending"), [("wait", "length"), ("keep", "length"), ("abort", "discarded")])
async def test_a_lost_connection_to_the_engine_poisons_nothing(weights: Weights, mode: str, ending: str) -> None:
    """A3: commands are asked again; a request that could not be told to end is found out and discarded."""
    async with served(weights, Flaky) as (gate, engine):
        assert isinstance(engine, Flaky)
        await gate.update(1)
        for version in (2, 3):
            stream = gate.stream(max_tokens=600 if mode == "keep" else 200)
            await first_tokens(stream)
            engine.losses = 2
            await gate.seal(Mode(mode))
            await gate.drain()
            await gate.install(version)
            engine.losses = 2 if mode == "keep" else 0
            await gate.reopen()
            await gate.close()
            assert (await last(stream)).reason == ending
            assert (await gate.now()).version == version
        assert engine.losses == 0
