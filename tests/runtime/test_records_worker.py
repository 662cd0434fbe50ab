"""The records of a real worker: over lives that are killed under load, and while its disk is full."""

from __future__ import annotations

import asyncio
import json
import os
import random
import resource
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from grpc import aio

from sluicegate.protocol.store import Durability
from sluicegate.runtime.tracelog import FLUSH_LINES
from sluicegate.runtime.workers.config import RolloutConfig
from sluicegate.runtime.workers.records import LOST, LeaseStore

from ..support.rollout_kit import Answer, Driven, Refused, Weights, driven, first_tokens, judged, worker_process

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
CLIENTS = 8


@pytest.fixture
def weights(tmp_path: Path) -> Weights:
    return Weights("records-test", tmp_path)


@contextmanager
def recorded(config: RolloutConfig) -> Iterator[LeaseStore]:
    store = LeaseStore(config.state / "leases.sqlite")
    try:
        yield store
    finally:
        store.close()


@dataclass
class Heard:
    """What clients were told: the leases that were admitted, and the answers that ended."""

    admitted: set[str] = field(default_factory=set)
    ended: dict[str, Answer] = field(default_factory=dict)


async def client(replica: Driven, name: str, draw: random.Random, heard: Heard) -> None:
    """One request after another, until the worker is gone."""
    for number in range(10_000):
        asked = f"{name}-{number}"
        try:
            async for answer in replica.stream(request_id=asked, max_tokens=draw.randint(1, 60), within=300):
                heard.admitted.add(asked)
                if answer.reason:
                    heard.ended[asked] = answer
        except (aio.AioRpcError, Refused):
            return


def receipts(logs: list[str]) -> Counter[str]:
    """How often a receipt was written for each lease, over the logs of several lives."""
    # The last line of a process that was killed may be half a line.
    lines = [line for log in logs for line in Path(log).read_text().splitlines() if line.endswith("}")]
    facts = [json.loads(line) for line in lines if '"receipt"' in line]
    return Counter(fact["instance"] for fact in facts if fact.get("fact") == "receipt")


async def lives_that_are_killed(weights: Weights, folder: Path, config: RolloutConfig, kills: int, seed: int) -> None:
    draw, heard, logs, ended = random.Random(seed), Heard(), list[str](), dict[str, str]()
    for life in range(1, kills + 2):
        with worker_process("rollout", config, folder) as (process, ready), recorded(config) as store:
            logs.append(ready["trace"])
            ended[ready["incarnation"]] = "killed"
            # It says that it is ready only after every lease of the lives before is accounted for.
            assert store.open_leases() == []
            async with driven(ready, weights) as replica:
                if life > kills:
                    break
                await replica.update(life)
                clients = [
                    asyncio.create_task(client(replica, f"{life}-{n}", random.Random(seed + n), heard))
                    for n in range(CLIENTS)
                ]
                await asyncio.sleep(draw.uniform(0.05, 2.0))
                process.send_signal(signal.SIGKILL)
                await asyncio.wait_for(asyncio.gather(*clients), 60)
    with recorded(config) as store:
        closures = store.counts()
        assert "" not in closures
        assert all(store.is_known(lease) for lease in heard.admitted)
        for lease, answer in heard.ended.items():
            kept = store.answer(lease)
            assert kept is not None
            assert (kept.closure, kept.tokens, kept.spans) == ("completed", answer.ids, answer.spans)
        written = receipts(logs)
        assert max(written.values()) == 1
        for lease in written:
            kept = store.answer(lease)
            assert kept is not None
            assert kept.closure not in ("", LOST)
    assert len(heard.ended) <= len(heard.admitted) <= sum(closures.values())
    # What is recorded and not in the log is the last of each client: lines gather in memory, and end with a life.
    unwritten = heard.ended.keys() - written.keys()
    assert len(unwritten) <= sum(closures.values()) - closures.get(LOST, 0) - len(written) < kills * FLUSH_LINES
    for name, number in (lease.rsplit("-", 1) for lease in unwritten):
        assert f"{name}-{int(number) + 1}" not in written
    verdict = judged(weights, logs, ended, folder)
    assert verdict.valid, verdict.refusal


@pytest.mark.parametrize(("durability", "kills"), [(Durability.STRICT, 1)])
async def test_every_lease_of_lives_that_were_killed_has_one_receipt_or_is_lost(
    weights: Weights, tmp_path: Path, durability: Durability, kills: int
) -> None:
    config = weights.config("r0", durability=durability)
    await lives_that_are_killed(weights, tmp_path, config, kills, seed=kills)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("durability", [Durability.STRICT, Durability.PROCESS])
async def test_every_lease_of_twenty_lives_that_were_killed_has_one_receipt_or_is_lost(
    weights: Weights, tmp_path: Path, durability: Durability
) -> None:
    seed = random.SystemRandom().randrange(1 << 30)
    print(f"seed {seed}")
    await lives_that_are_killed(weights, tmp_path, weights.config("r0", durability=durability), kills=20, seed=seed)


async def test_without_durability_a_life_knows_nothing_of_the_one_before(weights: Weights, tmp_path: Path) -> None:
    config = weights.config("r0", durability=Durability.OFF)
    for version in (1, 2):
        with worker_process("rollout", config, tmp_path) as (process, ready):
            async with driven(ready, weights) as replica:
                await replica.update(version)
                assert (await replica.generate(request_id="a")).reason == "length"
            process.send_signal(signal.SIGKILL)
    assert not (config.state / "leases.sqlite").exists()


async def test_a_second_worker_on_the_files_of_a_first_is_told_so(weights: Weights, tmp_path: Path) -> None:
    config = weights.config("r0")
    with worker_process("rollout", config, tmp_path) as (process, ready):
        with pytest.raises(AssertionError, match="its exit status is 2"), worker_process("rollout", config, tmp_path):
            pass
        async with driven(ready, weights) as replica:
            await replica.update(1)
            assert (await replica.generate()).reason == "length"
        assert process.poll() is None


async def test_a_full_disk_holds_admission_until_there_is_room_and_loses_and_poisons_nothing(
    weights: Weights, tmp_path: Path
) -> None:
    """The worker's files may not grow for a while."""
    config = weights.config("r0")
    # Its log would be full, too.
    config = RolloutConfig(**{**{n: getattr(config, n) for n in config.__slots__}, "trace": None})
    with worker_process("rollout", config, tmp_path) as (process, ready), recorded(config) as store:
        async with driven(ready, weights) as replica:
            await replica.update(1)
            done = [await replica.generate(request_id=f"done-{n}") for n in range(3)]
            running = replica.stream(request_id="running", max_tokens=200, within=300)
            await first_tokens(running)
            before = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
            full = os.stat(f"{config.state}/leases.sqlite-wal").st_size
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (full, before[1]))
            rest = asyncio.create_task(whole(running))
            admitted = asyncio.create_task(replica.generate(request_id="admitted", within=300))
            refused = await until_refused(replica)
            assert refused.retry
            assert not rest.done()
            assert not admitted.done()
            assert (await replica.now()).state == "OPEN"
            assert not store.is_known("admitted")
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, before)
            assert len((await asyncio.wait_for(rest, 120)).ids) == 200
            assert (await asyncio.wait_for(admitted, 120)).reason == "length"
            assert (await until_admitted(replica)).reason == "length"
            assert (await replica.update(2)).state == "OPEN"
        for n, answer in enumerate(done):
            kept = store.answer(f"done-{n}")
            assert kept is not None
            assert (kept.closure, kept.tokens) == ("completed", answer.ids)
        kept = store.answer("running")
        assert kept is not None
        assert (kept.closure, len(kept.tokens)) == ("completed", 200)


async def whole(stream: Any) -> Answer:
    return [answer async for answer in stream][-1]


async def until_refused(replica: Driven) -> Refused:
    """Ask, without waiting for any answer, until a request is refused."""
    waiting: list[asyncio.Task[Answer]] = []
    try:
        for _ in range(100):
            waiting.append(asyncio.create_task(replica.generate(within=300)))
            ended, _ = await asyncio.wait(waiting, timeout=0.3, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                error = task.exception()
                assert isinstance(error, Refused), "nothing is answered that could not be stored"
                return error
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)
    raise AssertionError("no request was refused")


async def until_admitted(replica: Driven) -> Answer:
    """Ask until a request is not refused."""
    for _ in range(100):
        try:
            return await replica.generate(within=300)
        except Refused:
            await asyncio.sleep(0.1)
    raise AssertionError("every request was refused")
