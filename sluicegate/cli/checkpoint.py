"""`sluicegate checkpoint`: the checkpoints of a run, and whether each is whole."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..runtime.checkpoints import Checkpoint

HELP = "list the checkpoints of a run, verify them, and convert one for another number of ranks"
EXAMPLE = "sluicegate checkpoint list runs/mine"
CHECKPOINTS = "checkpoints"
"""Where a run's folder has them."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="action", required=True)
    listing = _action(actions, "list", "list them, the newest first; every file of each is read", EXAMPLE)
    listing.add_argument("folder", type=Path, help="the run's folder, or the one of its checkpoints")
    listing.add_argument("--json", action="store_true", help="one object a line")
    example = "sluicegate checkpoint verify runs/mine/checkpoints/checkpoint-000003"
    verifying = _action(actions, "verify", "read every file of one, and say what it holds", example)
    verifying.add_argument("folder", type=Path, help="the checkpoint")
    verifying.add_argument("--json", action="store_true", help="print it as JSON")
    says = "write a newer checkpoint from one, which any number of ranks can load; nothing of the run may be saving"
    example = "sluicegate checkpoint convert runs/mine/checkpoints/checkpoint-000003"
    converting = _action(actions, "convert", says, example)
    converting.add_argument("folder", type=Path, help="the checkpoint, of ZeRO 1, 2 or 3")


def _action(actions: Any, name: str, says: str, example: str) -> argparse.ArgumentParser:
    return actions.add_parser(name, help=says, description=says, epilog=f"example: {example}")


def run(args: argparse.Namespace) -> int:
    """0: all are whole, and there is one; 1: one is not, or cannot be converted; 2: there is none."""
    return {"list": _list, "verify": _verify, "convert": _convert}[args.action](args)


def _list(args: argparse.Namespace) -> int:
    from ..runtime.checkpoints import Checkpoints
    from ..runtime.training.checkpoint import CheckpointError

    inner = args.folder / CHECKPOINTS
    checkpoints = Checkpoints(inner if inner.is_dir() else args.folder)
    try:
        paths = checkpoints.paths()
    except CheckpointError as error:
        print(f"sluicegate: {error}", file=sys.stderr)
        return 1
    if not paths:
        print(f"sluicegate: {checkpoints.folder} holds no checkpoint: give the folder of a run", file=sys.stderr)
        return 2
    status = 0
    for path in reversed(paths):
        try:
            found = checkpoints.verify(path)
        except CheckpointError as error:
            status = 1
            said = json.dumps({"name": path.name, "whole": False, "why": str(error)})
            print(said if args.json else f"{path.name}  not whole: {error}")
        else:
            print(json.dumps(facts(found)) if args.json else as_text(found))
    return status


def _verify(args: argparse.Namespace) -> int:
    from ..runtime.checkpoints import Checkpoints
    from ..runtime.training.checkpoint import CheckpointError

    if not _is_one(args.folder):
        return 2
    try:
        found = Checkpoints(args.folder.parent).verify(args.folder)
    except CheckpointError as error:
        print(f"sluicegate: {error}", file=sys.stderr)
        return 1
    print(json.dumps(facts(found)) if args.json else as_text(found))
    return 0


def _convert(args: argparse.Namespace) -> int:
    from ..runtime.checkpoints import Checkpoints
    from ..runtime.training.checkpoint import CheckpointError
    from ..runtime.training.universal import convert

    if not _is_one(args.folder):
        return 2
    checkpoints = Checkpoints(args.folder.parent)
    try:
        found = checkpoints.verify(args.folder)
        with checkpoints.begin() as writing:
            kept = found.manifests
            writing.put(found.state, [kept.get(version) for version in kept.versions()])
            convert(found.trainer, writing.trainer)
            writing.complete()
        print(as_text(checkpoints.verify(writing.path)))
    except CheckpointError as error:
        print(f"sluicegate: {error}", file=sys.stderr)
        return 1
    return 0


def _is_one(folder: Path) -> bool:
    """Whether there is a checkpoint in `folder`, whole or not; what to give instead is told."""
    from ..runtime.checkpoints.folder import STATE
    from ..runtime.checkpoints.index import INDEX

    if (folder / INDEX).exists() or (folder / STATE).exists():
        return True
    text = f"sluicegate: {folder} is no checkpoint: give one, such as {CHECKPOINTS}/checkpoint-000001 of a run's folder"
    print(text, file=sys.stderr)
    return False


def facts(found: Checkpoint) -> dict[str, Any]:
    """What is told of a checkpoint that is whole."""
    state = found.state
    return {
        "name": found.path.name, "whole": True, "run": state.run, "step": state.step, "published": state.published,
        "manifests": found.manifests.versions(), "next_group": state.next_group, "in_flight": list(state.in_flight),
        "data_epoch": state.data_epoch,
    }  # fmt: skip


def as_text(found: Checkpoint) -> str:
    """The same as a line."""
    state = found.state
    groups = f"{len(state.in_flight)} groups in flight" if state.in_flight else "at rest"
    return f"{found.path.name}  run {state.run}  step {state.step}  version {state.published}  {groups}  whole"
