"""`sluicegate trace`: judge the trace of a run by the declared protocol, or show what one instance did."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

HELP = "judge the trace of a run by the declared protocol"
EXAMPLE = "sluicegate trace validate runs/<time>/trace.ndjson"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="action", required=True)
    validate = actions.add_parser("validate", help="replay every step and ask the rules between machines")
    validate.add_argument("file", type=Path, help="the merged trace of a run")
    validate.add_argument("--json", action="store_true", help="print the verdict as JSON")
    show = actions.add_parser("show", help="print what one instance did, in its own order")
    show.add_argument("file", type=Path, help="the merged trace of a run")
    show.add_argument("--instance", required=True, help="its name")
    show.add_argument("--machine", help="its machine, where several have an instance of this name")


def run(args: argparse.Namespace) -> int:
    from ..spec.traces import TraceError

    try:
        return _validate(args) if args.action == "validate" else _show(args)
    except TraceError as error:
        print(f"sluicegate: {error}", file=sys.stderr)
        return 2


def _validate(args: argparse.Namespace) -> int:
    from ..spec.traces import validate

    verdict = validate(args.file)
    if args.json:
        print(json.dumps(verdict.as_json(), indent=1, ensure_ascii=False))
        return 0 if verdict.valid else 1
    print(f"{verdict.path}: run {verdict.run}, {verdict.lines} lines")
    for machine, count in verdict.instances.items():
        print(f"  {machine:<10} {count:>7} instances {verdict.steps.get(machine, 0):>9} steps")
    if verdict.killed:
        print(f"  killed, so that their logs may end early: {', '.join(verdict.killed)}")
    if verdict.applied:
        print("rules between machines, and how often each was asked:")
    for rule, count in verdict.applied.items():
        excused = verdict.excused.get(rule, 0)
        print(f"  {rule:<30} {count or 'never':>9}{f'  ({excused} excused)' if excused else ''}")
    if verdict.refusal is None:
        print("explained: the tables and the rules between them allow every line")
        return 0
    print(f"refused by {verdict.refusal.rule}: {verdict.path}: {verdict.refusal}")
    return 1


def _show(args: argparse.Namespace) -> int:
    from ..spec.traces import show

    lines = list(show(args.file, args.instance, args.machine))
    print("\n".join(lines) if lines else f"{args.file} says nothing of an instance {args.instance}")
    return 0 if lines else 1
