"""What a worker does about outcomes that it does not know, connections that break, and a disk that is full."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sluicegate.protocol.client import Refused as ControlRefused
from sluicegate.runtime.engines import AbortOutcome, EngineError, Finish, Request, TorchEngine
from sluicegate.statemachines.sorts import Mode

from ..support.rollout_kit import Disk, Refused, Weights, command, first_tokens, last, served, shows, slow_down

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def weights(tmp_path: Path) -> Weights:
    return Weights("gate-test", tmp_path)


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

    def lost(self, why: str) -> None:
        self._sink.lost(why)


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

    async def restore_memory(self) -> None:
        await self._through()
        await super().restore_memory()

    async def commit(self, version: int) -> dict[str, str]:
        await self._through()
        digests = await super().commit(version)
        # Done, and the answer is lost.
        await self._through()
        return digests


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
            engine.losses = version
            await gate.install(version)
            engine.losses = 2 if mode == "keep" else 0
            await gate.reopen()
            await gate.close()
            assert (await last(stream)).reason == ending
            assert (await gate.now()).version == version
        assert engine.losses == 0


class Cut(TorchEngine):
    """Its requests' connections can be cut. An install waits for `may_commit`."""

    def __init__(self, *given: Any, **settings: Any) -> None:
        super().__init__(*given, **settings)
        self.sinks: dict[str, Any] = {}
        self.may_commit = asyncio.Event()

    def generate(self, request: Request, sink: Any) -> None:
        self.sinks[request.request_id] = _Severed(sink)
        super().generate(request, self.sinks[request.request_id])

    async def commit(self, version: int) -> dict[str, str]:
        await self.may_commit.wait()
        return await super().commit(version)


class _Severed:
    """Hands everything on until it is cut."""

    def __init__(self, sink: Any) -> None:
        self._sink, self._is_cut = sink, False

    def cut(self) -> None:
        self._is_cut = True
        self._sink.lost("the connection was reset")

    def __getattr__(self, name: str) -> Any:
        return (lambda *said: None) if self._is_cut else getattr(self._sink, name)


async def test_a_request_whose_output_is_lost_is_found_out_at_once_and_discarded(weights: Weights) -> None:
    async with served(weights, Cut) as (gate, engine):
        assert isinstance(engine, Cut)
        engine.may_commit.set()
        await gate.update(1)
        stream = gate.stream(max_tokens=3000, request_id="cut")
        await first_tokens(stream)
        engine.sinks["cut"].cut()
        assert (await last(stream)).reason == "discarded"
        assert await engine.running() == []
        assert (await gate.update(2)).state == "OPEN"


async def test_a_frozen_request_whose_output_is_lost_under_an_install_is_found_out_after_it(weights: Weights) -> None:
    """A3: it does not run, so the install is in no doubt."""
    async with served(weights, Cut) as (gate, engine):
        assert isinstance(engine, Cut)
        engine.may_commit.set()
        await gate.update(1)
        stream = gate.stream(max_tokens=3000, request_id="cut")
        await first_tokens(stream)
        engine.may_commit.clear()
        await gate.seal(Mode.KEEP)
        await gate.drain()
        installing = asyncio.create_task(gate.install(2))
        await gate.until(lambda g: g.state == "INSTALLING")
        engine.sinks["cut"].cut()
        await asyncio.sleep(0.2)
        assert (await gate.now()).suspended == {"cut"}
        engine.may_commit.set()
        assert (await installing).state == "INSTALLING"
        await gate.reopen()
        assert (await last(stream)).reason == "discarded"
        await gate.close()
        assert ((await gate.now()).state, await engine.running()) == ("OPEN", [])


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


async def test_a_request_that_is_cancelled_before_it_could_be_sent_is_settled_as_not_sent(
    weights: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch)
    async with served(weights) as (gate, engine):
        await gate.update(1)
        disk.is_full = True
        task = asyncio.create_task(gate.generate(request_id="early"))
        await shows(gate, lambda shown: shown.storage)
        reply = await gate.lease("early").cancel()
        assert (reply.kind, reply.snapshot.state, reply.snapshot.ending) == ("go", "SETTLED", "not_sent")
        assert "early" in (await gate.now()).active, "its receipt is not stored yet"
        disk.is_full = False
        assert (await task).reason == "not_sent"
        assert (await gate.now()).active == frozenset()
        assert engine.health().tokens == 0
