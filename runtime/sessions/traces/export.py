"""What is trained on: the ways through a session's tree, each token with how and by what it was made.

Rules of this file:

- Each token that the model made is trained on once, in the first branch that has it; in others it is context.
- Context has turn 0, log-probability 0 and version 0, as what the environment wrote.
- What a request made that did not complete is context too: it stands before what came later.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

from .tree import Segment, Tree

COMPLETE = frozenset({"stop", "length"})
"""The endings of requests whose tokens are trained on."""


@dataclass(slots=True, eq=False)
class Branch:
    """One way through a session. `token_ids`, `turns`, `log_probs` and `versions` have one item for each token.

    `turns` says who made a token: 0 for context, k for what the model made for the k-th of `requests`. `log_probs`
    are natural logarithms under the weights of `versions`. `bindings` has, for each of `requests`, the number of the
    session's binding and the life of the replica. `attached` has, by name, numbers of values, 0 for none.
    """

    session: str
    requests: list[str] = field(default_factory=list)
    token_ids: array[int] = field(default_factory=lambda: array("I"))
    turns: array[int] = field(default_factory=lambda: array("I"))
    log_probs: array[float] = field(default_factory=lambda: array("f"))
    versions: array[int] = field(default_factory=lambda: array("Q"))
    bindings: list[tuple[int, str]] = field(default_factory=list)
    attached: dict[str, array[int]] = field(default_factory=dict)

    def _context(self, tokens: array[int]) -> None:
        blank = bytes(8 * len(tokens))
        self.token_ids += tokens
        self.turns.frombytes(blank[: 4 * len(tokens)])
        self.log_probs.frombytes(blank[: 4 * len(tokens)])
        self.versions.frombytes(blank)

    def _made(self, segment: Segment, known: int, made: int) -> None:
        """What the request of a segment made, from its `known`th token on."""
        before, number = len(self.token_ids), len(self.requests) + 1
        self.requests.append(segment.request)
        self.bindings.append((segment.binding, segment.incarnation))
        self.token_ids += segment.made[known:made]
        self.turns += array("I", [number]) * (made - known)
        self.log_probs += segment.logprobs[known:made]
        versions = array("Q", [v for v, count in segment.spans for _ in range(count)])
        self.versions += versions[known:made]
        for name, numbers in segment.attached.items():
            held = self.attached.setdefault(name, array("I"))
            held.frombytes(bytes(4 * (before - len(held))))
            held += numbers[known:made]

    def _fill(self) -> None:
        for held in self.attached.values():
            held.frombytes(bytes(4 * (len(self.token_ids) - len(held))))


def branches(session: str, tree: Tree) -> Iterator[Branch]:
    """Each way through the tree with tokens to train on: those of requests that ended in one of `COMPLETE`."""
    goes_on = {s.parent for s in tree.segments if s.parent and s.at == len(tree.segments[s.parent - 1])}
    told: dict[int, int] = {}
    for leaf in tree.segments:
        if leaf.number in goes_on:
            continue
        branch = Branch(session)
        for segment, at in tree.path(leaf.number):
            made = max(0, at - len(segment.given))
            branch._context(segment.given[:at])
            known = min(made, told.get(segment.number, 0) if segment.ending in COMPLETE else made)
            branch._context(segment.made[:known])
            if made > known:
                branch._made(segment, known, made)
                told[segment.number] = made
        if branch.requests:
            branch._fill()
            yield branch
