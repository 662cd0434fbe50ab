"""How weights come into an engine: from nothing at its start, staged once, in place, and never with a frozen part
that has changed."""

import asyncio
import contextlib
import dataclasses
import gc
import itertools
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, Gemma3TextConfig, LlamaConfig, PretrainedConfig, Qwen3Config

from sluicegate.runtime.engines import EngineError, InstallFailed, NotStaged, TorchEngine
from sluicegate.runtime.engines.torch_model import TorchModel
from sluicegate.runtime.models import make_tiny_qwen3
from sluicegate.runtime.weights import (
    Manifest,
    ManifestStore,
    OutOfReach,
    ShmPublisher,
    ShmReader,
    WeightsError,
    canonical_tensors,
)
from sluicegate.runtime.weights.shm import bucket_path

SMALL: dict[str, Any] = {
    "vocab_size": 50, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 128, "head_dim": 8,
}  # fmt: skip
ROPE = {
    "rope_type": "llama3", "rope_theta": 500_000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_tiny_qwen3(19, hidden=16, heads=2, kv_heads=1).save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def publish(root: Path, version: int, seed: int, frozen: tuple[str, ...] = ()) -> Manifest:
    model = make_tiny_qwen3(19, hidden=16, heads=2, kv_heads=1, seed=seed)
    publisher = ShmPublisher("run", root=root, bucket_bytes=4096)
    manifest = publisher.publish(version, version, canonical_tensors(model).items(), torch.float32)
    entries = tuple(dataclasses.replace(entry, frozen=entry.name in frozen) for entry in manifest.tensors)
    return Manifest(version, "run", version, entries, manifest.buckets)


class Watched:
    """A road that counts who drew on it, and does something before each bucket."""

    def __init__(self, root: Path, before: Callable[[int], None] = lambda number: None) -> None:
        self.drawn = 0
        self._reader, self._before = ShmReader("run", root=root), before

    def buckets(self, manifest: Manifest) -> Iterator[tuple[int, memoryview]]:
        self.drawn += 1
        for number, content in self._reader.buckets(manifest):
            self._before(number)
            yield number, content


@pytest.mark.parametrize(
    "config", [Qwen3Config(**SMALL), LlamaConfig(**SMALL, rope_parameters=ROPE), Gemma3TextConfig(**SMALL)], ids=type
)
def test_a_model_without_its_weights_is_the_same_model_with_all_of_them_zero(
    config: PretrainedConfig, tmp_path: Path
) -> None:
    AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path)
    read = TorchModel(tmp_path, device="cpu", dtype=torch.bfloat16, attention="sdpa")
    for file in tmp_path.glob("*.safetensors"):
        file.unlink()
    empty = TorchModel(tmp_path, device="cpu", dtype=torch.bfloat16, attention="sdpa", reads_weights=False)
    shapes = {name: (tensor.shape, tensor.dtype) for name, tensor in empty.tensors.items()}
    assert shapes == {name: (tensor.shape, tensor.dtype) for name, tensor in read.tensors.items()}
    assert empty.tied == read.tied
    assert not any(tensor.any() for tensor in empty.tensors.values())
    assert any(tensor.any() for tensor in read.tensors.values())
    buffers = dict(empty.module.named_buffers())
    assert buffers.keys() == dict(read.module.named_buffers()).keys()
    for name, buffer in read.module.named_buffers():
        assert torch.equal(buffers[name], buffer), name
    assert not any(parameter.requires_grad for parameter in empty.module.parameters())


async def test_stagings_of_one_version_join_and_what_is_there_is_not_fetched_again(
    folder: Path, tmp_path: Path
) -> None:
    manifest, road = publish(tmp_path, 1, 1), Watched(tmp_path)
    async with TorchEngine(folder) as engine:
        await asyncio.gather(*(engine.stage(manifest, road) for _ in range(3)))
        await engine.stage(manifest, road)
        assert road.drawn == 1
        await engine.commit(1)
        await engine.stage(manifest, road)
        assert road.drawn == 1
        assert await engine.commit(1) == {"0": manifest.digest}


async def test_a_staging_that_is_given_up_ends_at_its_next_bucket_and_the_next_one_waits_for_that(
    folder: Path, tmp_path: Path
) -> None:
    manifest, go_on, reached = publish(tmp_path, 1, 1), threading.Event(), threading.Event()

    def wait(number: int) -> None:
        if number == 1:
            reached.set()
            assert go_on.wait(20)

    slow, quick = Watched(tmp_path, wait), Watched(tmp_path)
    async with TorchEngine(folder) as engine:
        given_up = asyncio.create_task(engine.stage(manifest, slow))
        await asyncio.to_thread(reached.wait, 20)
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up
        again = asyncio.create_task(engine.stage(manifest, quick))
        await asyncio.sleep(0.05)
        assert quick.drawn == 0, "two buffers would be two models beside the resident one"
        go_on.set()
        await again
        assert await engine.commit(1) == {"0": manifest.digest}


def held() -> int:
    """Bytes of all tensors that anything refers to, also what only a cycle does."""
    found = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in gc.get_objects() if is_tensor(t)}
    return sum(found.values())


def is_tensor(thing: object) -> bool:
    return type(thing) in (torch.Tensor, torch.nn.Parameter)


@contextlib.contextmanager
def nothing_more_held() -> Iterator[None]:
    """Less than half a model, once what is inside has ended; nothing is collected meanwhile."""
    gc.collect()
    gc.disable()
    try:
        before = held()
        yield
        assert held() - before < before // 2
    finally:
        gc.enable()


async def test_a_staging_that_fails_holds_nothing_though_its_error_is_held(folder: Path, tmp_path: Path) -> None:
    manifest = publish(tmp_path, 1, 1)
    path = bucket_path(tmp_path / "sluicegate-run" / "v1", len(manifest.buckets) - 1)
    for content, complaint in ((path.read_bytes()[:-1], "was cut"), (bytes(path.stat().st_size), "is corrupt")):
        path.write_bytes(content)
        async with TorchEngine(folder) as engine:
            with nothing_more_held(), pytest.raises(WeightsError, match=complaint) as found:
                await engine.stage(manifest, Watched(tmp_path))
            assert found.value.__traceback__ is not None


async def test_a_staging_that_is_given_up_holds_nothing_even_where_all_of_it_came(folder: Path, tmp_path: Path) -> None:
    manifest, go_on, reached = publish(tmp_path, 1, 1), threading.Event(), threading.Event()

    class Lingering(Watched):
        def buckets(self, manifest: Manifest) -> Iterator[tuple[int, memoryview]]:
            yield from super().buckets(manifest)
            reached.set()
            assert go_on.wait(20)

    async with TorchEngine(folder) as engine:
        with nothing_more_held():
            given_up = asyncio.create_task(engine.stage(manifest, Lingering(tmp_path)))
            await asyncio.to_thread(reached.wait, 20)
            given_up.cancel()
            with pytest.raises(asyncio.CancelledError):
                await given_up
            go_on.set()
            # The thread that stages has ended with this one's answer.
            await asyncio.get_running_loop().run_in_executor(engine._weights._stager, int)
            await asyncio.sleep(0)


class Lingers(Watched):
    """A road that does something also after its last bucket."""

    def buckets(self, manifest: Manifest) -> Iterator[tuple[int, memoryview]]:
        yield from super().buckets(manifest)
        self._before(len(manifest.buckets))


async def test_memory_that_is_released_takes_a_staging_with_it_wherever_it_is(folder: Path, tmp_path: Path) -> None:
    manifest, go_on, reached = publish(tmp_path, 1, 1), threading.Event(), threading.Event()
    last = len(manifest.buckets) - 1
    rests_at = 1
    errors: list[Exception] = []

    def wait(number: int) -> None:
        if number == rests_at:
            reached.set()
            assert go_on.wait(20)

    async with TorchEngine(folder) as engine:
        for number, complaint in ((1, "was given up"), (last, "was given up"), (last + 1, "memory is released")):
            rests_at = number
            reached.clear()
            go_on.clear()
            with nothing_more_held():
                staging = asyncio.create_task(engine.stage(manifest, Lingers(tmp_path, wait)))
                await asyncio.to_thread(reached.wait, 20)
                await engine.release_memory()
                go_on.set()
                with pytest.raises((WeightsError, EngineError), match=complaint) as found:
                    await staging
                errors.append(found.value)
                await engine.restore_memory()
            with pytest.raises(NotStaged):
                await engine.commit(1)
        with nothing_more_held():
            await engine.stage(manifest, Watched(tmp_path))
            await engine.release_memory()
            await engine.restore_memory()
        with pytest.raises(NotStaged):
            await engine.commit(1)


async def test_what_was_staged_is_freed_by_the_install_whether_it_succeeds_or_not(folder: Path, tmp_path: Path) -> None:
    class Breaks(TorchModel):
        def synchronize(self) -> None:
            raise RuntimeError("the device is lost")

    async with TorchEngine(folder) as engine:
        for version in (1, 2):
            with nothing_more_held():
                await engine.stage(publish(tmp_path, version, version), Watched(tmp_path))
                if version == 1:
                    await engine.commit(1)
                    continue
                engine._model.__class__ = Breaks
                with pytest.raises(InstallFailed, match="the device is lost") as found:
                    await engine.commit(2)
                assert found.value.__traceback__ is not None


async def test_in_place_only_a_mixture_is_in_doubt(folder: Path, tmp_path: Path) -> None:
    first, second = publish(tmp_path, 1, 1), publish(tmp_path, 2, 2)
    broken = len(second.buckets)

    def lose(number: int) -> None:
        if number == broken:
            raise OutOfReach(f"the trainer is lost at bucket {number}")

    async with TorchEngine(folder, in_place=True) as engine:
        await engine.stage(first, Watched(tmp_path))
        await engine.commit(1)
        await engine.stage(second, Watched(tmp_path, lose))
        broken = 0
        with pytest.raises(OutOfReach, match="lost at bucket 0"):
            await engine.commit(2)
        assert (engine.health().ok, engine.health().resident) == (True, True)
        resident = await engine.resident_digest()
        assert (resident.version, resident.digests) == (1, {"0": first.digest})
        broken = len(second.buckets)
        assert await engine.commit(2) == {"0": second.digest}
        await engine.stage(first, Watched(tmp_path, lose))
        broken = 1
        with pytest.raises(InstallFailed, match="lost at bucket 1"):
            await engine.commit(1)
        assert not engine.health().ok


async def test_weights_in_place_are_the_same_weights(folder: Path, tmp_path: Path) -> None:
    async with TorchEngine(folder, in_place=True) as engine:
        for version in (1, 2):
            resident = list[bool]()
            road = Watched(tmp_path, lambda _, seen=resident: seen.append(engine.health().resident))
            manifest = publish(tmp_path, version, version)
            with pytest.raises(NotStaged):
                await engine.commit(version)
            await engine.stage(manifest, road)
            assert road.drawn == 0
            assert await engine.commit(version) == {"0": manifest.digest}
            assert resident == [version == 2] + [False] * (len(manifest.buckets) - 1), "not while it is a mixture"
            assert (await engine.resident_digest()).version == version
        other = dataclasses.replace(manifest.tensors[0], name="other")
        wrong = Manifest(3, "run", 3, (other, *manifest.tensors[1:]), manifest.buckets)
        with pytest.raises(WeightsError, match="does not fit"):
            await engine.stage(wrong, Watched(tmp_path))
        assert (await engine.resident_digest()).digests == {"0": manifest.digest}


class Ends(Watched):
    """A road that ends after two buckets, as if there were no more."""

    def buckets(self, manifest: Manifest) -> Iterator[tuple[int, memoryview]]:
        return itertools.islice(super().buckets(manifest), 2)


@pytest.mark.parametrize(("road", "said"), [(Watched, "the road broke off"), (Ends, r"buckets \[2, .* did not come")])
async def test_a_road_that_breaks_off_in_place_leaves_an_engine_that_serves_nothing(
    folder: Path, tmp_path: Path, road: type[Watched], said: str
) -> None:
    first, second = publish(tmp_path, 1, 1), publish(tmp_path, 2, 2)

    def break_off(number: int) -> None:
        if number == 2:
            raise WeightsError("the road broke off")

    async with TorchEngine(folder, in_place=True) as engine:
        await engine.stage(first, Watched(tmp_path))
        await engine.commit(1)
        await engine.stage(second, road(tmp_path, break_off))
        with pytest.raises(InstallFailed, match=said):
            await engine.commit(2)
        health = engine.health()
        assert (health.ok, health.resident) == (False, False)
        assert (await engine.resident_digest()).digests["0"] not in (first.digest, second.digest)
        with pytest.raises(EngineError, match="must be replaced"):
            await engine.commit(2)


async def test_a_digest_that_an_install_overtakes_is_begun_again(folder: Path, tmp_path: Path) -> None:
    """What is answered is one version's digest, never that of a mixture."""
    manifests = {version: publish(tmp_path, version, version) for version in range(1, 8)}
    async with TorchEngine(folder) as engine:

        async def install() -> None:
            for version, manifest in manifests.items():
                await engine.stage(manifest, Watched(tmp_path))
                await engine.commit(version)

        installing = asyncio.create_task(install())
        while not installing.done():
            found = await engine.resident_digest()
            if found.version is not None:
                assert found.digests == {"0": manifests[found.version].digest}
        await installing


async def test_frozen_tensors_of_another_digest_are_refused_by_who_holds_a_version_of_the_run(
    folder: Path, tmp_path: Path
) -> None:
    name = "model.norm.weight"
    embedding = "model.embed_tokens.weight"
    async with TorchEngine(folder) as engine:
        first = publish(tmp_path, 1, 1, (name, embedding))
        await engine.stage(first, Watched(tmp_path))
        await engine.commit(1)
        with pytest.raises(WeightsError, match=f"version 2 changes tensors that are frozen .*: {embedding}"):
            await engine.stage(publish(tmp_path, 2, 2, (name, embedding)), Watched(tmp_path))
        assert (await engine.resident_digest()).digests == {"0": first.digest}
        third = publish(tmp_path, 3, 3, (name,))
        await engine.stage(third, Watched(tmp_path))
        assert await engine.commit(3) == {"0": third.digest}


HIGH_WATER = """
import asyncio, json, sys
from pathlib import Path
import torch
from sluicegate.runtime.engines import TorchEngine
from sluicegate.runtime.weights import ManifestStore, ShmReader

async def main(root, in_place):
    torch.set_num_threads(1)
    status = Path("/proc/self/status")
    memory = lambda what: int(status.read_text().split(what + ":")[1].split()[0]) * 1024
    async with TorchEngine(root / "model", in_place=in_place) as engine:
        manifest = ManifestStore(root / "manifests").get(1)
        # The mark of a new process is that of who started it: it begins here.
        Path("/proc/self/clear_refs").write_text("5")
        before = memory("VmRSS")
        await engine.stage(manifest, ShmReader("run", root=root))
        digests = await engine.commit(1)
        assert digests == {"0": manifest.digest}
        print(json.dumps(memory("VmHWM") - before))

asyncio.run(main(Path(sys.argv[1]), sys.argv[2] == "in place"))
"""


@pytest.mark.slow
def test_in_place_takes_about_one_bucket_of_memory_beside_the_model(tmp_path: Path) -> None:
    bucket = 8 * 1024 * 1024
    model = make_tiny_qwen3(4000, hidden=1024, layers=4, heads=4, kv_heads=2)
    model.config.save_pretrained(tmp_path / "model")
    publisher = ShmPublisher("run", root=tmp_path, bucket_bytes=bucket)
    manifest = publisher.publish(1, 1, canonical_tensors(model).items(), torch.float32)
    ManifestStore(tmp_path / "manifests").put(manifest)
    grown: dict[str, int] = {}
    for way in ("in place", "beside"):
        command = [sys.executable, "-c", HIGH_WATER, str(tmp_path), way]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True)
        grown[way] = json.loads(done.stdout.splitlines()[-1])
    # The model's own memory is there once it was written, which the install is the first to do.
    own = manifest.nbytes
    assert own > 20 * bucket
    assert grown["in place"] < own + 4 * bucket
    assert grown["beside"] > 1.8 * own
