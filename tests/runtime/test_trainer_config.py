"""What a worker's config names and cannot be used: a sentence for each problem, exit status 2, and nothing is begun."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sluicegate.runtime.config import as_json, write_config
from sluicegate.runtime.workers.torchrun import own_rank

from ..support.rollout_kit import Weights
from ..support.trainer_kit import make_config

pytestmark = pytest.mark.timeout(180)


def told(kind: str, config: Any, folder: Path, **environment: str) -> str:
    """The one message of a worker that ends with exit status 2 before it has begun anything."""
    write_config(folder / "worker.json", config)
    found = subprocess.run(
        [sys.executable, "-m", "sluicegate", "worker", kind, str(folder / "worker.json")],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, env={**os.environ, **environment},
    )  # fmt: skip
    assert found.returncode == 2, found.stderr
    assert found.stdout == ""
    assert "Traceback" not in found.stderr
    before, is_told, said = found.stderr.partition("sluicegate worker: ")
    assert is_told
    assert before == ""
    return said


@pytest.fixture
def given(tmp_path: Path) -> dict[str, Any]:
    """A trainer's config that could be used."""
    return as_json(make_config(tmp_path))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"run": "_x"}, "run is '_x': use letters of ASCII"),
        ({"run": "é"}, "run is 'é': use letters of ASCII"),
        ({"dtype": "bfloat61"}, "dtype is 'bfloat61': give the name of a floating dtype of torch's, such as bfloat16"),
        ({"dtype": "int32"}, "dtype is 'int32'"),
        ({"dtype": "foo", "ranks": 2}, "dtype is 'foo'"),
        ({"model": "/nonexistent"}, "model: /nonexistent has no config.json"),
    ],
)  # fmt: skip
def test_a_trainers_config_is_judged_before_it_begins(
    changes: dict[str, Any], said: str, given: dict[str, Any], tmp_path: Path
) -> None:
    assert said in told("trainer", {**given, **changes}, tmp_path)
    assert not (tmp_path / "manifests").exists()
    assert not (tmp_path / "shm").exists()


def test_every_place_that_cannot_be_used_is_named_at_once(given: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    keys = ("state", "manifests", "trace", "shm_root")
    weights = {**given["weights"], "store": "files", "folder": str(file / "below")}
    said = told("trainer", {**given, **dict.fromkeys(keys, str(file)), "weights": weights}, tmp_path)
    for key in keys:
        assert f"{key}: {file} is no folder" in said
    assert f"weights.folder: {file}/below is no folder, and none can be made there ({file} is none)" in said


def test_a_replicas_places_are_judged_too(tmp_path: Path) -> None:
    weights = Weights("judged", tmp_path)
    (tmp_path / "file").touch()
    config = replace(weights.config("a"), model=tmp_path / "none", manifests=tmp_path / "file")
    said = told("rollout", config, tmp_path)
    assert "model: " in said
    assert f"manifests: {tmp_path / 'file'} is no folder" in said


@pytest.mark.parametrize(
    ("environment", "ranks", "said"),
    [
        ({"RANK": "0"}, 1, "RANK are set, WORLD_SIZE, MASTER_ADDR, MASTER_PORT are not"),
        ({"RANK": "0"}, 2, "RANK are set, WORLD_SIZE"),
        ({"RANK": "x", "WORLD_SIZE": "1", "MASTER_ADDR": "a", "MASTER_PORT": "1"}, 1, "RANK is 'x' in the environment"),
        ({"RANK": "-1", "WORLD_SIZE": "1", "MASTER_ADDR": "a", "MASTER_PORT": "1"}, 1, "RANK is '-1'"),
        ({"RANK": "0", "WORLD_SIZE": "²", "MASTER_ADDR": "a", "MASTER_PORT": "b"}, 1, "WORLD_SIZE is '²', MASTER_PORT"),
        ({"RANK": "2", "WORLD_SIZE": "2", "MASTER_ADDR": "a", "MASTER_PORT": "1"}, 2, "the last one is 1"),
        ({"RANK": "0", "WORLD_SIZE": "3", "MASTER_ADDR": "a", "MASTER_PORT": "1"}, 2, "a group of 3: make them equal"),
    ],
)  # fmt: skip
def test_an_environment_that_describes_no_group_is_told(
    environment: dict[str, str], ranks: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=said):
        own_rank(ranks)


def test_a_rank_alone_ends_with_a_sentence(given: dict[str, Any], tmp_path: Path) -> None:
    assert "the environment describes no group" in told("trainer", given, tmp_path, RANK="0")


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 2])
def test_a_model_that_is_none_is_told_by_every_rank_and_their_launcher(ranks: int, tmp_path: Path) -> None:
    config = make_config(tmp_path, ranks=ranks)
    (tmp_path / "model" / "model.safetensors").write_bytes(b"cut")
    write_config(tmp_path / "worker.json", config)
    found = subprocess.run(
        [sys.executable, "-m", "sluicegate", "worker", "trainer", str(tmp_path / "worker.json")],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert found.returncode == 2, found.stderr
    assert f"{tmp_path / 'model'} holds no causal language model" in found.stderr
    assert "Traceback" not in found.stderr
