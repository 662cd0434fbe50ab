"""The roads of weights against what carries their bytes, and what publishing takes beside the model.

Each road is read by one receiver in this process from a trainer's service in another one; what it is compared with
moves the same bytes in pieces of the same size, in the same run: a copy in memory (direct from shm, ipc), a plain
read of a file (direct from files), a bare gRPC stream (stream), a bare gloo broadcast (broadcast). Nothing is
verified while a road is measured; what the digests cost is shown apart, as the rate at which one thread makes them.
Publishing is measured in a process of its own: the most memory that it had beyond the model's own, in buckets.

    python -m bench.roads [MiB of weights]
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

BUCKET_BYTES, CHUNK_BYTES = 32 << 20, 1 << 20
REPEATS = 5
RUN = "bench-roads"
_PUBLISHING = """
import sys, pathlib, torch
from sluicegate.runtime.weights import WeightsConfig, open_store
store, folder, size, bucket = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
tensors = {f"t{n}": torch.ones(size // 4 // 4) for n in range(4)}
small = {"t": torch.ones(1000)}
weights = WeightsConfig(store=store, folder=folder / "files" if store == "files" else None)
opened = open_store(weights, "bench-publish", shm_root=folder, bucket_bytes=bucket)
opened.publish(1, 0, small.items(), torch.bfloat16)
def memory(what):
    return int(pathlib.Path("/proc/self/status").read_text().split(what + ":")[1].split()[0]) * 1024
pathlib.Path("/proc/self/clear_refs").write_text("5")
before = memory("VmRSS")
opened.publish(2, 0, tensors.items(), torch.bfloat16)
print(memory("VmHWM") - before)
opened.close()
"""


def seconds(do: Callable[[], Any]) -> float:
    """The median over the repeats, after one that is not counted."""
    found = []
    for _ in range(REPEATS + 1):
        began = time.perf_counter()
        do()
        found.append(time.perf_counter() - began)
    return statistics.median(found[1:])


def serve(folder: str, nbytes: int, ready: Any, ends: Any) -> None:
    """The trainer's process: both stores with the same version, and its service."""
    import torch

    from sluicegate.protocol.server import Server
    from sluicegate.runtime.weights import ManifestStore, WeightsConfig, open_store
    from sluicegate.runtime.weights.service import WeightsServicer

    async def run() -> None:
        root = Path(folder)
        tensors = {"large": torch.arange(nbytes // 4, dtype=torch.float32)}
        stores = {}
        for name in ("files", "shm"):
            weights = WeightsConfig(store=name, folder=root / "files", receivers=1)
            store = stores[name] = open_store(weights, RUN, shm_root=root, bucket_bytes=BUCKET_BYTES)
            began = time.perf_counter()
            manifest = store.publish(1, 0, tensors.items(), torch.float32)
            ready.put((name, time.perf_counter() - began))
        manifests = ManifestStore(root / "manifests")
        manifests.put(manifest)
        async with (
            WeightsServicer(weights, stores["shm"], manifests, life="bench") as service,
            Server([service], grace=0.1) as server,
        ):
            await service.announce(server.target)
            ready.put(("served", 0.0))
            await asyncio.to_thread(ends.get)

    asyncio.run(run())


def bare_stream(port: Any, nbytes: int, ends: Any) -> None:
    """A process that streams as many bytes, and does nothing else."""
    from grpc import aio

    from sluicegate.protocol.generated import weights_pb2 as pb
    from sluicegate.protocol.generated import weights_pb2_grpc as rpc

    class Bare(rpc.WeightsServicer):
        async def Fetch(self, request: Any, context: Any) -> None:
            content = bytes(CHUNK_BYTES)
            for _ in range(nbytes // CHUNK_BYTES):
                await context.write(pb.FetchChunk(content=content))

    async def run() -> None:
        server = aio.server()
        rpc.add_WeightsServicer_to_server(Bare(), server)
        port.put(server.add_insecure_port("127.0.0.1:0"))
        await server.start()
        await asyncio.to_thread(ends.get)
        await server.stop(0)

    asyncio.run(run())


def bare_broadcast(port: int, nbytes: int, rounds: int) -> None:
    """Rank 0 of a gloo group of two, which broadcasts as many bytes in buckets."""
    import torch
    import torch.distributed as dist

    from sluicegate.runtime.weights.groups import reach_store

    group: Any = dist.ProcessGroupGloo
    met = group(reach_store("127.0.0.1", port, 60.0), 0, 2, timedelta(seconds=60))
    content = torch.zeros(BUCKET_BYTES, dtype=torch.uint8)
    for _ in range(rounds * (nbytes // BUCKET_BYTES)):
        met.broadcast(content, 0).wait()


@contextlib.contextmanager
def child(target: Callable[..., None], *arguments: Any) -> Iterator[None]:
    process = multiprocessing.get_context("spawn").Process(target=target, args=arguments)
    process.start()
    try:
        yield
    finally:
        process.join(30)
        process.kill()


def drained(source: Any, manifest: Any) -> None:
    """Every bucket, each looked at as a consumer would that only passes it on."""
    for _ in source.buckets(manifest):
        pass


def compared_stream(nbytes: int) -> float:
    import grpc

    from sluicegate.protocol.generated import weights_pb2 as pb
    from sluicegate.protocol.generated import weights_pb2_grpc as rpc

    context = multiprocessing.get_context("spawn")
    port, ends = context.Queue(), context.Queue()
    memory = memoryview(bytearray(CHUNK_BYTES))
    with child(bare_stream, port, nbytes, ends):
        options = (("grpc.max_receive_message_length", 4 << 20),)
        with grpc.insecure_channel(f"127.0.0.1:{port.get()}", options) as channel:

            def fetch() -> None:
                for chunk in rpc.WeightsStub(channel).Fetch(pb.FetchRequest()):
                    memory[:] = chunk.content

            took = seconds(fetch)
        ends.put(None)
    return took


def compared_broadcast(nbytes: int) -> float:
    import torch
    import torch.distributed as dist

    from sluicegate.runtime.weights.groups import open_store

    group: Any = dist.ProcessGroupGloo
    store, port = open_store("127.0.0.1", 60.0)
    with child(bare_broadcast, port, nbytes, REPEATS + 1):
        met = group(store, 1, 2, timedelta(seconds=60))
        content = torch.zeros(BUCKET_BYTES, dtype=torch.uint8)

        def receive() -> None:
            for _ in range(nbytes // BUCKET_BYTES):
                met.broadcast(content, 0).wait()

        return seconds(receive)


def compared_file(path: Path, nbytes: int) -> float:
    path.write_bytes(bytes(nbytes))
    memory = memoryview(bytearray(BUCKET_BYTES))

    def read() -> None:
        with path.open("rb", buffering=0) as file:
            while file.readinto(memory):
                pass

    took = seconds(read)
    path.unlink()
    return took


def main(mebibytes: int = 256) -> None:
    import torch

    from sluicegate.runtime.weights import ManifestStore, WeightsConfig, open_source, remove_run, stage_from, tally
    from sluicegate.runtime.weights.digest import new_digest

    nbytes = mebibytes << 20
    original = torch.ones(nbytes, dtype=torch.uint8)
    bucket, copied = bytes(BUCKET_BYTES), torch.zeros(nbytes, dtype=torch.uint8)
    memory = seconds(lambda: copied.copy_(original))
    digest = seconds(lambda: new_digest(bucket).digest()) * nbytes / BUCKET_BYTES
    context = multiprocessing.get_context("spawn")
    ready, ends = context.Queue(), context.Queue()

    def rate(took: float) -> str:
        return f"{mebibytes / took:9.0f}"

    with tempfile.TemporaryDirectory() as disk, tempfile.TemporaryDirectory(dir="/dev/shm") as shm:
        root = Path(shm)
        (root / "files").symlink_to(disk)
        with child(serve, shm, nbytes, ready, ends):
            published = dict(ready.get() for _ in range(3))
            manifest = ManifestStore(root / "manifests").get(1)
            rows = [
                ("direct, shm", "a copy in memory", {}, memory),
                ("direct, files", "a read of a file", {"store": "files"}, compared_file(Path(disk) / "plain", nbytes)),
                ("ipc", "a copy in memory", {"road": "ipc"}, memory),
                ("stream", "a bare gRPC stream", {"road": "stream"}, compared_stream(nbytes)),
                ("broadcast", "a bare gloo broadcast", {"road": "broadcast"}, compared_broadcast(nbytes)),
            ]
            print(f"{mebibytes} MiB in buckets of {BUCKET_BYTES >> 20} MiB; MiB/s, medians of {REPEATS}")
            print(f"{'road':15} {'MiB/s':>9}   {'compared with':22} {'MiB/s':>9} {'road / it':>9} {'staged':>9}")
            for name, what, settings, bare in rows:
                weights = WeightsConfig(**{"folder": root / "files", **settings})
                source = open_source(weights, RUN, manifests=root / "manifests", shm_root=root)
                took = seconds(lambda source=source: drained(source, manifest))
                resident = {"large": torch.empty(nbytes // 4)}
                staged = seconds(lambda source=source, resident=resident: stage_from(manifest, source, resident))
                print(f"{name:15} {rate(took)}   {what:22} {rate(bare)} {bare / took:9.2f} {rate(staged)}", flush=True)
            ends.put(None)
        print(f"\none thread's digests: {rate(digest)} MiB/s, that is {digest / memory:.1f} times a copy in memory")
        named = [("large", original.view(torch.float32))]
        print(f"tally of what is published: {rate(seconds(lambda: tally(named, torch.float32)))} MiB/s")
        for name in ("shm", "files"):
            print(f"publishing to {name:5}: {rate(published[name])} MiB/s, two digests of each byte and fsync in it")
        for name in ("shm", "files"):
            with tempfile.TemporaryDirectory() as folder:
                words = [name, folder, str(nbytes), str(BUCKET_BYTES)]
                done = subprocess.run(
                    [sys.executable, "-c", _PUBLISHING, *words], check=True, capture_output=True, text=True
                )
            beside = int(done.stdout) / BUCKET_BYTES
            print(f"memory beside the model while publishing to {name:5}: {beside:.2f} buckets")
        remove_run(RUN, root)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 256)
