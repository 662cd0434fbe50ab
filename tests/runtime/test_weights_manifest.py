"""Digests and manifests."""

import hashlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from sluicegate.runtime.config import ConfigError
from sluicegate.runtime.models import make_tiny_qwen3
from sluicegate.runtime.weights import (
    Manifest,
    ManifestError,
    ManifestStore,
    ShmPublisher,
    WeightsConfig,
    canonical_tensors,
    digest_of,
    tally,
)
from sluicegate.runtime.weights.digest import dtype_name
from sluicegate.runtime.weights.layout import Layout, Split, shard
from sluicegate.runtime.weights.manifest import itemsize


def publish(root: Path, version: int = 1) -> Manifest:
    tensors = {"b": torch.arange(10.0), "a": torch.ones(3, 2), "n": torch.arange(4)}
    return ShmPublisher("run", root=root, bucket_bytes=16).publish(version, 7, tensors.items(), torch.float32)


def test_the_digest_does_not_depend_on_order_or_layout_but_on_name_dtype_shape_and_bytes() -> None:
    a, b = torch.randn(4, 6), torch.randn(3)
    digest = digest_of({"a": a, "b": b})
    assert digest == digest_of({"b": b, "a": a})
    assert digest == digest_of({"a": a.t().contiguous().t(), "b": b})
    others = [
        {"c": a, "b": b},
        {"a": a.view(torch.int32), "b": b},
        {"a": a.reshape(6, 4), "b": b},
        {"a": a},
        {"a": a, "b": b.flip(0)},
    ]
    assert len({digest, *(digest_of(other) for other in others)}) == 6


def test_one_flipped_bit_of_a_parameter_changes_the_digest() -> None:
    model = make_tiny_qwen3(8, hidden=16, heads=2, kv_heads=1)
    tensors = canonical_tensors(model)
    digest = digest_of(tensors)
    last = list(tensors.values())[-1].detach().view(-1).view(torch.uint8)
    last[-1] ^= 1
    assert digest_of(tensors) != digest
    last[-1] ^= 1
    assert digest_of(tensors) == digest


def test_tied_weights_count_once() -> None:
    names = list(canonical_tensors(make_tiny_qwen3(8, hidden=16, heads=2, kv_heads=1)))
    assert "model.embed_tokens.weight" in names
    assert "lm_head.weight" not in names


def test_a_manifest_survives_a_round_trip_through_its_store(tmp_path: Path) -> None:
    manifest = publish(tmp_path)
    store = ManifestStore(tmp_path / "manifests")
    assert store.versions() == []
    store.put(manifest)
    store.put(manifest)
    assert store.get(1) == manifest
    assert store.get(1).digest == manifest.digest
    assert store.versions() == [1]
    assert [path.name for path in store.folder.iterdir()] == ["v000001.json"]
    with pytest.raises(FileNotFoundError, match="version 2"):
        store.get(2)


def test_a_version_number_is_used_once(tmp_path: Path) -> None:
    manifest = publish(tmp_path)
    store = ManifestStore(tmp_path / "manifests")
    store.put(manifest)
    with pytest.raises(ManifestError, match="already used"):
        store.put(replace(manifest, step=8))
    assert store.get(1).step == 7


def test_a_manifest_that_was_cut_or_altered_is_refused(tmp_path: Path) -> None:
    text = publish(tmp_path).to_json()
    with pytest.raises(ManifestError, match="cut or not JSON"):
        Manifest.from_json(text[: len(text) // 2])
    with pytest.raises(ManifestError, match="altered"):
        Manifest.from_json(text.replace(b'"step": 7', b'"step": 8'))
    with pytest.raises(ManifestError, match="format"):
        Manifest.from_json(json.dumps({"format": 99}))


def test_a_manifest_of_before_frozen_tensors_and_layouts_is_read_and_means_none(tmp_path: Path) -> None:
    manifest = publish(tmp_path)
    body = json.loads(manifest.to_json())
    del body["layouts"], body["check"]
    for tensor in body["tensors"]:
        del tensor["frozen"]
    content = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
    check = hashlib.sha256(content).hexdigest()
    assert Manifest.from_json(json.dumps({**body, "check": check})) == manifest
    assert manifest.layouts == {}
    assert not any(tensor.frozen for tensor in manifest.tensors)


def test_ranks_of_a_layout_hold_its_digests_and_any_others_the_whole(tmp_path: Path) -> None:
    tensors = {"w": torch.randn(4, 6), "norm": torch.randn(6)}
    layout = Layout("two", ("0", "1"), (Split("w", dim=1),))
    publisher = ShmPublisher("run", root=tmp_path)
    manifest = publisher.publish(1, 0, tensors.items(), torch.bfloat16, frozen={"norm"}, layouts=[layout])
    cast = {name: tensor.bfloat16() for name, tensor in tensors.items()}
    shards = {rank: {n: shard(n, t, layout, rank) for n, t in cast.items()} for rank in ("0", "1")}
    assert manifest.rank_digests(["1", "0"]) == {rank: digest_of(held) for rank, held in shards.items()}
    assert manifest.rank_digests(["0"]) == {"0": manifest.digest}
    assert manifest.digest == digest_of(cast) == tally(tensors.items(), torch.bfloat16)
    assert [tensor.name for tensor in manifest.tensors if tensor.frozen] == ["norm"]
    assert Manifest.from_json(manifest.to_json()) == manifest
    with pytest.raises(ManifestError, match=r"layouts \['other', 'two'\] have no ranks, or the same"):
        replace(manifest, layouts={**manifest.layouts, "other": manifest.layouts["two"]})


def test_a_store_and_a_road_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="folder is missing"):
        WeightsConfig(store="files")
    with pytest.raises(ConfigError, match="within_ms is 0"):
        WeightsConfig(within_ms=0)
    assert WeightsConfig(store="files", folder=tmp_path, road="stream").within == 60.0


def test_a_manifest_whose_buckets_do_not_cover_its_tensors_exactly_is_refused(tmp_path: Path) -> None:
    manifest = publish(tmp_path)
    buckets = manifest.buckets
    with pytest.raises(ManifestError, match=r"overlap|gap"):
        replace(manifest, buckets=(*buckets, buckets[1]))
    with pytest.raises(ManifestError, match=r"gap|has \d+ of \d+ bytes"):
        replace(manifest, buckets=buckets[:-1])
    with pytest.raises(ManifestError, match="repeats the tensors"):
        replace(manifest, tensors=(*manifest.tensors, manifest.tensors[0]))
    with pytest.raises(ManifestError, match="not as long as its pieces"):
        replace(manifest, buckets=(replace(buckets[0], length=buckets[0].length + 1), *buckets[1:]))


def test_the_size_of_an_element_is_torchs() -> None:
    dtypes = {d for d in vars(torch).values() if isinstance(d, torch.dtype)}
    published = {d for d in dtypes if d.is_floating_point or d.is_complex or d.itemsize in (1, 2, 4, 8)}
    sizes = {}
    for dtype in published:
        try:
            sizes[dtype] = itemsize(dtype_name(dtype))
        except ManifestError:
            continue
    assert sizes == {dtype: dtype.itemsize for dtype in sizes}
    held = {torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.float8_e4m3fn, torch.int64, torch.bool}
    assert held <= sizes.keys()


def test_a_controller_the_gate_library_and_the_server_before_upstreams_need_nothing_of_training() -> None:
    names = ("controller.process", "gate", "relay.process", "relay.client")
    modules = ", ".join(f"sluicegate.runtime.{name}" for name in names)
    absent = "import sys; sys.modules |= dict.fromkeys(('torch', 'numpy', 'transformers', 'safetensors', 'yaml'))"
    said = subprocess.run(
        [sys.executable, "-c", f"{absent}; import {modules}; print('whole')"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert said.stdout.strip() == "whole", said.stderr
