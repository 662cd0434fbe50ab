"""Tasks of reasoning-gym: prompts by seed and index, held-out ones apart, and the dataset's own grade."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest
from reasoning_gym.factory import DATASETS

from sluicegate.runtime.config import ConfigError
from sluicegate.runtime.tasks import Task
from sluicegate.runtime.tasks.reasoning import EVALUATES_REPLIES, Reasoning, ReasoningConfig

SPELLING: dict[str, Any] = {
    "dataset": "spell_backward", "settings": {"min_word_len": 4, "max_word_len": 4}, "shown": "{word}>",
    "alphabet": "aeilnorst>", "reply_tokens": 4, "held_out_prompts": 64,
}  # fmt: skip


def make(seed: int = 0, **changes: Any) -> Reasoning:
    return Reasoning(ReasoningConfig(**{**SPELLING, **changes}), seed=seed)


def texts(task: Task, count: int = 64, split: Any = "train") -> list[str]:
    return [task.prompt(index, split).first() for index in range(count)]


def test_an_episode_is_one_question_which_the_dataset_grades():
    task = make()
    perfect, half = task.prompt(3), task.prompt(3)
    word = perfect.first().rstrip(">")
    assert perfect.wanted == word[::-1]
    assert perfect.observe(word[::-1]) is None
    half.observe(word[::-1][:2] + ">>")
    assert (perfect.rewards, perfect.total(), half.total()) == ((1.0,), 1.0, 0.5)
    with pytest.raises(RuntimeError, match="ended after 1 turn"):
        perfect.observe("again")
    with pytest.raises(RuntimeError, match="0 of 1 turns"):
        task.prompt(3).total()


def test_equal_seeds_give_equal_prompts_and_all_seeds_the_same_held_out_ones():
    assert texts(make(seed=1)) == texts(make(seed=1)) != texts(make(seed=2))
    assert texts(make(seed=1), split="held_out") == texts(make(seed=2), split="held_out")


def test_no_training_prompt_is_held_out_and_none_is_held_out_twice():
    task = make()
    held_out = texts(task, 64, "held_out")
    assert len(set(held_out)) == 64
    # There are some 400 words: they would meet.
    assert not set(held_out) & set(texts(task, 500))
    with pytest.raises(IndexError, match="held-out ones: 64"):
        task.prompt(64, "held_out")


def test_items_with_other_characters_are_left_out():
    assert set("".join(texts(make(alphabet="aeilort>", held_out_prompts=16), 50))) <= set("aeilort>")


def test_a_whole_question_is_shown_where_nothing_else_is_said_and_tags_find_the_answer():
    config = ReasoningConfig(dataset="chain_sum", settings={"max_terms": 2, "max_digits": 1}, tagged=True)
    task = Reasoning(config, seed=0)
    episode, other = task.prompt(0), task.prompt(0)
    assert episode.first().startswith("State the final answer")
    episode.observe(f"well, <answer>0{episode.wanted.lstrip('-')}</answer>" if "-" not in episode.wanted else
                    f"<answer>{episode.wanted}</answer>")  # fmt: skip
    other.observe(other.wanted)
    assert (episode.total(), other.total()) == (1.0, 0.0)


def test_a_reply_that_breaks_the_datasets_score_earns_nothing(monkeypatch: pytest.MonkeyPatch):
    task = make()
    monkeypatch.setattr(type(task._dataset), "score_answer", lambda *_, **__: 1 / 0)
    assert task.grade("anything", {"answer": "x"}) == 0.0


def test_no_dataset_that_is_taken_runs_replies():
    """Of the installed version: one whose grading evaluates text is known, or evaluates its own only."""
    own = {
        # They evaluate what they made themselves: a problem, an item's answer, a program of the dataset.
        "basic_arithmetic", "bitwise_arithmetic", "number_sorting", "codeio", "propositional_logic",
    }  # fmt: skip
    runs = re.compile(r"(?<![\w_])(eval|exec|sympify|parse_expr|S)\(")
    found = {name for name, (kind, _) in DATASETS.items() if runs.search(inspect.getsource(inspect.getmodule(kind)))}  # pyright: ignore[reportArgumentType]
    assert found - own == EVALUATES_REPLIES
    for name in EVALUATES_REPLIES:
        with pytest.raises(ConfigError, match="as Python"):
            ReasoningConfig(dataset=name)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"dataset": "no_such"}, "reasoning-gym has no 'no_such'"),
        ({"settings": {"word_length": 4}}, "spell_backward does not take"),
        ({"settings": {"min_word_len": 0}}, "min_word_len must be positive"),
        ({"settings": {"seed": 1}}, "seed and size are the run's"),
        ({"shown": "{words}>"}, "an item has .*word"),
        ({"alphabet": "abc"}, "no prompt and answer of spell_backward has only"),
        ({"alphabet": "aab>"}, "has a character twice"),
        ({"held_out_prompts": 100_000}, "has only about"),
        ({"reply_tokens": 0}, "reply_tokens: 0 must be at least 1"),
    ],
)
def test_what_cannot_be_is_refused_by_its_setting(changes: dict[str, Any], says: str):
    with pytest.raises(ConfigError, match=says):
        make(**changes)
