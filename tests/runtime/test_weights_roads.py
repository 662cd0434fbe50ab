"""Every road delivers bit-identical tensors to one receiver and to two, and leaves nothing behind."""

import asyncio
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from weights_kit import ROADS, nothing_left, resident, serving, tensors

from sluicegate.runtime.weights import Manifest, WeightsError, WeightSource, digest_of, stage_from


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
