"""One end of a road of weights in a process of its own, which may be killed: a trainer, or a replica.

    python weights_process.py serve FOLDER SETTINGS         prints "ready", and serves until its input ends
    python weights_process.py fetch FOLDER SETTINGS AT HOW  fetches version 1; at bucket AT it is killed, stops, or
                                                            ("enter") is killed when it is told to enter a group
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import torch
from weights_kit import Trainer, serving, tensors

from sluicegate.runtime.weights import WeightsConfig
from sluicegate.runtime.weights.broadcast import BroadcastSource

LARGE = {**tensors(1), "ballast": torch.arange(50_000.0)}


async def serve(folder: Path, settings: dict[str, object]) -> None:
    async with serving(folder, **settings) as trainer:  # pyright: ignore[reportArgumentType]
        trainer.publish(named=LARGE)
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.read)


def fetch(folder: Path, settings: dict[str, object], at: int, how: str) -> None:
    trainer = Trainer(folder, WeightsConfig(**settings))  # pyright: ignore[reportArgumentType]
    source = trainer.source("ghost")
    if how == "enter":
        BroadcastSource._receive = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # pyright: ignore
    for number, _ in source.buckets(trainer.manifests.get(1)):
        print(number, flush=True)
        if number == at:
            os.kill(os.getpid(), signal.SIGSTOP if how == "stop" else signal.SIGKILL)
    print("all", flush=True)


if __name__ == "__main__":
    mode, folder, settings = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
    if mode == "serve":
        asyncio.run(serve(folder, settings))
    else:
        fetch(folder, settings, int(sys.argv[4]), sys.argv[5])
