"""The trainer on DeepSpeed itself: what a step does, what leaves it, and what it refuses unharmed."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from sluicegate.runtime.training.checkpoint import CheckpointError
from sluicegate.runtime.training.deepspeed_trainer import TrainerCore, TrainerError
from sluicegate.runtime.training.group import GroupError, is_described
from sluicegate.runtime.training.grpo import DegenerateGroup
from sluicegate.runtime.training.samples import SampleError
from sluicegate.runtime.weights import canonical_tensors

from ..support.training_kit import (
    differences,
    make_config,
    make_model,
    make_model_with_buffer,
    make_samples,
    weights_of,
)

pytestmark = pytest.mark.slow

@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return make_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def start(model):
    """Makes trainers that end with the test."""
    cores: list[TrainerCore] = []

    def make(stage: int = 2, folder: Path = model, **changes) -> TrainerCore:
        cores.append(TrainerCore(make_config(zero_stage=stage, **changes), folder))
        return cores[-1]

    yield make
    for core in cores:
        core.close()


def test_a_step_changes_the_weights_in_every_zero_stage_and_alike(start):
    trained = {}
    for stage in range(4):
        core = start(stage)
        before = weights_of(core)
        metrics = core.train(make_samples(), version=2)
        trained[stage] = weights_of(core)
        assert min(differences(before, trained[stage]).values()) > 0
        assert metrics.step == core.step == 1
        assert (metrics.samples, metrics.tokens) == (8, 32)
        assert (metrics.staleness, metrics.largest_staleness) == (1, 1)
        assert metrics.gradient_norm > 0
        assert metrics.idle_groups == 0
    for stage in (1, 2):
        assert not any(differences(trained[0], trained[stage]).values()), stage
    assert max(differences(trained[0], trained[3]).values()) < 1e-4


def test_rates_follow_the_steps_and_a_schedule_that_has_ended_is_told(start):
    core = start(schedule="linear", warmup_steps=1, total_steps=3, learning_rate=0.01, accumulate=2)
    found = [core.train(make_samples(), version=1).learning_rate for _ in range(3)]
    assert found == pytest.approx([0.01, 0.01, 0.005])
    before = weights_of(core)
    with pytest.raises(TrainerError, match="the linear schedule ends with step 3: raise total_steps"):
        core.train(make_samples(), version=1)
    assert not any(differences(before, weights_of(core)).values())
    assert core.step == 3


def test_what_the_device_cannot_compute_in_is_refused(start):
    from deepspeed.accelerator import get_accelerator

    device = get_accelerator()
    assert device is not None
    if device.is_fp16_supported():
        core = start(precision="fp16")
        assert core.train(make_samples(), version=1).skipped < 8
    else:
        with pytest.raises(TrainerError, match="this device does not compute in fp16: set precision to bf16"):
            start(precision="fp16")


def test_a_step_of_equal_seed_and_samples_is_the_same_again(start):
    one, other, third = start(), start(), start(seed=1)
    for core in (one, other, third):
        core.train(make_samples(), version=1)
    assert not any(differences(weights_of(one), weights_of(other)).values())
    assert any(differences(weights_of(one), weights_of(third)).values())


def test_what_a_model_draws_follows_from_the_seed_and_leaves_the_processs_numbers_alone(start, model, tmp_path):
    shutil.copytree(model, tmp_path / "model")
    settings = json.loads((tmp_path / "model" / "config.json").read_text()) | {"attention_dropout": 0.5}
    (tmp_path / "model" / "config.json").write_text(json.dumps(settings))
    found = []
    for seed in (1, 2):
        core = start(folder=tmp_path / "model")
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        core.train(make_samples(), version=1)
        assert torch.equal(torch.get_rng_state(), before)
        found.append(weights_of(core))
    assert not any(differences(*found).values())
    core = start()
    core.train(make_samples(), version=1)
    assert any(differences(found[0], weights_of(core)).values()), "the model does draw"


def test_shuffled_rewards_train_on_something_else_and_report_the_true_ones(start):
    true, shuffled = start(), start(shuffle_rewards=True)
    figures = [core.train(make_samples(), version=1) for core in (true, shuffled)]
    assert figures[0].reward == figures[1].reward
    assert any(differences(weights_of(true), weights_of(shuffled)).values())


def test_groups_without_variance_change_nothing(start):
    core = start()
    before = weights_of(core)
    equal = [replace(sample, rewards=(0.5, 0.5)) for sample in make_samples()]
    metrics = core.train(equal, version=1)
    assert metrics.idle_groups == 1
    assert not any(differences(before, weights_of(core)).values())


@pytest.mark.parametrize("stage", [2, 3])
def test_tensors_leave_by_the_names_and_shapes_of_the_model_each_once(start, model, stage):
    from transformers import AutoModelForCausalLM

    canonical = canonical_tensors(AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32))
    given = weights_of(start(stage))
    assert list(given) == list(canonical)
    assert all(torch.equal(given[name], canonical[name]) for name in given)


def test_no_more_than_a_bucket_of_sharded_parameters_is_gathered_at_once(start, tmp_path):
    core = start(3, folder=make_model_with_buffer(tmp_path / "mixture"))
    core.train(make_samples(), version=1)
    parameters = list(core._engine.module.parameters())

    def resident() -> int:
        return sum(each.numel() * each.element_size() for each in parameters)

    largest = max(each.ds_numel * each.element_size() for each in parameters)
    whole = sum(each.ds_numel * each.element_size() for each in parameters)
    for bucket_bytes in (4096, 1 << 20):
        # What a step left gathered goes with the first pass.
        weights_of(core)
        before = resident()
        assert before < whole / 10, "it is sharded between its uses"
        held = [resident() - before for _ in core.named_parameters_bucketwise(bucket_bytes)]
        assert 0 < max(held) <= max(bucket_bytes, largest) < whole
        assert resident() == before


def test_a_batch_that_cannot_be_trained_on_changes_nothing(start):
    core = start(max_staleness=1)
    before, good = weights_of(core), make_samples()
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
    assert not any(differences(before, weights_of(core)).values())


@pytest.mark.parametrize("stage", [pytest.param(0, marks=pytest.mark.soak), 2, 3])
def test_a_checkpoint_restores_weights_optimiser_and_step(start, tmp_path, stage):
    core = start(stage)
    core.train(make_samples(), version=1)
    core.save(tmp_path / "kept")
    core.train(make_samples(seed=1), version=1)
    after = weights_of(core)
    other = start(stage)
    other.load(tmp_path / "kept")
    assert other.step == 1
    other.train(make_samples(seed=1), version=1)
    assert not any(differences(after, weights_of(other)).values())
    with pytest.raises(CheckpointError, match="never overwritten"):
        core.save(tmp_path / "kept")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_checkpoint_of_another_kind_or_a_damaged_one_is_refused_unharmed(start, tmp_path):
    core = start()
    core.save(tmp_path / "kept")
    wide = start(folder=make_model(tmp_path / "wide", hidden=64))
    before = weights_of(wide)
    with pytest.raises(CheckpointError, match=r"tensors.*embed_tokens.weight is \[10, 32\] there and \[10, 64\] here"):
        wide.load(tmp_path / "kept")
    assert not any(differences(before, weights_of(wide)).values())
    with pytest.raises(CheckpointError, match="zero_stage is 2 there and 1 here"):
        start(1).load(tmp_path / "kept")
    with pytest.raises(CheckpointError, match=r"holds no checkpoint: checkpoint\.json is missing"):
        core.load(tmp_path / "none")


@pytest.mark.parametrize("stage", [2, 3])
def test_a_damaged_checkpoint_is_refused_by_the_name_of_the_file_and_the_trainer_goes_on(start, tmp_path, stage):
    core, control = start(stage), start(stage)
    for each in (core, control):
        each.train(make_samples(), version=1)
    core.save(tmp_path / "kept")
    names = [*json.loads((tmp_path / "kept" / "checkpoint.json").read_text())["files"], "checkpoint.json"]
    assert len(names) == 4, names
    for number, name in enumerate(names):
        for harm, do in HARMS.items():
            harmed = tmp_path / f"{number}-{harm}"
            shutil.copytree(tmp_path / "kept", harmed)
            do(harmed / name)
            with pytest.raises(CheckpointError, match=Path(name).name):
                core.load(harmed)
    for each in (core, control):
        each.train(make_samples(seed=1), version=1)
    assert not any(differences(weights_of(core), weights_of(control)).values())
    assert core.step == control.step == 2


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


HARMS = {"flipped": flip, "cut": lambda path: path.write_bytes(path.read_bytes()[:-9]), "missing": Path.unlink}


def test_a_folder_without_a_model_is_refused(start, tmp_path):
    with pytest.raises(TrainerError, match="holds no causal language model"):
        start(folder=tmp_path)


def test_a_group_that_is_described_in_part_is_refused():
    whole = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "1"}
    assert is_described(whole)
    assert not is_described({"MASTER_ADDR": "localhost"})
    says = "RANK, WORLD_SIZE are set, MASTER_ADDR, MASTER_PORT are not: set all or none"
    with pytest.raises(GroupError, match=says):
        is_described({"RANK": "0", "WORLD_SIZE": "2"})
