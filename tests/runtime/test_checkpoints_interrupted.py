"""A run that ends in the middle of its beginning begins again, and never under a number that was used before."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from checkpoints_kit import life, lose_register, played

from sluicegate.protocol.sqlite import SqliteStore
from sluicegate.runtime.checkpoints import ResumeError
from sluicegate.runtime.checkpoints.run import LEAP
from sluicegate.runtime.training.checkpoint import CheckpointError
from sluicegate.runtime.weights import ManifestStore

WRITES = (
    (SqliteStore, "raise_to"), (SqliteStore, "raise_all"), (SqliteStore, "advance"), (SqliteStore, "write"),
    (ManifestStore, "put"),
)  # fmt: skip
"""All that a beginning makes durable."""


class Ended(BaseException):
    """The process has ended here."""


@contextmanager
def ending_after(writes: int) -> Iterator[None]:
    """Whoever writes inside ends right after so many writes."""
    left = writes

    def ends(write: Callable[..., Any]) -> Callable[..., Any]:
        def wrote(*given: Any, **more: Any) -> Any:
            nonlocal left
            made = write(*given, **more)
            left -= 1
            if left == 0:
                raise Ended
            return made

        return wrote

    with pytest.MonkeyPatch.context() as patch:
        for kind, name in WRITES:
            patch.setattr(kind, name, ends(getattr(kind, name)))
        yield


def lose_all(folder: Path) -> None:
    lose_register(folder)
    shutil.rmtree(folder / "manifests")


def lose_nothing(folder: Path) -> None:
    pass


async def lost(folder: Path, lose: Callable[[Path], None]) -> None:
    """A run of which checkpoints and what `lose` leaves are there; its last checkpoint is two versions old."""
    await played(folder)
    shutil.rmtree(folder / "checkpoints" / "checkpoint-000003")
    shutil.rmtree(folder / "checkpoints" / "checkpoint-000002")
    lose(folder)


def older_register(folder: Path) -> None:
    """The register as it was at the checkpoint, but for the last term."""
    lose_all(folder)
    with life(folder) as held:
        held.run.register.restore(term=1, epoch=2, newest=1)


@pytest.mark.parametrize("lose", [lose_all, lose_register, older_register, lose_nothing])
async def test_a_cold_resume_that_ends_after_any_write_is_done_again_under_numbers_that_were_never_used(
    tmp_path: Path, lose: Callable[[Path], None]
) -> None:
    await lost(tmp_path / "lost", lose)
    writes = 0
    while True:
        writes += 1
        folder = shutil.copytree(tmp_path / "lost", tmp_path / f"{writes}")
        ended = False
        with life(folder) as held:
            try:
                with ending_after(writes):
                    await held.run.cold_resume(held.start)
            except Ended:
                ended = True
            used = {0, 1, 2, 3, *held.run.manifests.versions()}
        with life(folder) as held:
            _, version = await held.run.cold_resume(held.start)
            assert version > max(used), f"ended after write {writes}"
            assert held.run.manifests.get(version).step == 1
            if lose is not lose_nothing:
                assert held.run.register.term > LEAP, f"ended after write {writes}"
                assert held.run.register.epoch > LEAP
                assert held.run.roster.counts()["r0"] > LEAP
        if not ended:
            break
    assert writes > 6


async def test_a_run_that_ended_before_its_first_checkpoint_begins_anew_under_a_new_number(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with life(tmp_path) as held:
        assert await held.run.cold_start(held.trainer, held.cohort()) == 0
        held.trainer.step = 1
        await held.trainer.publish(held.run.register.next_version())
    with life(tmp_path) as held:
        assert await held.run.cold_start(held.trainer, held.cohort()) == 2
        assert held.asked == ["publish 2", "sync 2"]
        assert held.run.manifests.get(2).step == 0
        assert "no checkpoint was saved" in caplog.text


async def test_a_first_start_that_ends_after_any_write_is_done_again(tmp_path: Path) -> None:
    for writes in range(1, 30):
        folder = tmp_path / f"{writes}"
        ended = False
        with life(folder) as held:
            try:
                with ending_after(writes):
                    await held.run.cold_start(held.trainer, held.cohort())
            except Ended:
                ended = True
            before = held.run.manifests.versions()
        with life(folder) as held:
            version = await held.run.cold_start(held.trainer, held.cohort())
            assert version > max(before, default=-1)
            assert held.run.register.published == version
        if not ended:
            return
    raise AssertionError("it never came to its end")


async def test_a_run_that_has_neither_checkpoint_nor_register_is_not_begun_over_its_manifests(tmp_path: Path) -> None:
    with life(tmp_path) as held:
        await held.run.cold_start(held.trainer, held.cohort())
    lose_register(tmp_path)
    with life(tmp_path) as held:
        with pytest.raises(ResumeError, match="a manifest of version 0, of which the register knows nothing"):
            await held.run.cold_start(held.trainer, held.cohort())
        assert held.asked == []


async def test_where_checkpoints_cannot_be_told_no_run_begins_anew(tmp_path: Path) -> None:
    with life(tmp_path) as held:
        (tmp_path / "checkpoints").touch()
        with pytest.raises(CheckpointError, match="its checkpoints cannot be told"):
            await held.run.cold_start(held.trainer, held.cohort())
        assert held.asked == []


async def test_manifests_that_are_older_than_the_checkpoint_do_not_tell_what_was_taken_after_it(
    tmp_path: Path,
) -> None:
    await played(tmp_path)
    lose_register(tmp_path)
    (tmp_path / "manifests" / "v000003.json").unlink()
    with life(tmp_path) as held:
        _, version = await held.run.cold_resume(held.start)
        assert version == 3 + LEAP + 1


async def test_the_last_manifest_of_the_checkpoint_is_enough_to_tell(tmp_path: Path) -> None:
    await played(tmp_path)
    lose_register(tmp_path)
    with life(tmp_path) as held:
        _, version = await held.run.cold_resume(held.start)
        assert version == 4


async def test_a_register_whose_terms_are_older_than_the_checkpoint_is_raised_too(tmp_path: Path) -> None:
    await played(tmp_path)
    lose_register(tmp_path)
    with life(tmp_path) as held:
        held.run.register.restore(term=1, epoch=4, newest=3)
    with life(tmp_path) as held:
        await held.run.cold_resume(held.start)
        assert held.run.register.term == 2 + LEAP + 1


async def test_manifests_that_cannot_be_put_back_refuse_the_resume_before_anything_starts(tmp_path: Path) -> None:
    await played(tmp_path)
    (tmp_path / "manifests" / "v000002.json").unlink()
    (tmp_path / "manifests" / "v000002.json").mkdir()
    with life(tmp_path) as held:
        with pytest.raises(ResumeError, match=r"cannot be put back: .*v000002\.json cannot be read"):
            await held.run.cold_resume(held.start)
        assert held.asked == []
