"""How old what is trained on may be: the distance of weights, from the manifests, which are on the disk.

Rules of this file:

- The distance of two versions is how many updates lie between their weights, there and back where a trainer went back
  to a checkpoint. Never less than the distance of their numbers, by which the trainer itself refuses.
- Each token is judged by its own version; a sample is as old as its oldest token, a group as its oldest sample.
- A version without a manifest is too old: nobody can say any more which weights it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from ..training.samples import Sample
from ..weights.manifest import ManifestStore


class Staleness:
    """The bound of a run, in versions: beyond it a group is dropped, or the trainer corrects for it.

    `manifests` are those of the run. Raises ValueError for a negative bound.
    """

    def __init__(self, manifests: ManifestStore, bound: int, beyond: Literal["drop", "correct"] = "drop") -> None:
        if bound < 0:
            raise ValueError(f"bound: {bound} must not be negative")
        self._manifests, self.bound, self.beyond = manifests, bound, beyond
        self._updates: dict[int, int] = {}
        """Version -> how many updates were made and unmade up to it, since the first that is known; rising."""
        self._step = 0
        """The training step of the last of them."""

    def behind(self, version: int, published: int) -> int | None:
        """How many updates lie between the two, None where a version has no manifest.

        Raises ManifestError, OSError where one cannot be read.
        """
        if version not in self._updates or published not in self._updates:
            self._learn(max(version, published))
        older, newer = self._updates.get(version), self._updates.get(published)
        if older is None or newer is None:
            return None
        return max(newer - older, published - version)

    def of_tokens(self, sample: Sample, published: int) -> list[int | None]:
        """The distance of each token that the model made, in order."""
        made = (v for v, turn in zip(sample.versions, sample.turns, strict=True) if turn)
        known: dict[int, int | None] = {}
        return [known[v] if v in known else known.setdefault(v, self.behind(v, published)) for v in made]

    def of_sample(self, sample: Sample, published: int) -> int | None:
        """The largest distance of a token, None where it cannot be told."""
        largest = 0
        for distance in self.of_tokens(sample, published):
            if distance is None:
                return None
            largest = max(largest, distance)
        return largest

    def refuses(self, samples: Iterable[Sample], published: int) -> bool:
        """Whether the group of these samples is not to be trained on by the weights after `published`."""
        ages = [self.of_sample(sample, published) for sample in samples]
        return any(age is None or (age > self.bound and self.beyond == "drop") for age in ages)

    def _learn(self, newest: int) -> None:
        """Read the manifests up to `newest` that are new; a version is published once, so what was read stays true."""
        last = max(self._updates, default=-1)
        for version in self._manifests.versions():
            if last < version <= newest:
                step = self._manifests.get(version).step
                self._updates[version] = self._updates[last] + abs(step - self._step) if self._updates else 0
                last, self._step = version, step
