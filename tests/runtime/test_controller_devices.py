"""Whether a trainer may still use a lent device: what is not known counts as use."""

from __future__ import annotations

from pathlib import Path

from sluicegate.protocol.generated.trainer_service import TRAINER, TrainerServicer
from sluicegate.protocol.host import MachineHost
from sluicegate.protocol.server import Server
from sluicegate.runtime.controller.devices import TrainerUse
from sluicegate.runtime.controller.roster import Roster
from sluicegate.runtime.controller.trainer import INSTANCE
from sluicegate.statemachines.trainer import Trainer


class Idle:
    """A trainer's shell that does nothing: its machine is stepped by the test."""

    async def start_training(self, instance: str, job: int, batch: str) -> None: ...

    async def start_publishing(self, instance: str, job: int, version: int) -> None: ...

    async def start_saving(self, instance: str, job: int, path: str) -> None: ...

    async def start_loading(self, instance: str, job: int, path: str) -> None: ...


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
        life = roster.begin("trainer", "trainer")
        async with MachineHost(TRAINER, Idle(), incarnation=life) as host, Server([TrainerServicer(host)]) as server:
            host.create(INSTANCE, ranks={"rank-0", "rank-1"})
            roster.enlist(life, server.target, "", 1)
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
