"""Requests: held, ended, ended again, frozen and continued; each has one end, and its caller hears of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from scenarios import scenario

from sluicegate.runtime.controller.sync import SyncSettings
from sluicegate.runtime.simulation.engine import after, never
from sluicegate.runtime.simulation.stage import Stage
from sluicegate.statemachines.sorts import Mode

ABORT, KEEP = (SyncSettings(mode=mode) for mode in (Mode.ABORT, Mode.KEEP))


@scenario(hold_limit=2)
async def test_r11_a_request_at_a_closed_gate_is_held_or_refused_and_counted(stage: Stage) -> None:
    """Requests come while the cohort is paused, and while it is updated; each is labelled with what it ran on."""
    await stage.update()
    replica, controller = stage.replicas["a"], stage.controller.controller
    await stage.controller.run(controller.pause())
    impatient = stage.ask("a", hold=0.0)
    short = stage.ask("a", hold=1.0)
    patient = stage.ask("a", hold=50.0)
    one_too_many = stage.ask("a", hold=50.0)
    await stage.ended(impatient, short, one_too_many)
    said = {a.lease: a.refusal.reason for a in (impatient, short, one_too_many) if a.refusal}
    assert list(said.values()) == ["CLOSED", "HOLD_EXPIRED", "HOLD_FULL"]
    assert all(a.refusal and a.refusal.retry for a in (impatient, short, one_too_many))
    assert len(replica.door) == 1
    assert not patient.is_admitted
    await stage.controller.run(controller.resume())
    await stage.ended(patient)
    assert patient.labels == [0] * 4
    update = stage.begin_update(await stage.publish())
    await stage.until(lambda: replica.gate.state == "DRAINING")
    crossing = stage.ask("a", hold=50.0)
    await update
    await stage.ended(crossing)
    assert (crossing.version, crossing.labels) == (1, [1] * 4)
    assert dict(replica.door.refused) == {"closed": 1, "hold_expired": 1, "hold_full": 1}
    assert (replica.door.admitted, replica.door.held) == (2, 3)
    assert {s.event.lease for s in stage.steps_of("Gate", "Admit", taken=True)} == {patient.lease, crossing.lease}


@scenario()
async def test_r12_nothing_comes_after_the_end_of_a_request(stage: Stage) -> None:
    """A request is cancelled while a pass runs; its tokens come after the engine has said that it ended."""
    await stage.update()
    replica = stage.replicas["a"]
    replica.engine.script["abort"] = after(0.5)
    answer = stage.ask("a", tokens=500)
    await stage.until(lambda: len(answer.ids) >= 3)
    assert await stage.abort("a", answer.lease)
    await stage.ended(answer)
    assert answer.reason == "aborted"
    spans, ids = dict(replica.lease(answer.lease).spans), answer.ids[:]
    assert spans == {0: len(ids)}
    replica.engine.echo(answer.lease)
    await stage.wait(1.0)
    assert answer.ids == ids
    assert dict(replica.lease(answer.lease).spans) == spans
    assert replica.gate.state == "OPEN"


@scenario()
async def test_r20_a_late_second_abort_of_a_finished_request_is_nothing(stage: Stage) -> None:
    """The engine breaks if it is asked to end what has ended; so nobody asks it."""
    await stage.update()
    replica = stage.replicas["a"]
    answer = stage.ask("a")
    await stage.ended(answer)
    replica.engine.fragile = True
    assert not await stage.abort("a", answer.lease)
    assert not await stage.abort("a", answer.lease)
    for _ in range(2):
        reply = await stage.cancel("a", answer.lease)
        assert reply.kind == "ignore"
        assert reply.snapshot.state == "SETTLED"
    assert f"abort {answer.lease}" not in replica.engine.told
    await stage.update()
    assert (replica.gate.state, replica.gate.version) == ("OPEN", 1)


@scenario()
async def test_r21_an_id_is_never_used_again_in_this_life_or_the_next(stage: Stage) -> None:
    """An abort is late; the id of its request comes again before it, and once more in the replica's next life."""
    await stage.update()
    first = stage.ask("a")
    late = stage.network.hold("Abort")
    abort = stage.background(stage.abort("a", first.lease))
    await stage.ended(first)
    again = stage.ask("a", lease=first.lease, session=first.session)
    await stage.ended(again)
    assert again.refusal
    assert (again.refusal.reason, again.refusal.retry) == ("REUSED", False)
    other = stage.ask("a", tokens=50)
    late.release()
    assert await abort is False, "it ends nothing"
    await stage.ended(other)
    assert other.labels == [0] * 50
    old = stage.replicas["a"]
    stage.kill(old)
    await stage.until(lambda: stage.replicas["a"] is not old and len(stage.controller.controller.serving()) == 1)
    for life, reason in (("", "REUSED"), (old.incarnation, "INCARNATION")):
        answer = stage.ask("a", lease=first.lease, session=first.session, life=life)
        await stage.ended(answer)
        assert answer.refusal
        assert answer.refusal.reason == reason


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


@scenario(settings=ABORT)
async def test_r49_every_aborted_request_is_answered_with_what_it_has(stage: Stage) -> None:
    """Requests with tokens, without one, and one whose caller has gone are aborted by an update."""
    await stage.update()
    replica = stage.replicas["a"]
    answers = [stage.ask("a", tokens=500) for _ in range(5)]
    await stage.until(lambda: all(len(a.ids) >= 3 for a in answers))
    draining = stage.network.hold("Drain")
    update = stage.begin_update(await stage.publish())
    await stage.until(lambda: len(draining))
    answers[0].leave()
    draining.release()
    await update
    await stage.ended(*answers)
    assert [a.reason for a in answers] == ["left"] + ["aborted"] * 4
    assert all(len(a.ids) >= 3 for a in answers)
    assert {replica.lease(a.lease).state for a in answers} == {"SETTLED"}
    assert {replica.lease(a.lease).ending.value for a in answers} == {"aborted"}


@scenario(settings=ABORT, lease_ms=5_000, reconcile_ms=2_000)
async def test_r49_a_request_that_the_engine_does_not_end_is_answered_too(stage: Stage) -> None:
    """No abort is answered: the outcome is unknown, cannot be found out, and that is what the caller hears."""
    await stage.update()
    replica = stage.replicas["a"]
    replica.engine.script |= {"abort": never, "freeze": never, "quiesce": never}
    answer = stage.ask("a", tokens=100_000)
    await stage.until(lambda: answer.ids)
    stage.background(stage.update())
    await stage.ended(answer)
    assert answer.reason == "lost"
    assert replica.lease(answer.lease).state == "LOST"
    assert replica.gate.state == "POISONED"
    await stage.until(lambda: stage.replicas["a"] is not replica, "it is replaced")


@pytest.mark.parametrize("mode", [Mode.WAIT, Mode.ABORT])
def test_r57_without_partial_rollouts_no_request_spans_versions(mode: Mode, tmp_path: Path) -> None:
    """Requests of many lengths run into three updates: each is made by one version whole, or ended by it."""

    @scenario(settings=SyncSettings(mode=mode), pace=0.05)
    async def updates(stage: Stage) -> None:
        await stage.update()
        answers = []
        for _ in range(3):
            answers += [stage.ask("a", tokens=tokens, hold=100.0) for tokens in (1, 20, 200)]
            await stage.wait(1.0)
            await stage.update()
        await stage.ended(*answers)
        assert all(len(set(a.labels)) == 1 for a in answers), [a.labels for a in answers]
        assert {a.reason for a in answers} == ({"length"} if mode is Mode.WAIT else {"length", "aborted"})
        assert len({a.labels[0] for a in answers}) == 3

    updates(tmp_path)
