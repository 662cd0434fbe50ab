"""A run that can be operated: replicas and a controller kept alive, new weights every few seconds, requests.

Run it in one terminal, with a folder of its own, and operate it from another:

    python -m examples.operated runs/operated
    sluicegate status runs/operated --watch
    sluicegate pause runs/operated
    sluicegate resume runs/operated
    sluicegate poison runs/operated r1 --why 'to see what comes of it'
    kill -9 <process id of a worker>

The weights are those of a model that nobody trains: this process plays the trainer, which publishes, and the
agents, which ask. Everything else is what a run of yours has too. Ctrl-C ends it, and leaves the logs.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import torch
from grpc import aio
from transformers.utils import logging

from sluicegate.protocol.client import CallError, dial
from sluicegate.protocol.generated import rollout_pb2, rollout_pb2_grpc
from sluicegate.protocol.tasks import Tasks
from sluicegate.runtime.config import as_json
from sluicegate.runtime.controller.client import Answer, ControllerClient, OperationFailed
from sluicegate.runtime.controller.config import ControllerConfig
from sluicegate.runtime.controller.roster import Roster
from sluicegate.runtime.launcher import Launcher
from sluicegate.runtime.models.tiny import make_tiny_qwen3
from sluicegate.runtime.supervisor import Charge, Supervisor
from sluicegate.runtime.weights import ManifestStore, ShmPublisher, canonical_tensors, remove_run
from sluicegate.runtime.workers.config import RolloutConfig

REPLICAS = ("r0", "r1")
WORDS = 64


class Operated:
    """One run below `folder`; `run` goes on until it is cancelled or has made `updates`."""

    def __init__(self, folder: Path, every: float) -> None:
        self.folder, self.every = folder, every
        self.name = f"operated-{os.getpid()}"
        self.model = make_tiny_qwen3(WORDS)
        self.answered: Counter[tuple[str, int]] = Counter()
        """Answers since the last update, by replica and version."""

    async def run(self, updates: int | None) -> None:
        logging.disable_progress_bar()
        self.model.save_pretrained(self.folder / "model")
        (self.folder / "processes").mkdir()
        try:
            with Roster(self.folder / "register.db") as roster:
                async with (
                    Launcher(self.folder / "processes") as launcher,
                    Supervisor(roster, launcher) as supervisor,
                    ControllerClient.of_register(self.folder / "register.db", within=120.0) as client,
                ):
                    for name in REPLICAS:
                        supervisor.keep(Charge(name, "rollout", lambda life, name=name: self.replica(name, life)))
                    supervisor.keep(Charge("controller", "controller", self.controller))
                    async with Tasks() as group:
                        agents = [group.create_task(self.ask(supervisor, name)) for name in REPLICAS]
                        await self.update(client, updates)
                        for agent in agents:
                            agent.cancel()
        finally:
            remove_run(self.name)

    def replica(self, name: str, incarnation: str) -> dict[str, object]:
        config = RolloutConfig(
            replica=name, run=self.name, incarnation=incarnation, model=self.folder / "model",
            state=self.folder / "state" / name, manifests=self.folder / "manifests", trace=self.folder / "trace",
        )  # fmt: skip
        return as_json(config)

    def controller(self, incarnation: str) -> dict[str, object]:
        config = ControllerConfig(
            run=self.name, incarnation=incarnation, register=self.folder / "register.db",
            manifests=self.folder / "manifests", trace=self.folder / "trace",
        )  # fmt: skip
        return as_json(config)

    async def update(self, client: ControllerClient, updates: int | None) -> None:
        """Publish a version, and have the controller bring every gate to it; again and again, once all are known."""
        async with asyncio.timeout(150):
            while len((await client.status()).replicas) < len(REPLICAS):  # noqa: ASYNC110
                await asyncio.sleep(0.2)
        publisher, manifests = ShmPublisher(self.name), ManifestStore(self.folder / "manifests")
        tensors = canonical_tensors(self.model)
        for version in itertools.count():
            manifests.put(publisher.publish(version, version, tensors.items(), torch.float32))
            began = time.monotonic()
            while not (answer := await self.published(client, version)):  # noqa: ASYNC110
                await asyncio.sleep(self.every)
            left = "".join(f"; without {name}: {why}" for name, why in answer.left_behind.items())
            told = ", ".join(f"{count} of {name} by {by}" for (name, by), count in sorted(self.answered.items()))
            self.answered.clear()
            say(f"version {version} published in {time.monotonic() - began:.2f} s{left}; answers: {told or 'none'}")
            if version + 1 == updates:
                return
            # The one before is what a gate goes back to.
            publisher.discard(version - 1)
            await asyncio.sleep(self.every)
            with torch.no_grad():
                for tensor in tensors.values():
                    tensor.add_(0.01 * torch.randn_like(tensor))

    async def published(self, client: ControllerClient, version: int) -> Answer | None:
        """The answer of an operation that published; none if it did not, as while somebody pauses the run."""
        try:
            return await client.sync(version)
        except OperationFailed as error:
            say(str(error))
            return None

    async def ask(self, supervisor: Supervisor, name: str) -> None:
        """One agent's requests to one replica, whichever life of it there is."""
        for number in itertools.count():
            await supervisor.changed.until(lambda: supervisor.present(name) is not None, 3600)
            worker = supervisor.present(name)
            if worker is None:
                continue
            async with dial(worker.ready["data"]) as channel:
                # What goes wrong here is what an agent sees of a life that ends, or of a door that stays closed.
                with contextlib.suppress(aio.AioRpcError):
                    await self.turn(rollout_pb2_grpc.RolloutStub(channel), worker.incarnation, number, name)
            await asyncio.sleep(0.05)

    async def turn(self, data: rollout_pb2_grpc.RolloutStub, incarnation: str, number: int, name: str) -> None:
        sampling = rollout_pb2.SamplingParams(max_tokens=24, temperature=1.0, top_p=1.0, seed=number)
        request = rollout_pb2.GenerateRequest(
            request_id=f"{incarnation}-{number}", session=f"agent-{name}", prompt_token_ids=(3, 1, 4),
            sampling=sampling, hold=60.0,
        )  # fmt: skip
        version = -1
        async for chunk in data.Generate(request, timeout=120.0):
            version = chunk.spans[-1].version if chunk.spans else version
            if chunk.finish_reason == rollout_pb2.FINISH_REASON_LENGTH:
                self.answered[name, version] += 1


def say(text: str) -> None:
    print(time.strftime("%H:%M:%S"), text, flush=True)


async def main(folder: Path, updates: int | None, every: float) -> int:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: task.cancelling() or task.cancel())
    print(f"starting; in another terminal: sluicegate status {folder} --watch", flush=True)
    try:
        await Operated(folder, every).run(updates)
    except (CallError, TimeoutError) as error:
        why = str(error) or "its replicas were not known in time"
        print(f"the run could not go on: {why}; its logs are in {folder}/processes", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the run's folder, which must be new")
    parser.add_argument("--updates", type=int, help="end after so many; by default it goes on until Ctrl-C")
    parser.add_argument("--every", type=float, default=3.0, help="seconds between updates; 3 by default")
    given = parser.parse_args()
    try:
        given.folder.mkdir(parents=True)
    except OSError as error:
        parser.error(f"{given.folder} cannot be made ({error.strerror}): a run has a folder of its own, give a new one")
    try:
        sys.exit(asyncio.run(main(given.folder.resolve(), given.updates, given.every)))
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.exit(130)
