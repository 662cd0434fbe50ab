"""A run has one trainer: what is published is its own, and goes only with a group that ends whole."""

from __future__ import annotations

import asyncio
import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sluicegate.protocol.sqlite import claim
from sluicegate.protocol.store import StoreError
from sluicegate.runtime.config import ConfigError, write_config
from sluicegate.runtime.workers import trainer_store
from sluicegate.runtime.workers.config import TrainerConfig
from sluicegate.runtime.workers.trainer_store import HeadStore, own_host

from ..support.rollout_kit import worker_process
from ..support.trainer_kit import handled, make_config

HOLDER = """
import asyncio, sys
from pathlib import Path
from sluicegate.runtime.config import read_config
from sluicegate.runtime.workers.config import TrainerConfig
from sluicegate.runtime.workers.trainer_store import HeadStore

async def hold():
    async with HeadStore(read_config(TrainerConfig, Path(sys.argv[1]))):
        print("held", flush=True)
        await asyncio.to_thread(sys.stdin.read)

asyncio.run(hold())
"""

NOBODY = """
import os
from sluicegate.runtime.workers.trainer_store import lives

if os.getuid() == 0:
    os.setuid(65534)
try:
    os.kill(1, 0)
except PermissionError:
    print(lives(1))
"""


@pytest.fixture
def config(tmp_path: Path) -> TrainerConfig:
    return make_config(tmp_path)


def published(config: TrainerConfig) -> bool:
    assert config.shm_root is not None
    return (config.shm_root / f"sluicegate-{config.run}" / "v1").exists()


def publish(config: TrainerConfig) -> None:
    assert config.shm_root is not None
    (config.shm_root / f"sluicegate-{config.run}" / "v1").mkdir(exist_ok=True)


@contextmanager
def holding(config: TrainerConfig, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the run."""
    write_config(folder / "holder.json", config)
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder / "holder.json")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.communicate()


async def test_a_run_of_another_process_is_not_had_until_that_process_has_ended(
    config: TrainerConfig, tmp_path: Path
) -> None:
    with holding(config, tmp_path) as process:
        publish(config)
        with pytest.raises(ConfigError, match=rf"{config.manifests}.trainer: process {process.pid} writes it: end"):
            async with HeadStore(config):
                pass
        # Manifests of another run, whose bytes would lie in the same place.
        with pytest.raises(ConfigError, match="the trainer of another run of this name has it"):
            async with HeadStore(replace(config, manifests=tmp_path / "others")):
                pass
        assert published(config), "who was refused has touched nothing"
        process.kill()
        process.wait(10)
        async with HeadStore(config):
            assert published(config)
    assert not published(config)
    async with HeadStore(config):
        assert (config.manifests / f"{trainer_store.LOCK}.lock").read_text() == str(os.getpid())


@pytest.mark.parametrize(("host", "stays"), [(own_host(), True), ("another host/pid:[1]", False)])
async def test_bytes_stay_where_a_rank_of_this_host_has_gone(host: str, stays: bool, config: TrainerConfig) -> None:
    ended = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    await ended.wait()
    ranks: list[dict[str, Any]] = [
        {"host": own_host(), "pid": os.getpid()}, {"host": own_host(), "pid": 1}, {"host": host, "pid": ended.pid},
    ]  # fmt: skip
    async with HeadStore(config) as store:
        publish(config)
        store.belongs_to(ranks)
    assert published(config) is stays


async def test_the_run_is_had_until_its_bytes_are_gone(config: TrainerConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    refused: list[str] = []

    async with HeadStore(config) as store:
        publish(config)
        close = store.weights.close

        def closes() -> None:
            with pytest.raises(StoreError) as found:
                claim(config.manifests / trainer_store.LOCK)
            refused.append(str(found.value))
            close()

        monkeypatch.setattr(store.weights, "close", closes)
    assert len(refused) == 1
    assert not published(config)


async def test_the_lock_of_a_folder_that_its_holder_removed_meanwhile_counts_for_nothing(
    config: TrainerConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock, gone = fcntl.flock, list[Path]()

    def removes(held: Any, how: int) -> None:
        if not gone and isinstance(held, int):
            gone.append(Path(f"/proc/self/fd/{held}").readlink())
            gone[0].rmdir()
        flock(held, how)

    monkeypatch.setattr(fcntl, "flock", removes)
    async with HeadStore(config):
        other = os.open(gone[0], os.O_RDONLY)
        try:
            with pytest.raises(BlockingIOError):
                flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.close(other)


def test_a_process_of_another_user_is_one_that_lives() -> None:
    found = subprocess.run([sys.executable, "-c", NOBODY], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout == "True\n"


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_a_second_trainer_of_a_run_ends_with_a_sentence_and_the_first_publishes_on(tmp_path: Path) -> None:
    config = make_config(tmp_path, trace=None)
    path = tmp_path / "second.json"
    write_config(path, replace(config, state=tmp_path / "state-2"))
    with worker_process("trainer", config, tmp_path) as (process, ready):
        async with handled(ready) as trainer:
            await trainer.publish(0)
            source = (config.manifests / "source.json").read_text()
            second = await asyncio.to_thread(
                subprocess.run,
                [sys.executable, "-m", "sluicegate", "worker", "trainer", str(path)],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
            )  # fmt: skip
            assert second.returncode == 2
            assert second.stdout == ""
            said = [line for line in second.stderr.splitlines() if line.startswith("sluicegate worker:")]
            assert len(said) == 1
            assert f"{config.manifests / 'trainer'}: process {process.pid} writes it: end that one" in said[0]
            assert "Traceback" not in second.stderr
            assert (config.manifests / "source.json").read_text() == source
            await trainer.publish(1)
            await trainer.publish(2)
