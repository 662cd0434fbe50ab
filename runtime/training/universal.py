"""Checkpoints for another number of ranks: a checkpoint that was cut for its ranks, put together again.

A converted one is read by any number of ranks: from ZeRO 1 or 2 by ZeRO 1 or 2, from ZeRO 3 by ZeRO 3. The
random numbers of the ranks stay behind; a step draws its own from seed, step and rank.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
from pathlib import Path
from typing import Any

from .checkpoint import CheckpointError, complete, discard, partial_of, prepare, require_complete
from .state import BUFFERS, TAG


def convert(folder: Path, out: Path) -> None:
    """Writes what the checkpoint in `folder` holds as `out`, which must not exist, for any number of ranks.

    Needs no group of ranks, and about as much memory as the largest tensor's states. Raises CheckpointError,
    with nothing left, when `folder` holds none, or one of ZeRO 0 or a converted one; OSError when the disk
    refuses.
    """
    index = require_complete(folder, {})
    if index.get("universal"):
        raise CheckpointError(f"{folder} is converted already: load it as it is")
    if missing := {"zero_stage", "architecture", "precision", "frozen", "step"} - index.keys():
        raise CheckpointError(f"{folder} is no checkpoint of a trainer: its index lacks {', '.join(sorted(missing))}")
    if index["zero_stage"] == 0:
        raise CheckpointError(
            f"{folder} was saved with zero_stage 0, which DeepSpeed cannot convert: load it with as many ranks "
            "as it was saved with"
        )
    prepare(out)
    partial = partial_of(out)
    try:
        _put_together(folder / TAG, partial / TAG)
        (partial / "latest_universal").unlink(missing_ok=True)
        kept = {key: index[key] for key in ("architecture", "precision", "frozen", "step")}
        complete(out, kept | family(index["zero_stage"]))
    except OSError:
        discard(out)
        raise
    except Exception as problem:
        discard(out)
        raise CheckpointError(f"{folder} could not be converted: {problem!r}. Load it as it was saved") from problem


def family(zero_stage: int) -> dict[str, Any]:
    """What a converted checkpoint says of the stages that can read it."""
    return {"universal": True, "zero_stages": [3] if zero_stage == 3 else [1, 2]}


def _put_together(states: Path, out: Path) -> None:
    import torch

    # DeepSpeed chooses its accelerator while it is imported.
    if not torch.cuda.is_available():
        os.environ.setdefault("DS_ACCELERATOR", "cpu")
    from deepspeed.checkpoint import ds_to_universal

    settings = argparse.Namespace(
        input_folder=str(states), output_folder=str(out), num_extract_workers=1, num_merge_workers=1,
        keep_temp_folder=False, strict=True, inject_missing_state=True,
    )  # fmt: skip
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        ds_to_universal.main(settings)
    # DeepSpeed restores parameters and their states from it, but no buffers.
    first = min(states.glob("*model_states.pt"))
    state = torch.load(first, map_location="cpu", weights_only=False)
    torch.save({name: state["module"][name] for name in state["buffer_names"]}, out / BUFFERS)
