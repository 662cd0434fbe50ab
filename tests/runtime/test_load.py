"""Real replicas, controllers and trainers under load: through updates in each mode, and through kills of each kind."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from controller_kit import START_S, Run, running
from load_account import Account, account, check_labels
from load_kit import Agents, Job

from sluicegate.protocol.store import Durability
from sluicegate.runtime.supervisor import Budget
from sluicegate.statemachines.sorts import Mode

REPLICAS = ("r0", "r1")
DEADLINE_S, TAKEOVER_S = 40.0, 80.0
HOME_S = DEADLINE_S + TAKEOVER_S + START_S
"""A gate is open again, or its replica was replaced, within its window and the time that a process takes to start."""


@dataclass
class Load:
    """A run under load, and the processes of it that were killed."""

    run: Run
    agents: Agents
    job: Job
    killed: list[str] = field(default_factory=list)
    span: float = 1.0
    """How long the last update took that nothing disturbed, in seconds."""

    async def updates(self, count: int) -> None:
        """So many updates, each with answers before it, and all published."""
        for _ in range(count):
            await self.agents.more(8)
            began = time.monotonic()
            assert await self.job.update() == "published"
            self.span = time.monotonic() - began

    async def home(self) -> None:
        await self.job.home(*REPLICAS, within=HOME_S)

    async def kill(self, name: str) -> None:
        """End what lives of a name at once, and wait until it is gone."""
        worker = self.run.supervisor.present(name)
        assert worker is not None
        worker.kill()
        await worker.wait()
        self.killed.append(worker.incarnation)

    async def replaced(self, *names: str) -> None:
        """Return when each of the names has a life that is ready."""
        present = self.run.supervisor.present
        assert await self.run.supervisor.changed.until(lambda: all(present(name) for name in names), HOME_S)

    async def rule_in(self, mode: Mode, chance: random.Random) -> None:
        """Have drains done in this mode: by the controller that comes when the one that rules is killed."""
        if self.run.settings["mode"] is not mode:
            self.run.settings["mode"] = mode
            await self.strike(chance, "controller")

    async def strike(self, chance: random.Random, *names: str) -> None:
        """Kill one process of each name, each at a moment of its own of an update.

        All comes home again within its bound, and the next update is published.
        """
        await self.agents.more(8)

        async def kill(name: str, after: float) -> None:
            await asyncio.sleep(after)
            await self.kill(name)

        async with asyncio.TaskGroup() as group:
            updating = group.create_task(self.job.update())
            for name in names:
                group.create_task(kill(name, chance.uniform(0, self.span)))
        assert updating.result() in ("published", "controller_ended"), updating.result()
        await self.replaced(*names)
        await self.home()
        await self.updates(1)


@asynccontextmanager
async def under_load(
    folder: Path, clients: int, *, mode: Mode = Mode.WAIT, pause: float = 0.1,
    durability: Durability = Durability.STRICT, lives: int = 20,
) -> AsyncIterator[Load]:  # fmt: skip
    """Two replicas, a controller and a trainer that are kept alive, and clients; all has ended on leaving."""
    async with running(
        folder, *REPLICAS, mode=mode, deadline_ms=int(1000 * DEADLINE_S), takeover_ms=int(1000 * TAKEOVER_S),
        rollout={"durability": durability, "deliver_ms": 20, "max_batch": 64},
        budget=Budget(lives=lives, all_lives=4 * lives),
        # What holds an install up here is the reading of its manifest, which staging would have done before.
        staging_ms=0,
    ) as run:  # fmt: skip
        Job.keep(run)
        async with Agents(run, clients, pause=pause) as agents:
            job = Job(run, agents)
            try:
                await job.run.status_until(lambda s: [r.state for r in s.replicas] == ["SYNCING", "SYNCING"])
                assert await job.update() == "published"
                yield Load(run, agents, job)
            finally:
                await job.close()


async def killed_once_verified(load: Load) -> str:
    """The controller is killed after the last rank has proved what it holds, before the version is recorded."""
    run = load.run
    first, second, controller = (run.supervisor.present(name) for name in (*REPLICAS, "controller"))
    assert first is not None
    assert second is not None
    assert controller is not None
    version = await load.job.produce(unreadable_for=second.name)
    syncing = asyncio.create_task(load.job.sync(version))
    await run.gate_until(first, lambda g: g.state == "INSTALLING" and g.verified == g.ranks)
    await run.gate_until(second, lambda g: g.state == "INSTALLING")
    with run.register_locked():
        await run.let_read(second.name, version)
        await run.gate_until(second, lambda g: g.state == "INSTALLING" and g.verified == g.ranks)
        controller.kill()
        # Gone before anything else happens here: the supervisor is to find the register free.
        while _state(controller.pid) not in "ZX":
            time.sleep(0.001)  # noqa: ASYNC251
    load.killed.append(controller.incarnation)
    return await syncing


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def told(what: str, load: Load, found: Account, began: float) -> None:
    """The figures of a soak."""
    kinds = {kind: sum(i.startswith(kind) for i in load.killed) for kind in ("controller", "r", "trainer")}
    print(
        f"\n{what}: {load.agents.clients} clients, {sum(load.job.outcomes.values())} updates "
        f"({dict(load.job.outcomes)}), {found.admissions} admissions, {found.receipts} receipts, {found.lost} lost, "
        f"{found.orphans} orphans, {found.tokens} tokens, {found.frozen} frozen, {found.crossed} answers of several "
        f"versions, endings {dict(found.endings)}, killed {len(load.killed)} {kinds}, "
        f"{found.verdict.lines} trace lines, {time.monotonic() - began:.0f} s"
    )


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_updates_in_each_mode_and_kills_of_each_kind_lose_and_poison_nothing_else(tmp_path: Path) -> None:
    """A1, A2: of each kind of process three are killed; what is lost ran on replicas that were killed themselves."""
    chance, began = random.Random(4), time.monotonic()
    async with under_load(tmp_path, 6, mode=Mode.WAIT, pause=0.3) as load:
        for mode in Mode:
            await load.rule_in(mode, chance)
            await load.updates(2)
        # From here on it is mostly waited for processes that start.
        load.agents.pause = 2.0
        assert await killed_once_verified(load) == "published"
        await load.replaced("controller")
        await load.home()
        for number in range(3):
            await load.strike(chance, "trainer", REPLICAS[number % 2])
    found = account(load.run, load.agents.turns, may_lose=True)
    told("kills", load, found, began)
    kinds = sorted(incarnation.rpartition(".")[0] for incarnation in load.killed)
    assert kinds == ["controller"] * 3 + ["r0"] * 2 + ["r1"] + ["trainer"] * 3
    assert found.endings["aborted"] > 0
    assert found.frozen > 0
    assert found.crossed > 0
    assert check_labels(load.agents.turns, load.job.tensors) > 0


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("mode", list(Mode))
async def test_fifty_clients_through_twenty_updates_lose_nothing(mode: Mode, tmp_path: Path) -> None:
    began = time.monotonic()
    async with under_load(tmp_path, 50, mode=mode) as load:
        await load.updates(20)
    found = account(load.run, load.agents.turns)
    looked = check_labels(load.agents.turns, load.job.tensors)
    told(f"{mode}, {looked} labels looked at", load, found, began)
    assert (found.lost, found.orphans, load.killed) == (0, 0, [])
    assert found.told == found.admissions
    assert load.job.outcomes == {"published": 21}
    assert (found.endings["aborted"] > 0) == (mode is Mode.ABORT)
    assert (found.crossed > 0) == (found.frozen > 0) == (mode is Mode.KEEP)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("durability", [Durability.STRICT, Durability.PROCESS])
async def test_twenty_kills_of_each_kind_lose_and_poison_nothing_else(durability: Durability, tmp_path: Path) -> None:
    """In each round a controller, a trainer and a replica, each at a moment of its own."""
    seed, began = random.SystemRandom().randrange(1 << 30), time.monotonic()
    print(f"\nseed {seed}")
    chance, modes = random.Random(seed), list(Mode)
    async with under_load(tmp_path, 20, pause=0.5, durability=durability, lives=40) as load:
        for number in range(20):
            load.run.settings["mode"] = modes[number % 3]
            others = ["trainer", REPLICAS[number % 2]]
            if number % 5 == 4:
                assert await killed_once_verified(load) == "published"
                await load.replaced("controller")
                await load.home()
                await load.strike(chance, *others)
            else:
                await load.strike(chance, "controller", *others)
    found = account(load.run, load.agents.turns, may_lose=True)
    looked = check_labels(load.agents.turns, load.job.tensors)
    told(f"{durability}, {looked} labels looked at", load, found, began)
    assert len(load.killed) == 60
