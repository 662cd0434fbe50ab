"""Rules of the trainer that a single cell does not show: when ranks that answer one by one are done, or have failed."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.statemachines.trainer import Trainer

RANKS = ("r0", "r1", "r2")
JOBS = {
    "TRAINING": ("train", {"batch": "b"}, "trained"),
    "PUBLISHING": ("publish", {"version": 1}, "published"),
    "SAVING": ("save", {"path": "there"}, "saved"),
    "LOADING": ("load", {"path": "there"}, "loaded"),
}


def begun(state: str, ranks: tuple[str, ...] = RANKS) -> Any:
    """A trainer that works."""
    trainer = Trainer.Live(ranks=frozenset(ranks))
    command, arguments, _ = JOBS[state]
    assert getattr(trainer, command)(term=0, **arguments).kind == "go"
    assert trainer.state == state
    return trainer


def did(trainer: Any, state: str, rank: str, job: int | None = None, digest: str = "d") -> Any:
    """A rank says that it has done it."""
    more = {"digest": digest} if state == "PUBLISHING" else {}
    return getattr(trainer, JOBS[state][2])(rank=rank, job=trainer.job if job is None else job, **more)


def could_not(trainer: Any, rank: str, job: int | None = None) -> Any:
    return trainer.undone(rank=rank, job=trainer.job if job is None else job, why="the disk is full")


@pytest.mark.parametrize("state", JOBS)
@given(order=st.permutations(RANKS), again=st.lists(st.sampled_from(RANKS), max_size=3))
def test_a_job_is_over_when_every_rank_has_answered_it(state: str, order: list[str], again: list[str]) -> None:
    trainer = begun(state)
    for rank in order[:-1]:
        did(trainer, state, rank)
        for repeated in trainer.done & frozenset(again):
            before = trainer.snapshot()
            did(trainer, state, repeated)
            assert trainer.snapshot() == before, "an answer that comes twice changes nothing"
        assert trainer.state == state
        assert trainer.train(term=0, batch="another").refused
    did(trainer, state, order[-1])
    assert (trainer.state, trainer.job) == ("IDLE", 1)
    assert trainer.version == (1 if state == "PUBLISHING" else None)
    assert (trainer.batch, trainer.publishing, trainer.digest) == (None, None, None)
    assert not trainer.done
    assert not trainer.unable


@pytest.mark.parametrize("state", JOBS)
@given(order=st.permutations(RANKS))
def test_what_no_rank_could_do_has_changed_nothing(state: str, order: list[str]) -> None:
    trainer = begun(state)
    for rank in order:
        assert trainer.state == state
        could_not(trainer, rank)
    assert (trainer.state, trainer.job, trainer.version) == ("IDLE", 1, None)
    assert (trainer.batch, trainer.publishing) == (None, None)
    assert not trainer.unable
    command, arguments, _ = JOBS[state]
    assert getattr(trainer, command)(term=0, **arguments).kind == "go", "it may be asked again"


@pytest.mark.parametrize("state", JOBS)
@given(order=st.permutations(RANKS), most=st.integers(1, 2), first_did=st.booleans())
def test_ranks_of_which_some_did_it_and_some_could_not_are_no_trainer(
    state: str, order: list[str], most: int, first_did: bool
) -> None:
    trainer = begun(state)
    for rank in order[:most]:
        did(trainer, state, rank) if first_did else could_not(trainer, rank)
    assert trainer.state == state
    could_not(trainer, order[most]) if first_did else did(trainer, state, order[most])
    assert trainer.state == "FAILED"


@pytest.mark.parametrize("state", JOBS)
def test_an_answer_of_an_earlier_job_counts_for_none(state: str) -> None:
    trainer = begun(state)
    for rank in RANKS:
        could_not(trainer, rank)
    command, arguments, _ = JOBS[state]
    getattr(trainer, command)(term=0, **arguments)
    for rank in RANKS:
        assert did(trainer, state, rank, job=1).kind == "ignore"
        assert could_not(trainer, rank, job=1).kind == "ignore"
    assert (trainer.state, trainer.job) == (state, 2)
    for rank in RANKS:
        did(trainer, state, rank)
    assert could_not(trainer, "r0").kind == "ignore"
    assert did(trainer, state, "r0").kind == "ignore"
    assert trainer.state == "IDLE"


@pytest.mark.parametrize("state", JOBS)
def test_who_is_no_rank_of_the_group_says_nothing(state: str) -> None:
    trainer = begun(state)
    assert did(trainer, state, "r9").kind == "ignore"
    assert could_not(trainer, "r9").kind == "ignore"
    assert trainer.step(Trainer.Failed(rank="r9", why="it is none")).kind == "ignore"
    assert trainer.state == state


@pytest.mark.parametrize("at", [0, 1, 2])
def test_ranks_that_published_other_weights_are_no_trainer(at: int) -> None:
    trainer = begun("PUBLISHING")
    for number, rank in enumerate(RANKS[: max(at, 1) + 1]):
        did(trainer, "PUBLISHING", rank, digest="other" if number == at else "d")
    assert (trainer.state, trainer.version) == ("FAILED", None)


def test_a_rank_that_takes_back_what_it_said_fails_its_group() -> None:
    trainer = begun("SAVING")
    did(trainer, "SAVING", "r0")
    could_not(trainer, "r0")
    assert trainer.state == "FAILED"


@pytest.mark.parametrize("state", JOBS)
def test_one_rank_that_fails_is_the_failure_of_all(state: str) -> None:
    trainer = begun(state)
    did(trainer, state, "r0")
    trainer.step(Trainer.Failed(rank="r2", why="its process has gone"))
    assert trainer.state == "FAILED"
    assert did(trainer, state, "r1").kind == "ignore"
    refused = trainer.save(term=0, path="there")
    assert (refused.kind, refused.reason) == ("refuse", "failed")


def test_a_rank_alone_is_a_group_of_itself() -> None:
    trainer = begun("PUBLISHING", ("r0",))
    did(trainer, "PUBLISHING", "r0")
    assert (trainer.state, trainer.version) == ("IDLE", 1)
