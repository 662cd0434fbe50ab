"""What a run saves and how it begins: groups, manifests that stay, numbers that only rise, in the right order."""

from __future__ import annotations

import asyncio
import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
import torch
from checkpoints_kit import Trainer, life, lose_register, played

from sluicegate.runtime.checkpoints import (
    Checkpoints,
    Groups,
    NotAtRest,
    ResumeError,
    RunState,
    Writing,
    forget_weights,
    needed_manifests,
    oldest_needed,
)
from sluicegate.runtime.checkpoints.run import LEAP
from sluicegate.runtime.training.checkpoint import CheckpointError
from sluicegate.runtime.weights import ManifestStore, ShmPublisher
from sluicegate.runtime.weights.config import WeightsConfig
from sluicegate.runtime.weights.opening import open_store

# -- groups ------------------------------------------------------------------------------------------


async def test_groups_are_numbered_once_and_those_in_flight_are_begun_again_first() -> None:
    groups = Groups()
    assert [await groups.begin(published) for published in (0, 1, 2)] == [0, 1, 2]
    groups.done(1)
    groups.data_epoch = 4
    assert (groups.in_flight, groups.oldest) == ((0, 2), 0)
    state = RunState(
        run="r", step=1, published=2, newest=2, next_group=groups.next_group, in_flight=groups.in_flight, data_epoch=4
    )
    again = Groups()
    again.restore(state)
    assert (again.in_flight, again.oldest, again.data_epoch) == ((0, 2), None, 4)
    assert [await again.begin(5) for _ in range(4)] == [0, 2, 3, 4]
    assert (again.in_flight, again.oldest) == ((0, 2, 3, 4), 5)


async def test_groups_that_a_trainer_that_went_back_no_longer_has_are_begun_again_beside_those_in_flight() -> None:
    groups = Groups()
    assert [await groups.begin(published) for published in (0, 0, 0)] == [0, 1, 2]
    groups.done(0)
    kept = RunState(run="r", step=1, published=0, newest=0, next_group=3, in_flight=groups.in_flight)
    assert [await groups.begin(1), await groups.begin(1)] == [3, 4]
    for trained in (1, 3):
        groups.done(trained)
    groups.rewind(kept)
    assert groups.in_flight == (1, 2, 3, 4), "0 is in the weights; 1 and 3 were, and are no longer"
    groups.rewind(kept)
    assert [await groups.begin(2) for _ in range(3)] == [1, 3, 5]
    assert groups.oldest == 0, "2 runs on, as it was begun"


async def test_rest_comes_once_all_in_flight_are_done_and_nothing_new_begins_before_it_is_over() -> None:
    groups = Groups()
    first = await groups.begin(0)
    asyncio.get_running_loop().call_later(0.05, groups.done, first)
    async with groups.at_rest(5.0):
        assert groups.in_flight == ()
        begun = asyncio.ensure_future(groups.begin(0))
        await asyncio.sleep(0.05)
        assert not begun.done()
    async with asyncio.timeout(5):
        assert await begun == 1


async def test_rest_that_does_not_come_names_the_groups_and_lets_others_begin() -> None:
    groups = Groups()
    await groups.begin(0)
    with pytest.raises(NotAtRest, match=r"groups 0 were in flight after 0\.05 s"):
        async with groups.at_rest(0.05):
            raise AssertionError("it is not at rest")
    async with asyncio.timeout(5):
        assert await groups.begin(0) == 1


async def test_as_long_as_one_waits_for_rest_nothing_new_begins_though_another_gave_up() -> None:
    groups = Groups()
    first = await groups.begin(0)

    async def rests(within: float) -> None:
        async with groups.at_rest(within):
            pass

    patient = asyncio.ensure_future(rests(20.0))
    with pytest.raises(NotAtRest):
        await rests(0.05)
    begun = asyncio.ensure_future(groups.begin(0))
    await asyncio.sleep(0.05)
    assert not begun.done()
    groups.done(first)
    async with asyncio.timeout(5):
        await patient
        assert await begun == 1


# -- manifests ---------------------------------------------------------------------------------------


def test_a_manifest_stays_as_long_as_a_token_of_it_can_be_trained_on_and_the_published_one_always(
    tmp_path: Path,
) -> None:
    store, publisher = ManifestStore(tmp_path / "manifests"), ShmPublisher("r", root=tmp_path)
    for version in range(8):
        store.put(publisher.publish(version, version, [("w", torch.zeros(1))], torch.float32))
    assert oldest_needed(6, 2) == 4
    assert oldest_needed(6, 2, [None, 3, 5]) == 3
    assert oldest_needed(1, 8, [1]) == 0
    assert [m.version for m in needed_manifests(store, 6, 4)] == [4, 5, 6, 7]
    assert store.prune(published=6, oldest=3, named=[1]) == [0, 2]
    assert store.prune(published=6, oldest=100) == [1, 3, 4, 5]
    assert store.versions() == [6, 7], "what is published, and what is newer, stays"


async def test_pruning_keeps_what_checkpoints_name_and_what_is_in_flight(tmp_path: Path) -> None:
    await played(tmp_path, 6)
    with life(tmp_path) as held:
        kept = held.run.checkpoints.named_versions()
        assert kept == set(range(7))
        assert held.run.prune() == []
        assert len(held.run.checkpoints.prune(1)) == 5
        assert held.run.checkpoints.named_versions() == {4, 5, 6}
        await held.run.groups.begin(2)
        assert held.run.prune() == [0, 1]
        held.run.groups.done(0)
        assert held.run.prune(unread=[3]) == [2]
        assert held.run.prune() == [3]
        assert held.run.manifests.versions() == [4, 5, 6]


# -- saving ------------------------------------------------------------------------------------------


async def test_a_checkpoint_says_where_the_run_stood(tmp_path: Path) -> None:
    await played(tmp_path)
    with life(tmp_path) as held:
        found = held.run.checkpoints.latest().checkpoint
        assert found is not None
        assert found.state == RunState(
            run="r", step=3, published=3, newest=3, next_group=0, sampler={"drawn": 30}, term=2, epoch=4,
            lives={"r0": 1},
        )  # fmt: skip
        assert found.manifests.versions() == [1, 2, 3]


async def test_what_cannot_be_saved_leaves_the_last_good_one_and_no_part(tmp_path: Path) -> None:
    await played(tmp_path, 1)
    with life(tmp_path) as held:
        run, before = held.run, held.run.checkpoints.paths()
        await run.groups.begin(1)
        with pytest.raises(NotAtRest):
            await run.save(held.trainer, 1, rest=0.05)
        held.sampler.drawn = object()  # pyright: ignore[reportAttributeAccessIssue]
        with pytest.raises(TypeError, match="not JSON serializable"):
            await run.save(held.trainer, 1)
        held.sampler.drawn = 0

        class Full(Trainer):
            async def save(self, path: str) -> None:
                await super().save(path)
                raise OSError("no space left")

        with pytest.raises(OSError, match="no space"):
            await run.save(Full(tmp_path, []), 1)
        shutil.rmtree(tmp_path / "manifests")
        with pytest.raises(CheckpointError, match="manifest"):
            await run.save(held.trainer, 1)
        assert run.checkpoints.paths() == before
        assert [p.name for p in run.checkpoints.folder.iterdir() if p.name.startswith(".")] == []
        assert run.checkpoints.latest().passed_over == {}


async def test_a_save_that_is_cancelled_ends_its_write_before_anything_of_it_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await played(tmp_path, 1)
    began, complete = threading.Event(), Writing.complete

    def slowly(writing: Writing) -> None:
        began.set()
        time.sleep(0.3)
        complete(writing)

    monkeypatch.setattr(Writing, "complete", slowly)
    with life(tmp_path) as held:
        held.trainer.step, checkpoints = 1, held.run.checkpoints
        saving = asyncio.ensure_future(held.run.save(held.trainer, 1))
        assert await asyncio.to_thread(began.wait, 20)
        saving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await saving
        assert [path.name for path in checkpoints.paths()] == ["checkpoint-000001", "checkpoint-000002"]
        assert checkpoints.latest().passed_over == {}


@pytest.mark.parametrize("store", ["shm", "files"])
def test_what_earlier_lives_published_is_removed_and_nothing_of_other_runs(
    store: Literal["shm", "files"], tmp_path: Path
) -> None:
    weights = WeightsConfig(store=store, folder=tmp_path / "files")
    for run in ("r", "other"):
        opened = open_store(weights, run, shm_root=tmp_path / "shm")
        for version in (3, 4):
            opened.publish(version, version, [("w", torch.zeros(1))], torch.float32)
    forget_weights(weights, "r", shm_root=tmp_path / "shm")
    left = {run: open_store(weights, run, shm_root=tmp_path / "shm").published() for run in ("r", "other")}
    assert left == {"r": [], "other": [3, 4]}


async def test_a_checkpoint_takes_along_the_manifests_of_what_is_in_flight_however_old(tmp_path: Path) -> None:
    await played(tmp_path)
    with life(tmp_path) as held:
        await held.run.groups.begin(0)
        await held.run.save(held.trainer, 0)
        found = held.run.checkpoints.verify(held.run.checkpoints.paths()[-1])
        assert found.manifests.versions() == [0, 1, 2, 3]


async def test_a_version_that_was_published_without_taking_its_number_counts_as_taken(tmp_path: Path) -> None:
    with life(tmp_path) as held:
        assert held.run.register.publish(7, held.run.register.new_term())
        assert held.run.state(0).newest == 7


# -- beginnings --------------------------------------------------------------------------------------


async def test_a_new_run_publishes_version_0_before_it_syncs_and_is_started_once(tmp_path: Path) -> None:
    with life(tmp_path) as held:
        with pytest.raises(ResumeError, match="nothing is published yet"):
            await held.run.save(held.trainer, 0)
        cohort = held.cohort()
        assert await held.run.cold_start(held.trainer, cohort) == 0
        assert held.asked == ["publish 0", "sync 0"]
        await held.run.save(held.trainer, 0)
        with pytest.raises(ResumeError, match="checkpoint-000001 is a checkpoint of this run: resume it"):
            await held.run.cold_start(held.trainer, cohort)
        assert held.asked == ["publish 0", "sync 0", "save"]


async def test_a_cold_resume_loads_before_it_publishes_a_version_above_every_number_that_was_taken(
    tmp_path: Path,
) -> None:
    await played(tmp_path)
    with life(tmp_path) as held:
        checkpoint, version = await held.run.cold_resume(held.start)
        # 4 was taken and never published.
        assert (checkpoint.state.step, version) == (3, 5)
        assert held.asked == ["start at 3", "load", "publish 5", "sync 5"]
        assert held.sampler.drawn == 30
        assert held.run.manifests.get(5).step == 3
        assert held.run.manifests.get(5).digest == held.run.manifests.get(3).digest


async def test_a_damaged_checkpoint_is_passed_over_and_where_none_is_good_nothing_is_started(tmp_path: Path) -> None:
    await played(tmp_path)
    paths = Checkpoints(tmp_path / "checkpoints").paths()
    (paths[-1] / "trainer" / "step").write_text("9")
    with life(tmp_path) as held:
        checkpoint, version = await held.run.cold_resume(held.start)
        assert (checkpoint.path, checkpoint.state.step, version) == (paths[1], 2, 5)
        # The run has gone on from an older one: it must not come back, nor its number.
        assert held.run.checkpoints.paths() == paths[:-1]
        assert (await held.run.save(held.trainer, 3)).name > paths[-1].name
    for path in Checkpoints(tmp_path / "checkpoints").paths():
        (path / "index.json").unlink()
    with life(tmp_path) as held:
        with pytest.raises(ResumeError, match=r"can be resumed from: .*index\.json is missing"):
            await held.run.cold_resume(held.start)
        assert held.asked == []


async def test_the_register_is_raised_where_it_was_lost_and_what_only_the_manifests_know_counts(
    tmp_path: Path,
) -> None:
    await played(tmp_path)
    with life(tmp_path) as held:
        await held.trainer.publish(9)
    lose_register(tmp_path)
    with life(tmp_path) as held:
        _, version = await held.run.cold_resume(held.start)
        assert version == 10, "a manifest that no checkpoint knows was there"
        assert held.run.register.term == 2 + LEAP + 1
        assert held.run.register.epoch == 4 + LEAP + 1
        assert [each.incarnation for each in held.run.roster.lives()] == [f"r0.{1 + LEAP + 1}"]


async def test_where_only_the_checkpoint_survives_versions_leap_and_a_second_resume_goes_on(tmp_path: Path) -> None:
    await played(tmp_path)
    lose_register(tmp_path)
    shutil.rmtree(tmp_path / "manifests")
    with life(tmp_path) as held:
        _, version = await held.run.cold_resume(held.start)
        assert version == 3 + LEAP + 1
        assert held.run.manifests.versions() == [1, 2, 3, version]
    with life(tmp_path) as held:
        _, again = await held.run.cold_resume(held.start)
        assert (again, held.run.register.term) == (version + 1, 2 + LEAP + 2)


async def test_a_checkpoint_of_another_run_and_manifests_that_differ_are_refused(tmp_path: Path) -> None:
    await played(tmp_path)
    with life(tmp_path, "other") as held:
        with pytest.raises(ResumeError, match="is of run 'r', this is 'other'"):
            await held.run.cold_resume(held.start)
        assert held.asked == []
    with life(tmp_path) as held:
        store = held.run.manifests
        changed = replace(store.get(2), step=7)
        store.prune(published=3, oldest=3)
        store.put(changed)
        with pytest.raises(ResumeError, match="cannot be put back: version 2 is already used"):
            await held.run.cold_resume(held.start)
        assert held.asked == []


async def test_weights_that_are_not_the_restored_ones_are_never_synced(tmp_path: Path) -> None:
    await played(tmp_path)

    class Forgets(Trainer):
        async def load(self, path: str) -> None:
            self._asked.append("load")

    with life(tmp_path) as held:
        held.trainer = Forgets(tmp_path, held.asked)
        with pytest.raises(ResumeError, match=r"version 5 is of step 0, .* of step 3"):
            await held.run.cold_resume(held.start)
        assert held.asked == ["start at 3", "load", "publish 5"]
        assert held.run.register.published == 3


async def test_a_new_trainer_goes_on_from_the_checkpoint_beside_the_same_replicas(tmp_path: Path) -> None:
    await played(tmp_path)
    with life(tmp_path) as held:
        cohort = held.cohort()
        assert [await held.run.groups.begin(3) for _ in range(2)] == [0, 1]
        held.run.groups.done(0)
        checkpoint, version = await held.run.resume_trainer(held.trainer, cohort)
        assert (checkpoint.state.step, version) == (3, 5)
        assert held.asked == ["load", "publish 5", "sync 5"]
        assert held.run.groups.in_flight == (0, 1), "what runs on the replicas goes on, and 0 is in the weights no more"
        assert [each.incarnation for each in held.run.roster.lives()] == ["r0.1"]


async def test_what_a_killed_trainer_had_trained_on_is_begun_again_also_where_the_new_one_cannot_load(
    tmp_path: Path,
) -> None:
    await played(tmp_path)

    class Fails(Trainer):
        async def load(self, path: str) -> None:
            raise OSError("no room for what is loaded")

    with life(tmp_path) as held:
        assert await held.run.groups.begin(3) == 0
        held.run.groups.done(0)
        with pytest.raises(OSError, match="no room"):
            await held.run.resume_trainer(Fails(tmp_path, held.asked), held.cohort())
        assert held.run.groups.in_flight == (0,)
