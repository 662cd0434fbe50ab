"""The config of a run: what is refused, with its place and its mend, and that docs/train.md lists it all."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from sluicegate.cli import main
from sluicegate.protocol.access import Access
from sluicegate.runtime.config import ConfigError, from_mapping
from sluicegate.runtime.runs.config import RunConfig, read_run_config
from sluicegate.runtime.runs.contradictions import CONTRADICTIONS
from sluicegate.runtime.training.config import TrainingConfig

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "train.md"
TRAIN_ONLY = {"stage": "train_only", "batches": "b", "checkpoints": {"every": 0}}
EACH: dict[tuple[str, str], dict[str, Any]] = {
    ("agents.in_flight", "fewer"): {"agents": {"in_flight": 3}},
    ("agents.turn_s", "a turn"): {"agents": {"turn_s": 45.0}},
    ("agents.kind", "agents"): {"agents": {"kind": "http"}},
    ("training.seed", "it is another"): {"seed": 1, "training": {"seed": 2}},
    ("training.total_steps", "the schedule"): {"updates": 9, "training": {"schedule": "linear", "total_steps": 8}},
    ("updates", "it is null"): {"training": {"schedule": "linear", "total_steps": 8}},
    ("ranks", "a batch"): {"ranks": 33},
    ("sync.minimum", "it is above"): {"sync": {"minimum": 3}},
    ("sync.call", "one call"): {"sync": {"call": 30.0}},
    ("weights.receivers", "a broadcast"): {"weights": {"receivers": 3}},
    ("checkpoints.rest", "rest"): {"checkpoints": {"every": 0, "rest": 1.0}},
    ("checkpoints.every", "a stage"): {**TRAIN_ONLY, "checkpoints": {"every": 1}},
    ("evaluate.every", "a stage"): {**TRAIN_ONLY, "evaluate": {"every": 1}},
    ("stage", "there is"): {"stage": "train_only", "checkpoints": {"every": 0}},
    ("batches", "there is"): {"batches": "b"},
    ("stage", "it is rollout_only"): {**TRAIN_ONLY, "stage": "rollout_only"},
    ("http", "it is given"): {**TRAIN_ONLY, "http": {}},
}
"""For each contradiction, by its key and how it begins, a config that has it and no other."""


def refusal(mapping: dict[str, Any]) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        from_mapping(RunConfig, mapping, "run.yaml")
    return list(caught.value.problems)


@pytest.mark.parametrize("each", CONTRADICTIONS, ids=lambda each: f"{each.key} {each.when}")
def test_a_contradiction_is_refused_with_its_key_its_reason_and_its_mend(each: Any) -> None:
    [mapping] = [made for (key, begins), made in EACH.items() if key == each.key and each.when.startswith(begins)]
    assert refusal(mapping) == [f"run.yaml.{each.key}: {each.when}, and {each.why}: {each.mend}"]


def test_all_contradictions_of_a_config_are_told_together() -> None:
    told = refusal({"batches": "b", "ranks": 33, "sync": {"minimum": 3}})
    assert [text.split(": ")[0] for text in told] == ["run.yaml.ranks", "run.yaml.sync.minimum", "run.yaml.batches"]


def test_the_page_lists_every_contradiction_and_no_other() -> None:
    section = PAGE.read_text().split("## What is refused")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(.+?)` \| (.+) \| (.+) \| (.+) \|$", section, re.MULTILINE)
    assert rows == [(each.key, each.when, each.why, each.mend) for each in CONTRADICTIONS]


def keys(cls: type[Any], prefix: str = "") -> set[str]:
    """The keys of a config that are the run's own: those of its parts with a page of their own by the part's name."""
    found = set[str]()
    for name, hint in get_type_hints(cls).items():
        parts = [part for part in (hint, *getattr(hint, "__args__", ())) if is_dataclass(part)]
        if not parts or parts[0] in (Access, TrainingConfig):
            found.add(prefix + name)
        else:
            found |= keys(parts[0], f"{prefix}{name}.")  # pyright: ignore[reportArgumentType]
    return found


def test_the_page_has_every_key() -> None:
    page = PAGE.read_text()
    section = page.split("## Keys")[1].split("\n## ")[0]
    listed = set(re.findall(r"`([a-z_.]+)`", "".join(re.findall(r"^\| (.+?) \|", section, re.MULTILINE))))
    assert {field.name for field in fields(RunConfig)} <= {key.partition(".")[0] for key in listed}
    assert listed == keys(RunConfig)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("updates: 0", r"run\.yaml\.updates: 0 must be at least 1, or null$"),
        ("replica: 2", r"run\.yaml: there is no key 'replica': did you mean 'replicas'\?$"),
        ("placement: collocated", r"run\.yaml\.placement: .*'collocated': did you mean 'colocated'\?$"),
        ("agents: {in_flight: many}", r"run\.yaml\.agents\.in_flight: expected a whole number, got 'many'"),
        ("checkpoints: {rest: 0}", r"run\.yaml\.checkpoints\.rest: 0\.0 must be above 0, or null"),
        ("seed: [", r"run\.yaml: is not YAML: "),
        ("- 1", r"run\.yaml: expected keys and values"),
    ],
)
def test_a_file_that_is_no_config_is_told_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=said):
        read_run_config(path)


def test_a_file_that_cannot_be_read_is_told_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml: cannot be read \(No such file or directory\)"):
        read_run_config(tmp_path / "none.yaml")


def test_an_empty_file_is_a_run(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text("")
    assert read_run_config(tmp_path / "run.yaml") == RunConfig()


def test_a_folder_that_a_run_could_not_be_resumed_in_is_refused_before_it_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run.yaml").write_text("updates: 1")
    assert main(["train", str(tmp_path / "run.yaml"), "--folder", str(tmp_path / "a[1]")]) == 2
    assert "a run in a folder with [ ] in its path could not be resumed" in capsys.readouterr().err
    assert not (tmp_path / "a[1]").exists()


def test_a_seed_that_not_everything_takes_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"seed: 4294967296 must lie in 0\.\.4294967295"):
        RunConfig(seed=2**32)
