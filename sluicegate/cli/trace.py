"""`sluicegate trace`: judge the trace of a run by the declared protocol, show what one instance did, merge logs."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..spec.traces.reading import Trace
    from ..spec.traces.tla import Explained

HELP = "judge the trace of a run by the declared protocol"
EXAMPLE = "sluicegate trace validate runs/<time>/trace.ndjson"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="action", required=True)
    validate = _action(actions, "validate", "replay every step and ask the rules between machines", EXAMPLE)
    validate.add_argument("file", type=Path, help="the merged trace of a run")
    validate.add_argument("--json", action="store_true", help="print the verdict as JSON")
    validate.add_argument("--tla", action="store_true", help="hold the run to the TLA+ models too, by TLC")
    parts = validate.add_mutually_exclusive_group()
    parts.add_argument("--window", type=_window, metavar="STEPS", help="steps that TLC is given at a time (with --tla)")
    parts.add_argument("--whole", action="store_true", help="give TLC the whole run at once (with --tla)")
    show_example = "sluicegate trace show runs/<time>/trace.ndjson --instance r0"
    show = _action(actions, "show", "print what one instance did, in its own order", show_example)
    show.add_argument("file", type=Path, help="the merged trace of a run")
    show.add_argument("--instance", required=True, help="its name")
    show.add_argument("--machine", help="its machine, where several have an instance of this name")
    merge_example = "sluicegate trace merge runs/<time>/trace --out trace.ndjson"
    merge = _action(actions, "merge", "make one trace of the logs of a run that was stopped", merge_example)
    merge.add_argument("folder", type=Path, help="the folder with a log for each process: runs/<time>/trace")
    merge.add_argument("--out", type=Path, help="the trace; by default trace.ndjson beside the folder")


def _action(actions: Any, name: str, says: str, example: str) -> argparse.ArgumentParser:
    return actions.add_parser(name, help=says, description=says, epilog=f"example: {example}")


def _window(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text} is no number of steps: give one above 0")
    return int(text)


def run(args: argparse.Namespace) -> int:
    from ..spec.checkers.model import CheckerMissing
    from ..spec.traces import TraceError

    actions = {"validate": _validate, "show": _show, "merge": _merge}
    try:
        return actions[args.action](args)
    except (TraceError, CheckerMissing) as error:
        _progress("")
        print(f"sluicegate: {error}", file=sys.stderr)
        return 2


def _validate(args: argparse.Namespace) -> int:
    from ..spec.traces.reading import read
    from ..spec.traces.validate import judged, uncollected
    from ..statemachines.machines import MACHINES

    if (args.window or args.whole) and not args.tla:
        print("sluicegate: --window and --whole say how much TLC is given at a time: add --tla", file=sys.stderr)
        return 2

    def show(what: str, done: int, of: int) -> None:
        _progress(f"{what}: {done} of {of}")

    with uncollected():
        trace = read(args.file, MACHINES, show)
        verdict = judged(args.file, trace, show)
        _progress("")
        explained = _explain(args, trace) if args.tla and verdict.valid else []
    is_good = verdict.valid and all(e.ok for e in explained)
    if args.json:
        found = verdict.as_json() | ({"tla": [e.as_json() for e in explained]} if args.tla else {})
        print(json.dumps(found, indent=1, ensure_ascii=False))
        return 0 if is_good else 1
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
    if verdict.refusal is not None:
        print(f"refused by {verdict.refusal.rule}: {verdict.path}: {verdict.refusal}")
        return 1
    print("explained: the tables and the rules between them allow every line")
    for one in explained:
        print(one.said(str(verdict.path)))
    return 0 if is_good else 1


def _explain(args: argparse.Namespace, trace: Trace) -> list[Explained]:
    from ..spec.traces.tla import WINDOW, explain_run

    window = None if args.whole else args.window or WINDOW
    found = list(explain_run(trace, window, told=lambda model, steps, of: _progress(f"{model}: {steps} of {of} steps")))
    _progress("")
    return found


def _merge(args: argparse.Namespace) -> int:
    from ..runtime.tracelog import merge_stopped

    out: Path = args.out or args.folder.parent / "trace.ndjson"
    killed = merge_stopped(args.folder, out)
    if killed:
        print(f"ended without closing their logs, so that these may end early: {', '.join(killed)}")
    print(f"{out}: judge it by `sluicegate trace validate {out}`")
    return 0


_shown = [0.0]


def _progress(text: str) -> None:
    """What is being done, on a terminal: a line that the next one replaces, at most ten times a second."""
    if sys.stderr.isatty() and (not text or time.monotonic() - _shown[0] > 0.1):
        _shown[0] = time.monotonic()
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def _show(args: argparse.Namespace) -> int:
    from ..spec.traces import show

    lines = list(show(args.file, args.instance, args.machine))
    print("\n".join(lines) if lines else f"{args.file} says nothing of an instance {args.instance}")
    return 0 if lines else 1
