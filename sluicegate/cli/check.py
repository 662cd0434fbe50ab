"""`sluicegate check`: machines and system models, judged by two model checkers."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ._machines import UnknownName, load_machine

if TYPE_CHECKING:
    from ..spec.judge import Row

HELP = "check the declared machines and the models of the whole, or a machine of your own"
EXAMPLE = "sluicegate check mypkg.orders:Order"
PROFILES = ("small", "full", "simulate")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("machine", nargs="*", help="MODULE:CLASS of a machine; by default all of this project")
    parser.add_argument(
        "--model", action="append", default=[], metavar="NAME", help="only this model or machine; may be repeated"
    )
    parser.add_argument(
        "--profile", choices=PROFILES, default="small",
        help="which models of this project: small (at every push), full (larger bounds), simulate (random behaviours)",
    )  # fmt: skip
    parser.add_argument("--checker", choices=("tla-checker", "TLC"), help="judge the models by one checker only")


def run(args: argparse.Namespace) -> int:
    from ..spec.checkers import CheckerMissing
    from ..statemachines.problems import DeclarationError

    try:
        todo = list(_own(args.machine) if args.machine else _project(args.model, args.profile, args.checker))
    except DeclarationError as error:
        print(f"sluicegate: {error}", file=sys.stderr)
        return 1
    except UnknownName as error:
        print(f"sluicegate: {error}", file=sys.stderr)
        return 2
    try:
        return _judge(todo)
    except CheckerMissing as error:
        print(f"sluicegate: {error}", file=sys.stderr)
        return 2


def _own(names: list[str]) -> Iterator[tuple[str, Callable[[], Row]]]:
    from ..spec.judge import judge_machine

    for name in names:
        machine = load_machine(name)
        yield machine.__name__, lambda machine=machine: judge_machine(machine)


def _project(wanted: list[str], profile: str, checker: str | None) -> Iterator[tuple[str, Callable[[], Row]]]:
    from ..spec.judge import CHECKERS, judge_machine, judge_system
    from ..spec.models import MODELS
    from ..statemachines.machines import MACHINES

    known = [m.__name__ for m in MACHINES] + [m.name for m in MODELS]
    if unknown := [name for name in wanted if name not in known]:
        raise UnknownName(f"no model {', '.join(unknown)}; there are {', '.join(known)}")
    for machine in MACHINES:
        if machine.__name__ in wanted or (not wanted and profile == "small"):
            yield machine.__name__, lambda machine=machine: judge_machine(machine)
    for system in MODELS:
        if system.name in wanted or (not wanted and system.profile == profile):
            by = (checker,) if checker else CHECKERS
            yield system.name, lambda system=system, by=by: judge_system(system, by)


def _judge(todo: list[tuple[str, Callable[[], Row]]]) -> int:
    from ..spec.judge import changes

    began = time.monotonic()
    bad = 0
    print(f"{'model':14} {'distinct':>9} {'seconds':>8}  {'tla-checker':28} {'TLC':28} properties", flush=True)
    for number, (name, judge) in enumerate(todo, start=1):
        _progress(f"{name} ({number} of {len(todo)}) ...")
        row = judge()
        _progress("")
        cells = (row.verdicts.get(checker, "-") for checker in ("tla-checker", "TLC"))
        judged = " ".join(f"{cell:28}" for cell in cells)
        print(f"{row.name:14} {row.distinct:>9} {row.seconds:>8.1f}  {judged} {row.properties}", flush=True)
        for note in row.notes:
            print(f"  note: {note}")
        if row.ok:
            continue
        bad += 1
        print(f"  FAILED: {row.trouble}")
        for line in changes(row.trace):
            print(f"    {line}")
    print(f"{len(todo) - bad} good, {bad} failed, in {time.monotonic() - began:.0f} s")
    return 1 if bad else 0


def _progress(text: str) -> None:
    """What runs now, on a terminal only."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
