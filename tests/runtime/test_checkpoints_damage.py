"""Checkpoints that lie there damaged, or beside what is none: passed over with the reason, whatever it is."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from sluicegate.runtime.checkpoints import Checkpoints, RunState, folder, index
from sluicegate.runtime.checkpoints.state import read_state, write_state
from sluicegate.runtime.training import checkpoint
from sluicegate.runtime.training.checkpoint import CheckpointError, complete, partial_of, prepare
from sluicegate.runtime.weights import Manifest, ManifestError, ManifestStore, ShmPublisher
from sluicegate.runtime.weights.digest import new_digest

STATE = RunState(run="r", step=4, published=3, newest=4)
DEEP = b"[" * 100_000


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    publisher = ShmPublisher("r", root=tmp_path_factory.mktemp("shm"))
    return publisher.publish(3, 4, [("w", torch.arange(4.0))], torch.float32)


def save(checkpoints: Checkpoints, *manifests: Manifest) -> Path:
    with checkpoints.begin() as writing:
        writing.put(STATE, manifests)
        prepare(writing.trainer)
        (partial_of(writing.trainer) / "weights").write_bytes(b"w" * 1000)
        complete(writing.trainer, {"step": STATE.step})
        writing.complete()
    return writing.path


def names_too_long(path: Path) -> None:
    body = json.loads((path / "index.json").read_text())
    body["files"]["n" * 300] = "0"
    (path / "index.json").write_text(json.dumps(body))


def manifest_is_a_folder(path: Path) -> None:
    (path / "manifests" / "v000009.json").mkdir()


def manifest_is_deep(path: Path) -> None:
    (path / "manifests" / "v000009.json").write_bytes(DEEP)


def manifest_of_another(path: Path) -> None:
    (path / "manifests" / "v000009.json").write_bytes((path / "manifests" / "v000003.json").read_bytes())


def index_is_deep(path: Path) -> None:
    (path / "index.json").write_bytes(DEEP)


def index_names_what_lies_outside(path: Path) -> None:
    (path.parent / "outside").write_bytes(b"w")
    body = json.loads((path / "index.json").read_text())
    body["files"]["../outside"] = new_digest(b"w").hexdigest()
    (path / "index.json").write_text(json.dumps(body))


def state_is_deep(path: Path) -> None:
    (path / "run.json").write_bytes(DEEP)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (names_too_long, "File name too long"), (manifest_is_a_folder, "v000009.json cannot be read"),
        (manifest_is_deep, "v000009.json is cut or not JSON"), (index_is_deep, "index.json is cut or no index"),
        (manifest_of_another, "is the manifest of version 3"), (state_is_deep, "run.json was cut or altered"),
        (index_names_what_lies_outside, "names '../outside', which lies outside"),
    ],
)  # fmt: skip
def test_whatever_is_wrong_with_one_the_older_one_is_found(
    damage: Callable[[Path], None], said: str, tmp_path: Path, manifest: Manifest
) -> None:
    checkpoints = Checkpoints(tmp_path)
    good, bad = save(checkpoints, manifest), save(checkpoints, manifest)
    damage(bad)
    found = checkpoints.latest()
    assert found.checkpoint is not None
    assert found.checkpoint.path == good
    assert said in found.passed_over[bad.name]


def test_what_may_not_be_read_is_passed_over(
    tmp_path: Path, manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints = Checkpoints(tmp_path)
    good, bad = save(checkpoints, manifest), save(checkpoints, manifest)
    stat = os.stat

    # Whoever runs as root may read everything.
    def refuses(path: Any, **more: Any) -> os.stat_result:
        if str(path).startswith(str(bad / "trainer")):
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, **more)

    monkeypatch.setattr(os, "stat", refuses)
    found = checkpoints.latest()
    assert found.checkpoint is not None
    assert found.checkpoint.path == good
    assert "Permission denied" in found.passed_over[bad.name]


@pytest.mark.parametrize("name", ["v\u00b2.json", "v\u0663.json", "v9.json", "v0000009.json", "vx.json", "v.json"])
def test_files_whose_names_are_those_of_no_manifest_are_none(name: str, tmp_path: Path, manifest: Manifest) -> None:
    checkpoints = Checkpoints(tmp_path)
    path = save(checkpoints, manifest)
    (path / "manifests" / name).touch()
    (tmp_path / "checkpoint-\u00b2").mkdir()
    (tmp_path / "checkpoint-\u0663").mkdir()
    assert ManifestStore(path / "manifests").versions() == [3]
    assert checkpoints.paths() == [path]
    found = checkpoints.latest()
    assert found.checkpoint is not None
    assert found.passed_over == {}


def test_a_folder_whose_checkpoints_cannot_be_told_is_not_one_without(tmp_path: Path) -> None:
    (tmp_path / "kept").touch()
    with pytest.raises(CheckpointError, match="its checkpoints cannot be told"):
        Checkpoints(tmp_path / "kept").latest()


def test_one_that_lacks_the_manifest_of_what_it_says_is_published_is_passed_over(
    tmp_path: Path, manifest: Manifest
) -> None:
    checkpoints = Checkpoints(tmp_path)
    bad = save(checkpoints)
    assert "version 3 has no manifest" in checkpoints.latest().passed_over[bad.name]


def test_one_whose_appearance_could_not_be_synced_is_not_there(
    tmp_path: Path, manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints = Checkpoints(tmp_path)
    good = save(checkpoints, manifest)

    def refuses(path: Path) -> None:
        raise OSError(5, "Input/output error", str(path))

    monkeypatch.setattr(folder, "sync", refuses)
    with pytest.raises(CheckpointError, match="Input/output error"):
        save(checkpoints, manifest)
    assert checkpoints.paths() == [good]
    assert not any(path.name.startswith(".") for path in tmp_path.iterdir())


def test_a_trainers_part_is_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, synced = tmp_path / "kept", list[tuple[str, bool]]()
    prepare(kept)
    partial = partial_of(kept)
    (partial / "state").mkdir()
    (partial / "state" / "weights").write_bytes(b"w")
    fsync = os.fsync

    def notes(handle: int) -> None:
        synced.append((os.readlink(f"/proc/self/fd/{handle}"), kept.exists()))
        fsync(handle)

    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", notes)
        complete(kept, {"step": 4})
    assert {(str(partial / name), False) for name in ("", "state", "state/weights")} <= set(synced)
    assert synced[-1] == (str(tmp_path), True)

    def refuses(path: Path) -> None:
        if path == tmp_path:
            raise OSError(5, "Input/output error", str(path))

    prepare(tmp_path / "next")
    monkeypatch.setattr(checkpoint, "sync", refuses)
    with pytest.raises(OSError, match="Input/output error"):
        complete(tmp_path / "next", {"step": 5})
    assert not (tmp_path / "next").exists(), "what is not known to stay is not there"


def test_one_of_which_a_part_cannot_be_removed_is_not_there(
    tmp_path: Path, manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints = Checkpoints(tmp_path)
    old, new = save(checkpoints, manifest), save(checkpoints, manifest)

    def refuses(path: Any, **more: Any) -> None:
        raise OSError(5, "Input/output error", str(path))

    with monkeypatch.context() as disk:
        disk.setattr(os, "rmdir", refuses)
        with pytest.raises(CheckpointError, match="Input/output error"):
            checkpoints.prune(1)
    assert old not in checkpoints.paths()
    assert checkpoints.paths() == [new]
    last = save(checkpoints, manifest)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    assert checkpoints.paths() == [new, last]


def test_every_file_is_on_the_disk_before_the_index_is_and_every_folder_before_it_appears(
    tmp_path: Path, manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    fsync = os.fsync

    def notes(handle: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{handle}"))
        fsync(handle)

    checkpoints = Checkpoints(tmp_path)
    with checkpoints.begin() as writing:
        writing.put(STATE, [manifest])
        prepare(writing.trainer)
        (partial_of(writing.trainer) / "weights").write_bytes(b"w")
        complete(writing.trainer, {"step": STATE.step})
        monkeypatch.setattr(os, "fsync", notes)
        writing.complete()
    partial = str(tmp_path / f".{writing.path.name}.partial")
    at = next(number for number, path in enumerate(synced) if path.startswith(f"{partial}/.index.json"))
    files = {"run.json", "manifests/v000003.json", "trainer/weights", "trainer/checkpoint.json"}
    assert {f"{partial}/{name}" for name in files} <= set(synced[:at])
    folders = {partial, f"{partial}/manifests", f"{partial}/trainer", str(tmp_path)}
    assert folders <= set(synced[at:])
    assert index.verify(writing.path) is None


@pytest.mark.parametrize("format", [True, False, 1.0, "1"])
def test_a_format_that_is_no_whole_number_is_none(format: object, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    write_state(path, replace(STATE))
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": format}))
    with pytest.raises(CheckpointError, match="no format number"):
        read_state(path)


@pytest.mark.parametrize("text", [DEEP, b'{"a":' * 100_000, b"\xff", b"[]", b'{"format": 2, "check": 3}'])
def test_what_is_no_manifest_is_a_manifest_error(text: bytes) -> None:
    with pytest.raises(ManifestError, match="here"):
        Manifest.from_json(text, "here")
