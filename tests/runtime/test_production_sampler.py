"""Which prompt a group is of follows from the seed and its number, whoever asks and in whatever order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.runtime.production.sampler import Place, Sampler, SamplerMismatch


@given(st.integers(0, 5), st.integers(1, 30), st.integers(0, 4))
def test_each_epoch_has_every_prompt_once(seed: int, prompts: int, epoch: int) -> None:
    sampler = Sampler(seed, prompts)
    places = [sampler.place(epoch * prompts + at) for at in range(prompts)]
    assert {place.epoch for place in places} == {epoch}
    assert sorted(place.index for place in places) == list(range(prompts))


@given(st.integers(0, 5), st.integers(1, 12), st.lists(st.integers(0, 80), max_size=30))
def test_a_number_names_the_same_prompt_whatever_was_asked_before(seed: int, prompts: int, asked: list[int]) -> None:
    sampler = Sampler(seed, prompts)
    assert [sampler.place(n) for n in asked] == [Sampler(seed, prompts).place(n) for n in asked]


def test_epochs_and_seeds_have_orders_of_their_own_and_these_stay_what_they_are() -> None:
    def order(seed: int, epoch: int) -> list[int]:
        return [Sampler(seed, 8).place(8 * epoch + at).index for at in range(8)]

    assert len({tuple(order(seed, epoch)) for seed in (0, 1) for epoch in (0, 1, 2)}) == 6
    # Checkpoints of earlier versions name prompts by these.
    assert order(0, 0) == [0, 6, 4, 3, 1, 7, 2, 5]


def test_a_task_without_end_gives_each_prompt_once() -> None:
    assert [Sampler(3, None).place(n) for n in (0, 7, 10**9)] == [Place(0, 0), Place(0, 7), Place(0, 10**9)]


def test_a_checkpoint_of_other_prompts_is_refused_and_one_without_them_is_taken() -> None:
    saved = Sampler(1, 8).state()
    Sampler(1, 8).restore(saved)
    Sampler(1, 8).restore({})
    with pytest.raises(SamplerMismatch, match="made with prompts 8, and this run has 9"):
        Sampler(1, 9).restore(saved)
    with pytest.raises(SamplerMismatch, match="made with seed 1, and this run has 2"):
        Sampler(2, 8).restore(saved)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="prompts: 0"):
        Sampler(0, 0)
    with pytest.raises(ValueError, match="group -1"):
        Sampler(0, 4).place(-1)
