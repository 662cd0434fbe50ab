"""`sluicegate pause`: drain all gates that serve, and keep them so."""

from __future__ import annotations

import argparse

from ._controller import add_operation, run_operation

HELP = "drain all gates of a run and keep them drained, until resume"
EXAMPLE = "sluicegate pause runs/mine --mode wait"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_operation(parser)
    parser.add_argument(
        "--mode",
        choices=("wait", "abort", "keep"),
        help="what becomes of running requests; the controller's own if not given",
    )


def run(args: argparse.Namespace) -> int:
    from ..statemachines.sorts import Mode

    mode = Mode(args.mode) if args.mode else None
    return run_operation(
        args, lambda client, operation, within: client.pause(mode, operation_id=operation, within=within)
    )
