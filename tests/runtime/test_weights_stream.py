"""The stream road: bit-identical, taken up where it broke off, refused where it does not fit."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from certificates import ROLES, Authority
from grpc import StatusCode
from weights_kit import RUN, Trainer, nothing_left, resident, serving

from sluicegate.protocol.access import Access, acting_as
from sluicegate.protocol.generated import weights_pb2 as pb
from sluicegate.protocol.roles import Role
from sluicegate.protocol.server import Server
from sluicegate.runtime.weights import Manifest, WeightsError, digest_of, stage_from
from sluicegate.runtime.weights.calling import SOURCE, write_source
from sluicegate.runtime.weights.service import WeightsServicer
from sluicegate.runtime.weights.shm import bucket_path, run_folder

LARGE = {"large": torch.randn(4_000_000)}
"""More than a connection holds on its way."""


@asynccontextmanager
async def streaming(folder: Path, **settings: Any) -> AsyncIterator[tuple[Trainer, Manifest]]:
    async with serving(folder, road="stream", **settings) as trainer:
        yield trainer, trainer.publish()


async def staged(trainer: Trainer, manifest: Manifest, **settings: Any) -> str:
    got = await asyncio.to_thread(stage_from, manifest, trainer.source(**settings), resident(manifest))
    return digest_of(got)


async def test_what_the_trainer_does_not_have_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    async with streaming(tmp_path) as (trainer, manifest):
        source = trainer.source()
        assert await asyncio.to_thread(source.has, 1)
        assert not await asyncio.to_thread(source.has, 2)
        with pytest.raises(WeightsError, match="version 2 has no manifest"):
            await staged(trainer, replace(manifest, version=2))
        other = replace(manifest.tensors[0], digest="0" * 64)
        with pytest.raises(WeightsError, match="manifests of another run"):
            await staged(trainer, replace(manifest, tensors=(other, *manifest.tensors[1:])))
        trainer.store.discard(1)
        with pytest.raises(WeightsError, match="its bytes are gone here"):
            await staged(trainer, manifest)


async def test_a_bucket_that_is_cut_or_corrupt_in_the_store_is_told_by_its_number(tmp_path: Path) -> None:
    async with streaming(tmp_path) as (trainer, manifest):
        path = bucket_path(run_folder(RUN, tmp_path) / "v1", 2)
        good = path.read_bytes()
        for content, complaint in (
            (bytes([good[0] ^ 1]) + good[1:], "bucket 2 of version 1 is corrupt"),
            (good[:-1], "bucket 2 of version 1 was cut"),
        ):
            path.write_bytes(content)
            with pytest.raises(WeightsError, match=complaint):
                await staged(trainer, manifest)
        path.unlink()
        with pytest.raises(WeightsError, match="bucket 2 of version 1 is missing"):
            await staged(trainer, manifest)


async def test_a_trainer_that_is_started_anew_is_found_and_the_rest_is_fetched(tmp_path: Path) -> None:
    async with serving(tmp_path, road="stream") as trainer:
        manifest = trainer.publish()
        weights, store, manifests = trainer.weights, trainer.store, trainer.manifests

    class Ending(WeightsServicer):
        """Breaks off after two buckets."""

        async def Fetch(self, request: pb.FetchRequest, context: Any) -> None:
            for number, content in islice(self._store.buckets(manifest, request.wanted.start), 2):
                await context.write(pb.FetchChunk(bucket=number, content=bytes(content)))
            await context.abort(StatusCode.UNAVAILABLE, "gone")

    asked: list[int] = []

    class Counting(WeightsServicer):
        async def Fetch(self, request: pb.FetchRequest, context: Any) -> None:
            asked.append(request.wanted.start)
            await super().Fetch(request, context)

    async with nothing_left():
        async with Ending(weights, store, manifests, life="1") as first, Server([first], grace=0.1) as server:
            await first.announce(server.target)
            fetched = asyncio.create_task(staged(trainer, manifest))
            await asyncio.sleep(0.5)
        assert not fetched.done()
        async with Counting(weights, store, manifests, life="2") as second, Server([second], grace=0.1) as server:
            await second.announce(server.target)
            assert await fetched == manifest.digest
        assert len(asked) == 1
        assert asked[0] >= 2


async def test_chunks_that_do_not_follow_each_other_are_refused(tmp_path: Path) -> None:
    class Wrong(WeightsServicer):
        chunks: tuple[pb.FetchChunk, ...] = ()

        async def Fetch(self, request: pb.FetchRequest, context: Any) -> None:
            for chunk in self.chunks[request.wanted.start :]:
                await context.write(chunk)

    async with serving(tmp_path, road="stream", within_ms=1_000) as trainer:
        manifest = trainer.publish()
        whole = [bytes(content) for _, content in trainer.store.buckets(manifest)]
        chunks = [pb.FetchChunk(bucket=n, offset=0, content=content) for n, content in enumerate(whole)]
        wrong = Wrong(trainer.weights, trainer.store, trainer.manifests, life="2")
        async with wrong, Server([wrong], grace=0.1) as server:
            await wrong.announce(server.target)
            for sent, complaint in (
                ([chunks[1]], "bucket 0 of version 1: byte 0 was expected, byte 0 of bucket 1 came"),
                ([chunks[0], chunks[0]], "bucket 1 of version 1: byte 0 was expected, byte 0 of bucket 0 came"),
                ([pb.FetchChunk(offset=1, content=whole[0][1:])], "byte 0 was expected, byte 1 of bucket 0 came"),
                ([pb.FetchChunk(content=whole[0] + b"x")], "bytes came at byte 0 of"),
                ([pb.FetchChunk(content=b"")], "0 bytes came at byte 0"),
                ([*chunks, chunks[0]], "sent more than the manifest has"),
                ([pb.FetchChunk(content=b"?" * len(whole[0]))], "bucket 0 of version 1 is corrupt"),
                (chunks[:3], "bucket 3 did not come in .* the trainer ended after 3 of"),
            ):
                wrong.chunks = tuple(sent)
                with pytest.raises(WeightsError, match=complaint):
                    await staged(trainer, manifest)


async def test_a_trainer_that_hangs_is_waited_for_no_longer_than_the_bound(tmp_path: Path) -> None:
    class Hanging(WeightsServicer):
        async def Fetch(self, request: pb.FetchRequest, context: Any) -> None:
            await asyncio.sleep(60)

    async with serving(tmp_path, road="stream", within_ms=700) as trainer:
        manifest = trainer.publish()
        hanging = Hanging(trainer.weights, trainer.store, trainer.manifests, life="2")
        async with nothing_left(), hanging, Server([hanging], grace=0.1) as server:
            await hanging.announce(server.target)
            began = time.monotonic()
            with pytest.raises(WeightsError, match=r"did not come in .* sent nothing for 0.7 s"):
                await staged(trainer, manifest)
            assert time.monotonic() - began < 3


async def test_a_replica_that_takes_nothing_is_given_up_and_may_go_on_later(tmp_path: Path) -> None:
    async with serving(tmp_path, road="stream", within_ms=1_000, bucket_bytes=1 << 20) as trainer:
        manifest = trainer.publish(named=LARGE)
        async with nothing_left():
            begun = iter(trainer.source().buckets(manifest))
            assert (await asyncio.to_thread(next, begun))[0] == 0
            # Meanwhile the trainer fills what the connection holds, and then waits for at most its bound.
            await asyncio.sleep(2.5)
            assert sum(trainer.server.calls.values()) == 0
            rest = await asyncio.to_thread(lambda: [number for number, _ in begun])
            assert rest == list(range(1, len(manifest.buckets)))
            left = iter(trainer.source().buckets(manifest))
            await asyncio.to_thread(next, left)
            await asyncio.to_thread(left.close)  # pyright: ignore[reportAttributeAccessIssue]


async def test_a_replica_without_a_source_file_or_a_trainer_is_told_what_is_missing(tmp_path: Path) -> None:
    async with serving(tmp_path, road="stream", within_ms=600) as trainer:
        manifest = trainer.publish()
    with pytest.raises(WeightsError, match=r"bucket 0 did not come in .* the trainer at 127.0.0.1:\d+ is lost"):
        await staged(trainer, manifest)
    assert not await asyncio.to_thread(trainer.source().has, 1)
    path = trainer.manifests.folder / SOURCE
    path.write_text("{}")
    with pytest.raises(WeightsError, match="does not say where the trainer answers"):
        await staged(trainer, manifest)
    path.unlink()
    with pytest.raises(WeightsError, match=r"source.json does not exist: start the trainer"):
        await staged(trainer, manifest)


async def test_a_replica_is_known_by_certificate_or_token_and_needs_the_role(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "keys")
    trainer_pair, agent, controller = (authority.issue(name) for name in ("trainer", "agents", "controller"))
    served = Access(
        certificate=trainer_pair.certificate, key=trainer_pair.key, authorities=authority.path, roles=ROLES
    )  # fmt: skip

    def by(pair: Any) -> Access:
        return Access(certificate=pair.certificate, key=pair.key, authorities=authority.path)

    with acting_as(served):
        async with streaming(tmp_path) as (trainer, manifest):
            with acting_as(by(agent)):
                assert await staged(trainer, manifest) == manifest.digest
            with acting_as(by(controller)):
                assert await asyncio.to_thread(trainer.source().has, 1)
                with pytest.raises(WeightsError, match=f"needs the role {Role.DATA}"):
                    await staged(trainer, manifest)
            with acting_as(Access(authorities=authority.path)), pytest.raises(WeightsError, match="is lost"):
                await staged(trainer, manifest, within_ms=500)


async def test_chunks_fit_the_largest_message_of_the_replica(tmp_path: Path) -> None:
    async with serving(tmp_path, road="stream", bucket_bytes=100_000) as trainer:
        manifest = trainer.publish()
        with acting_as(Access(message_bytes=4096)):
            source = trainer.source()
        assert digest_of(await asyncio.to_thread(stage_from, manifest, source, resident(manifest))) == manifest.digest


def test_where_the_trainer_answers_is_replaced_at_each_start(tmp_path: Path) -> None:
    write_source(tmp_path, "127.0.0.1:1", "trainer.1")
    write_source(tmp_path, "127.0.0.1:2", "trainer.2")
    assert [path.name for path in tmp_path.iterdir()] == [SOURCE]
