"""What a rank puts into a checkpoint and takes from it: DeepSpeed's state, and that of the random numbers.

Rules of this file:

- DeepSpeed writes between collectives: a rank that cannot write goes on with them, and tells it afterwards.
- A file is on the disk before its writer goes on.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from ..files import sync

TAG = "state"
"""The folder of DeepSpeed's files within a checkpoint."""
BUFFERS = "buffers.pt"
"""The persistent buffers, in that folder of a converted checkpoint."""


class Writing:
    """DeepSpeed's writer and reader of files, one that cannot be written being a `problem` instead of an end."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.problem = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        try:
            self._inner.makedirs(path, exist_ok=exist_ok)
        except OSError as problem:
            self._note(path, problem)

    def save(self, state_dict: Any, path: str) -> None:
        try:
            self._inner.save(state_dict, path)
            sync(Path(path))
        except (OSError, RuntimeError) as problem:
            # torch raises RuntimeError for a full disk.
            self._note(path, problem)

    def _note(self, path: str, problem: Exception) -> None:
        self.problem = self.problem or f"{path} could not be written: {problem}"


def write_state(engine: Any, folder: Path, rank: int) -> None:
    """Writes the engine's state, all ranks together, and this rank's random numbers into `folder`.

    Raises OSError when this rank could not write; the other ranks are not held up by it.
    """
    files = engine.checkpoint_engine = Writing(engine.checkpoint_engine)
    # A script that makes one file of all shards: written by one rank only, in a place where it may not fail.
    engine._copy_recovery_script = lambda _: None
    try:
        engine.save_checkpoint(str(folder), tag=TAG, save_latest=False)
    finally:
        engine.checkpoint_engine = files._inner
    if files.problem:
        raise OSError(files.problem)
    _write_random(folder / f"random-{rank}.pt")


def read_state(engine: Any, folder: Path, rank: int) -> None:
    """Takes what `write_state` wrote, all ranks together. An error leaves the engine in doubt."""
    _load(engine, folder)
    _read_random(folder / f"random-{rank}.pt")


def read_converted_state(engine: Any, folder: Path) -> None:
    """Takes what was converted for any number of ranks. An error leaves the engine in doubt."""
    import torch

    # A setting of DeepSpeed's, which it reads at each load.
    engine._config.load_universal_checkpoint = True
    try:
        _load(engine, folder)
    finally:
        engine._config.load_universal_checkpoint = False
    buffers = dict(engine.module.named_buffers())
    for name, kept in torch.load(folder / TAG / BUFFERS, weights_only=True).items():
        buffers[name].copy_(kept)


def _load(engine: Any, folder: Path) -> None:
    found, _ = engine.load_checkpoint(str(folder), tag=TAG)
    if found is None:
        raise RuntimeError(f"DeepSpeed found no state in {folder}")


def _write_random(path: Path) -> None:
    import numpy as np
    import torch

    drawn: Any = np.random.get_state(legacy=True)
    name, keys, position, has_gauss, gauss = drawn
    state = {
        "python": random.getstate(),
        "numpy": (name, torch.from_numpy(keys.astype("int64")), int(position), int(has_gauss), float(gauss)),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state() if torch.cuda.is_available() else None,
    }
    torch.save(state, path)
    sync(path)


def _read_random(path: Path) -> None:
    import numpy as np
    import torch

    state = torch.load(path, weights_only=True)
    name, keys, position, has_gauss, gauss = state["numpy"]
    random.setstate(state["python"])
    np.random.set_state((name, keys.numpy().astype("uint32"), position, has_gauss, gauss))
    torch.set_rng_state(state["torch"])
    if state["cuda"] is not None and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])
