"""How long a gate is closed for new weights of three sizes: staged before, put in place, and by a plain swap.

The window is from seal to reopened, of one rollout worker in a process of its own that is driven as a controller
does; what is staged is staged before, and told by itself. The plain swap is what a script does without a gate: the
same engine stops, the same buckets are read and copied without a look at their digests, and it starts. Loaded: at
any time as many requests as one batch takes run, and are frozen meanwhile (mode keep). A figure is the median over
the swaps, a ratio that to the plain swap of the same size and load. At last: tokens per second of a loaded engine
while versions are staged one after the other, to those without.

    python -m bench.window [swaps of each kind]
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from sluicegate.runtime.engines import Request, StreamSink, TorchEngine
from sluicegate.runtime.models import make_tiny_qwen3
from sluicegate.runtime.weights import Manifest, ShmReader, canonical_tensors
from sluicegate.statemachines.sorts import Mode

from .busy import SUPPORT, busy

if TYPE_CHECKING:
    from rollout_kit import Driven, Weights

SIZES: dict[str, dict[str, int]] = {
    "1 M": {"hidden": 128, "layers": 4, "heads": 4, "kv_heads": 2},
    "25 M": {"hidden": 512, "layers": 7, "heads": 8, "kv_heads": 4},
    "100 M": {"hidden": 896, "layers": 9, "heads": 14, "kv_heads": 2},
}
VOCABULARY = {"1 M": 1000, "25 M": 8000, "100 M": 16_000}
LOADED = ("1 M", "25 M")
CLIENTS, TOKENS, POSITIONS = 8, 1000, 2048
STAGED_S = 4.0


@dataclass
class Versions:
    """Weights of one size: version after version with the same content but for one number, the last two kept."""

    weights: Weights
    tensors: dict[str, torch.Tensor]

    def __post_init__(self) -> None:
        self._next = itertools.count(1)

    def new(self) -> Manifest:
        version = next(self._next)
        next(iter(self.tensors.values())).detach().view(-1)[0] = float(version)
        manifest = self.weights.publisher.publish(version, version, self.tensors.items(), torch.float32)
        self.weights.store.put(manifest)
        self.weights.publisher.discard(version - 2)
        return manifest

    @property
    def source(self) -> ShmReader:
        return ShmReader(self.weights.run, root=self.weights.folder / "shm")


class Plain(TorchEngine):
    """An engine whose weights are swapped as a script would."""

    async def swap(self, manifest: Manifest, source: ShmReader) -> None:
        """Stop between two steps, read and copy, start."""

        def copy() -> None:
            flat = [t.detach().view(-1).view(torch.uint8) for t in self._model.tensors.values()]
            names = {name: number for number, name in enumerate(self._model.tensors)}
            for number, content in source.buckets(manifest):
                received, start = torch.frombuffer(content, dtype=torch.uint8), 0
                for piece in manifest.buckets[number].pieces:
                    target = flat[names[manifest.tensors[piece.tensor].name]]
                    target[piece.offset : piece.offset + piece.length] = received[start : start + piece.length]
                    start += piece.length
            self._scheduler.drop_cache()

        await self.freeze(manifest.version)
        await self._call(copy)
        await self.continue_(manifest.version)


async def median(count: int, one: Callable[[], Awaitable[float]]) -> float:
    """Milliseconds; the first is thrown away."""
    return statistics.median([await one() for _ in range(count + 1)][1:])


async def windows(gate: Driven, versions: Versions, count: int) -> tuple[float, float]:
    """Milliseconds of staging before the window, and of the window."""
    staged: list[float] = []

    async def one() -> float:
        manifest = versions.new()
        began = time.perf_counter()
        await gate.stage(manifest.version, within=120)
        staged.append(1000 * (time.perf_counter() - began))
        await asyncio.sleep(0.2)
        began = time.perf_counter()
        await gate.seal(Mode.KEEP)
        await gate.drain()
        await gate.install(manifest.version)
        await gate.reopen()
        took = 1000 * (time.perf_counter() - began)
        await gate.close()
        return took

    took = await median(count, one)
    return statistics.median(staged[1:]), took


async def plain(versions: Versions, count: int, loaded: bool) -> float:
    async with engine(Plain, versions, loaded) as made:

        async def one() -> float:
            manifest = versions.new()
            await asyncio.sleep(0.2)
            began = time.perf_counter()
            await made.swap(manifest, versions.source)
            return 1000 * (time.perf_counter() - began)

        return await median(count, one)


@asynccontextmanager
async def engine(kind: Any, versions: Versions, loaded: bool) -> AsyncIterator[Any]:
    """An engine in this process, with requests if it is loaded."""
    async with kind(versions.weights.model, version=0, max_batch=CLIENTS) as made:
        numbers = itertools.count()

        async def client() -> None:
            while True:
                sink = StreamSink()
                made.generate(Request(f"r{next(numbers)}", [3, 1, 4], TOKENS, seed=1), sink)
                while type(await sink.queue.get()).__name__ != "Finish":
                    pass

        clients = [asyncio.create_task(client()) for _ in range(CLIENTS if loaded else 0)]
        try:
            yield made
        finally:
            for task in clients:
                task.cancel()


async def pace(versions: Versions) -> float:
    """Tokens per second while versions are staged, to those without."""
    manifests = [versions.new() for _ in range(2)]
    async with engine(TorchEngine, versions, loaded=True) as made:

        async def rate() -> float:
            before, began = made.health().tokens, time.perf_counter()
            await asyncio.sleep(STAGED_S)
            return (made.health().tokens - before) / (time.perf_counter() - began)

        async def stage() -> None:
            for manifest in itertools.cycle(manifests):
                await made.stage(manifest, versions.source)

        await asyncio.sleep(1.0)
        found: list[float] = []
        for _ in range(3):
            alone = await rate()
            staging = asyncio.create_task(stage())
            found.append(await rate() / alone)
            staging.cancel()
            await asyncio.wait((staging,))
        return statistics.median(found)


@asynccontextmanager
async def worker(versions: Versions, in_place: bool) -> AsyncIterator[Driven]:
    import rollout_kit as kit

    folder = versions.weights.folder / f"in-place-{in_place}"
    folder.mkdir(exist_ok=True)
    config = versions.weights.config(
        f"r{int(in_place)}", in_place=in_place, lease_ms=3_600_000, max_batch=CLIENTS
    )
    with kit.worker_process("rollout", config, folder) as (_, ready):
        async with kit.driven(ready, versions.weights) as gate:
            yield gate


async def measure(size: str, count: int) -> None:
    import rollout_kit as kit

    with tempfile.TemporaryDirectory() as folder:
        model = make_tiny_qwen3(VOCABULARY[size], max_positions=POSITIONS, **SIZES[size])
        model.save_pretrained(Path(folder) / "model")
        weights = kit.Weights(f"window-{time.monotonic_ns()}", Path(folder))
        weights.publisher.bucket_bytes = 32 * 1024 * 1024
        versions = Versions(weights, canonical_tensors(model))
        nbytes = sum(tensor.nbytes for tensor in versions.tensors.values())
        for load in (False, True) if size in LOADED else (False,):
            by = await plain(versions, count, load)
            found: dict[str, tuple[float, float]] = {}
            for in_place in (False, True):
                async with worker(versions, in_place) as gate:
                    await windows(gate, versions, 1)
                    if load:
                        async with busy(gate, CLIENTS, TOKENS):
                            found["in place" if in_place else "staged"] = await windows(gate, versions, count)
                    else:
                        found["in place" if in_place else "staged"] = await windows(gate, versions, count)
            for way, (before, took) in found.items():
                print(
                    f"{size:>6} {nbytes / 2**20:6.0f} {'loaded' if load else 'idle':7} {way:9} {before:9.1f}"
                    f" {took:9.1f} {by:9.1f} {took / by:8.2f}", flush=True,
                )  # fmt: skip
        if size in LOADED:
            share = await pace(versions)
            print(f"{size:>6} tokens per second while versions are staged, to those without: {share:.2f}", flush=True)


def main(count: int = 5) -> None:
    if str(SUPPORT) not in sys.path:
        sys.path.insert(0, str(SUPPORT))
    torch.set_num_threads(1)
    print("  size    MiB worker  way        stage ms window ms  plain ms  / plain", flush=True)
    for size in SIZES:
        asyncio.run(measure(size, count))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
