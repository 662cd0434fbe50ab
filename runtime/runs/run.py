"""One life of a whole training run: it begins or goes on, and does what the Run machine says next.

Rules of this file:

- What is done next is in the table of the Run machine; here it is done, and what came of it is the next event.
- One thing is done at a time. Agents and replicas go on beside it, in a thread and processes of their own.
- A failure is told to the machine before anything is taken down, and is what comes out whatever follows.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from ...protocol.access import acting_as
from ...protocol.client import CallError
from ...protocol.store import StoreError
from ...protocol.tasks import Tasks
from ...statemachines.run import Run
from ...statemachines.sorts import Stage
from ..checkpoints import ResumeError
from ..config import ConfigError
from ..controller.trainer import TrainerError, TrainerHandle, TrainerRefused, TrainerUndone
from ..production.attempts import ProductionError
from ..production.finished import FinishedGroup
from ..production.groups import GroupsClosed, NotAtRest, Refused
from ..production.sampler import SamplerMismatch
from ..production.shared import SharedMachine
from ..production.thread import AgentsDied, AgentThread
from ..production.turns import TurnsClosed
from ..tasks import Task
from ..training.checkpoint import CheckpointError
from ..weights.manifest import ManifestError
from .agents import AgentsOf, Producing
from .begun import Begun, begin
from .clocked import Clocked
from .config import RunConfig
from .ending import Ending, first_of
from .keeping import ProcessesLost
from .notes import StepFigures
from .placements import Colocated, Disaggregated, NotDone, NoTrainer, Placement
from .processes import Places
from .stages import BatchFiles
from .steps import Steps

T = TypeVar("T")
AGAIN_S, TRIES_S = 1.0, 600.0
"""How soon what was not done is asked for again, and for how long before the run gives up."""
ASK_S, GATHER_S = 120.0, 7 * 24 * 3600.0
"""How long the agents' thread may take to answer, and how long the groups of one step may take."""


class RunFailed(Exception):
    """The run cannot go on; says why, and what to do."""


FAILURES = (
    RunFailed, ProcessesLost, AgentsDied, ProductionError, GroupsClosed, Refused, TurnsClosed, SamplerMismatch,
    CallError, ResumeError, CheckpointError, TrainerError, ManifestError, StoreError, ConfigError,
    TimeoutError, OSError,
)  # fmt: skip
"""What a run is known to fail with."""


class Tells(Protocol):
    """Who is told how a run goes on."""

    def phase(self, text: str) -> None: ...

    def update(self, figures: StepFigures) -> None: ...

    def incident(self, text: str) -> None: ...

    def evaluated(self, step: int, rewards: Sequence[float]) -> None: ...


class _Later:
    """Who syncs nothing: the run has a version served once its machine says so."""

    async def sync(self, version: int) -> None:
        pass


class TrainingRun:
    """One life of the run of `config` on `task` below `folder`; `run` goes on until it is done or cancelled."""

    def __init__(self, config: RunConfig, task: Task, folder: Path, tells: Tells) -> None:
        self.config, self._task, self._tells = config, task, tells
        self._places = Places(folder)
        self._files = None if config.batches is None else BatchFiles(folder / config.batches)
        self._stage = Stage.WHOLE if config.stage is None else Stage(config.stage)
        self._batch: list[FinishedGroup] = []
        self._step = 0
        """The step that the batch is of."""
        self._clock = Clocked()
        self._undone_since: float | None = None
        self._agents: AgentThread[Producing] | None = None
        self._begun: Begun
        self._machine: SharedMachine
        self._placement: Placement
        self._steps: Steps

    async def run(self) -> None:
        """Begin, or go on from the folder, until every update is made. Raises what `FAILURES` has."""
        with acting_as(self.config.access):
            async with Ending() as outer, Ending() as inner:
                await self._play(outer, inner)

    # -- inside ----------------------------------------------------------------------------------

    async def _play(self, outer: Ending, inner: Ending) -> None:
        config = self.config
        begun = self._begun = await begin(config, self._task, self._places, outer, inner, self._alarm)
        self._steps = Steps(self._places.steps, begun.sampler)
        self._placement = self._placed()
        self._machine = SharedMachine(
            Run, begun.name, begun.log.of("Run"), colocated=config.placement == "colocated", stage=self._stage,
            goal=self._goal(), save_every=config.checkpoints.every, sync_every=config.sync.every,
        )  # fmt: skip
        # Agents and processes are gone then.
        outer.callback(self._machine.step, Run.Ended())
        try:
            try:
                await self._go_on(await self._started(), inner)
            except BaseExceptionGroup as errors:
                raise first_of(errors) from first_of(errors).__cause__
        except asyncio.CancelledError:
            self._machine.step(Run.Stop())
            raise
        except BaseException as error:
            self._machine.step(Run.Failed(why=str(error)))
            raise

    def _placed(self) -> Placement:
        begun, config = self._begun, self.config
        if config.placement == "disaggregated":
            return Disaggregated(begun.client, begun.register)
        drain_s = config.agents.turn_s + config.sync.deadline + config.sync.takeover
        return Colocated(begun.client, begun.register, begun.turns, drain_s, self._tells.incident)

    def _goal(self) -> int | None:
        if self._stage is not Stage.TRAIN_ONLY or self._files is None:
            return self.config.updates
        there, wanted = self._files.count(), self.config.updates
        if wanted is not None and wanted > there:
            raise ConfigError(f"updates: {wanted} are wanted, and {self._files.folder} has {there} batches: lower it")
        return wanted or there

    def _alarm(self, name: str, why: str) -> None:
        self._tells.incident(f"{name}: {why}")

    # -- beginnings ------------------------------------------------------------------------------

    async def _started(self) -> Run.Started:
        """Have every process started, and a version served, by whichever life of the trainer lives to do it."""
        while True:
            try:
                return await self._start()
            except TrainerError as error:
                if not await self._begun.keeping.has_lost_trainer():
                    raise
                self._count_tries(error)
                self._tells.incident(f"the trainer has ended: {error}")

    async def _start(self) -> Run.Started:
        begun, tells = self._begun, self._tells
        tells.phase("starting the processes")
        if begun.kept.checkpoints.paths():
            checkpoint, version = await begun.kept.cold_resume(begun.keeping.start)
            step = checkpoint.state.step
            tells.phase(f"resumed from {checkpoint.path.name}: step {step}, published as version {version}")
            return Run.Started(update=step, version=version)
        trainer, client = await begun.keeping.start()
        # A trainer alone has nobody to serve.
        version = await begun.kept.cold_start(trainer, _Later() if self._stage is Stage.TRAIN_ONLY else client)
        tells.phase(f"begun: version {version} is published")
        if self.config.checkpoints.every:
            # A trainer that is lost before the first step's goes back to this one.
            await self._save(0)
        return Run.Started(update=0, version=version)

    async def _go_on(self, started: Run.Started, inner: Ending) -> None:
        """Step by step until the machine says that the run is to end."""
        if self._stage is Stage.TRAIN_ONLY:
            await self._drive(started)
            return
        begun = self._begun
        agents = AgentsOf(
            config=self.config, places=self._places, name=begun.name, life=begun.life, log=begun.log, task=self._task,
            tokenizer=begun.tokenizer, groups=begun.groups, sampler=begun.sampler, turns=begun.turns,
            published=lambda: begun.register.published or 0,
        )  # fmt: skip
        self._agents = await inner.enter_async_context(AgentThread(agents.begin))
        if url := await self._ask(_url):
            self._tells.phase(f"agents of your own may call {url}")
        # Its death ends whatever is being done, with its cause.
        async with Tasks() as tasks:
            watching = tasks.create_task(self._agents.ended())
            await self._drive(started)
            watching.cancel()

    async def _drive(self, event: Any) -> None:
        while True:
            outcome = self._machine.step(event)
            if outcome.refused:
                raise RunFailed(f"{type(event).__name__} is refused: {outcome.text}")
            state = self._machine.live.state
            if isinstance(event, Run.Trained | Run.Synced) and self._batch and state not in ("PUBLISHING", "SYNCING"):
                self._tell()
            [output] = outcome.outputs
            if isinstance(output, Run.StartEnd):
                break
            event = await self._done(output)
        await self._evaluate(self._machine.live.update)

    async def _done(self, output: Any) -> Any:
        """Do what the machine says; what came of it."""
        try:
            event = await _DOES[type(output)](self, output)
        except (NotDone, TrainerUndone) as error:
            if not (isinstance(error, NotDone) and error.waits):
                self._count_tries(error)
            self._tells.incident(f"tried again: {error}")
            await asyncio.sleep(AGAIN_S)
            return Run.Undone(why=str(error))
        except TrainerRefused:
            # The next life would refuse it as well.
            raise
        except (TrainerError, NoTrainer) as error:
            self._tells.incident(f"the trainer has ended: {error}")
            return Run.TrainerLost(why=str(error))
        self._undone_since = None
        return event

    def _count_tries(self, error: Exception) -> None:
        """Raises RunFailed once it was tried for too long."""
        now = time.monotonic()
        if self._undone_since is None:
            self._undone_since = now
        if now - self._undone_since > TRIES_S:
            raise RunFailed(f"it was tried for {TRIES_S:g} s: {error}") from error

    # -- what the machine asks for ---------------------------------------------------------------

    async def _gather(self, output: Any) -> Run.Gathered:
        step = self._step = output.update
        if self._stage is Stage.TRAIN_ONLY:
            assert self._files is not None
            self._batch = await asyncio.to_thread(self._files.read, step)
            return Run.Gathered()
        self._begun.groups.start()
        await self._evaluate(step - 1)
        published, count = self._begun.register.published or 0, self.config.training.groups
        with self._clock.measuring("gather"):
            self._batch = await self._ask(
                lambda inside: inside.production.gather(count, published=published, stop=self._machine.live.colocated),
                GATHER_S,
            )
        if self._stage is Stage.ROLLOUT_ONLY:
            assert self._files is not None
            await asyncio.to_thread(self._files.write, step, self._batch)
            await self._let_go()
            self._tell()
        return Run.Gathered()

    async def _lend(self, output: Any) -> Run.Lent:
        with self._clock.measuring("lend"):
            await self._placement.lend(self._trainer)
        self._clock.begin("still")
        return Run.Lent()

    async def _train(self, output: Any) -> Run.Trained:
        with self._clock.measuring("train"):
            samples = [sample for group in self._batch for sample in group.samples]
            self._clock.metrics = await self._trainer.train(f"batch-{output.update}", samples)
        if self._agents is not None:
            await self._let_go()
        return Run.Trained()

    async def _publish(self, output: Any) -> Run.Published:
        with self._clock.measuring("publish"):
            version = self._placement.number()
            await self._trainer.publish(version)
        return Run.Published(version=version)

    async def _sync(self, output: Any) -> Run.Synced:
        with self._clock.measuring("serve"):
            await self._placement.serve(output.version)
        self._clock.end("still")
        return Run.Synced(version=output.version)

    async def _save_due(self, output: Any) -> Run.Saved | Run.NotSaved:
        why = await self._save(output.update)
        if why and output.update == self._machine.live.goal:
            # No later one follows, and what was trained goes with the processes.
            raise NotDone(f"the last step, {output.update}, is not saved below {self._places.checkpoints}: {why}")
        return Run.NotSaved(why=why) if why else Run.Saved()

    async def _save(self, step: int) -> str:
        """Save, and remove what is no longer needed; why it could not be done, else nothing."""
        kept, config, began = self._begun.kept, self.config.checkpoints, time.monotonic()
        try:
            path = await kept.save(self._trainer, step, rest=config.rest)
            await asyncio.to_thread(kept.checkpoints.prune, config.keep)
        except (CheckpointError, NotAtRest, TrainerUndone) as error:
            self._tells.incident(f"no checkpoint of step {step}: {error}")
            return str(error)
        gone, held = kept.prune(), len(kept.groups.in_flight)
        took = time.monotonic() - began
        self._tells.phase(
            f"{path.name} saved in {took:.2f} s: step {step}, {held} groups in flight; {len(gone)} manifests removed"
        )
        return ""

    async def _restore(self, output: Any) -> Run.Restored:
        """A new life of the trainer, at the last checkpoint."""
        begun = self._begun
        if not begun.kept.checkpoints.paths():
            why = "none could be saved; make room there, and start the run again"
            if not self.config.checkpoints.every:
                why = "checkpoints.every is 0; give a number of steps, and for a stage alone start it again as a whole"
            raise RunFailed(f"the trainer has ended, and {self._places.checkpoints} has no checkpoint: {why}")
        begun.keeping.end_trainer()
        await self._placement.take_back()
        if self._agents is not None:
            begun.groups.give_back()
        self._batch = []
        trainer = await begun.keeping.next_trainer()
        checkpoint, version = await begun.kept.resume_trainer(trainer, _Later())
        step = checkpoint.state.step
        where = f"{checkpoint.path.name}: step {step}, published as version {version}"
        self._tells.phase(f"{trainer.incarnation} goes on from {where}")
        return Run.Restored(update=step, version=version)

    # -- agents and figures ----------------------------------------------------------------------

    @property
    def _trainer(self) -> TrainerHandle:
        trainer = self._begun.keeping.trainer
        assert trainer is not None
        return trainer

    async def _ask(self, work: Callable[[Producing], Coroutine[Any, Any, T]], within: float = ASK_S) -> T:
        assert self._agents is not None
        return await self._agents.ask(work, within)

    async def _let_go(self) -> None:
        """What was claimed is trained on, or written, and needed no more."""
        await self._ask(_trained)

    async def _evaluate(self, step: int) -> None:
        """Ask the held-out prompts, where that is due after this step."""
        every, goal = self.config.evaluate.every, self._machine.live.goal
        if every and (step % every == 0 or step == goal):
            self._tells.phase(f"held-out prompts after step {step}")
            self._tells.evaluated(step, await self._ask(lambda inside: inside.evaluation.run(), GATHER_S))

    def _tell(self) -> None:
        """The step is made, and its weights are served."""
        step, version, batch = self._step, self._machine.live.version or 0, self._batch
        self._steps.add(step, version, batch)
        self._tells.update(self._clock.figures(step, version, batch))
        self._batch, self._clock = [], Clocked()


async def _url(inside: Producing) -> str:
    return inside.url


async def _trained(inside: Producing) -> None:
    inside.production.trained()


_DOES: dict[type[Any], Callable[[TrainingRun, Any], Awaitable[Any]]] = {
    Run.StartGather: TrainingRun._gather,
    Run.StartLend: TrainingRun._lend,
    Run.StartTrain: TrainingRun._train,
    Run.StartPublish: TrainingRun._publish,
    Run.StartSync: TrainingRun._sync,
    Run.StartSave: TrainingRun._save_due,
    Run.StartRestore: TrainingRun._restore,
}
