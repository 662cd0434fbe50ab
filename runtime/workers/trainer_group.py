"""The head of a trainer's ranks: it commands each of them, and tells the group's machine what each answers.

Rules of this file:

- A rank is commanded by its own machine. That of this process is stepped here; another process is called,
  and claimed once, at the start, by a term that is nobody else's.
- Every wait is bounded. A rank that does not answer any more, or refuses what its group took, has failed.
- Ranks begin together: a command goes to all of them at the same time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from grpc import StatusCode, aio

from ...protocol.client import CallError, Refused, dial, told
from ...protocol.generated import training_pb2 as pb
from ...protocol.generated import training_pb2_grpc as rpc
from ...protocol.generated.trainer_service import TrainerClient
from ...protocol.host import MachineHost
from ...statemachines.names import snake
from ...statemachines.trainer import Trainer
from .trainer_actions import GROUP, RankActions
from .trainer_jobs import Became, Jobs

_log = logging.getLogger(__name__)
TERM = 1
"""The head's term at its ranks: nobody else commands them."""
BEAT_S = 1.0
"""How long a rank is waited for in one call, before it is asked again what its job became."""
PAUSE_S = 0.2
"""The pause before a rank that could not be reached is asked again."""
_UNDONE = ("not_submitted", "batch")
"""Why a rank refuses a batch: it has begun nothing, and so do the ranks that wait for it."""


@dataclass(frozen=True, slots=True)
class Told:
    """What became of a job on one rank."""

    became: Became
    why: str
    digest: str


class RankLost(Exception):
    """A rank does not answer, or refuses; the text says how."""


class Rank(Protocol):
    """One rank, as the head commands it."""

    name: str

    async def claim(self) -> None:
        """Command it from now on. Raises RankLost."""
        ...

    async def submit(self, request: pb.SubmitRequest) -> None:
        """Hand a batch to it. Raises AioRpcError as the rank refused it, or RankLost."""
        ...

    async def do(self, event: Any, job: int) -> Told:
        """Have it step and do what follows, and wait for what becomes of it. Raises RankLost."""
        ...

    async def close(self) -> None: ...


class OwnRank:
    """The rank of the head's own process."""

    def __init__(self, name: str, host: MachineHost, jobs: Jobs) -> None:
        self.name = name
        self._host, self._jobs = host, jobs

    async def claim(self) -> None:
        await self._step(Trainer.Claim(term=TERM), 0)

    async def submit(self, request: pb.SubmitRequest) -> None:
        """What the group holds, its own rank holds."""

    async def do(self, event: Any, job: int) -> Told:
        await self._step(event, job)
        if (found := self._jobs.get(self.name, self._host.live(self.name).job)) is None:
            raise RankLost(f"it began nothing at {type(event).__name__}")
        await found.over.wait()
        return Told(found.became, "; ".join(found.why), found.digest)

    async def close(self) -> None: ...

    async def _step(self, event: Any, job: int) -> None:
        operation = _operation(self._host.incarnation, event, job)
        outcome = await self._host.apply(self.name, event, operation_id=operation)
        if outcome.refused:
            raise RankLost(f"it refused {type(event).__name__}: {outcome.text}")


class OtherRank:
    """A rank in a process of its own. `within`: how long it may leave a question unanswered, in seconds."""

    def __init__(self, name: str, incarnation: str, control: str, data: str, *, within: float) -> None:
        self.name = name
        self._incarnation, self._within = incarnation, within
        self._channels: tuple[aio.Channel, aio.Channel] = (dial(control), dial(data))
        self._client = TrainerClient(self._channels[0], name, incarnation=incarnation, deadline=within)
        self._data: Any = rpc.TrainerDataStub(self._channels[1])

    async def claim(self) -> None:
        await self._asked(self._client.claim(term=TERM, operation_id=self._named(Trainer.Claim(term=TERM), 0)))

    async def submit(self, request: pb.SubmitRequest) -> None:
        await self._data.Submit(request, timeout=self._within)

    async def do(self, event: Any, job: int) -> Told:
        ask: Callable[..., Awaitable[Any]] = getattr(self._client, snake(type(event).__name__))
        try:
            reply = await ask(**event.__dict__, operation_id=self._named(event, job))
        except CallError as error:
            if isinstance(error, Refused) and error.reason in _UNDONE:
                return Told("undone", error.text, "")
            raise RankLost(str(error)) from error
        request = pb.OutcomeRequest(instance=self.name, job=reply.snapshot.job, wait_ms=int(BEAT_S * 1000))
        clock = asyncio.get_running_loop().time
        heard = clock()
        while True:
            try:
                answer = await self._data.Outcome(request, timeout=BEAT_S + self._within / 4)
            except aio.AioRpcError as error:
                if error.code() not in (StatusCode.UNAVAILABLE, StatusCode.DEADLINE_EXCEEDED, StatusCode.CANCELLED):
                    raise RankLost(f"it does not say what its job became: {told(error)}") from error
                if clock() - heard > self._within:
                    raise RankLost(f"it has not answered for {clock() - heard:.1f} s ({told(error)})") from error
                await asyncio.sleep(PAUSE_S)
                continue
            heard = clock()
            if answer.became != "running":
                return Told(answer.became, answer.why, answer.digest)

    async def close(self) -> None:
        for channel in self._channels:
            await channel.close()

    def _named(self, event: Any, job: int) -> str:
        return _operation(self._incarnation, event, job)

    async def _asked(self, call: Awaitable[Any]) -> Any:
        try:
            return await call
        except CallError as error:
            raise RankLost(str(error)) from error


def _operation(incarnation: str, event: Any, job: int) -> str:
    return f"{TERM}.{incarnation}.{snake(type(event).__name__)}.{job}"


class GroupActions:
    """What the group's machine asks for. `host`, `ranks` and `failed` are set before use.

    `longest`: how many seconds a job may take; `failed` is told when the group has failed.
    """

    def __init__(self, *, longest: float) -> None:
        self.host: MachineHost
        self.ranks: Sequence[Rank]
        self.failed: Callable[[], Awaitable[None]]
        self._longest = longest

    async def submit(self, request: pb.SubmitRequest) -> None:
        """Hand a batch to every rank. Raises what the first of them raises that does not take it."""
        async with asyncio.TaskGroup() as group:
            for rank in self.ranks:
                group.create_task(rank.submit(request))

    async def start_training(self, instance: str, job: int, batch: str) -> None:
        await self._all(job, Trainer.Train(term=TERM, batch=batch), Trainer.Trained)

    async def start_publishing(self, instance: str, job: int, version: int) -> None:
        await self._all(job, Trainer.Publish(term=TERM, version=version), Trainer.Published)

    async def start_saving(self, instance: str, job: int, path: str) -> None:
        await self._all(job, Trainer.Save(term=TERM, path=path), Trainer.Saved)

    async def start_loading(self, instance: str, job: int, path: str) -> None:
        await self._all(job, Trainer.Load(term=TERM, path=path), Trainer.Loaded)

    async def _all(self, job: int, event: Any, did: Any) -> None:
        async with asyncio.TaskGroup() as group:
            for rank in self.ranks:
                group.create_task(self._one(rank, job, event, did))

    async def _one(self, rank: Rank, job: int, event: Any, did: Any) -> None:
        try:
            async with asyncio.timeout(self._longest):
                found = await rank.do(event, job)
        except RankLost as error:
            answer = Trainer.Failed(rank=rank.name, why=str(error))
        except TimeoutError:
            answer = Trainer.Failed(rank=rank.name, why=f"its job took longer than {self._longest:g} s")
        else:
            match found.became:
                case "done":
                    digest = {"digest": found.digest} if did is Trainer.Published else {}
                    answer = did(rank=rank.name, job=job, **digest)
                case "undone":
                    answer = Trainer.Undone(rank=rank.name, job=job, why=found.why)
                case _:
                    answer = Trainer.Failed(rank=rank.name, why=found.why)
        self.host.step(GROUP, answer)
        if self.host.live(GROUP).state == "FAILED":
            _log.error("the trainer has failed: %s answered %s", rank.name, answer)
            await self.failed()


class TrainerProcessActions:
    """What the machines of a process ask for: those of its rank, and in the head's those of the group."""

    def __init__(self, rank: RankActions, group: GroupActions) -> None:
        self._rank, self._group = rank, group

    def _of(self, instance: str) -> RankActions | GroupActions:
        return self._group if instance == GROUP and self._rank.name != GROUP else self._rank

    async def start_training(self, instance: str, job: int, batch: str) -> None:
        await self._of(instance).start_training(instance, job, batch)

    async def start_publishing(self, instance: str, job: int, version: int) -> None:
        await self._of(instance).start_publishing(instance, job, version)

    async def start_saving(self, instance: str, job: int, path: str) -> None:
        await self._of(instance).start_saving(instance, job, path)

    async def start_loading(self, instance: str, job: int, path: str) -> None:
        await self._of(instance).start_loading(instance, job, path)
