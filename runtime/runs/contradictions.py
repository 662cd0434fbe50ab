"""What the fields of a run's config may not say together, each with its reason; docs/train.md lists them all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .config import RunConfig


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two settings that exclude each other: `key` is refused where `when` is the case, since `why`; `mend` it so."""

    key: str
    when: str
    why: str
    mend: str
    holds: Callable[[RunConfig], bool]

    def __str__(self) -> str:
        return f"{self.key}: {self.when}, and {self.why}: {self.mend}"


def contradictions(config: RunConfig) -> list[str]:
    """The text of each that the config has; a text begins with its key."""
    return [str(each) for each in CONTRADICTIONS if each.holds(config)]


def _has_agents(config: RunConfig) -> bool:
    return config.stage != "train_only"


CONTRADICTIONS = (
    Contradiction(
        "agents.in_flight", "fewer groups are kept going than training.groups",
        "a step would wait for groups that nobody makes", "raise it, or lower training.groups",
        lambda c: _has_agents(c) and c.agents.in_flight < c.training.groups,
    ),
    Contradiction(
        "agents.turn_s", "a turn ends before sync.deadline and sync.takeover together",
        "turns that wait at a closed gate would fail in the course of an update", "raise it above their sum",
        lambda c: _has_agents(c) and c.agents.turn_s <= c.sync.deadline + c.sync.takeover,
    ),
    Contradiction(
        "agents.kind", "agents are clients over HTTP and there is no http", "nobody would answer them",
        "give http, {} will do, or take agents of the kind direct",
        lambda c: c.agents.kind == "http" and c.http is None,
    ),
    Contradiction(
        "training.seed", "it is another one than seed", "a run has one seed, of which everything follows",
        "set seed alone", lambda c: c.training.seed not in (0, c.seed),
    ),
    Contradiction(
        "training.total_steps", "the schedule of the learning rate ends before updates",
        "a step after its end is refused", "raise it to updates at least",
        lambda c: c.training.schedule != "constant" and c.training.total_steps < (c.updates or 0),
    ),
    Contradiction(
        "updates", "it is null and training.schedule is not constant", "a schedule ends, and the run would not",
        "give updates, or take the schedule constant",
        lambda c: c.training.schedule != "constant" and c.updates is None,
    ),
    Contradiction(
        "ranks", "a batch has fewer samples than ranks, training.minibatches and training.accumulate cut it into",
        "a rank would have nothing to train on", "lower one of them, or raise training.groups or training.group_size",
        lambda c: c.training.groups * c.training.group_size
        < c.ranks * c.training.minibatches * c.training.accumulate,
    ),
    Contradiction(
        "sync.minimum", "it is above replicas", "no update could be made", "lower it, or raise replicas",
        lambda c: _has_agents(c) and c.sync.minimum > c.replicas,
    ),
    Contradiction(
        "sync.call", "one call may take as long as sync.deadline", "an operation has to outlast one call",
        "lower it, or raise sync.deadline", lambda c: c.sync.call >= c.sync.deadline,
    ),
    Contradiction(
        "weights.receivers", "a broadcast waits for more receivers than there are replicas",
        "it would wait in vain in each update", "lower it, 0 will do, or raise replicas",
        lambda c: c.weights.receivers > c.replicas,
    ),
    Contradiction(
        "checkpoints.rest", "rest is waited for and checkpoints.every is 0", "there is nothing to wait with",
        "set it to null, or give checkpoints.every",
        lambda c: c.checkpoints.rest is not None and c.checkpoints.every == 0,
    ),
    Contradiction(
        "checkpoints.every", "a stage alone is to save checkpoints", "what a stage does is done again as a whole",
        "set it to 0", lambda c: c.stage is not None and c.checkpoints.every > 0,
    ),
    Contradiction(
        "evaluate.every", "a stage alone is to ask held-out prompts", "the weights that agents are given never change",
        "set it to 0", lambda c: c.stage is not None and c.evaluate.every > 0,
    ),
    Contradiction(
        "stage", "there is a stage and no folder batches", "its batches come from there, or go there",
        "give batches", lambda c: c.stage is not None and c.batches is None,
    ),
    Contradiction(
        "batches", "there is a folder for batches and no stage", "a whole run neither reads nor writes them",
        "leave it out, or give stage", lambda c: c.batches is not None and c.stage is None,
    ),
    Contradiction(
        "stage", "it is rollout_only and updates is null", "it would write batches without end", "give updates",
        lambda c: c.stage == "rollout_only" and c.updates is None,
    ),
    Contradiction(
        "http", "it is given and stage is train_only", "no replica runs that could answer", "leave it out",
        lambda c: c.stage == "train_only" and c.http is not None,
    ),
)  # fmt: skip
