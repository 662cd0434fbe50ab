"""Load through the gate as a library while weights are swapped: nothing is lost, and every token has its label."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import torch

from sluicegate import EmbeddedGate, LeaseEnded
from sluicegate.runtime.controller.controller import Controller, ReplicaActions
from sluicegate.runtime.controller.register import Register
from sluicegate.runtime.controller.sync import SyncSettings
from sluicegate.runtime.tracelog import TraceLog
from sluicegate.runtime.weights import Manifest, ManifestStore, ShmPublisher
from sluicegate.statemachines.sorts import Mode

from ..support.gate_kit import Published, TokenServer, commanded, judge, made_for, until
from ..support.rollout_kit import judged

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize(("clients", "updates"), [(12, 7), pytest.param(50, 20, marks=pytest.mark.soak)])
async def test_clients_under_load_while_weights_are_swapped(
    tmp_path: Path, mode: Mode, clients: int, updates: int
) -> None:
    server, rng = TokenServer(), random.Random(7)
    gate = made_for(server, tmp_path)
    made: dict[str, list[int]] = {}
    admitted_at: dict[str, int | None] = {}
    outcomes: Counter[str] = Counter()
    stop = asyncio.Event()

    async def client(name: str) -> None:
        while not stop.is_set():
            count = rng.randint(1, 40)
            try:
                async with gate.admit(name, hold=30.0) as lease:
                    admitted_at[lease.id] = lease.version
                    tokens = made[lease.id] = []
                    for number in range(count):
                        version = await server.token()
                        assert lease.tokens([number], [-0.5]) == version
                        tokens.append(version)
                outcomes["completed"] += 1
            except LeaseEnded as ended:
                outcomes[ended.ending] += 1

    async with commanded(gate) as controller:
        await controller.update(1)
        tasks = [asyncio.create_task(client(f"session-{n}")) for n in range(clients)]
        for version in range(2, updates + 3):
            seen = outcomes["completed"]
            await until(lambda seen=seen: outcomes["completed"] > seen and gate.counts["running"], within=60)
            if version < updates + 2:
                await controller.update(version, mode)
        stop.set()
        await asyncio.gather(*tasks)
        counts, stored = gate.counts, gate.records
        assert stored.counts() == {k: n for k, n in outcomes.items() if n}, "receipts and losses are the admissions"
        assert counts["admitted"] == sum(outcomes.values())
        assert (counts["waiting"], counts["open"], counts["left"]) == (0, 0, 0)
        for lease, versions in made.items():
            answer = stored.answer(lease)
            assert [v for v, n in answer.spans for _ in range(n)] == versions
            if mode is not Mode.KEEP:
                assert set(versions) <= {admitted_at[lease]}
        spans = max(len(set(versions)) for versions in made.values())
        assert spans == 1 if mode is not Mode.KEEP else spans > 1
        assert outcomes["completed"] > updates
        assert (outcomes["aborted"] > 0) == (mode is Mode.ABORT)
        assert server.installed == list(range(1, updates + 2))
    judge(tmp_path)


async def test_the_controller_drives_such_gates_like_those_of_rollout_workers(tmp_path: Path) -> None:
    """Two servers, one controller: clients run through five published versions, and the trace of all is judged."""
    manifests, publisher = ManifestStore(tmp_path / "manifests"), ShmPublisher("library", root=tmp_path / "shm")
    servers = {"replica-0": TokenServer(), "replica-1": TokenServer()}

    def gated(name: str, server: TokenServer) -> EmbeddedGate:
        async def install(version: int, manifest: Manifest | None) -> str:
            assert manifest is not None
            await server.install(version, manifest)
            return manifest.digest

        return EmbeddedGate(
            name, install=install, state=tmp_path / name, manifests=manifests.folder, trace=tmp_path / "trace",
            run="library",
        )  # fmt: skip

    async def no_process(incarnation: str) -> None:
        raise AssertionError(f"{incarnation} is to be ended")

    stop, versions = asyncio.Event(), set[int | None]()

    async def client(gate: EmbeddedGate, server: TokenServer) -> None:
        while not stop.is_set():
            async with gate.admit("s", hold=60.0) as lease:
                made = {await server.token() for _ in range(3)}
            assert made == {lease.version}
            versions.add(lease.version)

    log = TraceLog(tmp_path / "controller.ndjson", run="library", process="controller", incarnation="controller.1")
    settings = SyncSettings(mode=Mode.WAIT, deadline=30.0, takeover=5.0, call=10.0)
    actions = ReplicaActions(no_process, no_process, no_process)
    async with AsyncExitStack() as stack:
        stack.callback(log.close)
        gates = [await stack.enter_async_context(gated(name, server)) for name, server in servers.items()]
        register = stack.enter_context(Register(tmp_path / "register.db"))
        controller = await stack.enter_async_context(Controller(register, manifests, settings, actions, log))
        for gate in gates:
            await controller.join(gate.replica, gate.incarnation, gate.control, "")
        clients = [asyncio.create_task(client(gate, servers[gate.replica])) for gate in gates]
        for version in range(1, 6):
            tensors = [("w", torch.full((2,), float(version)))]
            manifests.put(publisher.publish(version, version, tensors, torch.float32))
            assert (await controller.sync(version)).outcome == "published"
            assert [gate.version for gate in gates] == [version, version]
            await asyncio.sleep(0.1)
        stop.set()
        await asyncio.gather(*clients)
    assert versions == {1, 2, 3, 4, 5}
    logs = [*map(str, (tmp_path / "trace").iterdir()), str(tmp_path / "controller.ndjson")]
    verdict = judged(Published("library"), logs, {}, tmp_path)  # pyright: ignore[reportArgumentType]
    assert verdict.valid, verdict.refusal
    assert verdict.applied["barrier_is_proved"] >= 5
