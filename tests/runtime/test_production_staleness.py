"""How old tokens are follows from the manifests on the disk, whatever numbers versions have."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from production_kit import sample

from sluicegate.runtime.production.staleness import Staleness
from sluicegate.runtime.weights import ManifestStore, ShmPublisher


class Published:
    """The manifests of a run."""

    def __init__(self, folder: Path) -> None:
        self.store, self._publisher = ManifestStore(folder / "manifests"), ShmPublisher("r", root=folder)

    def add(self, version: int, step: int) -> None:
        self.store.put(self._publisher.publish(version, step, [("w", torch.zeros(1))], torch.float32))


@pytest.fixture
def run(tmp_path: Path) -> Published:
    """Versions 0 to 3 of steps 0 to 3; then the trainer went back to step 1, which is version 7."""
    run = Published(tmp_path)
    for version in range(4):
        run.add(version, version)
    run.add(7, 1)
    return run


def test_the_distance_is_how_many_updates_were_made_and_unmade_and_never_less_than_that_of_the_numbers(
    run: Published,
) -> None:
    staleness = Staleness(run.store, 2)
    assert [staleness.behind(version, 3) for version in range(4)] == [3, 2, 1, 0]
    # Two updates were unmade; the numbers lie four apart.
    assert staleness.behind(3, 7) == 4
    run.add(8, 9)
    assert staleness.behind(7, 8) == 8, "a version can be several updates on"
    assert staleness.behind(3, 8) == 10


def test_each_token_is_judged_by_its_own_version_and_a_group_by_its_oldest(run: Published) -> None:
    staleness = Staleness(run.store, 2)
    mixed, young = sample("s", versions=(3, 1, 0)), sample("t", versions=(2,))
    assert staleness.of_tokens(mixed, 3) == [0, 2, 3]
    assert (staleness.of_sample(mixed, 3), staleness.of_sample(young, 3)) == (3, 1)
    assert [staleness.refuses(each, 3) for each in ([young, mixed], [young], [sample(versions=(1,))])] == [
        True,
        False,
        False,
    ]
    corrected = Staleness(run.store, 2, "correct")
    assert not corrected.refuses([young, mixed], 3), "the trainer weighs what is older"


def test_what_nobody_can_say_the_weights_of_is_too_old_also_to_be_corrected(run: Published) -> None:
    for beyond in ("drop", "correct"):
        staleness = Staleness(run.store, 100, beyond)
        assert staleness.behind(5, 7) is None
        assert staleness.refuses([sample(versions=(3, 5))], 7)


def test_what_was_read_stays_known_though_its_manifest_is_removed(run: Published) -> None:
    staleness = Staleness(run.store, 2)
    assert staleness.behind(0, 3) == 3
    run.store.prune(published=7, oldest=7)
    run.add(8, 2)
    assert staleness.behind(3, 8) == 5
    assert staleness.behind(0, 8) == 8


def test_a_bound_that_cannot_be_is_refused(run: Published) -> None:
    with pytest.raises(ValueError, match="bound: -1"):
        Staleness(run.store, -1)
