"""Samples from traces: grades belong to recorded turns, and what they do not fit gives no sample."""

from __future__ import annotations

import pytest

from sluicegate.runtime.production.finished import Ungraded, oldest_of, samples_of
from sluicegate.runtime.sessions.traces import Tree


def said(tree: Tree, prompt: list[int], made: list[int], version: int = 0, ending: str = "stop") -> None:
    tree.grow(f"q{len(tree) + 1}", prompt, made, [-1.0] * len(made), [(version, len(made))], ending)


def conversation() -> Tree:
    """Two turns, the second by newer weights."""
    tree = Tree()
    said(tree, [5], [1, 2], 3)
    said(tree, [5, 1, 2, 6], [3], 4)
    return tree


def test_each_turn_has_the_grade_at_its_place() -> None:
    (sample,) = samples_of("s", "g", conversation(), [0.25, 1.0])
    assert (sample.session, sample.group, sample.rewards) == ("s", "g", (0.25, 1.0))
    assert (sample.token_ids, sample.turns) == ((5, 1, 2, 6, 3), (0, 1, 1, 0, 2))
    assert (sample.versions, oldest_of([sample])) == ((0, 3, 3, 0, 4), 3)


def test_one_grade_is_that_of_all_turns() -> None:
    (sample,) = samples_of("s", "g", conversation(), [0.5])
    assert sample.rewards == (0.5, 0.5)


def test_a_call_whose_answer_was_lost_and_asked_for_again_is_left_out() -> None:
    tree = Tree()
    said(tree, [5], [1, 2])
    said(tree, [5, 1, 2, 6], [3])
    said(tree, [5, 1, 2, 6], [4])
    (sample,) = samples_of("s", "g", tree, [0.25, 1.0])
    assert (sample.token_ids, sample.turns, sample.rewards) == ((5, 1, 2, 6, 4), (0, 1, 1, 0, 2), (0.25, 1.0))


def test_what_went_apart_is_a_sample_for_each_way_with_the_grades_of_its_turns() -> None:
    tree = Tree()
    said(tree, [5], [1])
    said(tree, [9], [2])
    assert [s.rewards for s in samples_of("s", "g", tree, [0.25, 1.0])] == [(0.25,), (1.0,)]


@pytest.mark.parametrize(("rewards", "why"), [([], "has no grade"), ([1.0] * 3, "3 grades for 2 turns")])
def test_grades_that_do_not_fit_are_told(rewards: list[float], why: str) -> None:
    with pytest.raises(Ungraded, match=why):
        samples_of("s", "g", conversation(), rewards)


def test_a_session_without_a_complete_turn_is_told() -> None:
    tree = Tree()
    said(tree, [5], [1], ending="aborted")
    with pytest.raises(Ungraded, match="no token that can be trained on"):
        samples_of("s", "g", tree, [1.0])
