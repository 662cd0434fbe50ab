"""Ranks of one group: equal whatever the ZeRO stage, exact after a checkpoint, and all or none goes on."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from sluicegate.runtime.training.deepspeed_trainer import TrainerCore

from ..support.training_kit import (
    differences,
    largest,
    make_config,
    make_model,
    make_model_with_buffer,
    make_samples,
    run_ranks,
    started_ranks,
    weights_of,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SHARDED = 1e-4
"""How far ZeRO 3 may be from the others in two steps of fp32; measured: 1e-5."""
SUMMED = 1e-5
"""How far two orders of a sum may lie apart in two steps of fp32; measured: 2e-6."""
GRID = [
    {"zero_stage": stage, "gradient_clip": clip, "accumulate": accumulate, "epochs": 2}
    for clip, accumulate in ((0.0, 1), (0.05, 1), (0.05, 2))
    for stage in range(4)
]
HALF = [{"zero_stage": stage, "precision": "bf16", "accumulate": 2, "epochs": 1} for stage in (1, 2, 3)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def two(model: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """What two ranks found under all settings."""
    task = {"do": "train", "model": str(model), "settings": [*GRID, *HALF]}
    return run_ranks(2, task, tmp_path_factory.mktemp("two"))


def trained_alone(model: Path, changes: dict[str, Any]) -> Any:
    core = TrainerCore(make_config(**changes), model)
    try:
        core.train(make_samples(16), version=1)
        figures = core.train(make_samples(16, seed=1), version=1).figures()
        return {"weights": weights_of(core), "figures": figures}
    finally:
        core.close()


@pytest.fixture(scope="module")
def one(model: Path) -> list[Any]:
    return [trained_alone(model, changes) for changes in [*GRID, *HALF]]


def test_all_ranks_hold_the_same_weights_and_report_the_same_figures(two: list[Any]) -> None:
    for mine, other in zip(*two, strict=True):
        assert all(torch.equal(mine["weights"][name], other["weights"][name]) for name in mine["weights"])
        assert all(mine["figures"][name] == other["figures"][name] for name in mine["figures"] if name != "seconds")


@pytest.mark.parametrize("ranks", [1, 2])
def test_zero_stages_agree(one: list[Any], two: list[Any], ranks: int) -> None:
    found = one if ranks == 1 else two[0]
    for start in range(0, len(GRID), 4):
        none, first, second, third = (each["weights"] for each in found[start : start + 4])
        clip, accumulate = GRID[start]["gradient_clip"], GRID[start]["accumulate"]
        # Clipping takes the norm in another order with ZeRO; ZeRO 2 sums over ranks before it sums over parts.
        assert largest(none, first) <= (SUMMED if clip else 0), (clip, accumulate)
        assert largest(first, second) <= (SUMMED if accumulate > 1 and ranks > 1 else 0), (clip, accumulate)
        assert largest(none, third) <= SHARDED, (clip, accumulate)


def test_one_rank_and_two_train_alike(one: list[Any], two: list[Any]) -> None:
    for changes, alone, together in zip(GRID, one, two[0], strict=False):
        assert largest(alone["weights"], together["weights"]) <= SUMMED, changes
        for name in ("tokens", "reward", "ratio", "divergence", "gradient_norm", "learning_rate"):
            assert together["figures"][name] == pytest.approx(alone["figures"][name], rel=1e-3, abs=1e-6), name


@pytest.mark.parametrize("ranks", [1, 2])
def test_micro_batches_change_nothing_but_the_order_of_the_sum(one: list[Any], two: list[Any], ranks: int) -> None:
    found = one if ranks == 1 else two[0]
    for stage in range(4):
        whole, parts = found[4 + stage], found[8 + stage]
        assert largest(whole["weights"], parts["weights"]) <= SUMMED
        for name in ("loss", "gradient_norm", "ratio", "clipped", "divergence"):
            assert parts["figures"][name] == pytest.approx(whole["figures"][name], rel=1e-3, abs=1e-6), (stage, name)


@pytest.mark.parametrize("ranks", [1, 2])
def test_bf16_trains_from_fp32_masters_and_gives_bf16_away(one: list[Any], two: list[Any], ranks: int) -> None:
    found = (one if ranks == 1 else two[0])[len(GRID) :]
    first, second, third = (each["weights"] for each in found)
    assert {tensor.dtype for tensor in first.values()} == {torch.bfloat16}
    # A step of the format at 1, by which the norms' weights lie apart when a sum rounds otherwise.
    assert largest(first, second) <= 2**-7
    assert largest(second, third) <= 2**-7


def test_training_on_from_a_checkpoint_equals_not_having_stopped(model: Path, tmp_path: Path) -> None:
    schedule = {"schedule": "cosine", "warmup_steps": 1, "total_steps": 4, "accumulate": 2, "gradient_clip": 0.1}
    settings = [schedule | {"zero_stage": 1}, schedule | {"zero_stage": 3}, {"zero_stage": 2, "precision": "bf16"}]
    task = {"do": "resume", "model": str(model), "settings": settings}
    for found in run_ranks(2, task, tmp_path):
        for changes, each in zip(settings, found, strict=True):
            assert not any(differences(each["whole"], each["resumed"]).values()), changes
            assert each["same_draw"]
            assert each["figures"]["step"] == 2
            assert each["figures"]["learning_rate"] == pytest.approx(make_config().learning_rate)


def test_frozen_parameters_and_buffers_stay_on_all_ranks(tmp_path: Path) -> None:
    mixture = make_model_with_buffer(tmp_path / "mixture")
    settings = [{"zero_stage": stage, "frozen": ["model.layers.0.*"]} for stage in (2, 3)]
    found = run_ranks(2, {"do": "train", "model": str(mixture), "settings": settings}, tmp_path / "out")
    from transformers import AutoModelForCausalLM

    from sluicegate.runtime.weights import canonical_tensors

    before = canonical_tensors(AutoModelForCausalLM.from_pretrained(mixture, dtype=torch.float32))
    for each in (each for rank in found for each in rank):
        assert list(each["weights"]) == list(before)
        same = [name for name in before if torch.equal(before[name], each["weights"][name])]
        assert same == [name for name in before if name in each["frozen"] or name.endswith("correction_bias")]
        assert len(each["frozen"]) == 9


def test_what_one_rank_cannot_do_no_rank_does(model: Path, tmp_path: Path) -> None:
    first, second = run_ranks(2, {"do": "refuse", "model": str(model)}, tmp_path)
    assert first["raised"] == second["raised"]
    told = first["raised"]
    assert told.keys() == {"full disk", "other batch", "other folder", "damaged", "other checkpoint"}
    assert "rank 1: agree 'load the checkpoint" in told["other checkpoint"]
    assert told["full disk"].startswith("rank 1: ")
    assert "could not be written" in told["full disk"]
    assert "rank 0: agree 'train step 2" in told["other batch"]
    assert "is damaged" in told["damaged"]
    assert told["damaged"].startswith("rank 1: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "damaged", "good", "place-0", "place-1", "rank0.pt", "rank1.pt"
    ]  # fmt: skip
    assert (first["drawn"], second["drawn"]) == (1, len(second["before"]))
    for rank in (first, second):
        assert not any(differences(rank["before"], rank["after"]).values())
        assert any(differences(rank["after"], rank["trained"]).values())
    assert not any(differences(first["trained"], second["trained"]).values())


def test_a_rank_that_stops_in_the_middle_is_not_waited_for_without_end(model: Path, tmp_path: Path) -> None:
    task = {"do": "endless", "model": str(model), "zero_stage": 3, "collective_ms": 3000}
    with started_ranks(2, task, tmp_path) as ranks:
        for each in ranks:
            assert each.stdout is not None
            while "training" not in (line := each.stdout.readline()):
                assert line, "it ended before it trained"
        time.sleep(1.0)
        ranks[1].send_signal(signal.SIGSTOP)
        began = time.monotonic()
        said, _ = ranks[0].communicate(timeout=60)
        assert time.monotonic() - began < 20
        assert ranks[0].returncode == 0, said
    assert "Error" in torch.load(tmp_path / "rank0.pt")
