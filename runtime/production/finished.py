"""A finished group: training samples, made of what its sessions have recorded.

Rules of this file:

- Tokens, log-probabilities and versions come from the trace alone; an agent adds its grades.
- Grades belong to turns, in the order in which the session recorded them. Where they do not fit, there is no sample.
- A session counts once, however many ways lead through its trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..sessions.traces import COMPLETE, Branch, Segment, Tree, branches
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

    One grade is that of the whole session; as many as turns were recorded are theirs, in order. As many as the way to
    the last turn has are that way's, and what else was made, such as by a call whose answer was lost, is left out.
    """
    made = _turns(tree)
    if not made:
        raise Ungraded(f"session {session!r} has recorded no token that can be trained on: its agent made no turn")
    if not rewards:
        raise Ungraded(f"session {session!r} has no grade: its agent gives one for each turn, or one for all")
    way = tree if len(rewards) in (1, len(made)) else _way_to(tree, made[-1])
    turns = [segment.request for segment in _turns(way)]
    if len(rewards) not in (1, len(turns)):
        raise Ungraded(
            f"session {session!r} has {len(rewards)} grades for {len(made)} turns: give one for each turn, or one for "
            "all of them"
        )
    grades = dict(zip(turns, rewards if len(rewards) > 1 else [rewards[0]] * len(turns), strict=True))
    return [_sample(each, group, grades) for each in branches(session, way)]


def _turns(tree: Tree) -> list[Segment]:
    return [segment for segment in tree.segments if segment.ending in COMPLETE and len(segment.made)]


def _way_to(tree: Tree, last: Segment) -> Tree:
    """The trace as if only what leads to this turn had been made."""
    way, before = Tree(), list[int]()
    for each, at in tree.path(last.number):
        # Of one that was left within its prompt nothing that it made is on the way.
        if at > len(each.given):
            way.grow(
                each.request, [*before, *each.given], each.made, each.logprobs, each.spans, each.ending,
                binding=each.binding, incarnation=each.incarnation,
            )  # fmt: skip
        before += [*each.given, *each.made][:at]
    return way


def _sample(branch: Branch, group: str, grades: dict[str, float]) -> Sample:
    return Sample(
        branch.session, group, tuple(branch.token_ids), tuple(branch.turns), tuple(branch.log_probs),
        tuple(branch.versions), tuple(grades[request] for request in branch.requests),
    )  # fmt: skip
