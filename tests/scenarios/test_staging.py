"""Staging: a version is received while gates are open, and who cannot receive it loses nothing by that."""

from __future__ import annotations

import pytest
from scenarios import scenario

from sluicegate.runtime.controller.controller import SyncFailed
from sluicegate.runtime.controller.sync import SyncSettings
from sluicegate.runtime.simulation.engine import Script, after
from sluicegate.runtime.simulation.stage import Stage
from sluicegate.runtime.weights import WeightsError
from sluicegate.statemachines.sorts import Mode

KEEP = SyncSettings(mode=Mode.KEEP)
PAIR = SyncSettings(mode=Mode.WAIT, minimum=2)


def unreachable(times: int | None = None) -> Script:
    """A road that cannot be reached, so many times or always."""
    left = times

    async def fail() -> None:
        nonlocal left
        if left is None or left > 0:
            left = None if left is None else left - 1
            raise WeightsError("the trainer does not answer")

    return fail


@scenario(replicas=("a", "b"))
async def test_requests_are_admitted_and_run_while_a_version_is_staged(stage: Stage) -> None:
    await stage.update()
    for replica in stage.replicas.values():
        replica.engine.script["stage"] = after(8.0)
    began, version = stage.now, await stage.publish()
    update = stage.begin_update(version)
    await stage.wait(4.0)
    early = [stage.ask(name) for name in "ab"]
    await stage.ended(*early)
    assert [answer.labels for answer in early] == [[0] * 4] * 2
    assert {replica.gate.state for replica in stage.replicas.values()} == {"OPEN"}
    operation = await update
    assert operation.outcome == "published"
    assert list(operation.marks)[:2] == ["staged", "sealed"]
    assert operation.marks["staged"] >= 8.0, "both at the same time, before anything is sealed"
    assert stage.now - began < 12.0
    assert operation.marks["end"] - operation.marks["staged"] < 1.0
    for replica in stage.replicas.values():
        assert [told for told in replica.engine.told if told.startswith("stage")] == ["stage 0", "stage 1"]


@scenario(replicas=("a", "b"))
async def test_a_road_that_one_cannot_reach_leaves_it_serving_and_it_catches_up_once_it_can(stage: Stage) -> None:
    await stage.update()
    replica = stage.replicas["b"]
    replica.engine.script["stage"] = unreachable()
    operation = await stage.update()
    assert (operation.outcome, operation.members) == ("published", ("a",))
    assert "could not stage version 1: the trainer does not answer" in operation.left_behind()["b"]
    assert not [step for step in stage.steps_of("Gate", "Seal", instance="b") if step.event.epoch == operation.epoch]
    await stage.wait(10.0)
    assert (replica.gate.state, replica.gate.version) == ("OPEN", 0), "tried again since, and never sealed for it"
    assert "does not answer" in stage.controller.controller.catching.why_not["b"]
    del replica.engine.script["stage"]
    await stage.until(lambda: len(stage.controller.controller.serving()) == 2)
    assert stage.replicas["b"] is replica
    served = stage.ask("b")
    await stage.ended(served)
    assert served.labels == [1] * 4


@scenario(replicas=("a", "b"), settings=PAIR)
async def test_an_update_that_too_few_can_stage_ends_with_the_reason_and_seals_nothing(stage: Stage) -> None:
    await stage.update()
    stage.replicas["b"].engine.script["stage"] = unreachable(1)
    seals = len(stage.steps_of("Gate", "Seal"))
    version = await stage.publish()
    with pytest.raises(SyncFailed, match="could not stage version 1: the trainer does not answer") as failed:
        await stage.controller.run(stage.controller.controller.sync(version))
    assert (failed.value.reason, failed.value.retry) == ("not_staged", True)
    assert failed.value.operation
    assert failed.value.operation.outcome.startswith("refused")
    assert len(stage.steps_of("Gate", "Seal")) == seals
    assert {(r.gate.state, r.gate.version) for r in stage.replicas.values()} == {("OPEN", 0)}
    again = await stage.controller.run(stage.controller.controller.sync(version))
    assert (again.outcome, again.left_behind()) == ("published", {})


@scenario(replicas=("a", "b"), settings=SyncSettings(mode=Mode.WAIT, staging=5.0))
async def test_a_replica_that_takes_too_long_to_stage_is_not_waited_for(stage: Stage) -> None:
    await stage.update()
    stage.replicas["a"].engine.script["stage"] = after(60.0)
    began = stage.now
    operation = await stage.update()
    assert (operation.outcome, operation.members) == ("published", ("b",))
    assert "it took longer than 5 s" in operation.left_behind()["a"]
    assert stage.now - began < 7.0


@scenario()
async def test_one_version_is_staged_at_a_time_also_where_two_are_asked_for(stage: Stage) -> None:
    await stage.update()
    engine = stage.replicas["a"].engine
    engine.script["stage"] = after(5.0)
    first = stage.begin_update(await stage.publish())
    await stage.wait(1.0)
    second = stage.begin_update(await stage.publish())
    assert ((await first).outcome, (await second).outcome) == ("published", "published")
    told = [each for each in engine.told if each.startswith(("stage", "commit"))]
    assert told[-4:] == ["stage 1", "commit 1", "stage 2", "commit 2"]


@scenario(replicas=("a", "b"))
async def test_one_that_could_not_stage_an_update_that_came_to_nothing_is_not_behind(stage: Stage) -> None:
    await stage.update()
    stage.replicas["a"].engine.refuses["0"] = "the device is lost"
    stage.replicas["b"].engine.script["stage"] = unreachable(1)
    with pytest.raises(SyncFailed, match="rolled back"):
        await stage.update()
    left = [step.instance for step in stage.steps_of("Replica", "LeftBehind")]
    assert stage.replicas["b"].incarnation not in left
    assert (stage.replicas["b"].gate.state, stage.replicas["b"].gate.version) == ("OPEN", 0)


@scenario(replicas=("a", "b"))
async def test_a_life_that_begins_while_the_others_stage_takes_part_once_it_has_staged_too(stage: Stage) -> None:
    await stage.update()
    old = stage.replicas["b"]
    stage.replicas["a"].engine.script["stage"] = after(10.0)
    update = stage.begin_update(await stage.publish())
    await stage.wait(1.0)
    stage.kill(old)
    stage.tell_end(old)
    await stage.until(lambda: stage.replicas["b"] is not old)
    await stage.until(lambda: (stage.replicas["b"].gate.state, stage.replicas["b"].gate.version) == ("OPEN", 0))
    assert stage.replicas["a"].gate.version == 0, "it has come home while the other one stages"
    assert not update.done()
    operation = await update
    assert operation.outcome == "published"
    new = stage.replicas["b"]
    assert [told for told in new.engine.told if told.startswith("stage")][-1] == "stage 1"
    await stage.until(lambda: len(stage.controller.controller.serving()) == 2)
    assert {(r.gate.state, r.gate.version) for r in stage.replicas.values()} == {("OPEN", 1)}


@scenario(settings=KEEP)
async def test_a_replica_that_joins_on_a_road_out_of_reach_is_not_poisoned(stage: Stage) -> None:
    await stage.update()
    old = stage.replicas["a"]
    stage.kill(old)
    stage.tell_end(old, replace=False)
    life = await stage.launch("a")
    life.engine.script["stage"] = unreachable(3)
    await stage.join(life)
    assert (life.gate.state, life.gate.version) == ("SEALED", None)
    await stage.until(lambda: stage.controller.controller.serving())
    assert (life.gate.state, life.gate.version) == ("OPEN", 0)
    assert not stage.steps_of("Gate", "InstallFailed")
