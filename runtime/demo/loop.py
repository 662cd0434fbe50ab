"""The main job: gather groups, train, publish, sync; and before and after it, held-out prompts.

Rules of this file:

- It says in which order things happen; how each is done stands elsewhere.
- What was started ends on every way out, and a run that cannot go on says what ended it.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from ...protocol.access import acting_as
from ...spec.traces import validate
from ..config import as_json
from ..controller.controller import SyncFailed
from ..controller.sync import SyncSettings
from ..controller.trainer import TrainerHandle
from ..models import CharTokenizer, make_tiny_qwen3, save_model_folder
from ..tasks import Task
from ..tracelog import TraceLog, merge
from ..weights import ManifestStore
from ..workers.config import RolloutConfig, TrainerConfig
from .batch import samples_of
from .cluster import START_S, Cluster, Layout, cluster
from .config import DemoConfig
from .figures import count
from .production import Agents, Group, Production, Tools
from .record import Record, Update
from .report import Expectations, Report

WITHIN_S = 120.0
"""How long one command to the trainer may take."""
REST_S = 60.0
"""How long the gates may take to come to rest at the end."""


class Screen(Protocol):
    """Who is told how a run goes on."""

    def phase(self, text: str) -> None: ...

    def update(self, update: Update, of: int) -> None: ...

    def incident(self, text: str) -> None: ...


def make_model(config: DemoConfig, task: Task, folder: Path) -> CharTokenizer:
    """The model's folder, made from the config's seed."""
    tokenizer = CharTokenizer(task.alphabet)
    made = config.model
    model = make_tiny_qwen3(
        tokenizer.vocab_size, hidden=made.hidden, layers=made.layers, heads=made.heads, kv_heads=made.kv_heads,
        seed=config.seed,
    )  # fmt: skip
    save_model_folder(folder, model, tokenizer)
    return tokenizer


async def run(
    config: DemoConfig, folder: Path, screen: Screen, *, during: Callable[[Cluster], None] | None = None
) -> Report:
    """Run the demo in `folder`, which must be new. `during` is given the cluster once it serves.

    Raises FileExistsError, and ExceptionGroup when the run cannot go on.
    """
    with acting_as(config.access):
        return await _play(config, folder, screen, during)


async def _play(config: DemoConfig, folder: Path, screen: Screen, during: Callable[[Cluster], None] | None) -> Report:
    await asyncio.to_thread(folder.mkdir, parents=True)
    # The name also stands in shared memory, where runs of other folders live: letters, and never the same twice.
    named = "".join(c if c.isalnum() and c.isascii() else "-" for c in folder.name).strip("-")
    layout = Layout(folder, f"{named or 'run'}-{secrets.token_hex(3)}")
    layout.make()
    record = Record()
    task = config.task.make(seed=config.seed)
    screen.phase("making the model")
    tokenizer = make_model(config, task, layout.model)
    log = TraceLog(layout.trace / "controller.ndjson", run=layout.run, process="controller", incarnation="controller.1")
    settings = SyncSettings(
        mode=config.sync.mode, minimum=config.sync.minimum, deadline=config.sync.deadline,
        takeover=config.sync.takeover, call=config.sync.call,
    )  # fmt: skip
    with log:
        async with cluster(layout, settings, _rollout(config, layout), log, turn_s=config.agents.turn_s) as made:
            agents = Agents(
                made.router, task, tokenizer, record, config.seed, config.training.temperature,
                Tools(config.agents.slow_share, config.agents.slow_s),
            )  # fmt: skip
            await _run(config, layout, made, agents, record, screen, during)
    screen.phase("judging the trace")
    return await asyncio.to_thread(_report, config, layout, made, task, record)


async def _run(
    config: DemoConfig, layout: Layout, made: Cluster, agents: Agents, record: Record, screen: Screen,
    during: Callable[[Cluster], None] | None,
) -> None:  # fmt: skip
    screen.phase("starting the trainer and the replicas")
    async with asyncio.TaskGroup() as starting:
        for number in range(config.replicas):
            starting.create_task(made.start_replica(f"rollout-{number}"))
        starting.create_task(made.start_trainer(_trainer(config, layout), within=WITHIN_S))
    task, at_once = agents.task, config.agents.evaluate_at_once
    trainer = made.trainer
    assert trainer is not None
    first = made.controller.register.next_version()
    await trainer.publish(first)
    await made.controller.sync(first)
    if config.evaluate:
        screen.phase("held-out prompts, before")
        record.rewards_before = await agents.evaluate("before", task.held_out(), at_once)
    if during is not None:
        during(made)
    screen.phase("training")
    production = Production(
        agents, size=config.training.group_size, in_flight=config.agents.in_flight, waiting=config.agents.waiting
    )
    async with asyncio.TaskGroup() as group:
        producing = group.create_task(production.run())
        for number in range(config.updates):
            update = await _update(config, number, made, trainer, agents, production, record)
            screen.update(update, config.updates)
            for incident in made.incidents[made.told :]:
                screen.incident(f"{incident.incarnation}: {incident.what}")
            made.told = len(made.incidents)
        producing.cancel()
    # A replacement that is still starting belongs to the run: it ends with every replica at the last version.
    await made.controller.changed.until(lambda: len(made.controller.serving()) == config.replicas, START_S)
    if config.evaluate:
        screen.phase("held-out prompts, after")
        record.rewards_after = await agents.evaluate("after", task.held_out(), at_once)
    screen.phase("coming to rest")
    async with asyncio.TaskGroup() as group:
        for member in made.controller.serving():
            group.create_task(member.until(is_at_rest, REST_S))


def is_at_rest(gate: Any, number: int) -> bool:
    """Whether a gate has no lease that is not settled."""
    return not (gate.active or gate.suspended or gate.orphaned)


async def _update(
    config: DemoConfig, number: int, made: Cluster, trainer: TrainerHandle, agents: Agents, production: Production,
    record: Record,
) -> Update:  # fmt: skip
    began = time.monotonic()
    groups: list[Group] = []
    while len(groups) < config.training.groups:
        (group,) = await production.gather(1)
        if _is_fresh(group, made.controller.published, config.training.max_staleness):
            groups.append(group)
        else:
            record.stale_groups += 1
            await agents.read(group)
    gathered = time.monotonic()
    metrics = await trainer.train(f"batch-{number}", samples_of(groups))
    for group in groups:
        await agents.read(group)
    trained = time.monotonic()
    version = made.controller.register.next_version()
    await trainer.publish(version)
    published = time.monotonic()
    try:
        operation = await made.controller.sync(version)
    except SyncFailed:
        # Every member failed; replacements join at the published version, and this one comes with the next.
        if not made.controller.members:
            raise
        await made.controller.changed.until(lambda: bool(made.controller.serving()), REST_S)
        version = made.controller.register.next_version()
        await trainer.publish(version)
        operation = await made.controller.sync(version)
    update = Update.of(
        operation, at=record.now, reward=sum(g.reward for g in groups) / len(groups), metrics=metrics,
        gather_s=gathered - began, train_s=trained - gathered, publish_s=published - trained,
    )  # fmt: skip
    record.updates.append(update)
    return update


def _is_fresh(group: Group, published: int | None, bound: int) -> bool:
    """Whether every token is within the bound of what would train on it."""
    oldest = min(v for c in group.conversations for v in c.versions)
    return (published or 0) - oldest <= bound


def _rollout(config: DemoConfig, layout: Layout) -> Callable[[str, str], RolloutConfig]:
    def make(replica: str, incarnation: str) -> RolloutConfig:
        return RolloutConfig(
            replica=replica, run=layout.run, model=layout.model, state=layout.state(replica),
            manifests=layout.manifests, trace=layout.trace, incarnation=incarnation,
            max_batch=config.agents.in_flight * config.training.group_size, hold_limit=4096, access=config.access,
        )  # fmt: skip

    return make


def _trainer(config: DemoConfig, layout: Layout) -> Callable[[str], TrainerConfig]:
    def make(incarnation: str) -> TrainerConfig:
        return TrainerConfig(
            run=layout.run, model=layout.model, state=layout.state("trainer"), manifests=layout.manifests,
            trace=layout.trace, incarnation=incarnation, training=replace(config.training, seed=config.seed),
            access=config.access,
        )  # fmt: skip

    return make


def _report(config: DemoConfig, layout: Layout, made: Cluster, task: Task, record: Record) -> Report:
    trace = merge(sorted(layout.trace.glob("*.ndjson")), made.ended, layout.folder / "trace.ndjson")
    verdict = validate(trace)
    store = ManifestStore(layout.manifests)
    digests = {v: _by_rank(store, v) for v in store.versions()}
    report = Report(
        record=record, figures=count(trace, digests), incidents=tuple(made.incidents),
        trace_refusal="" if verdict.refusal is None else str(verdict.refusal), replicas=config.replicas,
        turns=task.turns, expects=Expectations(updates=min(20, config.updates)), config=as_json(config),
        duration_s=record.now,
    )  # fmt: skip
    report.write(layout.folder)
    return report


def _by_rank(store: ManifestStore, version: int) -> dict[str, str]:
    """What each rank must hold; the torch engine has the one rank "0"."""
    return store.get(version).rank_digests(("0",))
