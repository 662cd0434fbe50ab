"""Every road delivers bit-identical tensors to one receiver and to two, and leaves nothing behind."""

import asyncio
from collections.abc import AsyncIterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from weights_kit import ROADS, nothing_left, resident, serving, tensors

from sluicegate.protocol.generated import weights_pb2 as pb
from sluicegate.protocol.server import Server
from sluicegate.runtime.weights import Manifest, OutOfReach, WeightsError, WeightSource, digest_of, ipc, stage_from
from sluicegate.runtime.weights.calling import SOURCE
from sluicegate.runtime.weights.files import FilesStore
from sluicegate.runtime.weights.lending import Lender
from sluicegate.runtime.weights.service import WeightsServicer
from sluicegate.runtime.weights.shm import ShmPublisher


async def fetched(manifest: Manifest, *sources: WeightSource) -> list[dict[str, torch.Tensor]]:
    """What each source brings; they fetch at the same time."""
    return await asyncio.gather(
        *(asyncio.to_thread(stage_from, manifest, source, resident(manifest)) for source in sources)
    )


def stores(tmp_path: Path, store: str) -> dict[str, Any]:
    return {"store": store, **({"folder": tmp_path / "files"} if store == "files" else {})}


@pytest.mark.parametrize(("road", "receivers"), [*product(ROADS, (1, 2))])
async def test_a_road_delivers_what_was_published(tmp_path: Path, road: str, receivers: int) -> None:
    store = "files" if receivers == 1 else "shm"
    settings = {"road": road, "receivers": receivers, **stores(tmp_path, store)}
    async with nothing_left(), serving(tmp_path, **settings) as trainer:
        for version, dtype in ((1, torch.float32), (2, torch.bfloat16)):
            manifest = trainer.publish(version, dtype)
            wanted = {n: t.to(dtype) if t.is_floating_point() else t for n, t in tensors(version).items()}
            assert max(bucket.length for bucket in manifest.buckets) <= 1000
            assert "lm_head.weight" not in wanted
            for got in await fetched(manifest, *(trainer.source(f"r{n}") for n in range(receivers))):
                assert digest_of(got) == manifest.digest
                for name, tensor in wanted.items():
                    assert torch.equal(
                        got[name].reshape(-1).view(torch.uint8), tensor.detach().reshape(-1).view(torch.uint8)
                    ), name
        trainer.store.close()


@pytest.mark.parametrize("road", ROADS)
async def test_a_reader_that_leaves_in_the_middle_leaves_nothing_and_the_next_one_gets_all(
    tmp_path: Path, road: str
) -> None:
    def leave(source: WeightSource, manifest: Manifest) -> None:
        buckets = iter(source.buckets(manifest))
        assert [next(buckets)[0] for _ in range(3)] == [0, 1, 2]
        buckets.close()  # pyright: ignore[reportAttributeAccessIssue]

    async with nothing_left(), serving(tmp_path, road=road, receivers=1) as trainer:
        manifest = trainer.publish()
        await asyncio.to_thread(leave, trainer.source(), manifest)
        (got,) = await fetched(manifest, trainer.source())
        assert digest_of(got) == manifest.digest


@pytest.mark.parametrize("road", ROADS)
async def test_a_source_that_is_cut_corrupt_or_gone_is_an_error_that_names_the_bucket(
    tmp_path: Path, road: str
) -> None:
    from weights_kit import RUN

    from sluicegate.runtime.weights.shm import bucket_path, run_folder

    async with serving(tmp_path, road=road, receivers=1, within_ms=2_000) as trainer:
        manifest = trainer.publish()
        path = bucket_path(run_folder(RUN, tmp_path) / "v1", 4)
        good = path.read_bytes()
        async with nothing_left():
            for content, complaint in (
                (bytes([good[0] ^ 1]) + good[1:], "bucket 4 of version 1 is corrupt"),
                (good[:-1], "bucket 4 of version 1 was cut"),
                (None, "bucket 4 of version 1 is missing"),
            ):
                path.unlink() if content is None else path.write_bytes(content)
                with pytest.raises(WeightsError, match=complaint):
                    await fetched(manifest, trainer.source())
            path.write_bytes(good)
            (got,) = await fetched(manifest, trainer.source())
        assert digest_of(got) == manifest.digest


@pytest.mark.parametrize("store", ["shm", "files"])
async def test_a_bucket_that_cannot_be_read_is_out_of_reach_by_its_path_and_is_had_once_it_can(
    tmp_path: Path, store: str
) -> None:
    async with serving(tmp_path, within_ms=1_500, **stores(tmp_path, store)) as trainer:
        manifest = trainer.publish()
        first = {"shm": "sluicegate-roads/v1/b00000", "files": "files/roads/v1/model-00001.safetensors"}
        path = tmp_path / first[store]
        aside = path.rename(tmp_path / "aside")
        path.mkdir()
        with pytest.raises(OutOfReach, match=f"cannot be read: {path}"):
            await fetched(manifest, trainer.source())
        with pytest.raises(OutOfReach, match=f"did not come in .* cannot be read: {path}"):
            await fetched(manifest, trainer.source(road="stream"))
        fetching = asyncio.create_task(fetched(manifest, trainer.source(road="stream", within_ms=20_000)))
        await asyncio.sleep(0.5)
        path.rmdir()
        aside.rename(path)
        for (got,) in (await fetching, await fetched(manifest, trainer.source())):
            assert digest_of(got) == manifest.digest


async def test_what_a_trainer_did_not_foresee_is_refused_with_where_to_look(tmp_path: Path) -> None:
    class Odd(ShmPublisher):
        def buckets(self, manifest: Manifest, start: int = 0) -> Any:
            raise LookupError("nobody foresaw it")

    async with serving(tmp_path, road="stream") as trainer:
        manifest = trainer.publish()
        odd = WeightsServicer(trainer.weights, Odd("roads", root=tmp_path), trainer.manifests, life="2", device="cpu")
        async with odd, Server([odd], grace=0.1) as server:
            await odd.announce(server.target)
            for road in ("stream", "ipc"):
                with pytest.raises(WeightsError, match=r"refused: .*LookupError.* The trainer's log says where"):
                    await fetched(manifest, trainer.source(road=road))


@pytest.mark.parametrize("said", ["[" * 100_000, "{}", "7", "\xff"], ids=["deep", "empty", "a number", "no text"])
async def test_a_source_that_names_no_address_is_an_error_and_has_nothing(tmp_path: Path, said: str) -> None:
    async with serving(tmp_path, road="stream") as trainer:
        manifest = trainer.publish()
        (trainer.manifests.folder / SOURCE).write_text(said, "latin-1")
        with pytest.raises(WeightsError, match="does not say where the trainer answers"):
            await fetched(manifest, trainer.source())
        assert not trainer.source().has(1)


def test_only_folders_of_versions_are_versions(tmp_path: Path) -> None:
    for store in (ShmPublisher("run", root=tmp_path), FilesStore(tmp_path, "run")):
        for name in ("v1", "v10", "v2", "v", "v\u00b2", "v\u0663", "v03", "v-4", "v1.partial", "w5"):
            (store.folder / name).mkdir()
        assert store.published() == [1, 2, 10]


async def test_memory_is_lent_to_processes_of_the_same_host_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(tmp_path, road="ipc") as trainer:
        manifest = trainer.publish()
        monkeypatch.setattr(ipc, "boot", lambda: "another start of a host")
        with pytest.raises(WeightsError, match="the receiver is on another: take another road"):
            await fetched(manifest, trainer.source())


async def test_what_is_lent_is_judged_by_its_number_and_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lend = Lender.lend
    wrong = dict[str, int]()

    async def lies(self: Lender, *given: Any) -> AsyncIterator[pb.LendAnswer]:
        async for answer in lend(self, *given):
            for name, by in wrong.items() if answer.WhichOneof("said") == "filled" else ():
                setattr(answer.filled, name, getattr(answer.filled, name) + by)
            yield answer

    async with serving(tmp_path, road="ipc") as trainer:
        manifest = trainer.publish()
        monkeypatch.setattr(Lender, "lend", lies)
        length = manifest.buckets[0].length
        for lie, complaint in (
            ({"length": 1}, f"{length} bytes were expected, bucket 0 of {length + 1} came"),
            ({"bucket": 1}, f"{length} bytes were expected, bucket 1 of {length} came"),
            ({"slot": 2}, "which was not lent"),
        ):
            wrong = lie
            with pytest.raises(WeightsError, match=complaint):
                await fetched(manifest, trainer.source())
