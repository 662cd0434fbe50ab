"""A rollout worker as a test drives it: a process of its own, a controller's commands, requests, weights."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest
import torch
from grpc import aio

from sluicegate.protocol.client import dial
from sluicegate.protocol.generated import front_pb2, front_pb2_grpc, rollout_pb2, rollout_pb2_grpc
from sluicegate.protocol.generated.gate_service import GATE, GateClient
from sluicegate.protocol.generated.lease_service import LeaseClient
from sluicegate.protocol.refusals import Detail, detail
from sluicegate.protocol.store import StoreError
from sluicegate.runtime.config import write_config
from sluicegate.runtime.engines import TorchEngine
from sluicegate.runtime.models import make_tiny_qwen3
from sluicegate.runtime.tracelog import TraceLog, merge
from sluicegate.runtime.weights import Manifest, ManifestStore, ShmPublisher, canonical_tensors
from sluicegate.runtime.workers.config import RolloutConfig
from sluicegate.runtime.workers.records import LeaseStore
from sluicegate.runtime.workers.rollout import replica
from sluicegate.spec.traces import Verdict, validate
from sluicegate.statemachines.sorts import Mode

VOCABULARY, POSITIONS = 23, 4096
START_S = 90.0
REASON = rollout_pb2.FinishReason


def make_weights(seed: int, vocabulary: int = VOCABULARY) -> torch.nn.Module:
    """A tiny model of the one architecture of these tests; larger weights than fresh ones, so that seeds differ."""
    model = make_tiny_qwen3(vocabulary, hidden=32, layers=1, max_positions=POSITIONS, seed=seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3.0)
    return model


class Digests(Protocol):
    """What each rank must hold of a version."""

    def rank_digests(self, ranks: Iterable[str]) -> dict[str, str]: ...


class Publisher(Protocol):
    """Who makes the versions that a controller's commands name."""

    def publish(self, version: int) -> Digests: ...


@dataclass
class Weights:
    """Versions of a run, published without a trainer: version v is `models[v]`, or of seed `seeds[v]` or v."""

    run: str
    folder: Path
    seeds: dict[int, int] = field(default_factory=dict)
    vocabulary: int = VOCABULARY
    models: dict[int, torch.nn.Module] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.store = ManifestStore(self.folder / "manifests")
        self.publisher = ShmPublisher(self.run, root=self.folder / "shm", bucket_bytes=16 * 1024)
        self.model = self.folder / "model"
        if not self.model.exists():
            self.make(0).save_pretrained(self.model)  # pyright: ignore[reportCallIssue]

    def make(self, seed: int) -> torch.nn.Module:
        """The model with the weights of a seed."""
        return make_weights(seed, self.vocabulary)

    def publish(self, version: int) -> Manifest:
        if version in self.publisher.published():
            return self.store.get(version)
        tensors = canonical_tensors(self.models.get(version) or self.make(self.seeds.get(version, version)))
        manifest = self.publisher.publish(version, version, tensors.items(), torch.float32)
        self.store.put(manifest)
        return manifest

    def config(self, replica: str, **changes: Any) -> RolloutConfig:
        return RolloutConfig(
            replica=replica, run=self.run, model=self.model, state=self.folder / f"state-{replica}",
            manifests=self.folder / "manifests", trace=self.folder / "trace", shm_root=self.folder / "shm",
            deliver_ms=5, **changes,
        )  # fmt: skip


@contextmanager
def worker_process(kind: str, config: Any, folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], dict[str, Any]]]:
    """A worker that is ready, with its ready line; it has ended when the context is left."""
    path = folder / f"{kind}-{time.monotonic_ns()}.json"
    write_config(path, config)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "sluicegate", "worker", kind, str(path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        readable, _, _ = select.select([process.stdout], [], [], START_S)
        line = process.stdout.readline() if readable else b""
        if not line and readable:
            process.wait(START_S)
        assert line, f"the worker said nothing; its exit status is {process.poll()}"
        yield process, json.loads(line)
    finally:
        process.kill()
        process.wait(10)
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()


class Refused(Exception):
    """A request that was refused."""

    def __init__(self, found: Detail) -> None:
        super().__init__(found.reason)
        self.reason, self.retry, self.state = found.reason.lower(), found.retry, found.state


@dataclass
class Answer:
    """What a stream has brought so far."""

    lease: str = ""
    incarnation: str = ""
    epoch: int = 0
    version: int | None = None
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    versions: list[int] = field(default_factory=list)
    reason: str = ""
    text: str = ""
    chunks: int = 0

    @property
    def spans(self) -> list[tuple[int, int]]:
        return [(version, len(list(group))) for version, group in itertools.groupby(self.versions)]


class Driven:
    """A replica that serves: its controller and its clients in one. Epochs rise with each use."""

    _epochs = itertools.count(1)
    _numbers = itertools.count(1)

    def __init__(self, ready: dict[str, Any], weights: Publisher, control: aio.Channel, data: aio.Channel) -> None:
        self.ready, self.weights, self.control = ready, weights, control
        self.gate = GateClient(control, ready["replica"], incarnation=ready["incarnation"])
        self.data: Any = rollout_pb2_grpc.RolloutStub(data)
        self.term, self.epoch = 1, 0

    # -- the controller's part -------------------------------------------------------------------

    def operation(self, event: str, epoch: int | None = None) -> str:
        """An operation id as a controller names it."""
        at = self.epoch if epoch is None else epoch
        return f"{self.term}.{at}.{self.ready['incarnation']}.{event}.{next(self._numbers)}"

    async def now(self) -> Any:
        return (await self.gate.get()).snapshot

    async def until(self, holds: Any, within: float = 20.0) -> Any:
        async with asyncio.timeout(within):
            async for seen in self.gate.watch():
                if holds(seen.snapshot):
                    return seen.snapshot
        raise AssertionError("the watch ended")

    async def claim(self) -> None:
        self.term = max(self.term, (await self.now()).term)
        await self.gate.claim(term=self.term, operation_id=self.operation("claim", 0))

    async def seal(self, mode: Mode = Mode.WAIT, window: int = 60_000) -> None:
        self.epoch = max(next(self._epochs), (await self.now()).epoch + 1)
        await self.gate.seal(
            term=self.term, epoch=self.epoch, mode=mode, window=window, operation_id=self.operation("seal")
        )

    async def drain(self) -> Any:
        await self.gate.drain(term=self.term, epoch=self.epoch, operation_id=self.operation("drain"))
        return await self.until(lambda g: g.quiet == g.ranks)

    async def stage(self, version: int, *, term: int | None = None, within: float = 20.0) -> rollout_pb2.StageAnswer:
        """As the controller that claimed the gate, or one of another term. Raises AioRpcError."""
        request = rollout_pb2.StageRequest(version=version, term=self.term if term is None else term)
        return await self.data.Stage(request, timeout=within)

    async def install(self, version: int) -> Any:
        digests = self.weights.publish(version).rank_digests((await self.now()).ranks)
        await self.gate.install(
            term=self.term, epoch=self.epoch, version=version, digests=digests, operation_id=self.operation("install")
        )
        return await self.until(lambda g: g.verified == g.ranks or g.state != "INSTALLING")

    async def reopen(self) -> None:
        await self.gate.reopen(term=self.term, epoch=self.epoch, operation_id=self.operation("reopen"))

    async def close(self) -> None:
        await self.until(lambda g: not g.suspended)
        await self.gate.close(term=self.term, epoch=self.epoch, operation_id=self.operation("close"))

    async def update(self, version: int, mode: Mode = Mode.WAIT) -> Any:
        """A whole operation; what the gate then holds."""
        await self.seal(mode)
        await self.drain()
        await self.install(version)
        await self.reopen()
        await self.close()
        return await self.now()

    # -- a client's part -------------------------------------------------------------------------

    def request(self, **given: Any) -> rollout_pb2.GenerateRequest:
        sampling = rollout_pb2.SamplingParams(
            max_tokens=given.pop("max_tokens", 8), temperature=given.pop("temperature", 1.0), top_p=1.0,
            seed=given.pop("seed", 0), stop_token_ids=given.pop("stop_ids", ()),
        )  # fmt: skip
        prompt = given.pop("prompt", (3, 1, 4))
        return rollout_pb2.GenerateRequest(prompt_token_ids=prompt, sampling=sampling, **given)

    async def stream(self, within: float = 60.0, **given: Any) -> AsyncGenerator[Answer, None]:
        """The answer as it grows. Raises Refused."""
        answer = Answer()
        call = self.data.Generate(self.request(**given), timeout=within)
        try:
            async for chunk in call:
                answer.chunks += 1
                if chunk.lease:
                    assert answer.chunks == 1
                    assert not chunk.token_ids
                    answer.lease, answer.incarnation, answer.epoch = chunk.lease, chunk.incarnation, chunk.epoch
                    answer.version = chunk.version if chunk.HasField("version") else None
                assert not answer.reason, "nothing follows the end"
                assert len(chunk.token_ids) == len(chunk.log_probs) == sum(s.count for s in chunk.spans)
                answer.ids += chunk.token_ids
                answer.logprobs += chunk.log_probs
                answer.versions += [s.version for s in chunk.spans for _ in range(s.count)]
                if chunk.finish_reason:
                    answer.reason = REASON.Name(chunk.finish_reason).removeprefix("FINISH_REASON_").lower()
                    answer.text = chunk.text
                yield answer
        except aio.AioRpcError as error:
            found = detail(error, GATE.reply)
            if found is None:
                raise
            raise Refused(found) from error
        finally:
            call.cancel()

    async def generate(self, **given: Any) -> Answer:
        answer = Answer()
        async for grown in self.stream(**given):
            answer = grown
        return answer

    async def lease_state(self, lease: str) -> Any:
        return (await LeaseClient(self.control, lease, incarnation=self.ready["incarnation"]).get()).snapshot

    def lease(self, lease: str) -> LeaseClient:
        return LeaseClient(self.control, lease, incarnation=self.ready["incarnation"])


@asynccontextmanager
async def driven(ready: dict[str, Any], weights: Publisher) -> AsyncIterator[Driven]:
    """Clients of the worker with this ready line; its gate is claimed."""
    control, data = dial(ready["control"]), dial(ready["data"])
    try:
        made = Driven(ready, weights, control, data)
        await made.claim()
        yield made
    finally:
        await data.close()
        await control.close()


def judged(weights: Weights, logs: Iterable[str], ended: Mapping[str, str], folder: Path) -> Verdict:
    """The judgement over workers' logs, where what rules ask of those who commanded them is excused.

    `ended`: incarnations that were killed, and how.
    """
    absent = folder / f"absent-{time.monotonic_ns()}.ndjson"
    TraceLog(absent, run=weights.run, process="controller", incarnation="absent").flush()
    target = absent.with_suffix(".merged")
    trace = merge([*map(Path, logs), absent], {**ended, "absent": "never was"}, target)
    return validate(trace)


async def first_tokens(stream: AsyncIterator[Answer], count: int = 1) -> Answer:
    """Read on until so many tokens have come."""
    async for answer in stream:
        if len(answer.ids) >= count:
            return answer
    raise AssertionError("the stream ended before")


@asynccontextmanager
async def served(
    weights: Weights, engine: type[TorchEngine] = TorchEngine, /, **changes: Any
) -> AsyncIterator[tuple[Driven, TorchEngine]]:
    """A replica in this process, over its real servers; at the end its log is judged."""
    config: RolloutConfig = weights.config(changes.pop("replica", "r0"), stop_ms=1000, **changes)
    made = engine(weights.model, deliver_every_s=0.005)
    async with replica(config, made) as ready, driven(ready, weights) as held:
        yield held, made
    verdict = judged(weights, [ready["trace"]], {}, weights.folder)
    assert verdict.valid, verdict.refusal


class Disk:
    """The disk of the leases' records; while `is_full` nothing can be written."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_full, self._write = False, LeaseStore.write
        monkeypatch.setattr(LeaseStore, "write", lambda store, records: self.write(store, records))

    def write(self, store: LeaseStore, records: Any) -> None:
        if self.is_full:
            raise StoreError("the disk is full")
        self._write(store, records)


def slow_down(engine: TorchEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a step take at least 5 ms, so that a long request takes many seconds on any machine."""
    forward = engine._model.forward

    def slowly(*args: Any) -> Any:
        time.sleep(0.005)
        return forward(*args)

    monkeypatch.setattr(engine._model, "forward", slowly)


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
