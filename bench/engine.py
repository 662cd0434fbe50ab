"""Tokens per second of the torch engine on the demo's small Qwen3, one thread, full batches.

Every round keeps `batch` requests in flight: prompts of 12 to 24 tokens, answers of 32 to 64, so that rows
join and leave all the time. Wall time is what a user waits; tokens per second of CPU time hardly depends
on what else the machine does. The figure is the median of the rounds.

    python -m bench.engine [requests per slot]
"""

from __future__ import annotations

import asyncio
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

import torch

from sluicegate.runtime.engines import Request, TorchEngine, stream
from sluicegate.runtime.models import CharTokenizer, make_tiny_qwen3, save_model_folder

ROUNDS = 3


async def measure(folder: Path, batch: int, per_slot: int) -> tuple[float, float]:
    """(tokens per second of wall time, of CPU time) of one engine from its first request to its last."""
    rng = random.Random(0)
    async with TorchEngine(folder, version=0, max_batch=batch) as engine:

        async def slot(number: int) -> None:
            for turn in range(per_slot):
                prompt = [rng.randrange(5, 40) for _ in range(rng.randint(12, 24))]
                request = Request(f"{number}.{turn}", prompt, rng.randint(32, 64), seed=number)
                async for _ in stream(engine, request):
                    pass

        wall, cpu = time.perf_counter(), time.process_time()
        async with asyncio.TaskGroup() as group:
            for number in range(batch):
                group.create_task(slot(number))
        made = engine.health().tokens
        return made / (time.perf_counter() - wall), made / (time.process_time() - cpu)


def main() -> None:
    """Prints one line per batch size."""
    torch.set_num_threads(1)
    per_slot = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    with tempfile.TemporaryDirectory() as folder:
        tokenizer = CharTokenizer()
        save_model_folder(Path(folder), make_tiny_qwen3(tokenizer.vocab_size), tokenizer)
        for batch in (16, 32, 64):
            rounds = [asyncio.run(measure(Path(folder), batch, per_slot)) for _ in range(ROUNDS)]
            wall, cpu = (statistics.median(column) for column in zip(*rounds, strict=True))
            print(f"batch {batch:3}: {wall:7.0f} tokens/s, {cpu:7.0f} tokens per second of CPU time")


if __name__ == "__main__":
    main()
