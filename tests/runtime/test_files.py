"""Small files that are written durably: the old content or the new, and nothing beside it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from sluicegate.runtime.files import write_durably


@pytest.fixture
def folders_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are synced, folders are not."""
    fsync = os.fsync

    def refuses(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(5, "Input/output error")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", refuses)


@pytest.mark.usefixtures("folders_refuse")
def test_a_new_file_whose_folder_could_not_be_synced_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="Input/output"):
        write_durably(tmp_path / "new", b"content")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("folders_refuse")
def test_a_replaced_file_whose_folder_could_not_be_synced_has_the_new_content(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"before")
    with pytest.raises(OSError, match="Input/output"):
        write_durably(tmp_path / "old", b"content")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("old", b"content")]


def test_the_content_is_on_the_disk_before_it_has_the_name_and_the_name_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "old").write_bytes(b"before")
    synced: list[tuple[bool, bytes]] = []
    fsync = os.fsync

    def notes(handle: int) -> None:
        synced.append((stat.S_ISDIR(os.fstat(handle).st_mode), (tmp_path / "old").read_bytes()))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", notes)
    write_durably(tmp_path / "old", b"content")
    assert synced == [(False, b"before"), (True, b"content")]


def test_what_cannot_be_written_leaves_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "old").write_bytes(b"before")

    def refuses(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuses)
    with pytest.raises(OSError, match="No space"):
        write_durably(tmp_path / "old", b"content")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("old", b"before")]
