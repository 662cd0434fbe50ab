"""A finished group: training samples, made of what its sessions have recorded.

Rules of this file:

- Tokens, log-probabilities and versions come from the trace alone; an agent adds its grades.
- Grades belong to turns, in the order in which the session recorded them. Where they do not fit, there is no sample.
- A session counts once, however many ways lead through its trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..sessions.traces import COMPLETE, Branch, Tree, branches
from ..training.samples import Sample


class Ungraded(ValueError):
    """A session's grades do not fit what it has recorded; the message names it."""


@dataclass(frozen=True, slots=True)
class FinishedGroup:
    """All conversations of one prompt: `samples` share the group's name, `sessions` are the valid ones.

    `number` is the group's, `oldest` the oldest version of a token that is trained on, `reward` the mean over the
    sessions.
    """

    number: int
    samples: tuple[Sample, ...]
    oldest: int
    reward: float
    sessions: tuple[str, ...]


def oldest_of(samples: Sequence[Sample]) -> int:
    """The oldest version of a token that the model made. Raises ValueError where there is none."""
    return min(v for each in samples for v, turn in zip(each.versions, each.turns, strict=True) if turn)


def samples_of(session: str, group: str, tree: Tree, rewards: Sequence[float]) -> list[Sample]:
    """A sample of each way through the trace that was graded. Raises Ungraded.

    One grade is that of the whole session; as many as turns were recorded are theirs, in order. As many as the last
    way has turns are that way's, and others, such as of a call whose answer was lost, are left out.
    """
    found = list(branches(session, tree))
    made = [s.request for s in tree.segments if s.ending in COMPLETE and len(s.made)]
    if not found:
        raise Ungraded(f"session {session!r} has recorded no token that can be trained on: its agent made no turn")
    if not rewards:
        raise Ungraded(f"session {session!r} has no grade: its agent gives one for each turn, or one for all")
    if len(rewards) == len(made):
        grades = dict(zip(made, rewards, strict=True))
    elif len(rewards) == 1:
        grades = dict.fromkeys(made, rewards[0])
    elif len(rewards) == len(found[-1].requests):
        grades = dict(zip(found[-1].requests, rewards, strict=True))
    else:
        raise Ungraded(
            f"session {session!r} has {len(rewards)} grades for {len(made)} turns: give one for each turn, or one for "
            "all of them"
        )
    return [_sample(each, group, grades) for each in found if grades.keys() >= set(each.requests)]


def _sample(branch: Branch, group: str, grades: dict[str, float]) -> Sample:
    return Sample(
        branch.session, group, tuple(branch.token_ids), tuple(branch.turns), tuple(branch.log_probs),
        tuple(branch.versions), tuple(grades[request] for request in branch.requests),
    )  # fmt: skip
