"""One rank of a trainer, for tests: the real worker, of which a test holds up the work or makes a rank differ.

Arguments: the config, and a folder. While it has `hold`, all work waits at its beginning, and says so by a file
`held.RANK`; once it has `drift`, the second rank's weights are others. That rank takes other samples for a batch
that is named `another`.
"""

import os
import sys
import time
from pathlib import Path

from sluicegate.runtime.training.deepspeed_trainer import TrainerCore
from sluicegate.runtime.workers import trainer as worker
from sluicegate.runtime.workers.main import main
from sluicegate.runtime.workers.trainer_actions import RankActions

FOLDER = Path(sys.argv[2])
LONGEST_S = 60.0


class OddCore(TrainerCore):
    def _hold(self):
        until = time.monotonic() + LONGEST_S
        while (FOLDER / "hold").exists() and time.monotonic() < until:
            (FOLDER / f"held.{self.rank}").touch()
            time.sleep(0.02)

    def train(self, samples, version):
        self._hold()
        return super().train(samples, version)

    def save(self, folder):
        self._hold()
        super().save(folder)

    def named_parameters_bucketwise(self, bucket_bytes=1 << 20):
        self._hold()
        for name, tensor in super().named_parameters_bucketwise(bucket_bytes):
            yield name, tensor + 1 if self.rank == 1 and (FOLDER / "drift").exists() else tensor


class OddActions(RankActions):
    async def start_training(self, instance, job, batch):
        if batch == "another" and instance == "rank-1":
            self.batches[batch].digest = b"of other samples"
        await super().start_training(instance, job, batch)


worker.TrainerCore = OddCore
worker.RankActions = OddActions
main("trainer", Path(sys.argv[1]), os.getppid(), sys.stderr)
sys.exit(2)
