"""What entries of a trainer mean to the rules between machines: its group, and the ranks of it.

Rules of this file:

- The group is the instance `trainer`, and it alone is a controller's; every other instance is a rank of
  one, with the incarnation of its group's head, or that with its own name behind.
- Where a trainer is its own one rank, its answers are nobody else's.
"""

from __future__ import annotations

from typing import Any

from ...statemachines.trainer import Trainer
from .judging import Run, Select, steps
from .reading import Step

GROUP = "trainer"
"""The name of the instance that is a whole trainer."""
COMMANDS = tuple(e.name for e in Trainer.ir.events if e.outside)
"""The events with which a controller commands the trainer, and its head the ranks."""
_JOBS = tuple(name for name in COMMANDS if name != "Claim")
_ANSWERS = ("Trained", "Published", "Saved", "Loaded", "Undone")
_TAKEN = "go stay"


def commanded_group(run: Run) -> list[Any]:
    """The commands that a whole trainer was given."""
    return [step for step in steps("Trainer", *COMMANDS).entries(run) if step.instance == GROUP]


begun_by_ranks = Select(
    "a rank's job", lambda run: [s for s in steps("Trainer", *_JOBS, kinds="go").entries(run) if s.instance != GROUP]
)
begun_by_group = Select(
    "that job of its Trainer",
    lambda run: [s for s in steps("Trainer", *_JOBS, kinds="go").entries(run) if s.instance == GROUP],
)
answered_to_group = Select(
    "an answer of a rank, as its Trainer takes it",
    lambda run: [
        s
        for s in steps("Trainer", *_ANSWERS, kinds=_TAKEN).entries(run)
        if s.instance == GROUP and s.event.rank != GROUP
    ],
)
answered_by_ranks = Select(
    "that answer of the rank itself",
    lambda run: [s for s in steps("Trainer", *_ANSWERS, kinds=_TAKEN).entries(run) if s.instance != GROUP],
)
published = Select(
    "a version that the Trainer has published",
    lambda run: [
        s
        for s in steps("Trainer", "Published", kinds="go").entries(run)
        if s.instance == GROUP and s.post.state == "IDLE"
    ],
)


def group_of(step: Step) -> str:
    """The incarnation of the group that a rank is of."""
    return step.incarnation.removesuffix(f".{step.instance}")


def begun(step: Step) -> tuple[Any, ...]:
    """What a job is, and whose."""
    what = {"Train": "batch", "Publish": "version"}.get(step.name)
    return group_of(step), step.name, step.post.job, what and getattr(step.event, what)


def answer(step: Step) -> tuple[Any, ...]:
    """What became of a job, of which group and on which rank."""
    return group_of(step), step.event.rank, step.name, step.event.job, getattr(step.event, "digest", None)


def head_is_cut(run: Run, step: Step) -> bool:
    """Of a rank's step: whether the log of its group's head ended early."""
    return run.cut("Trainer", incarnation=group_of(step))


def rank_is_cut(run: Run, step: Step) -> bool:
    """Of an answer to a group: whether the log of that rank ended early."""
    own = f"{step.incarnation}.{step.event.rank}"
    return run.cut("Trainer", incarnation=own) or run.cut("Trainer", incarnation=step.incarnation)


def version_said(step: Step) -> tuple[Any, ...]:
    """The version that an answer is about, and the digest that it gives."""
    return step.before_it.publishing, step.event.digest
