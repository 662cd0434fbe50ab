"""Commands of controllers: twice, at the same time, in the wrong moment, or from one that has gone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from scenarios import scenario

from sluicegate.protocol.client import CallError, Refused
from sluicegate.protocol.generated.trainer_service import TrainerClient
from sluicegate.runtime.controller.controller import SyncFailed
from sluicegate.runtime.controller.sync import SyncSettings
from sluicegate.runtime.simulation.engine import after
from sluicegate.runtime.simulation.stage import Stage
from sluicegate.statemachines.sorts import Mode

KEEP = SyncSettings(mode=Mode.KEEP)


@scenario(ranks=2)
async def test_r06_nothing_comes_between_the_steps_of_an_update(stage: Stage) -> None:
    """While weights are installed somebody resumes and seals the gate, and asks for another update."""
    await stage.update()
    replica = stage.replicas["a"]
    replica.engine.script["commit"] = after(3.0)
    versions = [await stage.publish() for _ in range(2)]
    first, second = map(stage.begin_update, versions)
    await stage.until(lambda: replica.gate.state == "INSTALLING")
    for command in ("resume", "seal"):
        fields = {"epoch": replica.gate.epoch + 50, "mode": Mode.WAIT, "window": 1000} if command == "seal" else {}
        with pytest.raises(Refused) as refused:
            await stage.meddle("a", command, **fields)
        assert (refused.value.reason, refused.value.retry) == ("installing", True)
    assert replica.gate.state == "INSTALLING"
    assert "continue 2" not in replica.engine.told
    await asyncio.gather(first, second)
    begins = stage.steps_of("Sync", "Begin", taken=True)[-2:]
    (end,) = [s for s in stage.steps_of("Sync", "Closed", taken=True) if s.after == "IDLE"][-2:-1]
    assert begins[0].at < end.at <= begins[1].at, "the second update began when the first had ended"
    assert replica.gate.version == 2


@scenario(replicas=("a", "b"))
async def test_r10_releasing_memory_is_not_reopening(stage: Stage) -> None:
    """The device is lent to the trainer; requests that come meanwhile are refused or wait, and none is admitted."""
    version = (await stage.update()).version
    early: list[object] = []

    async def train() -> None:
        assert all(r.engine.health().resident is False for r in stage.replicas.values())
        asked = [stage.ask(name, hold=hold) for name in ("a", "b") for hold in (0.0, 60.0) for _ in range(20)]
        await stage.wait(5.0)
        early.extend(asked)
        assert {r.gate.state for r in stage.replicas.values()} == {"DRAINING"}
        assert not any(r.gate.active for r in stage.replicas.values())
        assert all(a.refusal and a.refusal.reason == "CLOSED" and a.refusal.retry for a in asked if not a.hold)
        assert not any(a.reason for a in asked if a.hold)

    await stage.controller.run(stage.controller.controller.sync(version, train=train))
    assert len(early) == 80
    reopened = min(s.at for s in stage.steps_of("Gate", "Reopen", taken=True)[-2:])
    admitted = [s.at for s in stage.steps_of("Gate", "Admit", taken=True)]
    assert len(admitted) == 40
    assert min(admitted) >= reopened


@scenario(replicas=("a", "b"), ranks=2, settings=SyncSettings(mode=Mode.KEEP, minimum=2))
async def test_r15_a_second_resume_is_answered_and_does_nothing(stage: Stage) -> None:
    """An operation fails before its first install and all are resumed; the resume comes twice, and once more."""
    await stage.update()
    replica = stage.replicas["a"]
    running = stage.ask("a", tokens=200)
    await stage.until(lambda: running.ids)
    stage.replicas["b"].engine.begin_pass("1")
    stage.network.repeat("Resume", 0.5, target="a")
    with pytest.raises(SyncFailed):
        await stage.update()
    assert (replica.gate.state, replica.gate.version) == ("OPEN", 0)
    await stage.wait(1.0)
    epoch = replica.gate.epoch
    again = await stage.meddle("a", "resume")
    assert (again.kind, again.replayed) == ("ignore", False)
    assert replica.engine.told.count(f"continue {epoch}") == 1
    assert len(stage.steps_of("Gate", "Resume", instance="a", taken=True)) == 1
    await stage.ended(running)
    assert running.labels == [0] * 200
    stage.replicas["b"].engine.end_pass("1")


@scenario()
async def test_r16_whoever_asks_at_the_same_time_is_answered_each_for_himself(stage: Stage) -> None:
    """Pause, pause again and resume at one moment; at the gate, commands of many ids whose answers cross."""
    await stage.update()
    controller = stage.controller.controller
    calls = [stage.controller.spawn(c) for c in (controller.pause(), controller.pause(), controller.resume())]
    await stage.until(lambda: all(c.done() for c in calls), "an answer for each")
    paused, again, resumed = (c.exception() or c.result() for c in calls)
    assert isinstance(again, SyncFailed)
    assert again.reason == "paused"
    assert paused is resumed, "the one who paused is told of his pause, the one who resumed of its end"
    assert stage.replicas["a"].gate.state == "OPEN"
    for seconds in (0.3, 0.2, 0.1):
        stage.network.delay(seconds, kind="answer", source="a", target="agents")
    commands = [asyncio.ensure_future(stage.meddle("a", "resume")) for _ in range(4)]
    await stage.until(lambda: all(c.done() for c in commands), "an answer for each")
    replies = [c.result() for c in commands]
    assert len({r.operation_id for r in replies}) == 4
    assert not any(r.replayed for r in replies)


@scenario()
async def test_r17_whatever_an_update_was_stopped_in_a_new_term_leads_out(stage: Stage) -> None:
    """The controller is killed in each state of the gate; one of a higher term takes over and updates at once."""
    await stage.update()
    with pytest.raises(FileNotFoundError):
        await stage.controller.run(stage.controller.controller.sync(99))
    await stage.update()
    stops = {"SEALED": "Drain", "DRAINING": "Install", "INSTALLING": "Reopen", "REOPENED": "Close"}
    for state, message in stops.items():
        held = stage.network.hold(message, source=stage.controller.incarnation)
        stage.begin_update(await stage.publish())
        await stage.until(lambda held=held: len(held))
        assert stage.replicas["a"].gate.state == state
        stage.kill(stage.controller)
        held.release()
        await stage.take_over()
        operation = await stage.update()
        assert (operation.outcome, operation.dropped) == ("published", {})
        gate = stage.replicas["a"].gate
        assert (gate.state, gate.version, gate.term) == ("OPEN", operation.version, stage.controller.controller.term)
    assert stage.replicas["a"].incarnation == "a.1", "nothing was in doubt"


@scenario()
async def test_r19_training_and_publishing_exclude_each_other(stage: Stage) -> None:
    """A batch comes while weights are written, and weights are asked for while a step runs."""
    await stage.update()
    trainer = stage.trainer
    trainer.slow(2.0)
    ruler = stage.controller
    client: list[TrainerClient] = []

    async def train(batch: str) -> str:
        trainer.give(batch)
        operation = f"{ruler.controller.term}.trainer.1.train.{batch}"
        try:
            await client[0].train(term=ruler.controller.term, batch=batch, operation_id=operation)
        except Refused as refused:
            return refused.reason
        return "taken"

    async def dial() -> None:
        client.append(trainer.client())

    await ruler.run(dial())
    publishing = ruler.spawn(ruler.publish())
    await stage.until(lambda: trainer.live.state == "PUBLISHING")
    assert await ruler.run(train("b1")) == "busy"
    version = await publishing
    assert trainer.live.version == version
    assert await ruler.run(train("b2")) == "taken"
    await stage.until(lambda: trainer.live.state == "TRAINING")
    with pytest.raises(Exception, match="one thing at a time"):
        await ruler.publish()
    await stage.until(lambda: trainer.live.state == "IDLE")
    assert trainer.core.did == ["publish", "publish", "train"]
    await stage.update()


@scenario()
async def test_r37_memory_is_not_released_while_tokens_are_made(stage: Stage) -> None:
    """The device is asked for while a request runs: at an open gate, at a closed one, in the middle of its drain."""
    await stage.update()
    replica = stage.replicas["a"]
    running = stage.ask("a", tokens=100)
    await stage.until(lambda: running.ids)
    reasons = []

    async def lend() -> None:
        with pytest.raises(Refused) as refused:
            await stage.meddle("a", "lend", lend="too early")
        reasons.append(refused.value.reason)

    await lend()
    draining = stage.network.hold("Drain", target="a")
    update = stage.begin_update(await stage.publish())
    await stage.until(lambda: len(draining))
    await lend()
    draining.release()
    await stage.until(lambda: replica.gate.state == "DRAINING")
    await lend()
    assert reasons == ["not_draining", "not_draining", "not_drained"]
    assert "release" not in replica.engine.told
    await update
    await stage.ended(running)
    assert running.labels == [0] * 100


@pytest.mark.parametrize("mode", list(Mode))
def test_r45_an_idle_engine_is_paused_and_updated_in_every_mode(mode: Mode, tmp_path: Path) -> None:
    """Nothing runs and nothing ever ran; the engine breaks if it is asked to end what it does not have."""

    @scenario(replicas=("a", "b"), ranks=2, settings=SyncSettings(mode=mode))
    async def idle(stage: Stage) -> None:
        for replica in stage.replicas.values():
            replica.engine.fragile = True
        await stage.update()
        for _ in range(2):
            await stage.controller.run(stage.controller.controller.pause())
            assert {r.gate.state for r in stage.replicas.values()} == {"DRAINING"}
            await stage.controller.run(stage.controller.controller.resume())
            await stage.update()
        assert {(r.gate.state, r.gate.version) for r in stage.replicas.values()} == {("OPEN", 2)}

    idle(tmp_path)


@scenario(replicas=("a", "b"))
async def test_r26_published_only_from_every_members_acknowledgement(stage: Stage) -> None:
    """The install of one member cannot be sent, and then that of all: what did not answer has not succeeded."""
    await stage.update()
    controller, register = stage.controller.incarnation, stage.controller.register
    stage.network.lose("Install", target="b", times=None)
    operation = await stage.update()
    assert (operation.outcome, set(operation.dropped)) == ("published", {"b"})
    assert stage.replicas["b"].gate.version == 0
    assert [m.replica for m in stage.controller.controller.serving()] == ["a"], "b serves no published version"
    stage.network.rules.clear()
    await stage.until(lambda: stage.replicas["b"].gate.version == 1, "b catches up")
    await stage.until(lambda: len(stage.controller.controller.serving()) == 2)
    installing = stage.network.hold("Install", times=None)
    update = stage.begin_update(await stage.publish())
    await stage.until(lambda: len(installing) == 2)
    for name in ("a", "b"):
        stage.network.cut(controller, name)
    with pytest.raises((SyncFailed, CallError)):
        await update
    assert register.published == 1
    assert stage.controller.controller.published == 1
    stage.network.rules.clear()
    for name in ("a", "b"):
        stage.network.mend(controller, name)
    await stage.until(lambda: len(stage.controller.controller.serving()) == 2)
    assert {r.gate.version for r in stage.replicas.values()} == {1}


@scenario()
async def test_r27_every_seal_ends_reopened_or_poisoned_without_anybodys_help(stage: Stage) -> None:
    """The controller dies in the middle, and nobody takes over: the gate's own deadline ends each of its states."""
    await stage.update()
    ends: dict[str, tuple[str, bool]] = {}

    async def leave_in(state: str, stopped: Callable[[], object]) -> None:
        """Kill the controller of an update at a moment, and wait for what becomes of the gate."""
        gate, began = stage.replicas["a"].gate, stage.replicas["a"].gate.version
        stage.begin_update(await stage.publish())
        await stage.until(stopped)
        stage.kill(stage.controller)
        await stage.until(lambda: gate.state in ("REOPENED", "POISONED"), within=31.0)
        ends[state] = (gate.state, gate.version != began)
        if gate.state == "REOPENED":
            served = stage.ask("a")
            await stage.ended(served)
            assert served.labels == [gate.version] * 4
        await stage.take_over()

    for state, message in (("sealed", "Drain"), ("drained", "Install"), ("verified", "Reopen")):
        held = stage.network.hold(message, source=stage.controller.incarnation)
        await leave_in(state, held.__len__)
    stage.replicas["a"].engine.script["commit"] = after(1000.0)
    await leave_in("installing", lambda: stage.replicas["a"].gate.state == "INSTALLING")
    assert ends == {
        "sealed": ("REOPENED", False), "drained": ("REOPENED", False), "verified": ("REOPENED", True),
        "installing": ("POISONED", False),
    }  # fmt: skip
    await stage.until(lambda: stage.replicas["a"].incarnation == "a.2", "what is in doubt is replaced")
