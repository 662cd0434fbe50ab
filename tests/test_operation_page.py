"""The operator's guide has every state, refusal reason and metric there is, and none that there is not."""

from __future__ import annotations

import ast
import importlib
import re
from collections import defaultdict
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from sluicegate import cli
from sluicegate.cli.status import as_text
from sluicegate.protocol import refusals
from sluicegate.runtime.watching.metrics import METRICS
from sluicegate.runtime.workers import rollout_data, trainer_data
from sluicegate.statemachines.gate import Gate
from sluicegate.statemachines.lease import Lease
from sluicegate.statemachines.machines import MACHINES
from sluicegate.statemachines.replica import Replica
from sluicegate.statemachines.sync import Sync

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "operation.md").read_text()
DOOR = ("workers.door", "workers.front", "workers.rollout_data", "gate.lease", "gate.embedded", "gate.middleware")
CONTROLLER = ("controller.controller", "controller.desk", "controller.lending", "controller.sync")


def section(title: str) -> str:
    _, found, rest = PAGE.partition(f"\n## {title}\n")
    assert found, title
    return rest.partition("\n## ")[0]


def rows(text: str) -> list[list[str]]:
    """The cells of every table in a text, without heads."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for number, row in enumerate(cells) if not _is_head(cells, number)]


def _is_head(cells: list[list[str]], number: int) -> bool:
    return set("".join(cells[number])) <= set("-: ") or (
        number + 1 < len(cells) and set("".join(cells[number + 1])) <= set("-: ")
    )


@pytest.mark.parametrize(
    ("title", "machine"),
    [
        ("States of a gate", Gate),
        ("States of a lease", Lease),
        ("States of a replica", Replica),
        ("States of an operation", Sync),
    ],
)
def test_every_state_has_its_row(title: str, machine: Any) -> None:
    told = [row[0].strip("`") for row in rows(section(title))]
    assert len(told) == len(set(told))
    assert set(told) == set(machine.ir.states)


def said(source: str) -> dict[str, set[bool]]:
    """Reasons that the page gives to a source, and whether each may come again."""
    found: dict[str, set[bool]] = defaultdict(set)
    for reason, sources, again, *_ in rows(section("Refusals")):
        if source in sources.split(", "):
            assert again in ("yes", "no"), reason
            found[reason.strip("`")].add(again == "yes")
    return dict(found)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.ir.name)
def test_every_refusal_of_a_table_is_told_as_it_is(machine: Any) -> None:
    declared: dict[str, set[bool]] = defaultdict(set)
    for cell in machine.ir.cells:
        for branch in (*cell.fences, *cell.branches, cell.otherwise):
            if branch.kind == "refuse":
                declared[branch.reason].add(branch.retry)
    assert said(machine.ir.name) == declared


def calls(names: tuple[str, ...], wanted: set[str]) -> list[tuple[ModuleType, ast.Call]]:
    """Calls of functions or methods with these names, in modules of the runtime."""
    found: list[tuple[ModuleType, ast.Call]] = []
    for name in names:
        module = importlib.import_module(f"sluicegate.runtime.{name}")
        assert module.__file__ is not None
        for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in wanted:
                found.append((module, node))
    return found


def value(module: ModuleType, node: ast.expr | None) -> Any:
    """What an argument is, where it is the same in every call; None where it is not."""
    if node is None:
        return None
    try:
        return eval(compile(ast.Expression(node), "argument", "eval"), vars(module))
    except NameError:
        return None


def retries(module: ModuleType, call: ast.Call) -> bool:
    return bool(value(module, next((k.value for k in call.keywords if k.arg == "retry"), None)))


def test_every_refusal_at_the_door_is_told_as_it_is() -> None:
    made: dict[str, set[bool]] = defaultdict(set)
    for module, call in calls(DOOR, {"Refusal", "refuse"}):
        reason = value(module, call.args[0]) if call.args else None
        if isinstance(reason, str):
            made[reason.lower()].add(retries(module, call))
    assert {"hold_full", "aborted", "storage", "malformed", "reused"} <= made.keys(), "they are looked for"
    assert said("door") == made


def test_every_refusal_of_a_controller_is_told_as_it_is() -> None:
    made: dict[str, set[bool]] = defaultdict(set)
    for module, call in calls(CONTROLLER, {"SyncFailed", "Outcome"}):
        reason = value(module, call.args[1]) if len(call.args) > 1 else None
        if isinstance(reason, str):
            made[reason].add(retries(module, call))
    for module, call in calls(("controller.sync",), {"end"}):
        ending = value(module, call.args[0]) if call.args else None
        if isinstance(ending, str) and ending != "published":
            made[ending.replace(" ", "_")].add(False)
    assert {"paused", "unknown_replica", "rolled_back", "overruled"} <= made.keys(), "they are looked for"
    told = said("controller")
    assert told.keys() == made.keys()
    assert all(again <= made[reason] for reason, again in told.items())


def test_every_refusal_of_the_wire_and_of_batches_is_told() -> None:
    others = {"DETAILS", "DOMAIN"}
    wire = {v.lower() for k, v in vars(refusals).items() if k.isupper() and isinstance(v, str) and k not in others}
    batches = {
        trainer_data.BATCH, trainer_data.NOT_TRAINED, trainer_data.NOT_SUBMITTED,
        trainer_data.RANK, rollout_data.WEIGHTS,
    }  # fmt: skip
    told = said("wire").keys() | said("access").keys() | said("batches").keys()
    assert told == wire | {reason.lower() for reason in batches}


def test_the_table_of_metrics_is_what_is_counted() -> None:
    endings = {"counter": "_total", "info": "_info"}
    counted = [
        [f"`{m.name}{endings.get(m.kind, '')}`", m.kind, ", ".join(f"`{label}`" for label in m.labels), m.help]
        for m in METRICS
    ]
    assert rows(section("Metrics")) == counted
    told = set(re.findall(r"sluicegate_\w+", section("Metrics")))
    assert told <= {f"{m.name}{endings.get(m.kind, '')}" for m in METRICS}


def test_the_status_that_is_shown_is_what_status_prints() -> None:
    shown = re.search(r"\$ sluicegate status runs/mine\n(.*?)```", PAGE, re.DOTALL)
    assert shown is not None
    replica = {
        "replica": "r0", "incarnation": "r0.1", "state": "SERVING", "gate": "DRAINING", "unanswered": "", "epoch": 12,
        "term": 2, "version": 7, "target": None, "active": 0, "suspended": 0, "orphaned": 0,
        "waits_for": "its controller", "why_behind": "", "at_door": 2, "why_poisoned": "", "storage": "",
    }  # fmt: skip
    waits = "3 requests to end; 1 requests of unknown outcome to be found out; ranks 0 to come to rest"
    other = {**replica, "replica": "r1", "incarnation": "r1.3", "active": 3, "orphaned": 1, "waits_for": waits}
    found = {
        "controller": {"answers": True, "term": 2, "incarnation": "controller.2", "why": ""}, "taking_over": False,
        "published": 7, "paused": False, "held": {}, "replicas": [replica, other],
        "operation": {"epoch": 12, "version": 8, "phase": "DRAINING", "members": ["r0", "r1"], "awaited": ["r1"],
                      "left": 11.4, "left_behind": {}},
    }  # fmt: skip
    assert as_text(found) == shown[1].rstrip("\n")


def test_the_commands_that_are_shown_are_understood() -> None:
    import shlex

    lines = re.findall(r"^(?:\$ )?sluicegate (.+)$", PAGE, re.MULTILINE)
    assert len(lines) >= 4
    for line in lines:
        words = shlex.split(line)
        assert cli.parser([words[0]]).parse_args(words).where == "runs/mine"
