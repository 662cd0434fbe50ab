"""Conversations as training samples."""

from __future__ import annotations

from collections.abc import Iterable

from ..production.agent import Conversation
from ..training.samples import Sample
from .production import Group


def samples_of(groups: Iterable[Group]) -> list[Sample]:
    """A sample of each conversation of the groups, in order."""
    return [sample_of(c, f"prompt-{group.index}") for group in groups for c in group.conversations]


def sample_of(conversation: Conversation, group: str) -> Sample:
    """The tokens of a conversation, each with who made it, by which weights and how probably.

    A turn's prompt holds all that was said before, so what the environment added to it is its tail.
    Raises SampleError if the turns do not continue each other.
    """
    ids: list[int] = []
    turns: list[int] = []
    log_probs: list[float] = []
    versions: list[int] = []
    for number, turn in enumerate(conversation.turns, start=1):
        added = turn.prompt_ids[len(ids) :]
        ids += [*added, *turn.ids]
        turns += [0] * len(added) + [number] * len(turn.ids)
        log_probs += [0.0] * len(added) + turn.logprobs
        versions += [0] * len(added) + turn.versions
    return Sample(
        conversation.session, group, tuple(ids), tuple(turns), tuple(log_probs), tuple(versions),
        tuple(conversation.rewards),
    )  # fmt: skip
