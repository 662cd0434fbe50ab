"""Draining: what is on its way, parked or half done when the gates close."""

from __future__ import annotations

import pytest
from scenarios import scenario

from sluicegate.runtime.controller.controller import SyncFailed
from sluicegate.runtime.controller.sync import SyncSettings
from sluicegate.runtime.simulation.engine import Place, after
from sluicegate.runtime.simulation.stage import Stage
from sluicegate.statemachines.sorts import Mode

ABORT, WAIT = (SyncSettings(mode=mode) for mode in (Mode.ABORT, Mode.WAIT))


@scenario(ranks=2)
async def test_r01_a_stale_wake_up_does_not_count_and_all_ranks_must_agree(stage: Stage) -> None:
    """Ranks were idle once; their answer is slow, comes in a later operation, and one of them computes again."""
    await stage.update()
    replica = stage.replicas["a"]
    replica.engine.script["answer"] = after(36.0)
    with pytest.raises(SyncFailed):
        await stage.update()
    asked = stage.steps_of("Gate", "Drain", taken=True)[-1]
    await stage.until(lambda: replica.gate.state == "OPEN", "the gate is left to its own deadline, and comes home")
    replica.engine.script.clear()
    replica.engine.begin_pass("1")
    update = stage.begin_update(await stage.publish())
    await stage.until(lambda: replica.gate.state == "DRAINING")
    await stage.until(lambda: stage.now > asked.at + 36.5, "the answer of the first question is there")
    assert replica.gate.quiet == frozenset(), "what ranks said of an earlier operation says nothing of this one"
    replica.engine.silent.add("1")
    replica.engine.end_pass("1")
    await stage.until(lambda: replica.gate.quiet)
    assert replica.gate.quiet == {"0"}
    with pytest.raises(SyncFailed):
        await update
    assert replica.gate.version == 0, "one rank of two is not all"
    replica.engine.answers("1")
    await stage.until(lambda: replica.gate.state == "OPEN")
    await stage.update()
    assert replica.gate.quiet == {"0", "1"}


@scenario(hold_limit=3)
async def test_r02_late_requests_do_not_touch_the_drain(stage: Stage) -> None:
    """Requests keep coming while one is waited for; the drain ends with that one, and with no other."""
    await stage.update()
    replica = stage.replicas["a"]
    running = stage.ask("a", tokens=100)
    await stage.until(lambda: running.ids)
    update = stage.begin_update(await stage.publish())
    await stage.until(lambda: replica.gate.state == "DRAINING")
    late = [stage.ask("a", hold=60.0) for _ in range(5)]
    await stage.until(lambda: len(replica.door) == 3)
    assert replica.gate.active == {running.lease}
    await stage.ended(running)
    ended = stage.now
    await update
    install = stage.steps_of("Gate", "Install", taken=True)[-1]
    assert install.at < ended + 1.0, "the drain ended with the last request that ran"
    await stage.ended(*late)
    assert running.labels == [0] * 100
    assert [a.labels for a in late[:3]] == [[1] * 4] * 3
    assert [a.refusal and a.refusal.reason for a in late[3:]] == ["HOLD_FULL"] * 2


@scenario()
async def test_r03_drained_includes_the_device(stage: Stage) -> None:
    """The last token is out and the lease settled, but the pass that made it still runs on the device."""
    await stage.update()
    replica = stage.replicas["a"]
    running = stage.ask("a", tokens=20)
    await stage.until(lambda: len(running.ids) == 10)
    replica.engine.begin_pass("0")
    update = stage.begin_update(await stage.publish())
    await stage.ended(running)
    await stage.wait(5.0)
    assert replica.gate.state == "DRAINING"
    assert not replica.gate.active
    assert replica.gate.quiet == frozenset()
    replica.engine.end_pass("0")
    await update
    assert replica.gate.version == 1


@scenario(ranks=3)
async def test_r04_quiet_covers_every_stage(stage: Stage) -> None:
    """A micro-batch goes on through the later stages of a pipeline after its request has ended."""
    await stage.update()
    replica = stage.replicas["a"]
    running = stage.ask("a", tokens=20)
    await stage.until(lambda: len(running.ids) == 10)
    replica.engine.begin_pass("0")
    update = stage.begin_update(await stage.publish())
    await stage.ended(running)
    for this, then in (("0", "1"), ("1", "2")):
        await stage.wait(1.0)
        replica.engine.begin_pass(then)
        replica.engine.end_pass(this)
        assert (replica.gate.state, replica.gate.quiet) == ("DRAINING", frozenset())
    await stage.wait(1.0)
    assert replica.gate.state == "DRAINING"
    replica.engine.end_pass("2")
    await update
    assert replica.gate.quiet == {"0", "1", "2"}


@scenario(replicas=("a", "b"))
async def test_r07_every_front_is_closed_before_the_drain(stage: Stage) -> None:
    """The seal of one front is slow; requests on their way to it overtake the drain of the other."""
    await stage.update()
    running = stage.ask("a", tokens=50)
    sealing = stage.network.hold("Seal", target="b")
    update = stage.begin_update(await stage.publish())
    await stage.until(lambda: stage.replicas["a"].gate.state == "SEALED" and len(sealing))
    sibling = stage.ask("b", tokens=2)
    await stage.ended(sibling)
    assert sibling.labels == [0, 0], "the front that is not closed yet serves on"
    assert stage.replicas["a"].gate.state == "SEALED", "none is drained while another is open"
    late = stage.ask("a", tokens=2, hold=60.0)
    sealing.release()
    await update
    seals, drains = (stage.steps_of("Gate", name, taken=True)[-2:] for name in ("Seal", "Drain"))
    assert {s.instance for s in seals} == {"a", "b"}
    assert max(s.at for s in seals) < min(d.at for d in drains)
    await stage.ended(running, late)
    assert running.labels == [0] * 50
    assert late.labels == [1, 1], "a request that came to a closed front waited, and ran on what came after"


@scenario(replicas=("a", "b"), settings=WAIT)
async def test_r08_the_deadline_ends_a_drain_that_waits_for_a_transfer(stage: Stage) -> None:
    """A request is parked on a remote transfer: the operation ends in its time and says so; the next one escalates."""
    await stage.update()
    replica = stage.replicas["a"]
    replica.engine.enters = lambda request: Place.REMOTE
    parked = stage.ask("a", tokens=5)
    await stage.until(lambda: parked.lease in replica.engine.held)
    began = stage.now
    first = await stage.update()
    assert stage.now < began + stage.settings.deadline
    assert first.outcome == "published"
    assert "no answer within" in first.dropped["a"]
    assert (replica.gate.version, stage.replicas["b"].gate.version) == (0, 1)
    await stage.until(lambda: parked.reason, "the drain of its catching up, which does not wait any more")
    assert (parked.reason, parked.ids) == ("aborted", [])
    await stage.until(lambda: (replica.gate.state, replica.gate.version) == ("OPEN", 1))
    assert replica.process.is_running


@scenario(settings=ABORT)
async def test_r14_an_abort_reaches_what_waits_in_a_side_queue(stage: Stage) -> None:
    """Requests are in the batch, in a queue beside it and parked; the drain in mode abort ends all of them."""
    await stage.update()
    engine = stage.replicas["a"].engine
    places = {"batch": Place.RUNNING, "side": Place.SIDE, "remote": Place.REMOTE}
    answers = {}
    for name, place in places.items():
        engine.enters = lambda request, place=place: place
        answers[name] = stage.ask("a", tokens=500)
        await stage.until(lambda answer=answers[name]: answer.lease in engine.held)
    await stage.update()
    await stage.ended(*answers.values())
    assert {name: answer.reason for name, answer in answers.items()} == dict.fromkeys(places, "aborted")
    assert not engine.held
    assert stage.replicas["a"].gate.version == 1
