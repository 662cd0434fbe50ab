"""Weights through shared memory: bit-identical, or refused with nothing changed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from transformers import Qwen3ForCausalLM

from sluicegate.runtime.models import make_tiny_qwen3
from sluicegate.runtime.weights import (
    Manifest,
    ShmPublisher,
    ShmReader,
    WeightsError,
    canonical_tensors,
    digest_of,
    remove_run,
    stage_from,
)
from sluicegate.runtime.weights.digest import tied_names
from sluicegate.runtime.weights.mapping import Holding
from sluicegate.runtime.weights.shm import bucket_path, default_root, run_folder
from sluicegate.runtime.weights.staging import Receiving


def tiny(seed: int = 0, **shape: int) -> Qwen3ForCausalLM:
    return make_tiny_qwen3(11, **{"hidden": 16, "heads": 2, "kv_heads": 1, **shape}, seed=seed)


@pytest.fixture
def published(tmp_path: Path) -> tuple[Manifest, Qwen3ForCausalLM]:
    trained = tiny(seed=5)
    publisher = ShmPublisher("run", root=tmp_path, bucket_bytes=1000)
    return publisher.publish(3, 12, canonical_tensors(trained).items(), torch.float32), trained


def stage(manifest: Manifest, root: Path, model: Qwen3ForCausalLM) -> dict[str, torch.Tensor]:
    return stage_from(manifest, ShmReader("run", root=root), canonical_tensors(model), tied_names(model))


def test_delivery_is_bit_identical_in_buckets_of_bounded_size(
    tmp_path: Path, published: tuple[Manifest, Qwen3ForCausalLM]
) -> None:
    manifest, trained = published
    assert len(manifest.buckets) > 10
    assert max(bucket.length for bucket in manifest.buckets) <= 1000
    staged = stage(manifest, tmp_path, tiny())
    wanted = canonical_tensors(trained)
    assert staged.keys() == wanted.keys()
    for name, tensor in wanted.items():
        assert torch.equal(staged[name].view(torch.uint8), tensor.detach().view(torch.uint8)), name
    assert digest_of(staged) == manifest.digest == digest_of(wanted)


def test_floating_tensors_are_cast_and_others_are_not(tmp_path: Path) -> None:
    tensors = {"w": torch.randn(5, 3), "count": torch.arange(7), "scalar": torch.tensor(2.5)}
    publisher = ShmPublisher("run", root=tmp_path, bucket_bytes=8)
    manifest = publisher.publish(0, 0, tensors.items(), torch.bfloat16)
    resident = {
        "w": torch.zeros(5, 3, dtype=torch.bfloat16),
        "count": torch.zeros(7, dtype=torch.int64),
        "scalar": torch.zeros((), dtype=torch.bfloat16),
    }
    staged = stage_from(manifest, ShmReader("run", root=tmp_path), resident)
    assert torch.equal(staged["w"], tensors["w"].bfloat16())
    assert torch.equal(staged["count"], tensors["count"])
    assert staged["scalar"].item() == 2.5


def test_tensors_are_drawn_one_at_a_time(tmp_path: Path) -> None:
    seen: list[int] = []

    def gathered() -> Iterator[tuple[str, torch.Tensor]]:
        for number in range(8):
            seen.append(len(list((tmp_path / "sluicegate-run" / "v1.partial").iterdir())))
            yield f"t{number}", torch.full((100,), float(number))

    ShmPublisher("run", root=tmp_path, bucket_bytes=400).publish(1, 0, gathered(), torch.float32)
    assert seen == list(range(8))


def test_a_bucket_that_is_corrupt_cut_long_or_missing_is_refused(
    tmp_path: Path, published: tuple[Manifest, Qwen3ForCausalLM]
) -> None:
    manifest, _ = published
    model = tiny()
    before = digest_of(canonical_tensors(model))
    path = bucket_path(tmp_path / "sluicegate-run" / "v3", 4)
    good = path.read_bytes()
    for content, complaint in (
        (good[:-1] + bytes([good[-1] ^ 1]), "bucket 4 of version 3 is corrupt"),
        (good[:-5], "bucket 4 of version 3 was cut: it has 995 bytes, 1000 expected"),
        (good + b"x", "bucket 4 of version 3 was cut: it has 1001 bytes"),
        (bucket_path(path.parent, 3).read_bytes(), "bucket 4 of version 3 is corrupt"),
    ):
        path.write_bytes(content)
        with pytest.raises(WeightsError, match=complaint):
            stage(manifest, tmp_path, model)
    path.unlink()
    with pytest.raises(WeightsError, match="bucket 4 of version 3 is missing"):
        stage(manifest, tmp_path, model)
    path.write_bytes(good)
    assert digest_of(stage(manifest, tmp_path, model)) == manifest.digest
    assert digest_of(canonical_tensors(model)) == before


class Reordered:
    """The real reader's buckets, with the numbers that `order` gives."""

    def __init__(self, root: Path, order: list[int]) -> None:
        self.reader = ShmReader("run", root=root)
        self.order = order

    def buckets(self, manifest: Manifest) -> Iterator[tuple[int, memoryview]]:
        content = {number: bytes(data) for number, data in self.reader.buckets(manifest)}
        for number in self.order:
            yield number, memoryview(content.get(number, b""))


def test_buckets_may_come_in_any_order_but_each_exactly_once(
    tmp_path: Path, published: tuple[Manifest, Qwen3ForCausalLM]
) -> None:
    manifest, _ = published
    model = tiny()
    order = list(reversed(range(len(manifest.buckets))))
    staged = stage_from(manifest, Reordered(tmp_path, order), canonical_tensors(model))
    assert digest_of(staged) == manifest.digest
    for wrong, complaint in (
        ([*order, 2], "bucket 2 of version 3 came twice"),
        (order[1:], rf"buckets \[{order[0]}\] of {len(order)} did not come"),
        ([*order, 999], "bucket 999 of version 3 is not in the manifest"),
    ):
        with pytest.raises(WeightsError, match=complaint):
            stage_from(manifest, Reordered(tmp_path, wrong), canonical_tensors(model))


def test_that_places_change_is_told_once_and_before_the_first_byte_and_not_for_a_corrupt_bucket(
    tmp_path: Path, published: tuple[Manifest, Qwen3ForCausalLM]
) -> None:
    manifest, _ = published
    held = canonical_tensors(tiny())
    before, told = digest_of(held), list[str]()
    places = Holding(held).places(manifest.version, manifest.tensors)
    receiving = Receiving(manifest, places, begins=lambda: told.append(digest_of(held)))
    number, content = next(ShmReader("run", root=tmp_path).buckets(manifest))
    content[0] ^= 1
    with torch.no_grad():
        with pytest.raises(WeightsError, match="is corrupt"):
            receiving.put(number, content)
        assert told == []
        receiving.receive(ShmReader("run", root=tmp_path))
    assert told == [before]
    assert digest_of(held) == manifest.digest


def test_weights_of_another_architecture_name_the_tensor_and_both_shapes(
    tmp_path: Path, published: tuple[Manifest, Qwen3ForCausalLM]
) -> None:
    manifest, _ = published
    with pytest.raises(WeightsError, match=r"'model.embed_tokens.weight' has shape \(11, 16\).*\(11, 32\)"):
        stage(manifest, tmp_path, tiny(hidden=32))
    with pytest.raises(WeightsError, match=r"'model.layers.1.*' is not a tensor of the engine's model"):
        stage(manifest, tmp_path, tiny(layers=1))
    with pytest.raises(WeightsError, match=r"'model.layers.2.*' is missing in the manifest"):
        stage(manifest, tmp_path, tiny(layers=3))
    with pytest.raises(WeightsError, match="float32 in the manifest, bfloat16 in the engine"):
        stage(manifest, tmp_path, tiny().bfloat16())


def test_a_tied_tensor_published_under_its_second_name_is_refused_with_the_first(tmp_path: Path) -> None:
    model = tiny()
    tensors = model.state_dict()
    manifest = ShmPublisher("run", root=tmp_path).publish(1, 0, tensors.items(), torch.float32)
    with pytest.raises(WeightsError, match=r"'lm_head.weight'.*tied, publish 'model.embed_tokens.weight'"):
        stage(manifest, tmp_path, model)


def test_a_version_is_published_once_and_a_failed_publication_leaves_nothing(tmp_path: Path) -> None:
    publisher = ShmPublisher("run", root=tmp_path)
    publisher.publish(1, 0, [("a", torch.ones(3))], torch.float32)
    with pytest.raises(FileExistsError, match="version 1"):
        publisher.publish(1, 0, [("a", torch.ones(3))], torch.float32)

    def dies() -> Iterator[tuple[str, torch.Tensor]]:
        yield "a", torch.ones(3)
        raise ConnectionError("a trainer rank went away")

    with pytest.raises(ConnectionError):
        publisher.publish(2, 0, dies(), torch.float32)
    assert [path.name for path in publisher.folder.iterdir()] == ["v1"]
    assert publisher.published() == [1]
    publisher.discard(1)
    publisher.discard(1)
    assert publisher.published() == []
    publisher.close()
    assert not publisher.folder.exists()


def test_a_run_id_cannot_leave_its_folder(tmp_path: Path) -> None:
    for run in ("../x", "", "a/b", ".."):
        with pytest.raises(ValueError, match="run id"):
            ShmPublisher(run, root=tmp_path)


def test_buckets_of_a_killed_publisher_are_read_by_others_and_removed_by_the_launcher() -> None:
    run = f"test-kill-{os.getpid()}"
    program = (
        "import sys, torch\n"
        "from sluicegate.runtime.weights import ShmPublisher\n"
        "p = ShmPublisher(sys.argv[1], bucket_bytes=64)\n"
        "m = p.publish(1, 0, [('a', torch.arange(100.0))], torch.float32)\n"
        "(p.folder / 'v2.partial').mkdir()\n"
        "print(m.to_json().decode(), flush=True)\n"
        "print('END', flush=True)\n"
        "sys.stdin.read()\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, run], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None
        lines = list(iter(child.stdout.readline, "END\n"))
        child.send_signal(signal.SIGKILL)
        assert child.wait(timeout=30) == -signal.SIGKILL
        manifest = Manifest.from_json("".join(lines))
        for _ in range(2):
            staged = stage_from(manifest, ShmReader(run), {"a": torch.zeros(100)})
            assert torch.equal(staged["a"], torch.arange(100.0))
        heir = ShmPublisher(run)
        assert heir.published() == [1]
        heir.publish(2, 0, [("a", torch.ones(2))], torch.float32)
        assert remove_run(run)
        assert not remove_run(run)
        assert not run_folder(run, default_root()).exists()
    finally:
        child.kill()
        child.communicate()
        remove_run(run)
