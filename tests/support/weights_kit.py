"""A trainer's side of the roads of weights, without training: a store, manifests and the Weights service."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import torch

from sluicegate.protocol.client import dial
from sluicegate.protocol.server import Server
from sluicegate.runtime.models import make_tiny_qwen3
from sluicegate.runtime.weights import (
    Manifest,
    ManifestStore,
    WeightsConfig,
    WeightSource,
    WeightStore,
    canonical_tensors,
    open_source,
    open_store,
)
from sluicegate.runtime.weights.groups import open_store as open_meeting
from sluicegate.runtime.weights.service import WeightsServicer

RUN, BUCKET_BYTES = "roads", 1000
ROADS = ("direct", "stream", "broadcast", "ipc")


def tensors(seed: int = 0) -> dict[str, torch.Tensor]:
    """One of each kind: a model with a tied tensor, several dtypes, empty, without dimensions, and larger than a
    bucket."""
    draw = torch.Generator().manual_seed(seed)
    model = make_tiny_qwen3(11, hidden=16, heads=2, kv_heads=1, seed=seed)
    return {
        **canonical_tensors(model),
        "half": torch.randn(7, 5, generator=draw).bfloat16(),
        "large": torch.randn(33, 100, generator=draw),
        "count": torch.arange(300),
        "mask": torch.tensor([True, False, True]),
        "none": torch.empty(0, 4),
        "scalar": torch.tensor(2.5),
        "steps": torch.tensor(7),
    }


def resident(manifest: Manifest) -> dict[str, torch.Tensor]:
    """What an engine would hold, of zeros."""
    return {t.name: torch.zeros(t.shape, dtype=getattr(torch, t.dtype)) for t in manifest.tensors}


class Trainer:
    """Publishes into `folder`, and opens roads from there."""

    server: Server

    def __init__(self, folder: Path, weights: WeightsConfig, bucket_bytes: int = BUCKET_BYTES) -> None:
        self.folder, self.weights = folder, weights
        self.manifests = ManifestStore(folder / "manifests")
        self.store: WeightStore = open_store(weights, RUN, shm_root=folder, bucket_bytes=bucket_bytes)

    def publish(
        self, version: int = 1, dtype: torch.dtype = torch.float32, named: Mapping[str, torch.Tensor] | None = None
    ) -> Manifest:
        """Version 1 of `tensors`, or of those that are given."""
        manifest = self.store.publish(version, 0, (named or tensors(version)).items(), dtype)
        self.manifests.put(manifest)
        return manifest

    def source(self, receiver: str = "replica", **settings: Any) -> WeightSource:
        """The run's road, or another by `settings` of WeightsConfig."""
        weights = WeightsConfig(**{**_settings(self.weights), **settings})
        return open_source(weights, RUN, manifests=self.manifests.folder, shm_root=self.folder, receiver=receiver)


@asynccontextmanager
async def serving(
    root: Path, *, life: str = "trainer.1", bucket_bytes: int = BUCKET_BYTES, **settings: Any
) -> AsyncIterator[Trainer]:
    """A trainer whose Weights service answers."""
    weights = WeightsConfig(**{"within_ms": 5_000, "gather_ms": 300, **settings})
    trainer = Trainer(root, weights, bucket_bytes)
    async with (
        WeightsServicer(weights, trainer.store, trainer.manifests, life=life) as service,
        Server([service], grace=0.2) as server,
    ):
        trainer.server = server
        await service.announce(server.target)
        yield trainer


@asynccontextmanager
async def nothing_left() -> AsyncIterator[None]:
    """Threads, files and sockets are as they were, once what is inside has ended; a pool's idle threads may stay."""
    # What gRPC and torch have once for a process is there before, and stays.
    open_meeting("127.0.0.1", 5.0)
    async with Server([], grace=0.1) as server, dial(server.target) as channel:
        await channel.channel_ready()
        gc.collect()
        files, threads = _files(), set(threading.enumerate())
        yield
        more, new = set[str](), set[str]()
        for _ in range(20):
            gc.collect()
            more, new = _files() - files, {t.name for t in set(threading.enumerate()) - threads}
            new = {name for name in new if not name.startswith(("asyncio_", "weights_", "broadcast_"))}
            if not more and not new:
                return
            await asyncio.sleep(0.2)
        raise AssertionError(f"left behind: {more}, {new}")


def _files() -> set[str]:
    """Open files by what they are, without those that belong to the process: sockets and pipes by number."""
    found = set()
    for number in os.listdir("/proc/self/fd"):
        try:
            found.add(f"{number} {os.readlink(f'/proc/self/fd/{number}')}")
        except OSError:
            continue
    return found


def _settings(weights: WeightsConfig) -> dict[str, Any]:
    return {name: getattr(weights, name) for name in weights.__dataclass_fields__}
