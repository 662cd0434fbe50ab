"""A run of real processes as a test drives it: replicas kept by a supervisor, controllers that come and go.

The test is the run's agents, and its trainer unless one is kept: it publishes versions and makes requests, and
logs both as those do.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from grpc import aio
from rollout_kit import VOCABULARY, Weights
from traced_run import Process, published

from sluicegate.protocol.client import CallError, dial
from sluicegate.protocol.generated import rollout_pb2, rollout_pb2_grpc
from sluicegate.protocol.generated.gate_service import GateClient
from sluicegate.protocol.generated.replica_service import ReplicaClient
from sluicegate.runtime.config import as_json
from sluicegate.runtime.controller.client import ControllerClient
from sluicegate.runtime.controller.config import ControllerConfig
from sluicegate.runtime.controller.register import Register
from sluicegate.runtime.controller.roster import Roster
from sluicegate.runtime.launcher import Launcher, Worker
from sluicegate.runtime.supervisor import Budget, Charge, Supervisor
from sluicegate.runtime.tracelog import merge
from sluicegate.spec.traces import Verdict, validate
from sluicegate.statemachines.session import Rebinding, Session
from sluicegate.statemachines.sorts import Mode
from sluicegate.statemachines.trainer import Trainer

RUN = "test"
START_S = 150.0
WITHIN_S = 90.0
"""How long anything may take here: the machine is shared."""


class Run:
    """Everything of one run; see `running`."""

    def __init__(
        self, folder: Path, roster: Roster, launcher: Launcher, settings: dict[str, Any],
        rollout: dict[str, Any] | None = None, budget: Budget | None = None, vocabulary: int = VOCABULARY,
    ) -> None:  # fmt: skip
        self.folder, self.roster, self.launcher, self.settings = folder, roster, launcher, settings
        self.rollout = rollout or {}
        """Settings of replicas that are not the usual ones."""
        self.weights = Weights(RUN, folder, vocabulary=vocabulary)
        self.supervisor = Supervisor(roster, launcher, budget or Budget(lives=8, all_lives=30))
        self.client = ControllerClient.of_register(self.register_path, within=WITHIN_S)
        self.controllers: list[Worker] = []
        self.ended: dict[str, str] = {}
        self.agents = Process(self.trace, "agents.1")
        self._channels: dict[str, aio.Channel] = {}
        self._sessions = 0

    @cached_property
    def trainer(self) -> Process:
        """The test, as the run's trainer."""
        made = Process(self.trace, "trainer.1")
        made.born(Trainer, "trainer", ranks={"trainer"})
        return made

    @property
    def register_path(self) -> Path:
        return self.folder / "register.db"

    @property
    def trace(self) -> Path:
        return self.folder / "trace"

    # -- processes -------------------------------------------------------------------------------

    def keep_replica(self, name: str) -> None:
        """Keep a replica alive, which reads manifests from a folder of its own."""
        manifests = self.folder / f"manifests-{name}"
        manifests.mkdir()
        for path in (self.folder / "manifests").glob("v*.json"):
            (manifests / path.name).write_bytes(path.read_bytes())

        def config(incarnation: str) -> Any:
            usual = self.weights.config(name, incarnation=incarnation)
            return as_json(replace(usual, **{"manifests": manifests, **self.rollout}))

        self.supervisor.keep(Charge(name, "rollout", config, START_S))

    def controller_config(self, incarnation: str) -> Any:
        """The config of a life of the controller, by the settings as they are now."""
        return as_json(
            ControllerConfig(
                run=RUN, register=self.register_path, manifests=self.folder / "manifests", trace=self.trace,
                incarnation=incarnation, shm_root=self.folder / "shm", **self.settings,
            )
        )  # fmt: skip

    async def start_controller(self) -> Worker:
        """The next controller, ready; nobody replaces it."""
        for killed, how in self.ended.items():
            self.roster.end(killed, how)
        incarnation = self.roster.begin("controller", "controller")
        config = self.controller_config(incarnation)
        worker = await self.launcher.start("controller", "controller", incarnation, config, within=START_S)
        self.roster.enlist(incarnation, worker.ready["control"], "", worker.pid)
        self.controllers.append(worker)
        return worker

    async def kill(self, worker: Worker) -> None:
        """End a controller at once, and wait until it is gone."""
        worker.kill()
        await worker.wait()
        self.ended[worker.incarnation] = "signal 9"

    @contextmanager
    def stopped(self, *workers: Worker) -> Any:
        """Processes that do not run inside."""
        for worker in workers:
            os.kill(worker.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for worker in workers:
                if worker.is_running:
                    os.kill(worker.pid, signal.SIGCONT)

    async def replica(self, name: str, life: int = 1) -> Worker:
        """This life of a replica, once it is ready."""
        incarnation = f"{name}.{life}"

        def is_ready() -> bool:
            return incarnation in self.supervisor.workers and bool(self.supervisor.workers[incarnation].ready)

        assert await self.supervisor.changed.until(is_ready, START_S), self.roster.lives()
        return self.supervisor.workers[incarnation]

    # -- what is looked at -----------------------------------------------------------------------

    def channel(self, target: str) -> aio.Channel:
        """The one connection of this test to a server."""
        if target not in self._channels:
            self._channels[target] = dial(target)
        return self._channels[target]

    async def seen(self, worker: Worker) -> tuple[int, Any]:
        """The number and the snapshot of a replica's gate."""
        client = GateClient(self.channel(worker.ready["control"]), worker.name, incarnation=worker.incarnation)
        found = await client.get(deadline=10)
        return found.number, found.snapshot

    async def gate(self, worker: Worker) -> Any:
        """The snapshot of a replica's gate."""
        return (await self.seen(worker))[1]

    async def leave(self, incarnation: str) -> None:
        """Have a life of a replica leave as planned."""
        ruler = self.roster.ruler()
        assert ruler is not None
        client = ReplicaClient(self.channel(ruler.control), incarnation, incarnation=ruler.incarnation)
        await client.leave()

    async def gate_until(self, worker: Worker, holds: Callable[[Any], bool]) -> Any:
        """The first snapshot of a replica's gate for which `holds`."""
        client = GateClient(self.channel(worker.ready["control"]), worker.name, incarnation=worker.incarnation)
        async with asyncio.timeout(WITHIN_S):
            async for seen in client.watch():
                if holds(seen.snapshot):
                    return seen.snapshot
        raise AssertionError("the watch ended")

    @property
    def published(self) -> int | None:
        with Register(self.register_path) as register:
            return register.published

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for what other processes write."""
        until = time.monotonic() + WITHIN_S
        while not holds():
            assert time.monotonic() < until
            await asyncio.sleep(0.05)

    async def status_until(self, holds: Callable[[Any], bool]) -> Any:
        """The first status for which `holds`."""
        until = time.monotonic() + WITHIN_S
        while True:
            found = await self.client.status()
            if holds(found):
                return found
            assert time.monotonic() < until, found
            await asyncio.sleep(0.1)

    # -- the trainer's and the agents' part ------------------------------------------------------

    def publish(self, version: int, *, unreadable_for: str = "") -> None:
        """A version as a trainer publishes it; one replica cannot read its manifest before `let_read`."""
        ruler = self.roster.ruler()
        assert ruler is not None
        term, live = ruler.term, self.trainer.live["Trainer", "trainer"]
        if live.term < term:
            self.trainer.step("trainer", Trainer.Claim(term=term), f"{term}.trainer.1.claim.{term}")
        cause = f"{term}.trainer.1.publish.{version}"
        self.trainer.step("trainer", Trainer.Publish(term=term, version=version), cause)
        manifest = self.weights.publish(version)
        self.hand_out(version, unreadable_for=unreadable_for)
        self.trainer.log.fact("Trainer", "trainer", "manifest", version=version, digest=manifest.digest)
        published(self.trainer, manifest.digest, cause)

    def hand_out(self, version: int, *, unreadable_for: str = "") -> None:
        """Give each replica the manifest of a version; one cannot read it before `let_read`."""
        manifest = self.weights.store.get(version).to_json()
        for folder in self.folder.glob("manifests-*"):
            path = folder / f"v{version:06d}.json"
            if folder.name == f"manifests-{unreadable_for}":
                os.mkfifo(path)
            else:
                path.write_bytes(manifest)

    async def let_read(self, replica: str, version: int) -> None:
        """Let the replica that waits for the manifest of a version have it."""
        path, manifest = self.folder / f"manifests-{replica}" / f"v{version:06d}.json", self.weights.store.get(version)
        await asyncio.to_thread(path.write_bytes, manifest.to_json())
        # The next life of the replica, too, reads it.
        whole = path.with_suffix(".whole")
        whole.write_bytes(manifest.to_json())
        whole.replace(path)

    @asynccontextmanager
    async def request(self, worker: Worker, tokens: int = 4000) -> AsyncIterator[Callable[[], Any]]:
        """A request that runs; what is given aborts it. It has ended when the context is left."""
        self._sessions += 1
        session = f"s{self._sessions}"
        lease = f"{session}.1"
        data: Any = rollout_pb2_grpc.RolloutStub(self.channel(worker.ready["data"]))
        self.agents.born(Session, session, policy=Rebinding.NEVER)
        self.agents.step(session, Session.BeginTurn(lease=lease), lease)
        sampling = rollout_pb2.SamplingParams(max_tokens=tokens, temperature=1.0, top_p=1.0, seed=self._sessions)
        request = rollout_pb2.GenerateRequest(
            request_id=lease, session=session, prompt_token_ids=(3, 1, 4), sampling=sampling, hold=30.0
        )
        began = asyncio.Event()

        async def read() -> None:
            async for chunk in data.Generate(request, timeout=WITHIN_S):
                if chunk.lease:
                    bound = Session.Bound(replica=worker.name, incarnation=worker.incarnation)
                    self.agents.step(session, bound, lease)
                if chunk.token_ids:
                    began.set()
            self.agents.step(session, Session.EndTurn(lease=lease), lease)

        async def abort() -> None:
            await data.Abort(rollout_pb2.AbortRequest(request_id=lease), timeout=20)

        reading = asyncio.create_task(read())
        async with asyncio.timeout(WITHIN_S):
            await began.wait()
            try:
                yield abort
            finally:
                await abort()
                await reading

    @contextmanager
    def register_locked(self) -> Any:
        """Nobody writes the register inside: a controller cannot record what is published."""
        connection = sqlite3.connect(self.register_path, timeout=20, isolation_level=None)
        try:
            connection.execute("BEGIN IMMEDIATE")
            yield
            connection.execute("ROLLBACK")
        finally:
            connection.close()

    # -- the end ---------------------------------------------------------------------------------

    async def close(self) -> None:
        await self.client.__aexit__(None, None, None)
        for channel in self._channels.values():
            await channel.close()

    def judged(self) -> Verdict:
        """The judgement over the logs of all processes, which have ended."""
        return validate(self.merged())

    def merged(self) -> Path:
        """The trace of all processes, which have ended."""
        if "trainer" in vars(self):
            self.trainer.log.close()
        self.agents.log.close()
        with Roster(self.register_path) as roster:
            for life in roster.lives():
                if life.ended is not None and life.ended.startswith("signal"):
                    self.ended[life.incarnation] = life.ended
        return merge(sorted(self.trace.glob("*.ndjson")), self.ended, self.folder / "trace.ndjson")


@asynccontextmanager
async def running(
    folder: Path, *replicas: str, mode: Mode = Mode.WAIT, rollout: dict[str, Any] | None = None,
    budget: Budget | None = None, vocabulary: int = VOCABULARY, **settings: Any,
) -> AsyncIterator[Run]:  # fmt: skip
    """A run with these replicas, ready, and no controller yet. All of it has ended when the context is left.

    `settings` are those of its controllers, `rollout` of its replicas, where they are not the usual ones.
    """
    (folder / "processes").mkdir()
    (folder / "trace").mkdir()
    chosen = {"mode": mode, "deadline_ms": 40_000, "takeover_ms": 80_000, "call_ms": 8_000, **settings}
    with Roster(folder / "register.db") as roster:
        async with Launcher(folder / "processes", environment={"OMP_NUM_THREADS": "1"}) as launcher:
            run = Run(folder, roster, launcher, chosen, rollout, budget, vocabulary)
            async with run.supervisor:
                for name in replicas:
                    run.keep_replica(name)
                for name in replicas:
                    await run.replica(name)
                try:
                    yield run
                finally:
                    await run.close()
                    for worker in run.controllers:
                        await worker.stop(20)


def poisoned_in(trace: Path) -> list[str]:
    """The gates that a merged trace shows poisoned."""
    return [line for line in trace.read_text().splitlines() if '"machine":"Gate"' in line and "POISONED" in line]


__all__ = ["CallError", "Run", "poisoned_in", "running"]
