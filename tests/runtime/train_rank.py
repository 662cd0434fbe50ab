"""One rank of a trainer group, for tests: does one task and leaves what it found in a file.

Arguments: the task as JSON, `{"do": NAME, "model": FOLDER, ...}`, and the folder for results.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from training_kit import make_config, make_samples, weights_of

from sluicegate.runtime.training.checkpoint import INDEX, CheckpointError, complete, partial_of, read_index
from sluicegate.runtime.training.deepspeed_trainer import TrainerCore
from sluicegate.runtime.training.group import GroupError


def train(model: Path, out: Path, settings: list[dict[str, Any]]) -> Any:
    """Two steps under each of the settings: weights and figures."""
    found = []
    for changes in settings:
        core = TrainerCore(make_config(**changes), model)
        core.train(make_samples(16), version=1)
        figures = core.train(make_samples(16, seed=1), version=1).figures()
        found.append({"weights": weights_of(core), "figures": figures, "frozen": core.frozen})
        core.close()
    return found


def resume(model: Path, out: Path, settings: list[dict[str, Any]]) -> Any:
    """Weights after an uninterrupted step, and after the same step from a checkpoint in another engine."""
    found = []
    for number, changes in enumerate(settings):
        core = TrainerCore(make_config(**changes), model)
        core.train(make_samples(16), version=1)
        core.save(out / f"kept-{number}")
        torch.rand(3)
        drawn = torch.rand(1)
        core.train(make_samples(16, seed=1), version=1)
        whole = weights_of(core)
        core.close()
        core = TrainerCore(make_config(**changes), model)
        core.load(out / f"kept-{number}")
        torch.rand(3)
        same_draw = torch.equal(drawn, torch.rand(1))
        figures = core.train(make_samples(16, seed=1), version=1).figures()
        found.append({"whole": whole, "resumed": weights_of(core), "figures": figures, "same_draw": same_draw})
        core.close()
    return found


def exchange(model: Path, out: Path, settings: list[dict[str, Any]], converted: list[str]) -> Any:
    """For each of the settings: the weights after one step more than a converted checkpoint, and after one
    step more than the one that is saved here."""
    found = []
    for number, (changes, folder) in enumerate(zip(settings, converted, strict=True)):
        core = TrainerCore(make_config(**changes), model)
        core.load(Path(folder))
        core.train(make_samples(16, seed=1), version=1)
        taken = weights_of(core)
        core.save(out / f"given-{number}")
        core.train(make_samples(16, seed=2), version=1)
        found.append({"taken": taken, "given": weights_of(core)})
        core.close()
    return found


def refuse(model: Path, out: Path, rank: int) -> Any:
    """What every rank raises when one of them cannot go on, and the weights at the end of it all."""
    core = TrainerCore(make_config(zero_stage=3, collective_ms=60_000), model)
    core.train(make_samples(16), version=1)
    before = weights_of(core)
    core.save(out / "good")
    raised = {}

    def trial(name: str, kind: type[Exception], do: Callable[[], Any]) -> None:
        try:
            do()
        except kind as problem:
            raised[name] = str(problem)

    with small_files(65_536) if rank == 1 else contextlib.nullcontext():
        trial("full disk", CheckpointError, lambda: core.save(out / "full"))
    trial("other batch", GroupError, lambda: core.train(make_samples(16, seed=rank), version=1))
    trial("other folder", GroupError, lambda: core.save(out / f"other-{rank}"))
    # Each rank checks a share of the files: this one is of rank 1's.
    trial("damaged", CheckpointError, lambda: core.load(damaged(out / "good", out / "damaged", rank)))

    kept = differing(out / "good", out / f"place-{rank}", rank)
    trial("other checkpoint", GroupError, lambda: core.load(kept))

    # Rank 0 breaks off after one tensor, as a publication does whose disk is full.
    tensors = core.named_parameters_bucketwise(bucket_bytes=4096)
    drawn = len([next(tensors)] if rank == 0 else list(tensors))
    tensors.close()
    after = weights_of(core)
    core.train(make_samples(16, seed=1), version=1)
    return {"raised": raised, "before": before, "after": after, "trained": weights_of(core), "drawn": drawn}


@contextlib.contextmanager
def small_files(nbytes: int) -> Iterator[None]:
    """The system refuses this process larger files."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


def damaged(folder: Path, copy: Path, rank: int) -> Path:
    """A copy of a checkpoint, made by rank 0, one file of which lacks its last byte."""
    import shutil

    import torch.distributed as dist

    if rank == 0:
        shutil.copytree(folder, copy)
        names = list(json.loads((copy / "checkpoint.json").read_text())["files"])
        broken = copy / names[1]
        broken.write_bytes(broken.read_bytes()[:-1])
    dist.barrier()
    return copy


def differing(folder: Path, place: Path, rank: int) -> Path:
    """A copy of a checkpoint, by a name that is the same on every rank; the second rank's is of another step."""
    import shutil

    shutil.copytree(folder, place / "kept")
    os.chdir(place)
    kept = Path("kept")
    if rank == 1:
        index = read_index(kept)
        (kept / INDEX).unlink()
        kept.rename(partial_of(kept))
        complete(kept, {key: index[key] for key in index.keys() - {"format", "files", "check"}} | {"step": 7})
    return kept


def endless(model: Path, out: Path, **changes: Any) -> Any:
    """Trains until something goes wrong, and tells what."""
    core = TrainerCore(make_config(**changes), model)
    print("training", flush=True)
    try:
        while True:
            core.train(make_samples(16), version=1)
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"


def main() -> None:
    torch.set_num_threads(1)
    task, out, rank = json.loads(sys.argv[1]), Path(sys.argv[2]), int(os.environ["RANK"])
    do = {"train": train, "resume": resume, "exchange": exchange, "refuse": refuse, "endless": endless}[task.pop("do")]
    if do is refuse:
        task["rank"] = rank
    torch.save(do(Path(task.pop("model")), out, **task), out / f"rank{rank}.pt")


if __name__ == "__main__":
    main()
