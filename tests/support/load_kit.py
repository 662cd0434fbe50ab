"""The load of a run of real processes: many clients, and the job that trains, publishes and asks for updates.

Rules of this file:

- A client keeps what it was told of each request, in order, and never asks again for what it was answered.
- A turn ends when its lease is known to be over: its replica says so, or the replica's process has ended.
- The job trains on completed answers alone. Whatever dies under it, it goes on with the next life, and takes a
  new number for what it publishes.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import torch
from controller_kit import RUN, START_S, Run
from grpc import StatusCode, aio
from rollout_kit import REASON, VOCABULARY, make_weights

from sluicegate.protocol.client import CallError, Rejected
from sluicegate.protocol.generated import rollout_pb2, rollout_pb2_grpc
from sluicegate.protocol.generated.gate_service import GATE
from sluicegate.protocol.generated.lease_service import LeaseClient
from sluicegate.protocol.refusals import detail
from sluicegate.runtime.config import as_json
from sluicegate.runtime.controller.client import OperationFailed
from sluicegate.runtime.controller.register import Register
from sluicegate.runtime.controller.trainer import TrainerError, TrainerHandle
from sluicegate.runtime.launcher import Worker
from sluicegate.runtime.supervisor import Charge
from sluicegate.runtime.training.config import TrainingConfig
from sluicegate.runtime.training.samples import Sample
from sluicegate.runtime.weights import ShmReader, canonical_tensors, stage_from
from sluicegate.runtime.workers.config import TrainerConfig
from sluicegate.statemachines.session import Rebinding, Session

TURN_S = 240.0
"""How long one request, and finding out what became of it, may take."""
COMMAND_S = 120.0
"""How long a trainer may take for one command."""
AGAIN_S = 0.2
GROUPS, MEMBERS = 2, 4
TRAINING = TrainingConfig(
    groups=GROUPS, group_size=MEMBERS, epochs=1, minibatches=1, zero_stage=2, learning_rate=0.02,
    max_staleness=100_000,
)  # fmt: skip


@dataclass(eq=False)
class Turn:
    """What a client knows of one request. `ended`: a finish reason, `refused`, or `broken` where the stream was."""

    lease: str
    incarnation: str
    prompt: list[int]
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    versions: list[int] = field(default_factory=list)
    admitted: bool = False
    ended: str = ""
    why: str = ""

    def take(self, chunk: rollout_pb2.GenerateChunk) -> None:
        assert not self.ended, "nothing follows the end"
        self.admitted |= bool(chunk.lease)
        self.ids += chunk.token_ids
        self.logprobs += chunk.log_probs
        self.versions += [s.version for s in chunk.spans for _ in range(s.count)]
        assert len(self.ids) == len(self.logprobs) == len(self.versions)
        if chunk.finish_reason:
            self.ended = REASON.Name(chunk.finish_reason).removeprefix("FINISH_REASON_").lower()
            self.why = chunk.text


class Agents:
    """Clients that talk to the replicas of a run, in sessions of some turns each. Use as `async with`.

    `longest`: the most tokens of an answer; `pause`: the most seconds between two turns of a client, which may be
    changed meanwhile; `data`: where a replica takes requests, if not where it says.
    """

    def __init__(
        self, run: Run, clients: int, *, longest: int = 60, pause: float = 0.1, seed: int = 0,
        data: Callable[[Worker], str] = lambda worker: worker.ready["data"],
    ) -> None:  # fmt: skip
        self.run, self.clients, self.longest, self.pause = run, clients, longest, pause
        self.turns: list[Turn] = []
        self.refusals: Counter[str] = Counter()
        self._seed, self._data = seed, data
        self._stop = False
        self._group = asyncio.TaskGroup()
        self._register: Register

    async def __aenter__(self) -> Self:
        self._register = Register(self.run.register_path)
        await self._group.__aenter__()
        for number in range(self.clients):
            self._group.create_task(self._client(f"c{self._seed}-{number}"))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop = True
        await self._group.__aexit__(kind, error, trace)
        self._register.__exit__(None, None, None)

    @property
    def completed(self) -> list[Turn]:
        return [turn for turn in self.turns if turn.ended in ("stop", "length")]

    async def more(self, count: int) -> None:
        """Return when so many more answers have been completed."""
        wanted = len(self.completed) + count
        async with asyncio.timeout(TURN_S):
            while len(self.completed) < wanted:  # noqa: ASYNC110 - clients tell nobody
                await asyncio.sleep(0.05)

    async def _client(self, name: str) -> None:
        draw = random.Random(name)
        for number in itertools.count(1):
            session = f"{name}-{number}"
            self.run.agents.born(Session, session, policy=Rebinding.NEVER)
            bound: Worker | None = None
            for turn in range(1, draw.randint(2, 5)):
                await asyncio.sleep(draw.uniform(0, self.pause))
                if self._stop:
                    return
                worker, published = bound or self._choose(draw), self._register.published
                if worker is None or published is None:
                    continue
                await self._turn(f"{session}.{turn}", session, worker, None if bound else published, draw)
                live = self.run.agents.live["Session", session]
                if live.state == "LOST":
                    break
                bound = worker if live.incarnation == worker.incarnation else None

    def _choose(self, draw: random.Random) -> Worker | None:
        names = {w.name for w in self.run.supervisor.workers.values() if "data" in w.ready and w.name != "trainer"}
        found = [worker for name in sorted(names) if (worker := self.run.supervisor.present(name)) is not None]
        return draw.choice(found) if found else None

    async def _turn(self, lease: str, session: str, worker: Worker, pin: int | None, draw: random.Random) -> None:
        """One request, until it is over; `pin` is the version to bind the session at, none of one that is bound."""
        log = self.run.agents
        prompt = [draw.randrange(VOCABULARY) for _ in range(3)]
        turn = Turn(lease, worker.incarnation, prompt)
        sampling = rollout_pb2.SamplingParams(
            max_tokens=draw.randint(1, self.longest), temperature=1.0, top_p=1.0, seed=draw.randrange(1 << 30)
        )
        request = rollout_pb2.GenerateRequest(
            request_id=lease, session=session, incarnation=worker.incarnation, prompt_token_ids=prompt,
            sampling=sampling, hold=60.0, version=pin,
        )  # fmt: skip
        stub: Any = rollout_pb2_grpc.RolloutStub(self.run.channel(self._data(worker)))
        log.step(session, Session.BeginTurn(lease=lease), lease)
        self.turns.append(turn)
        has_life = True
        try:
            async for chunk in stub.Generate(request, timeout=TURN_S):
                if chunk.lease and pin is not None:
                    bound = Session.Bound(replica=worker.name, incarnation=worker.incarnation)
                    log.step(session, bound, lease)
                turn.take(chunk)
        except aio.AioRpcError as error:
            found = detail(error, GATE.reply)
            turn.ended, turn.why = ("broken" if found is None else "refused"), error.details() or ""
            if found is not None:
                self.refusals[found.reason.lower()] += 1
            else:
                has_life = await self._is_over(lease, worker)
        if not has_life and log.live["Session", session].incarnation == worker.incarnation:
            log.step(session, Session.Lose(incarnation=worker.incarnation), worker.incarnation)
        log.step(session, Session.EndTurn(lease=lease), lease)

    async def _is_over(self, lease: str, worker: Worker) -> bool:
        """Return once a lease whose stream broke is over; whether its replica still lives."""
        stub: Any = rollout_pb2_grpc.RolloutStub(self.run.channel(worker.ready["data"]))
        client = LeaseClient(
            self.run.channel(worker.ready["control"]), lease, incarnation=worker.incarnation, deadline=5
        )
        aborted = False
        async with asyncio.timeout(TURN_S):
            while True:
                life = self.run.roster.life(worker.incarnation)
                if life is None or life.ended is not None:
                    return False
                try:
                    if not aborted:
                        # Remembered by the replica, so that a request still on its way is refused.
                        await stub.Abort(rollout_pb2.AbortRequest(request_id=lease), timeout=5)
                        aborted = True
                    if (await client.get()).snapshot.state in ("SETTLED", "LOST"):
                        return True
                except Rejected as error:
                    if error.code is StatusCode.NOT_FOUND:
                        return True
                except (CallError, aio.AioRpcError):
                    pass
                await asyncio.sleep(AGAIN_S)


class Job:
    """What a run is for: it trains on what clients were answered, publishes, and has the cohort brought to it.

    The trainer and the controller are kept by the run's supervisor.
    """

    def __init__(self, run: Run, agents: Agents) -> None:
        self.run, self.agents = run, agents
        self.tensors: dict[int, dict[str, torch.Tensor]] = {}
        """The weights of each version, as they were published."""
        self.outcomes: Counter[str] = Counter()
        self.deaths: list[str] = []
        """What commands to the trainer said that did not succeed."""
        self._handle: TrainerHandle | None = None
        self._batches = itertools.count(1)
        self._shapes = canonical_tensors(make_weights(0))
        self._source = ShmReader(RUN, root=run.folder / "shm")

    @staticmethod
    def keep(run: Run) -> None:
        """Keep a controller and a trainer alive."""

        def trainer(incarnation: str) -> Any:
            return as_json(
                TrainerConfig(
                    run=RUN, model=run.weights.model, state=run.folder / "state-trainer",
                    manifests=run.folder / "manifests", trace=run.trace, incarnation=incarnation,
                    shm_root=run.folder / "shm", bucket_bytes=16 * 1024, training=TRAINING, stop_ms=2000,
                )
            )  # fmt: skip

        run.supervisor.keep(Charge("controller", "controller", run.controller_config, START_S))
        run.supervisor.keep(Charge("trainer", "trainer", trainer, START_S))

    async def close(self) -> None:
        if self._handle is not None:
            await self._handle.close()

    async def produce(self, *, unreadable_for: str = "") -> int:
        """The next version, trained and published; see `Run.hand_out`."""
        async with asyncio.timeout(START_S + COMMAND_S):
            while True:
                try:
                    handle = await self._trainer()
                    if self.tensors:
                        await handle.train(f"batch-{next(self._batches)}", self._samples())
                    with Register(self.run.register_path) as register:
                        version = register.next_version()
                    await handle.publish(version)
                    break
                except TrainerError as error:
                    self.deaths.append(str(error))
                await asyncio.sleep(AGAIN_S)
        manifest = self.run.weights.store.get(version)
        self.tensors[version] = stage_from(manifest, self._source, self._shapes)
        self.run.hand_out(version, unreadable_for=unreadable_for)
        return version

    def sync(self, version: int) -> Coroutine[Any, Any, str]:
        """Have the cohort brought to a version; `published`, or the reason why not."""

        async def ask() -> str:
            try:
                said = (await self.run.client.sync(version, within=TURN_S)).result
            except OperationFailed as failed:
                said = failed.reason
            self.outcomes[said] += 1
            return said

        return ask()

    async def update(self) -> str:
        """Train, publish and sync."""
        return await self.sync(await self.produce())

    async def home(self, *replicas: str, within: float) -> None:
        """Return when every replica is open at what is published, and whoever rules has taken over."""
        async with asyncio.timeout(within):
            while True:
                found = await self.run.client.status(within=within)
                shown = [(r.replica, r.state, r.gate, r.version) for r in found.replicas]
                wanted = [(name, "SERVING", "OPEN", found.published) for name in sorted(replicas)]
                if not found.taking_over and sorted(shown) == wanted:
                    return
                await asyncio.sleep(AGAIN_S)

    async def _trainer(self) -> TrainerHandle:
        """The trainer that lives, claimed by the term that rules."""
        while True:
            worker, ruler = self.run.supervisor.present("trainer"), self.run.roster.ruler()
            if worker is not None and ruler is not None:
                break
            await asyncio.sleep(AGAIN_S)
        handle = self._handle
        if handle is None or (handle.incarnation, handle.term) != (worker.incarnation, ruler.term):
            if handle is not None:
                await handle.close()
            control, data = worker.ready["control"], worker.ready["data"]
            self._handle = handle = TrainerHandle(worker.incarnation, control, data, term=ruler.term, within=COMMAND_S)
            await handle.claim()
        return handle

    def _samples(self) -> list[Sample]:
        """The last completed answers: whatever else a client was left with is not trained on."""
        return list(map(_sample, range(GROUPS * MEMBERS), self.agents.completed[-GROUPS * MEMBERS :]))


def _sample(number: int, turn: Turn) -> Sample:
    before, made = len(turn.prompt), len(turn.ids)
    return Sample(
        session=turn.lease, group=f"g{number // MEMBERS}", token_ids=(*turn.prompt, *turn.ids),
        turns=(0,) * before + (1,) * made, log_probs=(0.0,) * before + tuple(turn.logprobs),
        versions=(0,) * before + tuple(turn.versions), rewards=(float(number % 2),),
    )  # fmt: skip


def replicas_of(run: Run) -> Iterator[str]:
    """The names of the replicas that a run keeps."""
    return (folder.name.removeprefix("manifests-") for folder in sorted(run.folder.glob("manifests-*")))
