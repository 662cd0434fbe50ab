"""A config names a task by its kind, and each kind reads its own settings."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from sluicegate.runtime.config import ConfigError, from_mapping
from sluicegate.runtime.tasks import LookUp, Recall, Task, TaskChoice, make_task
from sluicegate.runtime.tasks.reasoning import EVALUATES_REPLIES


def own(settings: Mapping[str, Any], seed: int) -> Task:
    return Recall(**settings, seed=seed)


def test_a_kind_is_made_with_its_settings_and_the_runs_seed():
    assert make_task(TaskChoice(), seed=4) == Recall(seed=4)
    assert make_task(TaskChoice(kind="look_up", settings={"keys": 3}), seed=1) == LookUp(keys=3, seed=1)
    reasoning = TaskChoice(kind="reasoning", settings={"dataset": "chain_sum", "held_out_prompts": 4})
    assert make_task(reasoning, seed=0).name == "reasoning:chain_sum"


def test_a_task_of_ones_own_is_named_by_its_module():
    choice = from_mapping(TaskChoice, {"kind": f"{__name__}:own", "settings": {"turns": 5}}, "task")
    sys.modules.setdefault(__name__, sys.modules[own.__module__])
    assert make_task(choice, seed=2) == Recall(turns=5, seed=2)


@pytest.mark.parametrize(
    ("choice", "says"),
    [
        ({"kind": "recal"}, "there is no task 'recal': take one of recall, reasoning, look_up"),
        ({"settings": {"seed": 1}}, "the seed is the run's"),
        ({"settings": {"letter": "abcd"}}, "did you mean 'letters'"),
        ({"settings": {"turns": "four"}}, "expected a whole number"),
        ({"settings": {"letters": "ab"}}, "at least 4 are needed"),
        ({"kind": "no.such:task"}, "cannot be loaded"),
        ({"kind": "json:__name__"}, "is no callable"),
    ],
)
def test_what_cannot_be_is_refused_by_its_key(choice: dict[str, Any], says: str):
    with pytest.raises(ConfigError, match=says):
        make_task(from_mapping(TaskChoice, choice, "task"), seed=0)


def test_tasks_are_read_without_torch_and_without_reasoning_gym():
    code = "import sys, sluicegate.runtime.tasks as t; print({'torch', 'reasoning_gym'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True, timeout=60) == "set()\n"


def test_the_tasks_of_the_page_about_them_work():
    page = (Path(__file__).resolve().parents[2] / "docs" / "tasks.md").read_text()
    names: dict[str, Any] = {}
    exec(page.split("```python\n")[1].partition("```")[0], names)
    task: Task = names["make"]({"length": 3}, 0)
    for split in ("train", "held_out"):
        episode = task.prompt(1, split)
        assert episode.observe(episode.first().rstrip(">")) is None
        assert (episode.rewards, episode.total()) == ([1.0], 1.0)
    told = yaml.safe_load(page.split("```yaml\n")[1].partition("```")[0])["task"]
    made = make_task(from_mapping(TaskChoice, told, "docs/tasks.md"), seed=0)
    assert (made.name, made.held_out(), made.prompt(0).reply_tokens) == ("reasoning:spell_backward", 128, 4)
    assert {name for name in EVALUATES_REPLIES if f"`{name}`" not in page} == set()
