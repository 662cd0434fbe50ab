"""Versions as safetensors files: durable, whole or not there, and read by other tools as well as by us."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from sluicegate.runtime.models import make_tiny_qwen3
from sluicegate.runtime.weights import WeightsError, canonical_tensors, digest_of, stage_from
from sluicegate.runtime.weights.files import HEADER_BYTES, INDEX, PLACES, FilesReader, FilesStore

TENSORS = {
    "w": torch.arange(60.0).reshape(6, 10),
    "count": torch.arange(5),
    "scalar": torch.tensor(2.5),
    "none": torch.empty(0, 3),
    "mask": torch.tensor([True, False, True]),
    "big": torch.arange(300.0),
    "last": torch.ones(2),
}


def cast(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: t.bfloat16() if t.is_floating_point() else t for name, t in tensors.items()}




def test_files_are_what_safetensors_reads_and_buckets_what_was_published(tmp_path: Path) -> None:
    store = FilesStore(tmp_path, "run", bucket_bytes=64, shard_bytes=200)
    manifest = store.publish(3, 7, TENSORS.items(), torch.bfloat16, frozen={"last"})
    folder, wanted = tmp_path / "run" / "v3", cast(TENSORS)
    index = json.loads((folder / INDEX).read_text())
    files = sorted(set(index["weight_map"].values()))
    assert len(files) >= 5, "one dtype each, and floating ones in more than one"
    loaded: dict[str, torch.Tensor] = {}
    for name in files:
        part = load_file(folder / name)
        assert len({tensor.dtype for tensor in part.values()}) == 1
        with safe_open(folder / name, framework="pt") as opened:
            assert opened.metadata() == {"format": "pt"}
        loaded |= part
        assert all(index["weight_map"][tensor] == name for tensor in part)
    assert digest_of(loaded) == digest_of(wanted) == manifest.digest
    assert index["metadata"]["total_size"] == manifest.nbytes
    assert max(bucket.length for bucket in manifest.buckets) <= 64
    resident = {name: torch.zeros_like(tensor) for name, tensor in wanted.items()}
    for source in (store, FilesReader(tmp_path, "run")):
        assert source.has(3)
        assert digest_of(stage_from(manifest, source, resident)) == manifest.digest
    whole = [(number, bytes(content)) for number, content in store.buckets(manifest)]
    assert [(number, bytes(content)) for number, content in store.buckets(manifest, 4)] == whole[4:]


def test_a_version_is_a_model_folder(tmp_path: Path) -> None:
    model, begun = make_tiny_qwen3(11, hidden=16, heads=2, kv_heads=1, seed=3), tmp_path / "begun"
    model.save_pretrained(begun)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1.0)
    store = FilesStore(tmp_path, "run", shard_bytes=4096, model=begun)
    store.publish(1, 0, canonical_tensors(model).items(), torch.float32)
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "run" / "v1", dtype=torch.float32)
    assert digest_of(canonical_tensors(loaded)) == digest_of(canonical_tensors(model))
    assert len(list((tmp_path / "run" / "v1").glob("*.safetensors"))) > 1


def test_names_that_fill_a_header_begin_another_file(tmp_path: Path) -> None:
    store = FilesStore(tmp_path, "run")
    tensors = {f"{'long' * 5_000}.{number}": torch.full((2,), float(number)) for number in range(12)}
    tensors["x" * HEADER_BYTES] = torch.ones(1)
    manifest = store.publish(1, 0, tensors.items(), torch.float32)
    files = sorted((tmp_path / "run" / "v1").glob("*.safetensors"))
    assert len(files) > 2
    loaded = {name: tensor for file in files for name, tensor in load_file(file).items()}
    assert digest_of(loaded) == manifest.digest


def test_a_file_that_is_missing_cut_or_altered_is_refused(tmp_path: Path) -> None:
    store = FilesStore(tmp_path, "run", bucket_bytes=64, shard_bytes=200)
    manifest = store.publish(3, 7, TENSORS.items(), torch.bfloat16)
    resident = {name: torch.zeros_like(tensor) for name, tensor in cast(TENSORS).items()}
    folder = tmp_path / "run" / "v3"
    places = json.loads((folder / PLACES).read_text())
    path, at = folder / places[3][0], places[3][1]
    good, reader = path.read_bytes(), FilesReader(tmp_path, "run")

    def refused(complaint: str) -> None:
        with pytest.raises(WeightsError, match=complaint):
            stage_from(manifest, reader, resident)

    path.write_bytes(good[: at + 5])
    refused("bucket 3 of version 3 was cut: .* ends after 5 of its")
    path.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
    refused("bucket 3 of version 3 is corrupt")
    path.unlink()
    refused("bucket . of version 3 is missing: .* does not exist")
    path.write_bytes(good)
    for content, complaint in (
        (json.dumps(places[:-1]), "of another publication"),
        (json.dumps([["../x", 0]] * len(places)), "no file beside it"),
        ("{", "does not say where buckets lie"),
    ):
        (folder / PLACES).write_text(content)
        refused(complaint)
    (folder / PLACES).unlink()
    refused("version 3 is missing")
    (folder / PLACES).write_text(json.dumps(places))
    assert digest_of(stage_from(manifest, reader, resident)) == manifest.digest


def test_a_version_is_published_once_and_a_failed_publication_leaves_nothing(tmp_path: Path) -> None:
    store = FilesStore(tmp_path, "run")
    store.publish(1, 0, [("a", torch.ones(3))], torch.float32)
    with pytest.raises(FileExistsError, match="version 1"):
        store.publish(1, 0, [("a", torch.ones(3))], torch.float32)

    def dies() -> Iterator[tuple[str, torch.Tensor]]:
        yield "a", torch.ones(3)
        raise ConnectionError("a trainer rank went away")

    with pytest.raises(ConnectionError):
        store.publish(2, 0, dies(), torch.float32)
    with pytest.raises(ValueError, match="'z' is complex128, which safetensors files do not have"):
        store.publish(2, 0, [("z", torch.ones(2, dtype=torch.complex128))], torch.float32)
    assert [path.name for path in store.folder.iterdir()] == ["v1"]
    assert (store.published(), store.has(1), store.has(2)) == ([1], True, False)
    store.close()
    assert FilesStore(tmp_path, "run").published() == [1], "files outlive their store"
    store.discard(1)
    store.discard(1)
    assert list(store.folder.iterdir()) == []
    for run in ("../x", ""):
        with pytest.raises(ValueError, match="run id"):
            FilesStore(tmp_path, run)


def test_a_version_of_which_a_part_cannot_be_removed_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FilesStore(tmp_path, "run")
    store.publish(1, 0, [("a", torch.ones(3))], torch.float32)

    def refuses(path: str, **more: Any) -> None:
        raise OSError(5, "Input/output error", path)

    with monkeypatch.context() as disk:
        disk.setattr(os, "rmdir", refuses)
        store.discard(1)
    assert (store.has(1), store.published()) == (False, [])
    assert list(FilesStore(tmp_path, "run").folder.iterdir()) == []


def test_every_file_is_on_the_disk_before_the_version_appears_and_the_name_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FilesStore(tmp_path, "run", shard_bytes=256)
    synced: dict[bool, list[str]] = {False: [], True: []}
    fsync = os.fsync

    def notes(handle: int) -> None:
        synced[store.has(1)].append(os.readlink(f"/proc/self/fd/{handle}"))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", notes)
    store.publish(1, 0, cast(TENSORS).items(), torch.bfloat16)
    written = [path.name for path in (store.folder / "v1").glob("model-*.safetensors")]
    assert len(written) > 2
    partial = store.folder / "v1.partial"
    assert {str(partial), *(str(partial / name) for name in written)} <= set(synced[False])
    assert synced[True] == [str(store.folder)]


def test_what_was_published_outlives_a_killed_trainer_and_what_was_not_complete_is_cleared(tmp_path: Path) -> None:
    program = (
        "import sys, torch, pathlib\n"
        "from sluicegate.runtime.weights.files import FilesStore\n"
        "store = FilesStore(pathlib.Path(sys.argv[1]), 'run', bucket_bytes=64)\n"
        "manifest = store.publish(1, 0, [('a', torch.arange(100.0))], torch.float32)\n"
        "def stuck():\n"
        "    yield 'a', torch.arange(100.0)\n"
        "    print(manifest.digest, flush=True)\n"
        "    sys.stdin.read()\n"
        "store.publish(2, 0, stuck(), torch.float32)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None
        digest = child.stdout.readline().strip()
        child.send_signal(signal.SIGKILL)
        assert child.wait(timeout=30) == -signal.SIGKILL
    finally:
        child.kill()
        child.communicate()
    reader = FilesReader(tmp_path, "run")
    assert (reader.has(1), reader.has(2)) == (True, False)
    assert (tmp_path / "run" / "v2.partial").exists()
    heir = FilesStore(tmp_path, "run")
    assert [path.name for path in heir.folder.iterdir()] == ["v1"]
    manifest = heir.publish(2, 0, [("a", torch.arange(100.0))], torch.float32)
    assert manifest.digest == digest
