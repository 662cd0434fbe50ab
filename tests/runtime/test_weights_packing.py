"""Properties of packing: whatever is published, buckets are bounded, cover all, and give it back bit by bit."""

import hashlib
import math
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sluicegate.runtime.weights import (
    Manifest,
    ManifestError,
    ShmPublisher,
    WeightsError,
    digest_of,
    stage_from,
    tally,
)
from sluicegate.runtime.weights.files import FilesStore

DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.int64, torch.int32, torch.uint8, torch.bool)
shapes = st.lists(st.integers(0, 5), max_size=3).map(tuple)
named = st.dictionaries(st.text(min_size=1, max_size=6), st.tuples(st.sampled_from(DTYPES), shapes), max_size=6)
quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def made(kinds: dict[str, tuple[torch.dtype, tuple[int, ...]]]) -> dict[str, torch.Tensor]:
    draw = torch.Generator().manual_seed(len(kinds))
    return {name: torch.randint(0, 9, shape, generator=draw).to(dtype) for name, (dtype, shape) in kinds.items()}


@pytest.mark.parametrize("store", ["shm", "files"])
@given(kinds=named, bucket=st.integers(1, 70), shard=st.integers(1, 200), dtype=st.sampled_from(DTYPES[:3]))
@example(kinds={"none": (torch.float32, (0, 3)), "scalar": (torch.int64, ())}, bucket=1, shard=1, dtype=DTYPES[0])
@quick
def test_what_is_packed_comes_back_whatever_the_sizes(
    tmp_path: Path, store: str, kinds: dict[str, tuple[torch.dtype, tuple[int, ...]]], bucket: int, shard: int,
    dtype: torch.dtype,
) -> None:  # fmt: skip
    tensors = made(kinds)
    wanted = {name: tensor.to(dtype) if tensor.is_floating_point() else tensor for name, tensor in tensors.items()}
    opened = (
        ShmPublisher("run", root=tmp_path, bucket_bytes=bucket)
        if store == "shm"
        else FilesStore(tmp_path, "run", bucket_bytes=bucket, shard_bytes=shard)
    )
    opened.discard(1)
    manifest = opened.publish(1, 0, tensors.items(), dtype)
    assert all(0 < b.length <= bucket for b in manifest.buckets)
    kinds_of = {t.dtype for t in manifest.tensors}
    least = {kind: sum(t.nbytes for t in manifest.tensors if t.dtype == kind) for kind in kinds_of}
    assert len(manifest.buckets) >= sum(math.ceil(nbytes / bucket) for nbytes in least.values())
    for (number, content), b in zip(opened.buckets(manifest), manifest.buckets, strict=True):
        assert number == manifest.buckets.index(b, number)
        assert hashlib.sha256(content).hexdigest() == b.digest
    staged = stage_from(manifest, opened, {name: torch.zeros_like(tensor) for name, tensor in wanted.items()})
    assert digest_of(staged) == manifest.digest == digest_of(wanted) == tally(tensors.items(), dtype)
    assert Manifest.from_json(manifest.to_json()) == manifest


@given(data=st.data(), kinds=named, bucket=st.integers(1, 40))
@quick
def test_a_manifest_that_loses_or_repeats_a_byte_is_refused(
    tmp_path: Path, data: st.DataObject, kinds: dict[str, tuple[torch.dtype, tuple[int, ...]]], bucket: int
) -> None:
    publisher = ShmPublisher("run", root=tmp_path, bucket_bytes=bucket)
    publisher.discard(1)
    manifest = publisher.publish(1, 0, made(kinds).items(), torch.float32)
    text = manifest.to_json()
    at = data.draw(st.integers(0, len(text) - 1), "the byte that changes")
    other = text[:at] + bytes([text[at] ^ data.draw(st.integers(1, 127), "how")]) + text[at + 1 :]
    try:
        read = Manifest.from_json(other)
    except ManifestError:
        return
    assert read == manifest, "only what means nothing may change"


@given(kinds=named.filter(bool), bucket=st.integers(1, 40), number=st.integers(0, 10**6), bit=st.integers(0, 7))
@quick
def test_one_flipped_bit_of_a_bucket_is_found(
    tmp_path: Path, kinds: dict[str, tuple[torch.dtype, tuple[int, ...]]], bucket: int, number: int, bit: int
) -> None:
    publisher = ShmPublisher("run", root=tmp_path, bucket_bytes=bucket)
    publisher.discard(1)
    tensors = made(kinds)
    manifest = publisher.publish(1, 0, tensors.items(), torch.float32)
    files = sorted((publisher.folder / "v1").iterdir())
    if not files:
        return
    file = files[number % len(files)]
    content = bytearray(file.read_bytes())
    content[number % len(content)] ^= 1 << bit
    file.write_bytes(content)
    resident = {t.name: torch.zeros(t.shape, dtype=getattr(torch, t.dtype)) for t in manifest.tensors}
    with pytest.raises(WeightsError, match=f"bucket {files.index(file)} of version 1 is corrupt"):
        stage_from(manifest, publisher, resident)
