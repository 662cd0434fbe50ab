"""Whole runs side by side: what the tokens per second of one replica lose by an update at every step, and for which
share of the time it stands still.

Three runs of the same config, each in processes of its own, one after the other: one that only produces, one whose
trainer has devices of its own, and one whose trainer takes turns with the replica. All from the end of the second step
to the end of the last, so that what is compiled and filled first is in none. Tokens are those of the groups that the
steps were made of; the replica stands still while its gate is neither open nor reopened, as it tells by itself. Where
cores are few the trainer also takes some that the replica would have: that is in the ratio, and in no share.

    python -m bench.runs [steps of each run]
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from transformers.utils import logging

from sluicegate.protocol.client import CallError, dial
from sluicegate.protocol.generated.gate_service import GateClient
from sluicegate.runtime.controller.roster import Life, Roster
from sluicegate.runtime.demo.config import ModelConfig
from sluicegate.runtime.runs.config import AgentsConfig, CheckpointsConfig, RunConfig
from sluicegate.runtime.runs.notes import StepFigures
from sluicegate.runtime.runs.run import TrainingRun
from sluicegate.runtime.tasks import make_task
from sluicegate.runtime.training.config import TrainingConfig

PRODUCES, DISAGGREGATED, COLOCATED = "no updates", "disaggregated", "colocated"
WARM = 2
"""How many steps are made before anything is measured."""


class Measured:
    """Told by a run how it goes on; watches the run's gate once it is warm."""

    def __init__(self, folder: Path, steps: int) -> None:
        self._register, self._steps = folder / "register.db", steps
        self._watching: asyncio.Task[None] | None = None
        self._closed: float | None = None
        self.began = self.seconds = self.still = 0.0
        self.tokens = 0

    def phase(self, text: str) -> None: ...

    def incident(self, text: str) -> None:
        print(f"  {text}", flush=True)

    def evaluated(self, step: int, rewards: Sequence[float]) -> None: ...

    def update(self, figures: StepFigures) -> None:
        now = time.perf_counter()
        if figures.step > WARM:
            self.tokens += figures.tokens
        if figures.step == WARM:
            self.began = now
            with Roster(self._register, looks=True) as roster:
                [life] = roster.living("rollout")
            self._watching = asyncio.get_running_loop().create_task(self._watch(life))
        if figures.step == self._steps:
            self.seconds = now - self.began
            if self._closed is not None:
                self.still += now - self._closed
            assert self._watching is not None
            self._watching.cancel()

    async def _watch(self, life: Life) -> None:
        """Add up how long the gate is closed."""
        channel = dial(life.control)
        try:
            # The run ends its processes while this watches.
            with contextlib.suppress(CallError):
                async for seen in GateClient(channel, life.name, incarnation=life.incarnation).watch():
                    now, is_open = time.perf_counter(), seen.snapshot.state in ("OPEN", "REOPENED")
                    if self._closed is not None:
                        self.still += now - self._closed
                    self._closed = None if is_open else now
        finally:
            await channel.close()


def config_of(kind: str, steps: int) -> RunConfig:
    """The config of one of the runs: they differ in nothing else."""
    config = RunConfig(
        seed=1, updates=steps, replicas=1, model=ModelConfig(hidden=32), agents=AgentsConfig(in_flight=36, waiting=12),
        training=TrainingConfig(groups=24, group_size=4, epochs=1, minibatches=1, max_staleness=8),
        checkpoints=CheckpointsConfig(every=0),
    )  # fmt: skip
    if kind == PRODUCES:
        return replace(config, stage="rollout_only", batches=Path("batches"))
    return replace(config, placement="colocated" if kind == COLOCATED else "disaggregated")


async def measure(kind: str, steps: int) -> Measured:
    """One run, from its beginning to its end."""
    config = config_of(kind, steps)
    with tempfile.TemporaryDirectory(prefix="bench-runs-") as folder:
        measured = Measured(Path(folder), steps)
        await TrainingRun(config, make_task(config.task, seed=config.seed), Path(folder), measured).run()
    return measured


def main(steps: int = 10) -> None:
    logging.disable_progress_bar()
    found = {kind: asyncio.run(measure(kind, steps)) for kind in (PRODUCES, DISAGGREGATED, COLOCATED)}
    alone = found[PRODUCES].tokens / found[PRODUCES].seconds
    print(f"{'':14}  {'tokens/s':>8}  {'of none':>7}  {'stands still':>12}  {'steps':>5}  {'seconds':>7}")
    for kind, one in found.items():
        rate, share = one.tokens / one.seconds, one.still / one.seconds
        print(f"{kind:14}  {rate:8.0f}  {rate / alone:7.2f}  {share:12.1%}  {steps - WARM:5}  {one.seconds:7.1f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
