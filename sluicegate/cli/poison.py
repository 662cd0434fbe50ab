"""`sluicegate poison`: give a replica up."""

from __future__ import annotations

import argparse

from ._controller import add_operation, run_operation

HELP = "give a replica up, whose weights or device are in doubt: it is ended and replaced"
EXAMPLE = "sluicegate poison runs/mine replica-0 --why 'its answers make no sense'"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_operation(parser)
    parser.add_argument("replica", help="its name, as status shows it")
    parser.add_argument("--why", required=True, help="the reason, which its log and its refusals then name")


def run(args: argparse.Namespace) -> int:
    return run_operation(
        args,
        lambda client, operation, within: client.poison(args.replica, args.why, operation_id=operation, within=within),
    )
