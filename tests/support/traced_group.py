"""A trainer of two ranks, as two processes log it: the head's, with the group and one rank, and the other rank's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sluicegate.statemachines.trainer import Trainer

if TYPE_CHECKING:
    from traced_run import Process, World

RANKS = ("rank-0", "rank-1")


class Group:
    """The trainer's life after that of a world's first trainer, claimed by the world's term."""

    def __init__(self, world: World, make: type[Process]) -> None:
        self.term, self.life = world.term, "trainer.2"
        self.head, self.other = make(world.folder, self.life), make(world.folder, f"{self.life}.rank-1")
        world.processes += [self.head, self.other]
        self.head.born(Trainer, "trainer", ranks=set(RANKS))
        for rank in RANKS:
            self.of(rank).born(Trainer, rank, ranks={rank})
            self.of(rank).step(rank, Trainer.Claim(term=1), f"1.{self.of(rank).incarnation}.claim.1")
        self.head.step("trainer", Trainer.Claim(term=self.term), f"{self.term}.{self.life}.claim.1")

    def of(self, rank: str) -> Process:
        """The process of a rank."""
        return self.head if rank == "rank-0" else self.other

    def tell(self, event: Any, name: str) -> None:
        """Command the group."""
        self.head.step("trainer", event, f"{self.term}.{self.life}.{name}")

    def tell_rank(self, rank: str, event: Any, name: str) -> None:
        """Command a rank, as the head does."""
        self.of(rank).step(rank, event, f"1.{self.of(rank).incarnation}.{name}")

    def answers(self, rank: str, answer: Any, **fields: Any) -> None:
        """A rank answers the job that it has, and the group hears it."""
        job = self.of(rank).live["Trainer", rank].job
        self.of(rank).step(rank, answer(rank=rank, job=job, **fields), "")
        self.head.step("trainer", answer(rank=rank, job=job, **fields), "")

    def train(self, batch: str) -> None:
        """One step, on both ranks."""
        self.tell(Trainer.Train(term=self.term, batch=batch), f"train.{batch}")
        for rank in RANKS:
            self.tell_rank(rank, Trainer.Train(term=1, batch=batch), "train.1")
        for rank in RANKS:
            self.answers(rank, Trainer.Trained)

    def publish(self, version: int, digest: str) -> None:
        """A version, of which both ranks have the weights."""
        self.tell(Trainer.Publish(term=self.term, version=version), f"publish.{version}")
        for rank in RANKS:
            self.tell_rank(rank, Trainer.Publish(term=1, version=version), "publish.2")
        self.head.log.fact("Trainer", "trainer", "manifest", version=version, digest=digest)
        for rank in RANKS:
            self.answers(rank, Trainer.Published, digest=digest)
