"""The generations of one session as a prefix tree.

Rules of this file:

- A generation is one segment, added once and never changed: where its prompt leaves what was there before, the
  tokens of the prompt beyond that, and the tokens that the model made, with what is known of each.
- Tokens that the model made are never shared by two generations, also where they are equal: their labels are not.
- A prompt goes on from where the most of it was already there; of places that have equally much, from the newest.
- What is attached to tokens is opaque and often the same for many: a value is kept once in a session, and counted.
- Nothing here recurses: a session may be as deep as it is long.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """One generation of a session. Raises ValueError where its parts do not fit together.

    Its prompt goes on from the first `at` tokens of segment `parent` (0: from nothing), with the tokens `given`.
    `made` are the model's, each with the natural logarithm of its probability, by the versions of `spans`
    (version, count). `request` is its lease, `ending` how that closed, `binding` the number of the session's binding
    that it ran under and `incarnation` the life of the replica. `attached` has, by name, for each of `made` the number
    of a value of the tree, 0 for none; `note` is whoever asked's own.
    """

    number: int
    parent: int
    at: int
    request: str
    given: array[int]
    made: array[int]
    logprobs: array[float]
    spans: tuple[tuple[int, int], ...]
    ending: str
    binding: int = 0
    incarnation: str = ""
    attached: Mapping[str, array[int]] = field(default_factory=dict)
    note: bytes = b""

    def __post_init__(self) -> None:
        labelled = sum(count for _, count in self.spans)
        if not len(self.made) == len(self.logprobs) == labelled:
            raise ValueError(
                f"request {self.request!r}: {len(self.made)} tokens, {len(self.logprobs)} log-probabilities and "
                f"versions of {labelled}: each token has one of both"
            )
        if wrong := [name for name, values in self.attached.items() if len(values) != len(self.made)]:
            raise ValueError(f"request {self.request!r}: {', '.join(wrong)}: one value is attached to each token")
        if any(count < 1 for _, count in self.spans) or any(a >= b for (a, _), (b, _) in pairwise(self.spans)):
            raise ValueError(f"request {self.request!r}: versions {self.spans} do not grow")
        if not 0 <= self.parent < self.number or self.at < 0 or (self.parent == 0 and self.at):
            where = f"{self.parent} at {self.at}"
            raise ValueError(f"request {self.request!r}: segment {self.number} cannot follow {where}")

    def __len__(self) -> int:
        """How many tokens it has of its own."""
        return len(self.given) + len(self.made)

    @property
    def first(self) -> int | None:
        """Its first own token, none if it has none."""
        return self.given[0] if self.given else self.made[0] if self.made else None

    def common(self, tokens: array[int]) -> int:
        """How many of its own tokens `tokens` begins with."""
        given = _common(self.given, tokens)
        if given < len(self.given):
            return given
        return given + _common(self.made, tokens[given : given + len(self.made)])


class Place(NamedTuple):
    """Where a prompt leaves the tree: after `at` own tokens of segment `parent`, which is `depth` tokens in all."""

    parent: int
    at: int
    depth: int


class Tree:
    """The segments of one session, by number from 1, and the values that are attached to their tokens."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self.values: list[bytes] = [b""]
        """What is attached, by number from 1."""
        self.references: list[int] = [0]
        """How many tokens each value is attached to."""
        self._known: dict[bytes, int] = {}
        self._after: dict[tuple[int, int, int], list[int]] = {}
        """Segments by the segment that they follow, where, and the token that they go on with."""
        self._left_at: dict[int, list[int]] = {}
        """After how many of its own tokens a segment is followed, rising."""

    def __len__(self) -> int:
        return len(self.segments)

    def find(self, prompt: Sequence[int]) -> Place:
        """The place that a prompt goes on from."""
        prompt = array("I", prompt)
        best = Place(0, 0, 0)
        todo = [best]
        while todo:
            place = todo.pop()
            if (place.depth, place.parent) > (best.depth, best.parent):
                best = place
            if place.depth == len(prompt):
                continue
            for number in self._after.get((place.parent, place.at, prompt[place.depth]), ()):
                todo += self._along(number, place.depth, prompt)
        return best

    def _along(self, number: int, depth: int, prompt: array[int]) -> Iterator[Place]:
        """The places in a segment, which begins `depth` tokens in, that the prompt comes by and may leave it at."""
        segment = self.segments[number - 1]
        common = segment.common(prompt[depth : depth + len(segment)])
        yield Place(number, common, depth + common)
        left_at = self._left_at.get(number, ())
        for at in left_at[: bisect_left(left_at, common)]:
            yield Place(number, at, depth + at)

    def grow(
        self, request: str, prompt: Sequence[int], made: Sequence[int], logprobs: Sequence[float],
        spans: Sequence[tuple[int, int]], ending: str, *, binding: int = 0, incarnation: str = "",
        attached: Mapping[str, Sequence[bytes | None]] | None = None, note: bytes = b"",
    ) -> Segment:  # fmt: skip
        """Add a generation where its prompt leaves the tree; see `Segment`. Raises ValueError.

        `attached` has, by name, one value or none for each token that was made.
        """
        place = self.find(prompt)
        segment = Segment(
            len(self.segments) + 1, place.parent, place.at, request, array("I", prompt[place.depth :]),
            array("I", made), array("f", logprobs), tuple(spans), ending, binding, incarnation,
            {name: array("I", map(self._number, values)) for name, values in (attached or {}).items()}, note,
        )  # fmt: skip
        self.add(segment)
        return segment

    def _number(self, value: bytes | None) -> int:
        """The number of a value that is attached, which is kept if it is new; 0 for none."""
        if value is None:
            return 0
        number = self._known.get(value)
        if number is None:
            number = self.keep(value)
        return number

    def keep(self, value: bytes) -> int:
        """Keep a value that is to be attached; its number."""
        self._known[value] = number = len(self.values)
        self.values.append(value)
        self.references.append(0)
        return number

    def add(self, segment: Segment) -> None:
        """Add one that was made before. Raises ValueError for one that does not follow what is there."""
        if segment.number != len(self.segments) + 1:
            raise ValueError(f"segment {segment.number} comes after {len(self.segments)}")
        if segment.parent and segment.at > len(self.segments[segment.parent - 1]):
            raise ValueError(f"segment {segment.number} begins behind the end of segment {segment.parent}")
        if any(number >= len(self.values) for numbers in segment.attached.values() for number in numbers):
            raise ValueError(f"segment {segment.number} has attached what is not kept")
        self.segments.append(segment)
        for numbers in segment.attached.values():
            for number in numbers:
                self.references[number] += number > 0
        if segment.first is None:
            return
        self._after.setdefault((segment.parent, segment.at, segment.first), []).append(segment.number)
        left_at = self._left_at.setdefault(segment.parent, [])
        place = bisect_left(left_at, segment.at)
        if left_at[place : place + 1] != [segment.at]:
            left_at.insert(place, segment.at)

    def path(self, number: int) -> list[tuple[Segment, int]]:
        """The segments from the beginning to this one, each with how many of its own tokens are on the way."""
        found: list[tuple[Segment, int]] = []
        at = len(self.segments[number - 1])
        while number:
            segment = self.segments[number - 1]
            found.append((segment, at))
            number, at = segment.parent, segment.at
        found.reverse()
        return found


def _common(ours: array[int], theirs: array[int]) -> int:
    """The length of the common beginning."""
    length = min(len(ours), len(theirs))
    if ours[:length] == theirs[:length]:
        return length
    low, high = 0, length
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if ours[low:middle] == theirs[low:middle] else (low, middle)
    return low
