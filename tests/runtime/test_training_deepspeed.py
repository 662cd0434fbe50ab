"""The trainer on DeepSpeed itself: what a step does, what leaves it, and what it refuses unharmed."""

import importlib.util
import json
import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from sluicegate.runtime.models import CharTokenizer, make_tiny_qwen3, save_model_folder
from sluicegate.runtime.training.checkpoint import CheckpointError
from sluicegate.runtime.training.deepspeed_trainer import TrainerCore, TrainerError
from sluicegate.runtime.training.group import GroupError, is_described
from sluicegate.runtime.training.grpo import DegenerateGroup
from sluicegate.runtime.training.samples import SampleError
from sluicegate.runtime.weights import canonical_tensors

pytestmark = pytest.mark.slow

RANK = Path(__file__).with_name("train_rank.py")
_spec = importlib.util.spec_from_file_location("train_rank", RANK)
assert _spec is not None
assert _spec.loader is not None
rank = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(rank)


def make_model(folder: Path, hidden: int = 32) -> Path:
    tokenizer = CharTokenizer("abcd>")
    save_model_folder(folder, make_tiny_qwen3(tokenizer.vocab_size, hidden=hidden, max_positions=64), tokenizer)
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return make_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def start(model):
    """Makes trainers that end with the test."""
    cores: list[TrainerCore] = []

    def make(stage: int = 2, folder: Path = model, **changes) -> TrainerCore:
        cores.append(TrainerCore(rank.config(stage, **changes), folder))
        return cores[-1]

    yield make
    for core in cores:
        core.close()


def differences(one, other) -> dict[str, float]:
    assert one.keys() == other.keys()
    return {name: float((one[name] - other[name]).abs().max()) for name in one}


def test_a_step_changes_the_weights_in_every_zero_stage_and_alike(start):
    trained = {}
    for stage in range(4):
        core = start(stage)
        before = rank.weights(core)
        metrics = core.train(rank.samples(), version=2)
        trained[stage] = rank.weights(core)
        assert min(differences(before, trained[stage]).values()) > 0
        assert metrics.step == core.step == 1
        assert (metrics.samples, metrics.tokens) == (8, 32)
        assert (metrics.staleness, metrics.largest_staleness) == (1, 1)
        assert metrics.gradient_norm > 0
        assert metrics.idle_groups == 0
    for stage in (1, 2):
        assert not any(differences(trained[0], trained[stage]).values()), stage
    assert max(differences(trained[0], trained[3]).values()) < 1e-4


def test_a_step_of_equal_seed_and_samples_is_the_same_again(start):
    one, other, third = start(), start(), start(seed=1)
    for core in (one, other, third):
        core.train(rank.samples(), version=1)
    assert not any(differences(rank.weights(one), rank.weights(other)).values())
    assert any(differences(rank.weights(one), rank.weights(third)).values())


def test_shuffled_rewards_train_on_something_else_and_report_the_true_ones(start):
    true, shuffled = start(), start(shuffle_rewards=True)
    figures = [core.train(rank.samples(), version=1) for core in (true, shuffled)]
    assert figures[0].reward == figures[1].reward
    assert any(differences(rank.weights(true), rank.weights(shuffled)).values())


def test_groups_without_variance_change_nothing(start):
    core = start()
    before = rank.weights(core)
    equal = [replace(sample, rewards=(0.5, 0.5)) for sample in rank.samples()]
    metrics = core.train(equal, version=1)
    assert metrics.idle_groups == 1
    assert not any(differences(before, rank.weights(core)).values())


@pytest.mark.parametrize("stage", [2, 3])
def test_tensors_leave_by_the_names_and_shapes_of_the_model_each_once(start, model, stage):
    from transformers import AutoModelForCausalLM

    canonical = canonical_tensors(AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32))
    given = rank.weights(start(stage))
    assert list(given) == list(canonical)
    assert all(torch.equal(given[name], canonical[name]) for name in given)


def test_a_batch_that_cannot_be_trained_on_changes_nothing(start):
    core = start(max_staleness=1)
    before, good = rank.weights(core), rank.samples()
    late = [*good[:-1], replace(good[-1], versions=(0, 0, 0, 1, 1, 0, 0, 4, 4))]
    with pytest.raises(SampleError, match="'s7' at position 7: made by version 4"):
        core.train(late, version=1)
    with pytest.raises(SampleError, match="'s0' at position 3: made by version 1, 2 before 3"):
        core.train(good, version=3)
    with pytest.raises(DegenerateGroup, match="group 'g1' has one sample"):
        core.train(good[:5], version=1)
    with pytest.raises(TrainerError, match="1 samples are too few"):
        core.train(good[:1], version=1)
    with pytest.raises(SampleError, match="token id 99 is outside"):
        core.train([replace(good[0], token_ids=(99,) * 9), *good[1:]], version=1)
    assert core.step == 0
    assert not any(differences(before, rank.weights(core)).values())


@pytest.mark.parametrize("stage", [pytest.param(0, marks=pytest.mark.soak), 2, 3])
def test_a_checkpoint_restores_weights_optimiser_and_step(start, tmp_path, stage):
    core = start(stage)
    core.train(rank.samples(), version=1)
    core.save(tmp_path / "kept")
    core.train(rank.samples(seed=1), version=1)
    after = rank.weights(core)
    other = start(stage)
    other.load(tmp_path / "kept")
    assert other.step == 1
    other.train(rank.samples(seed=1), version=1)
    assert not any(differences(after, rank.weights(other)).values())
    with pytest.raises(CheckpointError, match="never overwritten"):
        core.save(tmp_path / "kept")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_checkpoint_of_another_kind_or_a_damaged_one_is_refused_unharmed(start, tmp_path):
    core = start()
    core.save(tmp_path / "kept")
    wide = start(folder=make_model(tmp_path / "wide", hidden=64))
    before = rank.weights(wide)
    with pytest.raises(CheckpointError, match=r"tensors.*embed_tokens.weight is \[10, 32\] there and \[10, 64\] here"):
        wide.load(tmp_path / "kept")
    assert not any(differences(before, rank.weights(wide)).values())
    with pytest.raises(CheckpointError, match="zero_stage is 2 there and 1 here"):
        start(1).load(tmp_path / "kept")
    with pytest.raises(CheckpointError, match=r"holds no checkpoint: checkpoint\.json is missing"):
        core.load(tmp_path / "none")
    index = json.loads((tmp_path / "kept" / "checkpoint.json").read_text())
    largest = max((tmp_path / "kept" / name for name in index["files"]), key=lambda path: path.stat().st_size)
    content = bytearray(largest.read_bytes())
    content[len(content) // 2] ^= 1
    largest.write_bytes(content)
    with pytest.raises(CheckpointError, match=rf"{largest.name} is damaged"):
        core.load(tmp_path / "kept")


def test_a_folder_without_a_model_is_refused(start, tmp_path):
    with pytest.raises(TrainerError, match="holds no causal language model"):
        start(folder=tmp_path)


def run_ranks(count: int, model: Path, out: Path, stages: str) -> list[dict]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    group = {"WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    ranks = [
        subprocess.Popen(
            [sys.executable, str(RANK), str(model), str(out), stages],
            env={**os.environ, **group, "RANK": str(number), "LOCAL_RANK": str(number)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for number in range(count)
    ]
    try:
        said = [each.communicate(timeout=220)[0] for each in ranks]
        assert [each.returncode for each in ranks] == [0] * count, "\n".join(said)
    finally:
        for each in ranks:
            each.kill()
            each.wait()
    return [torch.load(out / f"rank{number}.pt") for number in range(count)]


@pytest.mark.timeout(240)
def test_two_ranks_train_as_one_does_and_all_give_the_same_weights(start, model, tmp_path):
    found = run_ranks(2, model, tmp_path, "23")
    for stage in (2, 3):
        core = start(stage)
        figures = core.train(rank.samples(), version=1).figures()
        one, other = (each[stage] for each in found)
        assert not any(differences(one["weights"], other["weights"]).values())
        assert max(differences(one["weights"], rank.weights(core)).values()) < 1e-3
        for name in ("tokens", "reward", "loss", "ratio", "divergence", "gradient_norm"):
            assert one["figures"][name] == pytest.approx(figures[name], rel=1e-2, abs=1e-5), name
            assert other["figures"][name] == one["figures"][name], name


def test_a_group_that_is_described_in_part_is_refused():
    whole = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "1"}
    assert is_described(whole)
    assert not is_described({"MASTER_ADDR": "localhost"})
    says = "RANK, WORLD_SIZE are set, MASTER_ADDR, MASTER_PORT are not: set all or none"
    with pytest.raises(GroupError, match=says):
        is_described({"RANK": "0", "WORLD_SIZE": "2"})
