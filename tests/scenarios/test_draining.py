"""Draining: what is on its way, parked or half done when the gates close."""

from __future__ import annotations

from scenarios import scenario

from sluicegate.runtime.controller.sync import SyncSettings
from sluicegate.runtime.simulation.engine import Place
from sluicegate.runtime.simulation.stage import Stage
from sluicegate.statemachines.sorts import Mode

ABORT, KEEP, WAIT = (SyncSettings(mode=mode) for mode in (Mode.ABORT, Mode.KEEP, Mode.WAIT))


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


@scenario(settings=KEEP)
async def test_r47_tokens_before_the_pause_are_a_prefix_of_the_tokens_after(stage: Stage) -> None:
    """A request is frozen in its middle, twice; nothing of it is lost, repeated or made anew."""
    await stage.update()
    answer = stage.ask("a", tokens=30)
    for count, version in ((5, 1), (15, 2)):
        await stage.until(lambda count=count: len(answer.ids) >= count)
        before = answer.ids[:]
        await stage.update()
        assert answer.ids[: len(before)] == before
        assert stage.replicas["a"].gate.version == version
    await stage.ended(answer)
    assert answer.reason == "length"
    assert len(answer.ids) == 30
    assert answer.is_true
    assert {*answer.labels} == {0, 1, 2}
