"""An engine of two ranks that hold shards of the weights, packed as an engine packs them; its tokens are scripted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from sluicegate.runtime.engines import InstallFailed, NotStaged, Resident
from sluicegate.runtime.simulation.engine import ScriptedEngine
from sluicegate.runtime.weights import BucketSource, Manifest, WeightsError
from sluicegate.runtime.weights.layout import Layout, Split
from sluicegate.runtime.weights.mapping import Holding, Pack
from sluicegate.runtime.weights.staging import Receiving, stage_for

RANKS = ("0", "1")
LAYOUT = Layout("two", RANKS, (Split(r".*\.[qkv]\.weight"), Split(r"out\.weight", 1)))
PACKS = (Pack(r"(.*)\.qkv\.weight", (r"\1.q.weight", r"\1.k.weight", r"\1.v.weight")),)
Damage = Callable[[Iterator[tuple[int, memoryview]]], Iterator[tuple[int, memoryview]]]


def canonical(version: int) -> dict[str, torch.Tensor]:
    """The tensors of a version, as a trainer publishes them."""
    generator = torch.Generator().manual_seed(version)
    shapes = {"a.q.weight": (8, 6), "a.k.weight": (4, 6), "a.v.weight": (4, 6), "out.weight": (6, 8), "norm": (6,)}
    return {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}


class ShardedEngine(ScriptedEngine):
    """Each rank receives every bucket and keeps its own part. `damage`: what becomes of the buckets on a rank's way;
    `in_place`: they are put over what is resident."""

    def __init__(self, folder: Path, *, in_place: bool = False) -> None:
        super().__init__(RANKS)
        self.in_place = in_place
        self.damage: dict[str, Damage] = {}
        self.holdings = {
            rank: Holding(
                {"a.qkv.weight": torch.zeros(8, 6), "out.weight": torch.zeros(6, 4), "norm": torch.zeros(6)},
                packs=PACKS, layout=LAYOUT, rank=rank,
            )
            for rank in RANKS
        }  # fmt: skip
        self._ready: tuple[Manifest, dict[str, dict[str, torch.Tensor]] | BucketSource] | None = None
        self._manifest: Manifest | None = None

    async def stage(self, manifest: Manifest, source: BucketSource) -> None:
        if self.in_place:
            self._ready = manifest, source
            return

        def receive() -> dict[str, dict[str, torch.Tensor]]:
            return {rank: stage_for(manifest, self._road(rank, source), self.holdings[rank]) for rank in RANKS}

        self._ready = manifest, await asyncio.to_thread(receive)

    async def commit(self, version: int) -> dict[str, str]:
        if self._ready is None or self._ready[0].version != version:
            raise NotStaged(f"version {version} is not staged")
        manifest, ready = self._ready
        self._resident = None
        try:
            for rank, holding in self.holdings.items():
                if isinstance(ready, dict):
                    for name, tensor in holding.resident.items():
                        tensor.copy_(ready[rank][name])
                else:
                    places = holding.places(version, manifest.tensors)
                    Receiving(manifest, places).receive(self._road(rank, ready))
        except WeightsError as error:
            self.broken = f"the install of version {version} failed: {error}"
            raise InstallFailed(self.broken) from error
        self._manifest, self._resident = manifest, version
        self.loaded = dict.fromkeys(RANKS, version)
        return (await self.resident_digest()).digests

    async def resident_digest(self) -> Resident:
        assert self._manifest is not None
        digests = {rank: holding.digest(self._manifest.tensors) for rank, holding in self.holdings.items()}
        return Resident(self._resident, digests)

    def _road(self, rank: str, source: BucketSource) -> BucketSource:
        return _Damaged(source, self.damage.get(rank))


class _Damaged:
    def __init__(self, source: BucketSource, damage: Damage | None) -> None:
        self._source, self._damage = source, damage

    def buckets(self, manifest: Manifest) -> Iterator[tuple[int, memoryview]]:
        found: Iterator[tuple[int, memoryview]] = self._source.buckets(manifest)  # pyright: ignore[reportAssignmentType]
        return found if self._damage is None else self._damage(found)
