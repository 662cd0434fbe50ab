"""How long manifests are kept: as long as a token of their version can be trained on, or a checkpoint has them.

Without its manifest a label is a bare number: nobody could tell any more which weights made the token.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..weights.manifest import Manifest, ManifestStore


def oldest_needed(published: int, max_staleness: int, in_flight: Iterable[int | None] = ()) -> int:
    """The oldest version of which a token can still be trained on.

    `in_flight` are the oldest versions of what is in flight or was not read yet; None of one that has none.
    """
    bounds = [published - max_staleness, *(version for version in in_flight if version is not None)]
    return max(0, min(bounds))


def needed_manifests(store: ManifestStore, published: int, oldest: int) -> list[Manifest]:
    """The manifests that a checkpoint takes along: from `oldest` on, and the published one.

    Raises FileNotFoundError, ManifestError where one is not there or damaged.
    """
    wanted = {published, *(version for version in store.versions() if version >= oldest)}
    return [store.get(version) for version in sorted(wanted)]
