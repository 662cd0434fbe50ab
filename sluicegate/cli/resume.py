"""`sluicegate resume`: end a pause."""

from __future__ import annotations

import argparse

from ._controller import add_operation, run_operation

HELP = "end the pause of a run: every gate is open again"
EXAMPLE = "sluicegate resume runs/mine"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_operation(parser)


def run(args: argparse.Namespace) -> int:
    return run_operation(args, lambda client, operation, within: client.resume(operation_id=operation, within=within))
