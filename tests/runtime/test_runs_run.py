"""What a run does when its trainer, or the disk, refuses: the run is real, and who it commands follows a script."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sluicegate.runtime.checkpoints import Checkpoints
from sluicegate.runtime.controller.trainer import TrainerError, TrainerRefused
from sluicegate.runtime.runs import run as runs
from sluicegate.runtime.runs.config import CheckpointsConfig, RunConfig
from sluicegate.runtime.runs.run import RunFailed, TrainingRun
from sluicegate.runtime.tasks import TaskChoice, make_task
from sluicegate.runtime.training.checkpoint import CheckpointError
from sluicegate.statemachines.run import Run


class Said:
    """Who is told, and keeps it."""

    def __init__(self) -> None:
        self.incidents: list[str] = []

    def phase(self, text: str) -> None:
        pass

    def update(self, figures: Any) -> None:
        pass

    def incident(self, text: str) -> None:
        self.incidents.append(text)

    def evaluated(self, step: int, rewards: Any) -> None:
        pass


class Scripted(TrainingRun):
    """A run of two steps that stands after its begin; its trainer and saves fail with `error`."""

    def __init__(self, folder: Path, error: Exception, *, every: int = 1) -> None:
        config = RunConfig(updates=2, checkpoints=CheckpointsConfig(every=every))
        self.said, self._error = Said(), error
        super().__init__(config, make_task(TaskChoice(), seed=0), folder, self.said)
        kept = SimpleNamespace(checkpoints=Checkpoints(folder / "checkpoints"), save=self._fail)
        self.keeping = SimpleNamespace(trainer=SimpleNamespace(train=self._fail), has_lost_trainer=self._is_lost)
        self._begun = cast(Any, SimpleNamespace(kept=kept, keeping=self.keeping))
        self._machine = cast(Any, SimpleNamespace(live=SimpleNamespace(goal=2)))
        self.lost, self.begins = True, 0

    async def _fail(self, *_: Any, **__: Any) -> None:
        raise self._error

    async def _is_lost(self) -> bool:
        return self.lost

    async def _start(self) -> Run.Started:
        self.begins += 1
        if self.begins < 3:
            raise self._error
        return Run.Started(update=0, version=0)

    async def done(self, output: Any) -> Any:
        return await self._done(output)

    async def started(self) -> Run.Started:
        return await self._started()


async def test_a_last_step_that_is_not_saved_is_tried_again_and_then_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "AGAIN_S", 0.01)
    run = Scripted(tmp_path, CheckpointError("no space left"))
    assert isinstance(await run.done(Run.StartSave(update=1)), Run.NotSaved)
    assert isinstance(await run.done(Run.StartSave(update=2)), Run.Undone)
    monkeypatch.setattr(runs, "TRIES_S", 0.0)
    with pytest.raises(RunFailed, match=f"the last step, 2, .*{tmp_path}.*no space left"):
        await run.done(Run.StartSave(update=2))


@pytest.mark.parametrize(("every", "said"), [(0, "checkpoints.every is 0"), (1, "none could be saved")])
async def test_a_trainer_that_is_lost_with_no_checkpoint_ends_the_run_with_what_to_change(
    every: int, said: str, tmp_path: Path
) -> None:
    with pytest.raises(RunFailed, match=said):
        await Scripted(tmp_path, TrainerError("gone"), every=every).done(Run.StartRestore())


async def test_a_batch_that_the_trainer_refuses_ends_the_run_and_a_lost_trainer_does_not(tmp_path: Path) -> None:
    with pytest.raises(TrainerRefused, match="no such token"):
        await Scripted(tmp_path, TrainerRefused("no such token")).done(Run.StartTrain(update=1))
    assert isinstance(await Scripted(tmp_path, TrainerError("gone")).done(Run.StartTrain(update=1)), Run.TrainerLost)


async def test_a_trainer_that_is_lost_at_the_begin_is_waited_for_and_one_that_lives_is_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Scripted(tmp_path, TrainerError("gone"))
    await run.started()
    assert (run.begins, len(run.said.incidents)) == (3, 2)
    living = Scripted(tmp_path, TrainerError("will not"))
    living.lost = False
    with pytest.raises(TrainerError, match="will not"):
        await living.started()
    bounded = Scripted(tmp_path, TrainerError("gone"))
    monkeypatch.setattr(runs, "TRIES_S", 0.0)
    with pytest.raises(RunFailed, match="gone"):
        await bounded.started()
