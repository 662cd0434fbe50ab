"""The trainer worker: each rank is one process, with its machine and DeepSpeed; the first leads the others.

Rules of this file:

- One thread makes and uses everything of torch; the event loop only hears of results.
- The head has the weights that are published, and the machine of the whole group. It serves outside callers;
  the other ranks serve the head, and end once they have failed.
- A run has one trainer at a time: its head has the run's locks for as long as it has the weights.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import uuid
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import torch

from ...protocol.generated.trainer_service import TRAINER, TrainerServicer
from ...protocol.host import MachineHost
from ...protocol.server import Server
from ..tracelog import TraceLog
from ..training.deepspeed_trainer import TrainerCore
from ..training.errors import TrainerError
from ..weights import ManifestStore
from ..weights.service import WeightsServicer
from .config import TrainerConfig
from .process import log_path, open_log, stop_signals
from .torchrun import own_rank
from .trainer_actions import GROUP, Publishing, RankActions, Ranks
from .trainer_data import TrainerControl, TrainerDataServicer
from .trainer_group import GroupActions, OtherRank, OwnRank, Rank, RankLost, TrainerProcessActions
from .trainer_jobs import Jobs
from .trainer_meeting import meet
from .trainer_store import HeadStore, own_host

QUICK_S = 0.5
"""How long calls may go on at the end: control's only watch, and data's are short."""
_ENVELOPE = 64 * 1024


@dataclass(frozen=True, slots=True)
class Place:
    """Where a process stands in its group: `life` is the group's, `incarnation` its own."""

    rank: int
    world: int
    life: str

    @property
    def name(self) -> str:
        return f"rank-{self.rank}"

    @property
    def is_head(self) -> bool:
        return self.rank == 0

    @property
    def incarnation(self) -> str:
        return self.life if self.is_head else f"{self.life}.{self.name}"


@dataclass(frozen=True, slots=True)
class Serving:
    """A rank that serves: the facts of its ready line, and why it has failed, once it has."""

    place: Place
    facts: dict[str, Any]
    broken: asyncio.Event


async def run(config: TrainerConfig, announce: Callable[[dict[str, Any]], None]) -> None:
    """Serve until this process is told to end; `announce` is given the facts of the ready line.

    Raises TrainerError, GroupError, ServerError, ConfigError when it cannot start, and TrainerError where it is a rank
    that has failed, and leads none.
    """
    with stop_signals() as stop:
        async with trainer(config) as serving:
            if serving.place.is_head:
                announce(serving.facts)
            async with asyncio.TaskGroup() as waiting:
                ends = [waiting.create_task(stop.wait()), waiting.create_task(serving.broken.wait())]
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
                if not stop.is_set() and not serving.place.is_head:
                    # The head asks why, and ends the group with its own machine first.
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(asyncio.shield(ends[0]), config.stop_ms / 1000)
                for task in ends:
                    task.cancel()
            if not stop.is_set():
                raise TrainerError(f"{serving.place.incarnation} has failed: its log says why")


@asynccontextmanager
async def trainer(config: TrainerConfig) -> AsyncIterator[Serving]:
    """A rank of a trainer that serves; leaving ends it gracefully."""
    place = _place(config)
    grace, within, together = config.stop_ms / 1000, config.answer_ms / 1000, config.training.collective_ms / 1000
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(HeadStore(config)) if place.is_head else None
        name = GROUP if place.is_head else place.name
        log = open_log(config.trace, name, place.incarnation, run=config.run, process="trainer")
        trace = None if log is None else stack.enter_context(log)
        config.state.mkdir(parents=True, exist_ok=True)
        thread = ThreadPoolExecutor(1, "torch")
        stack.callback(thread.shutdown, wait=False, cancel_futures=True)
        core = await asyncio.get_running_loop().run_in_executor(thread, _make_core, config)
        # What still runs and what it holds of torch share the time that a graceful end may take.
        stack.push_async_callback(_close_core, core, thread, grace / 2)
        manifests = ManifestStore(config.manifests)
        actions = RankActions(
            place.name, core, thread,
            Publishing(
                manifests, store and store.weights, config.bucket_bytes, getattr(torch, config.dtype),
                config.keep_versions, config.layouts,
            ),
            trace, together=Ranks(within, together), folder=config.state,
        )  # fmt: skip
        group, jobs = GroupActions(longest=config.job_ms / 1000), Jobs()
        host = _host(place, TrainerProcessActions(actions, group), trace, grace / 2)
        jobs.watch(host)
        options = (("grpc.max_receive_message_length", config.max_batch_bytes + _ENVELOPE),)
        control_server = Server([TrainerControl(host, actions)], grace=QUICK_S)
        data = TrainerDataServicer(
            actions, group if place.is_head else None, jobs, limit=config.max_batch_bytes
        )
        weights = None
        if store is not None:
            weights = WeightsServicer(config.weights, store.weights, manifests, life=place.life)
            await stack.enter_async_context(weights)
        data_server = Server([data] if weights is None else [data, weights], grace=QUICK_S, options=options)
        broken = asyncio.Event()

        async def failed() -> None:
            await control_server.set_serving(False, TrainerServicer.SERVICE)
            if not place.is_head:
                broken.set()

        actions.host, actions.failed = host, failed
        group.host, group.failed, group.ranks = host, failed, ()
        await stack.enter_async_context(host)
        host.create(place.name, ranks={place.name})
        await stack.enter_async_context(control_server)
        await stack.enter_async_context(data_server)
        served = {
            "name": place.name, "incarnation": place.incarnation, "host": own_host(), "pid": os.getpid(),
            "control": control_server.target, "data": data_server.target,
        }  # fmt: skip
        all_served = await asyncio.to_thread(meet, place.rank, place.world, served, together)
        if store is not None and weights is not None:
            store.belongs_to(all_served)
            group.ranks = await _lead(all_served, host, jobs, within, stack)
            host.create(GROUP, ranks={each["name"] for each in all_served})
            await weights.announce(data_server.target)
        yield Serving(
            place,
            {
                "kind": "trainer",
                "replica": GROUP,
                "incarnation": place.life,
                "ranks": all_served,
                "control": control_server.target,
                "data": data_server.target,
                "trace": "" if config.trace is None else str(log_path(config.trace, name, place.incarnation)),
            },
            broken,
        )


async def _lead(
    served: list[dict[str, Any]], host: MachineHost, jobs: Jobs, within: float, stack: AsyncExitStack
) -> list[Rank]:
    """All ranks, claimed. Raises TrainerError for one that does not let itself be led."""
    own, *others = served
    ranks: list[Rank] = [OwnRank(own["name"], host, jobs)]
    for other in others:
        rank = OtherRank(other["name"], other["incarnation"], other["control"], other["data"], within=within)
        stack.push_async_callback(rank.close)
        ranks.append(rank)
    for rank in ranks:
        try:
            await rank.claim()
        except RankLost as error:
            raise TrainerError(f"{rank.name} cannot be led: {error}") from error
    return ranks


def _place(config: TrainerConfig) -> Place:
    """Raises ConfigError where the config and the environment do not describe one group."""
    rank = own_rank(config.ranks)
    # All ranks of one torchrun have its name for this life.
    drawn = os.environ.get("TORCHELASTIC_RUN_ID") or uuid.uuid4().hex
    return Place(rank, config.ranks, config.incarnation or f"{GROUP}.{drawn.replace('-', '')[:12]}")


def _host(place: Place, actions: TrainerProcessActions, trace: TraceLog | None, grace: float) -> MachineHost:
    log = None if trace is None else trace.of("Trainer")
    return MachineHost(
        TRAINER, actions, incarnation=place.incarnation, grace=grace, observer=log, lives=log and log.lives
    )


def _make_core(config: TrainerConfig) -> TrainerCore:
    torch.set_num_threads(config.threads)
    return TrainerCore(config.training, config.model)


async def _close_core(core: TrainerCore, thread: ThreadPoolExecutor, grace: float) -> None:
    """A step that still runs is not waited for beyond the bound; it ends with the process."""
    closing = asyncio.get_running_loop().run_in_executor(thread, core.close)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(grace):
            await closing
