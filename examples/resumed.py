"""A run that can be killed at any moment and goes on: a trainer, two replicas, agents, and checkpoints.

Start it, kill what you like, and start it again with the same words:

    python -m examples.resumed runs/resumed
    sluicegate status runs/resumed
    sluicegate checkpoint list runs/resumed
    kill -9 <process id of the trainer>
    kill -9 <process ids of all, this one first>
    python -m examples.resumed runs/resumed

A trainer that dies is begun again from the last checkpoint, while the replicas serve on. Where everything died, the
run goes on from its folder alone: the weights of the checkpoint are published under a new number before anything
is served. `--updates` ends it after so many steps; Ctrl-C ends it at once, and it can be resumed then too.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import random
import secrets
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from transformers.utils import logging

from sluicegate.protocol.client import CallError
from sluicegate.protocol.sqlite import SqliteStore
from sluicegate.protocol.store import StoreError
from sluicegate.protocol.tasks import Tasks
from sluicegate.runtime.checkpoints import Checkpoints, ResumeError, Run, RunState, forget_weights
from sluicegate.runtime.config import as_json
from sluicegate.runtime.controller.client import ControllerClient, OperationFailed
from sluicegate.runtime.controller.config import ControllerConfig
from sluicegate.runtime.controller.register import Register
from sluicegate.runtime.controller.roster import Roster
from sluicegate.runtime.controller.trainer import TrainerError, TrainerHandle, TrainerUndone
from sluicegate.runtime.demo.batch import samples_of
from sluicegate.runtime.demo.production import Agents, Group
from sluicegate.runtime.demo.record import Record
from sluicegate.runtime.files import write_durably
from sluicegate.runtime.launcher import Launcher, Worker
from sluicegate.runtime.models import CharTokenizer, make_tiny_qwen3, save_model_folder
from sluicegate.runtime.sessions import Prompt, Router, Sessions, SessionSettings, Workers
from sluicegate.runtime.sessions.following import FollowedCohort
from sluicegate.runtime.supervisor import Charge, Supervisor
from sluicegate.runtime.tasks import Recall
from sluicegate.runtime.training.checkpoint import CheckpointError
from sluicegate.runtime.training.config import TrainingConfig
from sluicegate.runtime.weights import ManifestStore
from sluicegate.runtime.weights.config import WeightsConfig
from sluicegate.runtime.workers.config import RolloutConfig, TrainerConfig
from sluicegate.runtime.workers.process import open_log

T = TypeVar("T")
REPLICAS = ("r0", "r1")
START_S, WITHIN_S = 240.0, 120.0
"""How long a process may take to start, and one command to the trainer or the controller."""
REMEMBER_MS = 10_000
"""How long a replica remembers a request that has ended: these are short, and many."""
KEPT = 3
"""How many checkpoints are kept."""
FROZEN = "model.layers.0.mlp.*"
"""The parameters that are not trained: they are the same in every version, to the bit."""
WEIGHTS = WeightsConfig()
TRAINING = TrainingConfig(groups=4, group_size=4, epochs=1, minibatches=1, max_staleness=4, frozen=(FROZEN,))


@dataclass(frozen=True)
class Wishes:
    """What the run was asked for: `updates` ends it, None goes on; a checkpoint is saved every `save` steps.

    `ranks` is how many processes train together.
    """

    updates: int | None = None
    save: int = 5
    ranks: int = 1


class Resumed:
    """One life of the run below `folder`; `run` goes on until it is cancelled or has made its updates."""

    def __init__(self, folder: Path, wishes: Wishes) -> None:
        self.folder, self.wishes = folder, wishes
        self.task = Recall()
        self.tokenizer = CharTokenizer(self.task.alphabet)
        self.name = self._name()
        self.client: ControllerClient
        self.supervisor: Supervisor
        self.agents: Agents
        self.kept: Run
        self.trainer: TrainerHandle | None = None
        self.life = ""
        self.begun = itertools.count()
        self.finished: asyncio.Queue[tuple[int, Group]] = asyncio.Queue(1)

    def _name(self) -> str:
        """The run's name: drawn once, and the same in each of its lives."""
        path = self.folder / "name"
        if not path.exists():
            write_durably(path, f"resumed-{secrets.token_hex(4)}".encode())
        return path.read_text()

    def prepare(self) -> None:
        """Make what processes start from, where an earlier life did not: the model appears as a whole."""
        (self.folder / "processes").mkdir(exist_ok=True)
        if (self.folder / "model").exists():
            return
        with tempfile.TemporaryDirectory(prefix=".model.", dir=self.folder) as made:
            save_model_folder(
                Path(made) / "model", make_tiny_qwen3(self.tokenizer.vocab_size, hidden=32), self.tokenizer
            )
            (Path(made) / "model").rename(self.folder / "model")

    async def run(self) -> None:
        self.prepare()
        async with AsyncExitStack() as stack:
            store = stack.enter_context(contextlib.closing(SqliteStore(self.folder / "register.db")))
            register, roster = Register(store), Roster(store)
            self.kept = Run(
                name=self.name, register=register, roster=roster, manifests=ManifestStore(self.folder / "manifests"),
                checkpoints=Checkpoints(self.folder / "checkpoints"), max_staleness=TRAINING.max_staleness,
            )  # fmt: skip
            launcher = await stack.enter_async_context(
                Launcher(self.folder / "processes", environment={"OMP_NUM_THREADS": "1"})
            )
            self.supervisor = await stack.enter_async_context(
                # What an earlier life published could be served otherwise, before the restored weights are.
                Supervisor(roster, launcher, clear=lambda: forget_weights(WEIGHTS, self.name))
            )
            self.client = await stack.enter_async_context(
                ControllerClient.of_register(self.folder / "register.db", within=WITHIN_S)
            )
            if self.kept.checkpoints.paths():
                checkpoint, version = await self.kept.cold_resume(self.start)
                step = checkpoint.state.step
                say(f"resumed from {checkpoint.path.name}: step {step}, published as version {version}")
            else:
                version = await self.kept.cold_start(*await self.start(None))
                step = 0
                say(f"begun: version {version} is published")
                await self.save(step)
            await self.play(step, roster, stack)
        say("ended")

    # -- processes -------------------------------------------------------------------------------

    async def start(self, state: RunState | None) -> tuple[TrainerHandle, ControllerClient]:
        """Start all processes; nothing serves before something is published."""
        # The controller first: replicas that it finds at its begin are waited for.
        self.supervisor.keep(Charge("controller", "controller", self.controller, START_S))
        await self.client.status()
        for name in REPLICAS:
            self.supervisor.keep(Charge(name, "rollout", lambda life, name=name: self.replica(name, life), START_S))
        self.supervisor.keep(Charge("trainer", "trainer", self.trains, START_S))
        trainer = await self.next_trainer()
        async with asyncio.timeout(START_S):
            while len((await self.client.status()).replicas) < len(REPLICAS):  # noqa: ASYNC110 - a status tells nobody
                await asyncio.sleep(0.2)
        return trainer, self.client

    async def next_trainer(self) -> TrainerHandle:
        """A life of the trainer that is not the one before, claimed."""
        before = self.trainer

        def found() -> Worker | None:
            worker = self.supervisor.present("trainer")
            return None if worker is None or (before and worker.incarnation == before.incarnation) else worker

        if not await self.supervisor.changed.until(lambda: found() is not None, START_S):
            raise TimeoutError(f"no trainer was ready within {START_S:g} s")
        worker = found()
        assert worker is not None
        if before is not None:
            await before.close()
        term = (await self.client.status()).term
        ready = worker.ready
        self.trainer = TrainerHandle(worker.incarnation, ready["control"], ready["data"], term=term, within=WITHIN_S)
        await self.trainer.claim()
        return self.trainer

    def replica(self, name: str, incarnation: str) -> dict[str, Any]:
        config = RolloutConfig(
            replica=name, run=self.name, incarnation=incarnation, model=self.folder / "model",
            state=self.folder / "state" / name, manifests=self.folder / "manifests", trace=self.folder / "trace",
            remember_ms=REMEMBER_MS, weights=WEIGHTS,
        )  # fmt: skip
        return as_json(config)

    def trains(self, incarnation: str) -> dict[str, Any]:
        config = TrainerConfig(
            run=self.name, incarnation=incarnation, model=self.folder / "model",
            state=self.folder / "state" / "trainer", manifests=self.folder / "manifests", trace=self.folder / "trace",
            training=TRAINING, weights=WEIGHTS, ranks=self.wishes.ranks,
        )  # fmt: skip
        return as_json(config)

    def controller(self, incarnation: str) -> dict[str, Any]:
        config = ControllerConfig(
            run=self.name, incarnation=incarnation, register=self.folder / "register.db",
            manifests=self.folder / "manifests", trace=self.folder / "trace", weights=WEIGHTS,
        )  # fmt: skip
        return as_json(config)

    # -- the training loop -----------------------------------------------------------------------

    async def play(self, step: int, roster: Roster, stack: AsyncExitStack) -> None:
        """Agents that ask, and a trainer that learns from it."""
        self.life = roster.begin("agents", "agents")
        log = open_log(self.folder / "trace", "agents", self.life, run=self.name, process="agents")
        assert log is not None
        stack.enter_context(log)
        store = stack.enter_context(contextlib.closing(SqliteStore(self.folder / "state" / "sessions.db")))
        sessions = Sessions(
            store, server="agents", incarnation=self.life, log=log,
            settings=SessionSettings(patience=WITHIN_S, call=WITHIN_S, persists=True),
        )  # fmt: skip
        cohort = FollowedCohort(roster, sessions.lose)
        router: Router[Prompt] = Router(sessions, cohort, Workers())
        async with sessions, cohort, router, Tasks() as group:
            # Of an earlier life: what was in flight is begun again, under other ids.
            await sessions.retire_all(list(sessions.facts))
            self.agents = Agents(router, self.task, self.tokenizer, Record(), 0)
            producing = [group.create_task(self.produce()) for _ in range(TRAINING.groups + 1)]
            await self.learn(step)
            for task in producing:
                task.cancel()
        roster.end(self.life, "stopped")

    async def produce(self) -> None:
        """Groups, one after another, each until it is complete."""
        while True:
            published = self.kept.register.published
            assert published is not None
            number = await self.kept.groups.begin(published)
            # A group that is begun again has other sessions: those of its first time are retired, or still run.
            name = f"{self.life}-{next(self.begun)}-{number}"
            draw = random.Random(name)
            async with asyncio.TaskGroup() as tasks:
                members = [
                    tasks.create_task(
                        self.agents.converse(
                            f"{name}-{k}", number, "train", draw.getrandbits(40), lambda: 0.0
                        )
                    )
                    for k in range(TRAINING.group_size)
                ]
            await self.finished.put((number, Group(number, [m.result() for m in members])))

    async def learn(self, step: int) -> None:
        assert self.trainer is not None
        trainer, updates = self.trainer, self.wishes.updates
        groups: list[tuple[int, Group]] = []
        while updates is None or step < updates:
            groups = await self.gather(groups)
            try:
                metrics = await done(trainer.train, f"batch-{step + 1}", samples_of(group for _, group in groups))
                version = await done(self.publish, trainer)
            except TrainerError as error:
                say(f"the trainer has ended: {error}")
                trainer, step = await self.begin_again()
                continue
            step += 1
            await self.sync(version)
            for number, group in groups:
                await self.let_go(number, group)
            groups = []
            # A report would want it; here it would only grow.
            self.agents.record.token_versions.clear()
            say(f"step {step}, version {version}: reward {metrics['reward']:.3f}, staleness {metrics['staleness']:.2f}")
            if step % self.wishes.save == 0:
                await self.save(step)

    async def publish(self, trainer: TrainerHandle) -> int:
        """Publish under a new number, whatever became of the one before; the number."""
        version = self.kept.register.next_version()
        await trainer.publish(version)
        return version

    async def gather(self, held: list[tuple[int, Group]]) -> list[tuple[int, Group]]:
        """Enough groups of which every token is fresh enough to be trained on, those that are held among them."""
        groups: list[tuple[int, Group]] = []
        while len(groups) < TRAINING.groups:
            number, group = held.pop() if held else await self.finished.get()
            oldest = min(version for each in group.conversations for version in each.versions)
            if (self.kept.register.published or 0) - oldest < TRAINING.max_staleness:
                groups.append((number, group))
            else:
                await self.let_go(number, group)
        return groups

    async def let_go(self, number: int, group: Group) -> None:
        """The group was trained on, or is too old for it."""
        await self.agents.read(group)
        self.kept.groups.done(number)

    async def sync(self, version: int) -> None:
        """Bring every gate to a version; an operation that failed is tried again, since replicas are replaced."""
        until = time.monotonic() + START_S
        while True:
            try:
                await self.client.sync(version)
                return
            except OperationFailed as error:
                say(str(error))
                if time.monotonic() > until:
                    raise
            await asyncio.sleep(1)

    async def begin_again(self) -> tuple[TrainerHandle, int]:
        """A new life of the trainer, at the last checkpoint."""
        while True:
            worker = self.supervisor.present("trainer")
            if worker is not None and self.trainer is not None and worker.incarnation == self.trainer.incarnation:
                # It has failed, or is silent, and does nothing more: the supervisor begins the next one.
                worker.kill()
            try:
                trainer = await self.next_trainer()
                checkpoint, version = await self.kept.resume_trainer(trainer, self.client)
            except TrainerError as error:
                say(f"the trainer has ended again: {error}")
                continue
            step = checkpoint.state.step
            where = f"{checkpoint.path.name}: step {step}, published as version {version}"
            say(f"{trainer.incarnation} goes on from {where}")
            return trainer, step

    async def save(self, step: int) -> None:
        """Save, and remove what is no longer needed; where it cannot be done the run goes on without."""
        assert self.trainer is not None
        began = time.monotonic()
        try:
            path = await self.kept.save(self.trainer, step)
            await asyncio.to_thread(self.kept.checkpoints.prune, KEPT)
        except (CheckpointError, TrainerError) as error:
            say(f"no checkpoint of step {step}: {error}")
            return
        gone = self.kept.prune()
        say(
            f"{path.name} saved in {time.monotonic() - began:.2f} s: step {step}, "
            f"{len(self.kept.groups.in_flight)} groups in flight; {len(gone)} manifests removed"
        )


async def done(ask: Callable[..., Awaitable[T]], *given: Any) -> T:
    """What the trainer answers once it can do it: as long as it cannot nothing has changed, and the same is asked."""
    while True:
        try:
            return await ask(*given)
        except TrainerUndone as error:
            say(f"tried again: {error}")
            await asyncio.sleep(1)


def say(text: str) -> None:
    print(time.strftime("%H:%M:%S"), text, flush=True)


async def main(folder: Path, wishes: Wishes) -> int:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: task.cancelling() or task.cancel())
    logging.disable_progress_bar()
    try:
        await Resumed(folder, wishes).run()
    except (CallError, ResumeError, CheckpointError, TrainerError, StoreError, TimeoutError) as error:
        print(f"the run could not go on: {error}; its logs are in {folder}/processes", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the run's folder: a new one, or that of a run to be resumed")
    parser.add_argument("--updates", type=int, help="end after so many steps; by default it goes on until Ctrl-C")
    parser.add_argument("--save", type=int, default=5, help="steps from one checkpoint to the next; 5 by default")
    parser.add_argument("--ranks", type=int, default=1, help="how many processes train together; 1 by default")
    given = parser.parse_args()
    if given.save < 1 or not 1 <= given.ranks <= TRAINING.group_size:
        parser.error(f"--save is at least 1, and --ranks from 1 to {TRAINING.group_size}")
    try:
        given.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"{given.folder} cannot be made ({error.strerror}): give another one")
    try:
        sys.exit(asyncio.run(main(given.folder.resolve(), Wishes(given.updates, given.save, given.ranks))))
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.exit(130)
