"""`sluicegate checkpoint`: the checkpoints of a run, and whether each is whole."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..runtime.checkpoints import Checkpoint

HELP = "list the checkpoints of a run, and verify them"
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


def _action(actions: Any, name: str, says: str, example: str) -> argparse.ArgumentParser:
    return actions.add_parser(name, help=says, description=says, epilog=f"example: {example}")


def run(args: argparse.Namespace) -> int:
    """0: all are whole, and there is one; 1: one is not; 2: there is none."""
    return {"list": _list, "verify": _verify}[args.action](args)


def _list(args: argparse.Namespace) -> int:
    from ..runtime.checkpoints import Checkpoints
    from ..runtime.training.checkpoint import CheckpointError

    inner = args.folder / CHECKPOINTS
    checkpoints = Checkpoints(inner if inner.is_dir() else args.folder)
    paths = checkpoints.paths()
    if not paths:
        print(f"sluicegate: {checkpoints.folder} holds no checkpoint: give the folder of a run", file=sys.stderr)
        return 2
    status = 0
    for path in reversed(paths):
        try:
            found = checkpoints.verify(path)
        except CheckpointError as error:
            status = 1
            print(json.dumps({"name": path.name, "whole": False, "why": str(error)}) if args.json else error)
        else:
            print(json.dumps(facts(found)) if args.json else as_text(found))
    return status


def _verify(args: argparse.Namespace) -> int:
    from ..runtime.checkpoints import Checkpoints
    from ..runtime.training.checkpoint import CheckpointError

    if not args.folder.is_dir():
        print(f"sluicegate: {args.folder} is no folder: give a checkpoint", file=sys.stderr)
        return 2
    try:
        found = Checkpoints(args.folder.parent).verify(args.folder)
    except CheckpointError as error:
        print(f"sluicegate: {error}", file=sys.stderr)
        return 1
    print(json.dumps(facts(found)) if args.json else as_text(found))
    return 0


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
