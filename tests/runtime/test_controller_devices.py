"""Whether a trainer may still use a lent device: what is not known counts as use."""

from __future__ import annotations

from pathlib import Path

from idle_trainer import idle_trainer

from sluicegate.runtime.controller.devices import TrainerUse
from sluicegate.runtime.controller.roster import Roster
from sluicegate.runtime.controller.trainer import INSTANCE
from sluicegate.statemachines.trainer import Trainer


async def test_a_device_is_in_use_until_its_trainer_is_known_to_have_ended_or_not_to_train(tmp_path: Path) -> None:
    with Roster(tmp_path / "r.db") as roster:
        uses = TrainerUse(roster, call=0.5)
        uses.term = 7
        assert await uses(), "nobody knows of a trainer"
        lost = roster.begin("trainer", "trainer")
        assert await uses(), "it is not ready, so nothing is known of it"
        roster.enlist(lost, "127.0.0.1:1", "", 1)
        assert await uses(), "it does not answer"
        roster.end(lost, "signal 9")
        assert not await uses()
        async with idle_trainer(roster, "rank-0", "rank-1") as host:
            host.step(INSTANCE, Trainer.Claim(term=3))
            host.step(INSTANCE, Trainer.Train(term=3, batch="b"))
            assert await uses()
            assert host.live(INSTANCE).term == 7, "the older controller has it train nothing more"
            host.step(INSTANCE, Trainer.Trained(rank="rank-0", job=1))
            assert await uses(), "one of its ranks may still train"
            host.step(INSTANCE, Trainer.Trained(rank="rank-1", job=1))
            assert not await uses()
            assert host.step(INSTANCE, Trainer.Train(term=3, batch="c")).refused
            host.step(INSTANCE, Trainer.Claim(term=8))
            assert await uses(), "a controller of a higher term may have it train"
            uses.term = 9
            assert not await uses()
            host.step(INSTANCE, Trainer.Failed(rank="rank-1", why="its process has gone"))
            assert await uses(), "the other rank may still be in a step"
