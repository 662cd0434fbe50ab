"""Recall grades what was recalled: no answer that ignores the prompts gains, and later turns need earlier."""

import itertools
import math

import pytest

from sluicegate.runtime.tasks import Episode, Recall, Task


def play(episode: Episode, policy) -> list[str]:
    """Runs an episode to its end; the texts of its turns."""
    texts, text = [], episode.first()
    while text is not None:
        texts.append(text)
        text = episode.observe(policy(texts))
    return texts


def test_it_is_a_task():
    task: Task = Recall()
    assert task.alphabet == "abcd>"
    assert task.held_out() == 256
    assert task.turns >= 3


@pytest.mark.parametrize("turns", [3, 4])
def test_recalling_everything_scores_one_in_every_turn(turns):
    task = Recall(window=4, step=2, turns=turns)
    for index in range(50):
        episode = task.prompt(index)
        play(episode, lambda texts: "".join(text.rstrip(">") for text in texts)[-4:])
        assert episode.rewards == (1.0,) * turns
        assert episode.total() == 1.0


def test_the_last_turn_alone_does_not_answer_later_turns():
    task = Recall(window=4, step=2, turns=3)
    totals = []
    for index in range(256):
        episode = task.prompt(index, "held_out")
        play(episode, lambda texts: texts[-1].rstrip(">").rjust(4, ">"))
        assert episode.rewards == (1.0, 0.625, 0.625)
        totals.append(episode.total())
    assert max(totals) < 0.76


@pytest.mark.parametrize("task", [Recall(), Recall(window=4, step=2, turns=3)])
def test_every_constant_reply_scores_a_blind_guess_on_the_held_out_prompts(task):
    wanted = []
    for index in range(task.held_out()):
        episode = task.prompt(index, "held_out")
        for _ in range(task.turns):
            wanted.append(episode.wanted)
            episode.observe("")
    # What one place earns, summed over all prompts and turns, decides every constant: a place at a time.
    symbols = [*task.letters, ">", None]
    earned = {
        (place, symbol): sum(task.grade(want[place], "" if symbol is None else symbol) for want in wanted)
        for place in range(task.window)
        for symbol in symbols
    }
    constants = list(itertools.product(symbols, repeat=task.window))
    scores = [
        sum(earned[place, symbol] for place, symbol in enumerate(constant)) / (task.window * len(wanted))
        for constant in constants
    ]
    assert len(scores) == 6**task.window
    assert max(scores) == min(scores) == 0.25
    for constant in ("abcd", "aaaa", "dcb", "", ">>>>", "abcdabcd"):
        episodes = [task.prompt(index, "held_out") for index in range(task.held_out())]
        for episode in episodes:
            play(episode, lambda _, constant=constant: constant)
        assert math.isclose(math.fsum(episode.total() for episode in episodes) / len(episodes), 0.25)


def test_rewards_are_graded_place_by_place():
    task = Recall()
    assert [task.grade("abcd", reply) for reply in ("abcd", "abca", "abaa", "aaaa", "dcba")] == [
        1.0,
        0.75,
        0.5,
        0.25,
        0.0,
    ]
    assert task.grade("abcd", "ab") == (1 + 1 + 0.25 + 0.25) / 4
    assert task.grade("abcd", "ab>d") == (1 + 1 + 0.25 + 1) / 4
    assert task.grade("abcd", "abcdzzz") == 1.0


def test_equal_seeds_give_equal_prompts_and_others_differ():
    def prompts(task, split="train"):
        return [play(task.prompt(index, split), lambda _: "") for index in range(64)]

    assert prompts(Recall(seed=1)) == prompts(Recall(seed=1))
    assert prompts(Recall(seed=1)) != prompts(Recall(seed=2))
    assert prompts(Recall(seed=1), "held_out") == prompts(Recall(seed=2), "held_out")


def test_no_training_prompt_is_held_out():
    task = Recall()  # 1024 prompts in all: they would meet
    held_out = {tuple(play(task.prompt(index, "held_out"), lambda _: "")) for index in range(256)}
    train = {tuple(play(task.prompt(index), lambda _: "")) for index in range(2000)}
    assert len(held_out) == 256
    assert not held_out & train


def test_an_episode_says_when_it_is_misused():
    task = Recall(window=3, turns=3)
    episode = task.prompt(0)
    with pytest.raises(RuntimeError, match="0 of 3 turns"):
        episode.total()
    play(episode, lambda _: "abcd")
    with pytest.raises(RuntimeError, match="ended after 3 turns"):
        episode.observe("abcd")
    with pytest.raises(IndexError, match="held-out ones: 256"):
        task.prompt(256, "held_out")


@pytest.mark.parametrize(
    ("sizes", "says"),
    [
        ({"letters": "abc"}, "at least 4"),
        ({"letters": "aabcd"}, "each once"),
        ({"letters": "abc>"}, "none '>'"),
        ({"step": 3}, r"step=3 must lie in 1\.\.window=2"),
        ({"held_out_prompts": 255}, "multiple of the 4 letters"),
        ({"turns": 3}, "leaves too few of the 256 prompts"),
    ],
)
def test_sizes_that_cannot_be_are_refused(sizes, says):
    with pytest.raises(ValueError, match=says):
        Recall(**sizes)
