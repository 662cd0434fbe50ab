"""What the pages show of trainers works as it is shown: one that is driven by hand, and one of somebody's own."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from rollout_kit import Weights

from examples.operated import Operated
from sluicegate.runtime.checkpoints import Checkpoints, Run
from sluicegate.runtime.controller.client import ControllerClient
from sluicegate.runtime.controller.register import Register
from sluicegate.runtime.controller.roster import Roster
from sluicegate.runtime.controller.trainer import TrainerError, TrainerFailed, TrainerHandle, TrainerUndone
from sluicegate.runtime.launcher import Launcher
from sluicegate.runtime.serving.export import lines
from sluicegate.runtime.sessions.traces import Tree
from sluicegate.runtime.supervisor import Charge, Supervisor
from sluicegate.runtime.training import checkpoint
from sluicegate.runtime.training.config import TrainingConfig
from sluicegate.runtime.weights import ManifestStore, WeightsConfig, open_source, open_store, remove_run
from sluicegate.runtime.weights.digest import new_digest
from sluicegate.runtime.workers.config import TrainerConfig

ROOT = Path(__file__).resolve().parent.parent.parent
TRAINING, OTHERS = (ROOT / "docs" / name for name in ("training.md", "other-trainers.md"))
START_S = 150.0


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def defined(*codes: str) -> dict[str, Any]:
    """What these blocks define, one after another."""
    names: dict[str, Any] = {"__name__": "page"}
    for code in codes:
        exec(compile(code, "page", "exec"), names)
    return names


async def command(*words: str, cwd: Path) -> str:
    """What a command prints, which must succeed."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = await asyncio.create_subprocess_exec(
        *words, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        async with asyncio.timeout(START_S):
            said, errors = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, (said + errors).decode()
    return said.decode()


@pytest.mark.slow
@pytest.mark.timeout(400)
async def test_a_trainer_by_hand_is_started_and_driven_as_the_page_says(tmp_path: Path) -> None:
    page = TRAINING.read_text()
    program, from_trace = blocks(TRAINING, "python")
    make, start = blocks(TRAINING, "sh")
    (config,) = blocks(TRAINING, "json")
    ran = json.loads(config) | {"run": f"by-hand-{os.getpid()}"}
    (tmp_path / "trainer.json").write_text(json.dumps(ran))
    (tmp_path / "by_hand.py").write_text(program)
    await command("bash", "-c", make.replace("python ", f"{sys.executable} ", 1), cwd=tmp_path)
    worker = [sys.executable, "-m", *start.split()[:4]]
    with (tmp_path / "ready.json").open("wb") as ready, (tmp_path / "log").open("wb") as log:
        trainer = await asyncio.create_subprocess_exec(
            *worker, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=ready, stderr=log
        )
    try:
        async with asyncio.timeout(START_S):
            while not (tmp_path / "ready.json").read_bytes().endswith(b"\n"):
                assert trainer.returncode is None, (tmp_path / "log").read_text()
                await asyncio.sleep(0.1)
        (line,) = re.findall(r"^\$ python (by_hand\.py .*)$", page, re.MULTILINE)
        said = await command(sys.executable, *line.split(), cwd=tmp_path)
        (shown,) = re.findall(r"^\$ python by_hand.*\n((?:.+\n)+?)```", page, re.MULTILINE)
        # Which numbers come out is the processor's.
        assert shape(said) == shape(shown)
        assert (tmp_path / "mine" / "trainer" / "step-1" / checkpoint.INDEX).exists()
        await refusals(json.loads((tmp_path / "ready.json").read_text()), defined(program)["sample"])
    finally:
        if trainer.returncode is None:
            trainer.terminate()
        try:
            async with asyncio.timeout(30):
                await trainer.wait()
        except TimeoutError:
            trainer.kill()
            await trainer.wait()
            raise
    names = defined(program, from_trace)
    tree = Tree()
    tree.grow("q1", [1, 2], [3, 4], [-1.0, -2.0], [(5, 2)], "stop")
    tree.grow("q2", [1, 2, 3, 4, 6], [7], [-3.0], [(6, 1)], "stop")
    _, exported = map(json.loads, lines("s", tree))
    sample = names["sample_of"](exported, "task", [0.5, 1.0])
    assert (sample.token_ids, sample.turns) == ((1, 2, 3, 4, 6, 7), (0, 0, 1, 1, 0, 2))
    assert (sample.versions, sample.log_probs) == ((0, 0, 5, 5, 0, 6), (0.0, 0.0, -1.0, -2.0, 0.0, -3.0))


async def refusals(ready: dict[str, Any], sample: Any) -> None:
    """What is refused has begun nothing, what is undone has changed nothing, and the trainer goes on."""
    handle = TrainerHandle(ready["incarnation"], ready["control"], ready["data"], term=2, within=60.0)
    try:
        await handle.claim()
        await handle.publish(1)
        for refused in (handle.publish(0), handle.train("few", [sample(0, 0, 1)])):
            with pytest.raises(TrainerError) as error:
                await refused
            assert not isinstance(error.value, TrainerUndone | TrainerFailed)
        with pytest.raises(TrainerUndone, match="exists"):
            await handle.save("step-1")
        await handle.publish(2)
    finally:
        await handle.close()


def shape(text: str) -> str:
    return re.sub(r"-?\d+\.\d+|[0-9a-f]{12}", "N", text)


def test_the_defaults_of_the_trainer_are_those_of_the_page() -> None:
    config = TrainerConfig(run="r", model=Path("m"), state=Path("s"), manifests=Path("v"), training=TrainingConfig())
    keys, _, _ = TRAINING.read_text().partition("### Samples")
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \| [^|]+ \|$", keys, re.MULTILINE)
    told = {key: value.strip() for key, value in rows if value != "must be given"}
    assert set(told) == {"ranks", "dtype", "keep_versions", "bucket_bytes", "max_batch_bytes", "threads"}
    for key, value in told.items():
        number, _, unit = value.strip("`").partition(" ")
        assert str(getattr(config, key)) == (str(int(number) * 2**20) if unit == "MiB" else number), key


@asynccontextmanager
async def operated(folder: Path) -> AsyncIterator[tuple[Operated, Roster, ControllerClient]]:
    """A replica and a controller, as the example keeps them."""
    run = Operated(folder, 1.0)
    run.model.save_pretrained(folder / "model")
    (folder / "processes").mkdir()
    try:
        with Roster(folder / "register.db") as roster:
            async with (
                Launcher(folder / "processes") as launcher, Supervisor(roster, launcher) as supervisor,
                ControllerClient.of_register(folder / "register.db", within=60.0) as client,
            ):  # fmt: skip
                supervisor.keep(Charge("r0", "rollout", lambda life: run.replica("r0", life)))
                supervisor.keep(Charge("controller", "controller", run.controller))
                async with asyncio.timeout(START_S):
                    while not (await client.status()).replicas:  # noqa: ASYNC110
                        await asyncio.sleep(0.1)
                yield run, roster, client
    finally:
        remove_run(run.name)


@pytest.mark.slow
@pytest.mark.timeout(400)
async def test_a_trainer_of_ones_own_publishes_to_replicas_and_is_begun_again(tmp_path: Path) -> None:
    program, _, own = blocks(OTHERS, "python")
    (line,) = re.findall(r"^torchrun (.*)$", OTHERS.read_text(), re.MULTILINE)
    (tmp_path / "own_trainer.py").write_text(program)
    folder = tmp_path / "run"
    folder.mkdir()
    async with operated(folder) as (run, roster, client):
        words = line.replace("runs/mine", str(folder)).replace("my-run 20", f"{run.name} 2").split()
        said = await command(sys.executable, "-m", "torch.distributed.run", *words, cwd=tmp_path)
        assert said.splitlines() == [f"version {n} is published; left behind: {{}}" for n in range(3)]
        manifests = ManifestStore(folder / "manifests")
        assert [manifests.get(n).step for n in range(3)] == [0, 1, 2]
        digests = {manifests.get(n).digest for n in range(3)}
        assert len(digests) == 3
        assert [t.name for t in manifests.get(2).tensors if t.frozen] == ["model.embed_tokens.weight"]

        names = defined(program, own)
        store = open_store(WeightsConfig(), run.name)
        optimizer = torch.optim.AdamW(run.model.parameters(), lr=1e-3)
        with Register(folder / "register.db") as register:
            kept = Run(
                name=run.name, register=register, roster=roster, manifests=manifests,
                checkpoints=Checkpoints(folder / "checkpoints"), max_staleness=4,
            )  # fmt: skip
            trainer = names["OwnTrainer"](run.model, optimizer, store, manifests)
            assert await kept.cold_start(trainer, client) == 3
            trainer.step = 7
            saved = {name: tensor.clone() for name, tensor in run.model.state_dict().items()}
            await kept.save(trainer, trainer.step)
            with torch.no_grad():
                run.model.model.norm.weight.add_(1)
            found, version = await kept.resume_trainer(
                names["OwnTrainer"](run.model, optimizer, store, manifests), client
            )
        assert (found.state.step, version, manifests.get(version).step) == (7, 4, 7)
        assert all(saved[name].equal(tensor) for name, tensor in run.model.state_dict().items())
        assert (await client.status()).published == 4


async def test_the_service_that_the_page_shows_serves_a_road_that_is_not_direct(tmp_path: Path) -> None:
    program, service, _ = blocks(OTHERS, "python")
    weights, run = WeightsConfig(road="stream"), Weights("own-road", tmp_path)
    manifest = run.publish(1)
    serving = defined(program, service)["serving"]
    async with serving(weights, run.publisher, run.store, "trainer.1"):
        source = open_source(weights, run.run, manifests=run.store.folder)
        assert await asyncio.to_thread(source.has, 1)
        came = await asyncio.to_thread(lambda: {number: bytes(content) for number, content in source.buckets(manifest)})
    assert [new_digest(came[number]).hexdigest() for number in sorted(came)] == [b.digest for b in manifest.buckets]
