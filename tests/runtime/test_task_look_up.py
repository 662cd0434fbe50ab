"""Look up: a tool tells what a turn asks for, and what was looked up before need not be again."""

from __future__ import annotations

import pytest

from sluicegate.runtime.tasks import LookUp, Recall, ToolEpisode


def test_what_the_tool_tells_is_the_reply_that_earns_the_turn():
    task = LookUp(turns=3)
    episode = task.prompt(5)
    assert isinstance(episode, ToolEpisode)
    assert not isinstance(Recall().prompt(0), ToolEpisode)
    text, said = episode.first(), list[float]()
    while text is not None:
        value = episode.call("look_up", f'{{"key": "{text.rstrip("?")}"}}')
        assert value == episode.wanted
        text = episode.observe(f" {value}\n" if len(said) != 1 else "no")
        said.append(episode.rewards[-1])
    assert said == [1.0, 0.0, 1.0]
    assert (episode.total(), episode.calls) == (pytest.approx(2 / 3), 3)
    with pytest.raises(RuntimeError, match="ended after 3 turns"):
        episode.observe("1")


@pytest.mark.parametrize("arguments", ["", "[]", '"a"', '{"key": "zz"}', "{", '{"key": []}', "7"])
def test_a_call_that_is_wrong_is_told_so_and_ends_nothing(arguments: str):
    episode = LookUp().prompt(0)
    assert "the keys are a b c" in episode.call("look_up", arguments)
    assert "there is no tool other" in episode.call("other", '{"key": "a"}')
    assert episode.rewards == ()


def test_equal_seeds_give_equal_prompts_and_held_out_values_are_apart():
    def values(task: LookUp, split) -> list[tuple[str, ...]]:
        return [tuple(task.prompt(i, split)._values.values()) for i in range(32)]

    assert values(LookUp(seed=1), "train") == values(LookUp(seed=1), "train") != values(LookUp(seed=2), "train")
    assert values(LookUp(seed=1), "held_out") == values(LookUp(seed=2), "held_out")
    assert all(int(value) % 2 for row in values(LookUp(), "held_out") for value in row)
    assert not any(int(value) % 2 for row in values(LookUp(), "train") for value in row)


def test_sizes_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match=r"keys=27 must lie in 1\.\.26"):
        LookUp(keys=27)
    with pytest.raises(IndexError, match="held-out ones: 64"):
        LookUp().prompt(64, "held_out")
