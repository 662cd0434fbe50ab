"""Frozen parameters: chosen by name, unknown to the optimiser, bit-identical for ever, or the trainer says so."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from sluicegate.runtime.training.checkpoint import CheckpointError
from sluicegate.runtime.training.deepspeed_trainer import TrainerCore, TrainerError
from sluicegate.runtime.training.frozen import FrozenGuard

from ..support.training_kit import (
    differences,
    make_config,
    make_model,
    make_model_with_buffer,
    make_samples,
    weights_of,
)

pytestmark = pytest.mark.slow
PATTERNS = ("model.layers.0.*", "*norm.weight")
BUFFER = "model.layers.1.mlp.gate.e_score_correction_bias"


@pytest.fixture(scope="module")
def mixture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model_with_buffer(tmp_path_factory.mktemp("mixture"))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("model"))


@pytest.mark.parametrize(
    ("stage", "precision"),
    [(0, "fp32"), (1, "fp32"), (2, "fp32"), (3, "fp32"), (1, "bf16"), (3, "bf16")],
)
def test_they_stay_to_the_bit_through_steps_and_checkpoints_beside_tied_weights_and_buffers(
    mixture: Path, tmp_path: Path, stage: int, precision: str
) -> None:
    settings = make_config(zero_stage=stage, precision=precision, frozen=PATTERNS, weight_decay=0.1)
    core = TrainerCore(settings, mixture)
    before = weights_of(core)
    assert "lm_head.weight" not in before, "a tied tensor leaves once, by its first name"
    assert BUFFER in before
    assert "model.norm.weight" in core.frozen
    assert BUFFER not in core.frozen
    core.train(make_samples(), version=1)
    core.save(tmp_path / "kept")
    trained = weights_of(core)
    assert [name for name in before if torch.equal(before[name], trained[name])] == [
        name for name in before if name in core.frozen or name == BUFFER
    ]
    core.train(make_samples(seed=1), version=1)
    core.load(tmp_path / "kept")
    assert not any(differences(trained, weights_of(core)).values())
    assert all(name not in core.frozen for name in optimised(core))
    core.close()


def optimised(core: TrainerCore) -> list[str]:
    """The names of what the engine's optimiser steps."""
    return [name for name, parameter in core._engine.module.named_parameters() if parameter.requires_grad]


@pytest.mark.parametrize("stage", [2, 3])
def test_one_that_changed_is_named_wherever_weights_leave_or_are_kept(model: Path, tmp_path: Path, stage: int) -> None:
    core = TrainerCore(make_config(zero_stage=stage, frozen=["*.layers.1.mlp.*"]), model)
    assert core.frozen == tuple(f"model.layers.1.mlp.{part}_proj.weight" for part in ("gate", "up", "down"))
    core.save(tmp_path / "good")
    parameter = dict(core._engine.module.named_parameters())[core.frozen[1]]
    held = getattr(parameter, "ds_tensor", parameter)
    flat = held.data.view(-1)
    with torch.no_grad():
        # Two elements change places: no plain sum would tell.
        flat[0], flat[1] = flat[1].item(), flat[0].item()
    told = rf"rank 0: {core.frozen[1]} changed although frozen"
    with pytest.raises(TrainerError, match=told):
        core.train(make_samples(), version=1)
    with pytest.raises(TrainerError, match=told):
        next(core.named_parameters_bucketwise())
    with pytest.raises(TrainerError, match=told):
        core.save(tmp_path / "bad")
    assert [path.name for path in tmp_path.iterdir()] == ["good"]
    core.load(tmp_path / "good")
    core.train(make_samples(), version=1)
    core.close()


def test_a_checkpoint_whose_frozen_weights_are_not_those_that_it_names_is_found_out(
    model: Path, tmp_path: Path
) -> None:
    core = TrainerCore(make_config(frozen=["*.layers.1.mlp.*"]), model)
    parameter = dict(core._engine.module.named_parameters())[core.frozen[0]]
    with torch.no_grad():
        parameter.data.view(-1)[0] += 1
    core._guard = FrozenGuard(core._engine.module, core.frozen)
    core.save(tmp_path / "other")
    with torch.no_grad():
        parameter.data.view(-1)[0] -= 1
    core._guard = FrozenGuard(core._engine.module, core.frozen)
    with pytest.raises(TrainerError, match=rf"rank 0: {core.frozen[0]} changed although frozen"):
        core.load(tmp_path / "other")
    core.close()


def test_patterns_that_cannot_be_meant_are_refused(model: Path) -> None:
    for patterns, says in (
        (["model.layers.7.*"], r"'model.layers.7.\*' matches no parameter of the model \(its names are model.embed"),
        (["lm_head.weight"], r"matches no parameter .*lm_head.weight is tied: name model.embed_tokens.weight"),
        (["model.embed*", "*layers*", "*norm*"], "match all parameters: nothing is left to train"),
    ):
        with pytest.raises(TrainerError, match=says):
            TrainerCore(make_config(frozen=patterns), model)


def test_a_checkpoint_of_other_frozen_weights_is_refused(model: Path, tmp_path: Path) -> None:
    core = TrainerCore(make_config(frozen=["*.layers.1.*"]), model)
    core.save(tmp_path / "kept")
    other = TrainerCore(make_config(), model)
    with pytest.raises(CheckpointError, match=r"frozen\.model\.layers\.1\.self_attn\.q_proj\.weight is not in this"):
        other.load(tmp_path / "kept")
    core.close()
    other.close()
