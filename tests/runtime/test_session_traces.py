"""The tree of a session's generations: nothing that was made is lost, shared or relabelled."""

from __future__ import annotations

from array import array
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.runtime.sessions.traces import Branch, Place, Segment, Tree, branches

TOKENS = st.lists(st.integers(0, 2), max_size=6)


def said(tree: Tree, prompt: list[int], made: list[int], *, version: int = 0, ending: str = "stop") -> Segment:
    """A generation of `made` after `prompt`, added to the tree."""
    number = len(tree) + 1
    logprobs = [-number - i / 64 for i in range(len(made))]
    return tree.grow(f"q{number}", prompt, made, logprobs, [(version, len(made))] if made else [], ending)


def text(tree: Tree, number: int) -> list[int]:
    """All tokens up to the end of a segment."""
    return [t for segment, at in tree.path(number) for t in (*segment.given, *segment.made)[:at]]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), TOKENS, TOKENS), min_size=1, max_size=12))
def test_every_generation_reads_as_its_prompt_and_what_it_made(turns):
    tree, texts = Tree(), [[]]
    for which, cut, more, made in turns:
        before = texts[which % len(texts)]
        prompt = before[: len(before) - cut % (len(before) + 1)] + more
        longest = max(len(common(prompt, known)) for known in texts)
        place = tree.find(prompt)
        assert place.depth == longest
        segment = said(tree, prompt, made)
        texts.append(prompt + made)
        assert text(tree, segment.number) == prompt + made
    for number, known in enumerate(texts[1:], start=1):
        assert text(tree, number) == known


def common(one: list[int], other: list[int]) -> list[int]:
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[:at]


@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 9), TOKENS, TOKENS, st.sampled_from(["stop", "aborted"])),
        min_size=1, max_size=12,
    )
)  # fmt: skip
def test_every_token_of_a_complete_request_is_trained_on_once_after_what_stood_before_it(turns):
    tree, texts, made_by = Tree(), [[]], {}
    for version, (which, cut, more, made, ending) in enumerate(turns):
        before = texts[which % len(texts)]
        prompt = before[: len(before) - cut % (len(before) + 1)] + more
        segment = said(tree, prompt, made, version=version, ending=ending)
        texts.append(prompt + made)
        made_by[segment.request] = (prompt, segment, version, ending)
    seen: Counter[tuple[str, int]] = Counter()
    for branch in branches("s", tree):
        assert len(branch.token_ids) == len(branch.turns) == len(branch.log_probs) == len(branch.versions)
        for at, turn in enumerate(branch.turns):
            if turn == 0:
                assert (branch.log_probs[at], branch.versions[at]) == (0, 0)
                continue
            request = branch.requests[turn - 1]
            prompt, segment, version, _ = made_by[request]
            own = at - len(prompt)
            assert list(branch.token_ids[: at + 1]) == prompt + list(segment.made[: own + 1])
            assert (branch.log_probs[at], branch.versions[at]) == (segment.logprobs[own], version)
            seen[request, own] += 1
    expected = {
        (request, own): 1
        for request, (_, segment, _, ending) in made_by.items() if ending == "stop" for own in range(len(segment.made))
    }  # fmt: skip
    assert seen == expected


def test_a_conversation_is_one_branch_in_which_nothing_is_given_twice():
    tree = Tree()
    said(tree, [1, 2], [3, 4], version=5)
    said(tree, [1, 2, 3, 4, 9], [6], version=7)
    assert [list(s.given) for s in tree.segments] == [[1, 2], [9]]
    (branch,) = branches("s", tree)
    assert list(branch.token_ids) == [1, 2, 3, 4, 9, 6]
    assert list(branch.turns) == [0, 0, 1, 1, 0, 2]
    assert list(branch.versions) == [0, 0, 5, 5, 0, 7]
    assert branch.requests == ["q1", "q2"]


def test_of_two_equal_answers_the_next_prompt_goes_on_from_the_newer():
    tree = Tree()
    said(tree, [1], [2], version=1)
    said(tree, [1], [2], version=2)
    assert tree.find([1, 2, 3]) == Place(2, 1, 2)
    said(tree, [1, 2, 3], [4], version=3)
    assert sorted(list(b.versions) for b in branches("s", tree)) == [[0, 1], [0, 2, 0, 3]]


def test_what_was_aborted_is_context_and_never_trained_on():
    tree = Tree()
    said(tree, [1], [2, 2], ending="aborted")
    assert list(branches("s", tree)) == []
    said(tree, [1, 2], [3])
    (branch,) = branches("s", tree)
    assert (list(branch.token_ids), list(branch.turns)) == ([1, 2, 3], [0, 0, 1])


@pytest.mark.parametrize("shape", ["deep", "wide", "comb"])
def test_a_hundred_thousand_segments_are_walked_without_recursion(shape):
    tree = Tree()
    for number in range(1, 100_001):
        parent = number - 1 if shape == "deep" else min(number - 1, 1)
        at = 0 if parent == 0 else 2 if shape == "deep" else 1 if shape == "wide" else 2 - number % 2
        segment = Segment(
            number, parent, at, f"q{number}", array("I", [number % 7]), array("I", [8]), array("f", [-1]), ((1, 1),),
            "stop",
        )  # fmt: skip
        tree.add(segment)
    if shape == "deep":
        (branch,) = branches("s", tree)
        assert len(branch.token_ids) == 200_000
        assert tree.find(branch.token_ids).depth == 200_000
    else:
        assert sum(1 for branch in branches("s", tree) for turn in branch.turns if turn) == 100_000


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"logprobs": array("f")}, "1 tokens, 0 log-probabilities"),
        ({"spans": ((1, 2),)}, "versions of 2"),
        ({"spans": ((2, 0), (3, 1))}, "do not grow"),
        ({"parent": 1}, "cannot follow 1 at 0"),
        ({"at": 1}, "cannot follow 0 at 1"),
    ],
)
def test_a_segment_whose_parts_do_not_fit_is_refused_with_its_request(changes, said):
    parts = {
        "number": 1, "parent": 0, "at": 0, "request": "q1", "given": array("I", [1]), "made": array("I", [2]),
        "logprobs": array("f", [-1]), "spans": ((1, 1),), "ending": "stop",
    }  # fmt: skip
    with pytest.raises(ValueError, match=f"'q1'.*{said}"):
        Segment(**{**parts, **changes})


def test_a_segment_that_follows_nothing_there_is_refused():
    tree = Tree()
    first = Segment(1, 0, 0, "q1", array("I", [1]), array("I"), array("f"), (), "aborted")
    tree.add(first)
    with pytest.raises(ValueError, match="comes after 1"):
        tree.add(first)
    with pytest.raises(ValueError, match="behind the end"):
        tree.add(Segment(2, 1, 2, "q2", array("I", [1]), array("I"), array("f"), (), "aborted"))
    assert isinstance(next(branches("s", tree), None), Branch | None)


def test_what_is_attached_to_tokens_is_kept_once_and_counted():
    tree = Tree()
    tree.grow("q1", [1, 2], [3, 4], [-1, -2], [(1, 2)], "stop", attached={"experts": [b"e7", None]}, binding=1)
    tree.grow("q2", [1, 2, 3, 4, 5], [6], [-3], [(2, 1)], "stop", attached={"experts": [b"e7"]}, binding=2)
    assert (tree.values, tree.references) == ([b"", b"e7"], [0, 2])
    (branch,) = branches("s", tree)
    assert list(branch.token_ids) == [1, 2, 3, 4, 5, 6]
    assert list(branch.attached["experts"]) == [0, 0, 1, 0, 0, 1]
    assert branch.bindings == [(1, ""), (2, "")]


def test_one_value_is_attached_to_each_token_or_none():
    with pytest.raises(ValueError, match="experts: one value is attached to each token"):
        Tree().grow("q1", [1], [2, 3], [-1, -2], [(1, 2)], "stop", attached={"experts": [b"x"]})
