"""Connections that are reset under load: those of clients to a replica, and those of its front to the engine.

The front, its servers and the engine are real; between them, and before them, is TCP that breaks.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from grpc import aio
from load_kit import Turn
from resetting_proxy import ResettingProxy
from rollout_kit import Answer, Driven, Refused, Weights, driven, judged
from wired_engine import EngineServer, WiredEngine

from sluicegate.runtime.engines import TorchEngine
from sluicegate.runtime.weights import ShmReader
from sluicegate.runtime.workers.records import LOST, LeaseStore
from sluicegate.runtime.workers.rollout import replica
from sluicegate.statemachines.sorts import Mode

SHARE = 0.01
PROMPT = (3, 1, 4)
OWN = (("grpc.use_local_subchannel_pool", 1),)
"""A channel with a TCP connection of its own."""


@dataclass
class Broken:
    """A replica whose engine is behind TCP, and clients that come over TCP; of both some connections are reset."""

    ready: dict[str, str]
    weights: Weights
    server: EngineServer
    engine: WiredEngine
    to_engine: ResettingProxy
    to_replica: ResettingProxy
    controller: Driven
    turns: list[Turn] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)

    async def client(self, number: int, stop: asyncio.Event) -> None:
        draw = random.Random(number)
        for count in itertools.count(1):
            if stop.is_set():
                return
            turn = Turn(f"c{number}-{count}", self.ready["incarnation"], list(PROMPT))
            async with aio.insecure_channel(self.to_replica.target, options=OWN) as channel:
                asker = Driven(self.ready, self.weights, self.controller.control, channel)
                heard = Answer()
                answers = asker.stream(
                    request_id=turn.lease, prompt=PROMPT, max_tokens=draw.randint(1, 40),
                    seed=draw.randrange(1 << 30), hold=60.0, within=240.0,
                )  # fmt: skip
                try:
                    async for answer in answers:
                        heard = answer
                    turn.ended = heard.reason
                except aio.AioRpcError as error:
                    turn.ended, turn.why = "broken", error.details() or ""
                except Refused as refusal:
                    turn.ended = "refused"
                    self.refused[refusal.reason] += 1
            turn.admitted, turn.why = bool(heard.lease), turn.why or heard.text
            turn.ids, turn.logprobs, turn.versions = heard.ids, heard.logprobs, heard.versions
            self.turns.append(turn)


@asynccontextmanager
async def broken(weights: Weights, *, seed: int = 0) -> AsyncIterator[Broken]:
    engine = TorchEngine(weights.model, deliver_every_s=0.005)
    server = EngineServer(engine, weights.folder / "manifests", ShmReader(weights.run, root=weights.folder / "shm"))
    async with server, ResettingProxy(server.port, SHARE, pieces=4, seed=seed) as to_engine:
        wired = WiredEngine(to_engine.target, engine)
        async with replica(weights.config("r0"), wired) as ready:
            port = int(ready["data"].rpartition(":")[2])
            to_replica = ResettingProxy(port, SHARE, pieces=8, seed=seed + 1)
            async with to_replica, driven(ready, weights) as controller:
                yield Broken(ready, weights, server, wired, to_engine, to_replica, controller)


async def through_resets(
    weights: Weights, clients: int, modes: list[Mode], resets: int
) -> tuple[Broken, Counter[str], int]:
    """One update in each of the modes, and more until so many streams of each kind were cut; the account."""
    async with broken(weights) as run:
        controller, stop, version = run.controller, asyncio.Event(), 1
        await controller.update(version)
        async with asyncio.TaskGroup() as group:
            for number in range(clients):
                group.create_task(run.client(number, stop))
            for mode in itertools.chain(modes, itertools.cycle(Mode)):
                seen = len(run.turns)
                async with asyncio.timeout(120):
                    while len(run.turns) < seen + clients:  # noqa: ASYNC110 - clients tell nobody
                        await asyncio.sleep(0.02)
                if version > len(modes) and min(run.engine.lost, run.to_replica.resets) >= resets:
                    break
                version += 1
                gate = await controller.update(version, mode)
                assert (gate.state, gate.version) == ("OPEN", version)
            stop.set()
        await controller.until(lambda g: not (g.active or g.orphaned or g.suspended), within=120)
        assert (await controller.now()).state == "OPEN"
    verdict = judged(weights, [run.ready["trace"]], {}, weights.folder)
    assert verdict.valid, verdict.refusal
    return run, _account(run), version


def _account(run: Broken) -> Counter[str]:
    """How many leases ended how; what clients, the journal, the trace and the engine's own record say agrees."""
    trace = Path(run.ready["trace"]).read_text()
    steps = [json.loads(line) for line in trace.splitlines() if '"event":"Unknown"' in line]
    # One that had ended when its abort broke is no orphan: the table ignores it.
    orphans = sum(step["verdict"]["kind"] == "go" for step in steps)
    assert '"after":"POISONED"' not in trace
    store = LeaseStore(run.weights.folder / "state-r0" / "leases.sqlite")
    try:
        endings = Counter(store.counts())
        assert endings[""] == endings[LOST] == 0
        assert endings["discarded"] == orphans
        assert trace.count('"fact":"receipt"') == sum(endings.values())
        for turn in run.turns:
            stored = store.answer(turn.lease)
            assert stored is not None or not turn.admitted
            if stored is None:
                continue
            made = run.server.made.get(turn.lease, [])
            labelled = [version for version, count in stored.spans for _ in range(count)]
            assert [(t.id, t.version) for t in made[: len(labelled)]] == list(zip(stored.tokens, labelled, strict=True))
            if stored.closure == "completed":
                assert len(made) == len(labelled)
            if stored.closure == "discarded":
                # Nothing of it is kept, and whoever still listens is told not to use what was heard.
                assert stored.tokens == []
                assert turn.ended in ("discarded", "broken")
            elif turn.ended not in ("broken", "refused"):
                assert (turn.ids, turn.versions) == (stored.tokens, labelled)
                assert stored.closure == {"length": "completed"}.get(turn.ended, turn.ended)
            assert turn.ids == [t.id for t in made[: len(turn.ids)]]
    finally:
        store.close()
    return endings


def _told(what: str, run: Broken, endings: Counter[str], updates: int, began: float) -> None:
    to_engine, to_replica = run.to_engine, run.to_replica
    print(
        f"\n{what}: {updates} updates, {sum(endings.values())} admissions and as many receipts, 0 lost, "
        f"endings {dict(endings)}; connections to the engine: {to_engine.connections}, {to_engine.resets} reset; of "
        f"clients: {to_replica.connections}, {to_replica.resets} reset; {time.monotonic() - began:.0f} s"
    )


@pytest.mark.slow
@pytest.mark.timeout(400)
async def test_resets_of_connections_under_load_poison_nothing_and_every_orphan_is_discarded(tmp_path: Path) -> None:
    """A3: one in a hundred connections is reset, of clients and of the engine, through updates in each mode."""
    began = time.monotonic()
    run, endings, updates = await through_resets(Weights("resets", tmp_path), 12, list(Mode), resets=2)
    _told("12 clients", run, endings, updates, began)
    assert endings["discarded"] > 0
    assert endings["completed"] > 100


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("mode", list(Mode))
async def test_resets_through_twenty_updates_with_fifty_clients(mode: Mode, tmp_path: Path) -> None:
    began = time.monotonic()
    run, endings, updates = await through_resets(Weights("resets", tmp_path), 50, [mode] * 20, resets=3)
    _told(f"{mode}, 50 clients", run, endings, updates, began)
    assert endings["discarded"] > 0
