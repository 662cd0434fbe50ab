"""Labels: what is said of tokens, and what saying it does."""

from __future__ import annotations

from scenarios import scenario

from sluicegate.runtime.controller.sync import SyncSettings
from sluicegate.runtime.simulation.engine import made_by
from sluicegate.runtime.simulation.stage import Stage
from sluicegate.statemachines.sorts import Mode

KEEP = SyncSettings(mode=Mode.KEEP)


@scenario(settings=KEEP)
async def test_r50_a_label_has_no_side_effects(stage: Stage) -> None:
    """Requests are frozen; a version is published, written to the register and announced: none of them is touched."""
    await stage.update()
    replica = stage.replicas["a"]
    answers = [stage.ask("a", tokens=40) for _ in range(8)]
    await stage.until(lambda: all(len(a.ids) >= 3 for a in answers))
    reopening = stage.network.hold("Reopen", times=None)
    version = await stage.publish()
    assert not any(a.reason for a in answers), "a manifest is no command"
    update = stage.begin_update(version)
    await stage.until(lambda: len(reopening))
    assert stage.controller.register.published == version
    assert replica.gate.suspended == {a.lease for a in answers}
    await stage.wait(3.0)
    assert replica.gate.suspended == {a.lease for a in answers}
    reopening.release()
    await update
    await stage.ended(*answers)
    assert [a.reason for a in answers] == ["length"] * 8
    assert all({*a.labels} == {0, 1} and len(a.labels) == 40 for a in answers)
    assert not [told for told in replica.engine.told if told.startswith("abort")]


@scenario(settings=KEEP)
async def test_r54_a_token_keeps_the_version_that_was_read_with_its_step(stage: Stage) -> None:
    """The reader is slow: tokens that were made before an update are put into their message after it."""
    await stage.update()
    replica = stage.replicas["a"]
    answer = stage.ask("a", tokens=120)
    await stage.until(lambda: len(answer.ids) >= 5)
    answer.reads.clear()
    await stage.until(lambda: sum(replica.lease(answer.lease).spans.values()) >= 60)
    before = dict(replica.lease(answer.lease).spans)
    await stage.update()
    await stage.until(lambda: sum(replica.lease(answer.lease).spans.values()) >= 90)
    assert len(answer.ids) < before[0], "the reader has not come to the update yet"
    made = replica.lease(answer.lease).spans[0]
    answer.reads.set()
    await stage.ended(answer)
    assert answer.labels == [made_by(token) for token in answer.ids]
    assert answer.labels.count(0) == made >= before[0]
    assert dict(replica.lease(answer.lease).spans) == {0: made, 1: 120 - made}
