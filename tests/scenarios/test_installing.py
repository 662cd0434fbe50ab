"""Installing: ranks and replicas that fail, claim, hang or return in the middle of an update."""

from __future__ import annotations

import pytest
from scenarios import scenario

from sluicegate.runtime.controller.controller import SyncFailed
from sluicegate.runtime.controller.sync import SyncSettings
from sluicegate.runtime.simulation.engine import ScriptedEngine, after, never
from sluicegate.runtime.simulation.stage import Stage
from sluicegate.statemachines.sorts import Mode

KEEP, LONG = SyncSettings(mode=Mode.KEEP), SyncSettings(mode=Mode.WAIT, deadline=60.0)


@scenario(replicas=("a", "b"), ranks=2, settings=KEEP)
async def test_r25_one_failed_rank_poisons_its_replica(stage: Stage) -> None:
    """Of two ranks one has loaded, the other has failed: nothing is served on the mixture, under any label."""
    await stage.update()
    replica = stage.replicas["a"]
    frozen = stage.ask("a", tokens=200)
    await stage.until(lambda: frozen.ids)
    replica.engine.refuses = {"1": "out of memory"}
    made = replica.engine.made
    operation = await stage.update()
    assert (operation.outcome, set(operation.dropped)) == ("published", {"a"})
    assert (replica.gate.state, replica.gate.version) == ("POISONED", 0)
    asked = stage.ask("a")
    await stage.ended(frozen, asked)
    assert frozen.reason in ("aborted", "failed"), "it is told, with the tokens that it has"
    assert {*frozen.labels} == {0}
    assert asked.refusal
    assert (asked.refusal.reason, asked.refusal.retry) == ("POISONED", False)
    assert replica.engine.loaded == {"0": 1, "1": 0}
    assert replica.engine.made <= made + 20, "the mixture makes nothing"
    await stage.until(lambda: stage.replicas["a"] is not replica and len(stage.controller.controller.serving()) == 2)
    served = stage.ask("a")
    await stage.ended(served)
    assert served.labels == [1] * 4


@scenario(replicas=("a", "b"), ranks=2)
async def test_r29_a_failure_is_told_before_the_barrier(stage: Stage) -> None:
    """One rank raises while it loads, its peers wait for it for ever; the engine knows, and is asked how it is."""
    await stage.update()
    replica = stage.replicas["a"]
    replica.engine.script["commit"] = never
    update = stage.begin_update(await stage.publish())
    await stage.until(lambda: replica.gate.state == "INSTALLING")
    began = stage.now
    replica.engine.broken = "rank 0 raised: no such file"
    operation = await update
    assert stage.now < began + 3.0, "nobody waits for the deadline of what is known to have failed"
    assert (operation.outcome, set(operation.dropped)) == ("published", {"a"})
    assert replica.gate.state == "POISONED"
    served = stage.ask("b")
    await stage.ended(served)
    assert served.labels == [1] * 4
    await stage.until(lambda: stage.replicas["a"] is not replica)


@scenario(replicas=("a", "b"), ranks=2)
async def test_r29_every_wait_is_bounded(stage: Stage) -> None:
    """The same, but nobody knows: the operation's deadline ends it for the others, the window for the replica."""
    await stage.update()
    replica = stage.replicas["a"]
    replica.engine.script["commit"] = never
    began = stage.now
    operation = await stage.update()
    assert stage.now < began + stage.settings.deadline + 2.0
    assert (operation.outcome, set(operation.dropped)) == ("published", {"a"})
    await stage.until(lambda: replica.gate.state == "POISONED")
    assert stage.now < began + stage.settings.window_ms / 1000 + 2.0
    await stage.until(lambda: stage.replicas["a"] is not replica)


@scenario(replicas=("a", "b", "c"))
async def test_r30_membership_belongs_to_the_operation(stage: Stage) -> None:
    """One member is killed and one hangs in the middle; the operation goes on, and who returns is no part of it."""
    await stage.update()
    dead, hung = stage.replicas["b"], stage.replicas["c"]
    draining = stage.network.hold("Drain", times=None)
    update = stage.begin_update(await stage.publish())
    await stage.until(lambda: len(draining) == 3)
    stage.kill(dead)
    hung.process.stop()
    stage.tell_end(dead)
    draining.release()
    operation = await update
    assert (operation.outcome, operation.members, set(operation.dropped)) == ("published", ("a", "b", "c"), {"b", "c"})
    assert stage.replicas["a"].gate.version == 1
    stage.network.rules.clear()
    hung.process.go_on()
    await stage.until(lambda: stage.replicas["b"] is not dead and len(stage.controller.controller.serving()) == 3)
    assert {(r.gate.state, r.gate.version) for r in stage.replicas.values()} == {("OPEN", 1)}
    installs = stage.steps_of("Gate", "Install", taken=True)
    assert [s.event.epoch for s in installs if s.incarnation in ("b.2", "c.1")][-2:] != [operation.epoch] * 2
    again = await stage.update()
    assert (set(again.members), again.dropped) == ({"a", "b", "c"}, {})


@scenario(replicas=("a", "b", "c"))
async def test_r31_what_was_not_updated_does_not_reopen(stage: Stage) -> None:
    """One of three says that it has loaded, and holds what it held; nobody is served by it under the new label."""
    await stage.update()
    replica = stage.replicas["c"]
    replica.engine.ignores = {"0"}
    waiting = [stage.ask(name, tokens=2) for name in "abc"]
    await stage.ended(*waiting)
    update = stage.begin_update(await stage.publish())
    await stage.until(lambda: replica.gate.state == "SEALED")
    held = [stage.ask(name, hold=30.0) for name in "abc"]
    operation = await update
    assert (operation.outcome, set(operation.dropped)) == ("published", {"c"})
    assert (replica.gate.state, replica.gate.version) == ("POISONED", 0)
    await stage.ended(*held)
    assert [a.labels for a in held[:2]] == [[1] * 4] * 2
    assert held[2].refusal
    assert held[2].refusal.reason == "POISONED"
    await stage.until(lambda: stage.replicas["c"] is not replica and len(stage.controller.controller.serving()) == 3)
    assert stage.replicas["c"].gate.version == 1


@scenario(settings=LONG)
async def test_r35_a_probe_does_not_restart_what_installs(stage: Stage) -> None:
    """An install takes long, and while it does its replica has no time for probes."""
    await stage.update()
    replica = stage.replicas["a"]
    replica.engine.script["commit"] = after(50.0)
    update = stage.begin_update(await stage.publish())
    await stage.until(lambda: replica.gate.state == "INSTALLING")
    await stage.until(lambda: stage.replica_state("a").installing, "it said so")
    deaf = stage.network.lose("Get", target="a", times=None)
    await stage.wait(40.0)
    assert len([m for m in stage.network.sent if m.method == "Get" and m.at > stage.now - 40.0]) >= 10
    assert (replica.gate.state, replica.process.is_running) == ("INSTALLING", True)
    deaf.left = 0
    operation = await update
    assert (operation.outcome, operation.dropped) == ("published", {})
    assert stage.replicas["a"] is replica
    assert replica.gate.version == 1


@scenario(replicas=("a", "b"), ranks=2)
async def test_r59_the_second_and_third_update_are_as_good_as_the_first(stage: Stage) -> None:
    """Three updates, in each of which a device still computes for a while; weights, labels and drain are looked at."""
    for version in range(3):
        running = [stage.ask(name, tokens=20) for name in "ab"] if version else []
        await stage.until(lambda running=running: all(a.ids for a in running))
        for replica in stage.replicas.values():
            replica.engine.begin_pass("1")
        update = stage.begin_update(await stage.publish())
        await stage.ended(*running)
        await stage.wait(2.0)
        assert {r.gate.state for r in stage.replicas.values()} == {"DRAINING"}
        assert not any(r.gate.quiet for r in stage.replicas.values())
        for replica in stage.replicas.values():
            replica.engine.end_pass("1")
        await update
        served = [stage.ask(name) for name in "ab"]
        await stage.ended(*served)
        assert [a.labels for a in served] == [[version] * 4] * 2
        assert all(r.engine.loaded == dict.fromkeys("01", version) for r in stage.replicas.values())


@scenario()
async def test_r60_a_recovered_engine_serves_nothing_before_it_is_current(stage: Stage) -> None:
    """A replica comes back with old weights in its memory; requests come to it before the controller does."""
    await stage.update()
    await stage.update()
    old = stage.replicas["a"]
    stage.kill(old)
    stage.tell_end(old, replace=False)
    engine = ScriptedEngine(stage.ranks)
    engine.recover(0, old.engine)
    replica = await stage.launch("a", engine)
    assert (replica.gate.state, replica.gate.version) == ("SEALED", None)
    asked, held = stage.ask("a"), stage.ask("a", hold=30.0)
    await stage.ended(asked)
    assert asked.refusal
    assert (asked.refusal.reason, asked.refusal.retry) == ("CLOSED", True)
    assert not held.is_admitted
    await stage.wait(5.0)
    assert replica.gate.state == "SEALED", "nothing opens it but the way that all go"
    await stage.join(replica)
    await stage.ended(held)
    assert held.labels == [1] * 4
    assert engine.loaded == {"0": 1}


@scenario(ranks=2)
async def test_r55_the_label_follows_the_weights(stage: Stage) -> None:
    """An install takes a while and then fails: no label, snapshot or register says that it has happened."""
    await stage.update()
    replica, ruler = stage.replicas["a"], stage.controller
    replica.engine.script["commit"] = after(3.0)
    replica.engine.refuses = {"0": "a bad bucket"}
    said: set[tuple[object, ...]] = set()
    update = stage.begin_update(await stage.publish())
    while not update.done():
        gate, known = replica.gate, stage.replica_state("a")
        said.add((gate.version, known.version, ruler.controller.published, ruler.register.published))
        await stage.wait(0.1)
    with pytest.raises(SyncFailed):
        await update
    assert said == {(0, 0, 0, 0)}
    assert replica.gate.state == "POISONED"
    await stage.until(lambda: stage.replicas["a"] is not replica and len(ruler.controller.serving()) == 1)
    assert stage.replicas["a"].gate.version == 0
    await stage.update()
    assert ruler.register.published == stage.replicas["a"].gate.version == 2
