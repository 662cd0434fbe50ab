"""`sluicegate check`: machines and system models, judged by two model checkers."""

from __future__ import annotations

import argparse
import difflib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _coverage, _mutants, _rows
from ._machines import UnknownName, load_declared
from ._saving import Folder

if TYPE_CHECKING:
    from ..spec.judge import Row
    from ..spec.models import SystemModel
    from ..statemachines import Machine

HELP = "check the declared machines and the models of the whole, or machines and models of your own"
EXAMPLE = "sluicegate check mypkg.orders:Order --bound amount=3"
PROFILES = ("small", "full", "simulate")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names", nargs="*", metavar="MODULE[:NAME]",
        help="a machine, a configuration of `transitions` or a SystemModel of your own; without NAME all machines "
        "of the module and the models in its MODELS; without MODULE all of this project",
    )  # fmt: skip
    parser.add_argument(
        "--model", action="append", default=[], metavar="NAME", help="only this model or machine; may be repeated"
    )
    parser.add_argument(
        "--profile", choices=PROFILES, default="small",
        help="which models: small (at every push), full (larger bounds), simulate (random behaviours)",
    )  # fmt: skip
    parser.add_argument("--checker", choices=("tla-checker", "TLC"), help="judge by one checker only")
    parser.add_argument(
        "--bound", action="append", default=[], metavar="NAME=VALUE",
        help="in place of the declared scope: nat=5 for all naturals, or the name of a field, an argument, an id "
        "sort, a number in a model's constants; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--timeout", type=_seconds, default=600.0, metavar="SECONDS", help="for each run of a checker; 600 by default"
    )
    parser.add_argument(
        "--format", choices=("text", "mermaid", "json"), default="text",
        help="how counterexamples are shown: text, a Mermaid sequence chart; json: the whole report, as one document "
        "on standard output",
    )  # fmt: skip
    parser.add_argument(
        "--save", type=Path, metavar="DIR",
        help="keep each counterexample here, for `sluicegate replay`, and as a pytest case where one can be made",
    )  # fmt: skip
    parser.add_argument(
        "--mutants", action="store_true",
        help="break each rule of this project's tables and models in turn: is it noticed? With --model those of one "
        "machine or TLA+ module; takes up to an hour on 2 cores, and goes on where it was ended",
    )  # fmt: skip
    parser.add_argument(
        "--coverage", action="store_true",
        help="tell which rules of the tables this project's models take, those of --profile or --model",
    )  # fmt: skip


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 1e6:
        raise argparse.ArgumentTypeError(f"{text} is no time limit: give seconds above 0, at most 1000000")
    return seconds


Job = tuple[str, Callable[[], "Row"]]


def run(args: argparse.Namespace) -> int:
    from ..spec.checkers import CheckerMissing
    from ..statemachines import DeclarationError

    try:
        if args.names and (args.mutants or args.coverage):
            asked = "--mutants" if args.mutants else "--coverage"
            raise UnknownName(f"{asked} is about this project's own tables and models: take {args.names[0]} out")
        if args.mutants:
            return _mutants.run(args.model)
        if args.coverage:
            return _coverage.run(args.model, args.profile, _progress)
        todo = list(_jobs(args))
    except (DeclarationError, UnknownName, CheckerMissing) as error:
        print(f"sluicegate: {error}", file=sys.stderr)
        return 2
    try:
        return _judge(todo, args)
    except CheckerMissing as error:
        print(f"sluicegate: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        if args.save is None:
            raise
        print(f"sluicegate: cannot write to {args.save} ({error}): name a folder of yours", file=sys.stderr)
        return 2


def _jobs(args: argparse.Namespace) -> Iterator[Job]:
    from ..spec.judge import CHECKERS, judge_machine, judge_system
    from ..statemachines.scopes import UnknownBound, bounded

    machines, models, meant = _own(args.names) if args.names else (*_project(), set[str]())
    known = [m.__name__ for m in machines] + [m.name for m in models]
    if unknown := [name for name in args.model if name not in known]:
        raise UnknownName(f"no model {', '.join(unknown)}: {_instead(unknown, known)}")
    if args.model:
        machines = [m for m in machines if m.__name__ in args.model]
        models = [m for m in models if m.name in args.model]
    else:
        fitting = [m for m in models if m.profile == args.profile or m.name in meant]
        machines = machines if args.names or args.profile == "small" else []
        if models and not (fitting or machines):
            there = ", ".join(dict.fromkeys(m.profile for m in models))
            raise UnknownName(f"no model of profile {args.profile} in {' '.join(args.names)}: give --profile {there}")
        models = fitting
    try:
        bounds = _bounds(args.bound, machines, models)
    except UnknownBound as error:
        raise UnknownName(str(error)) from error
    by = (args.checker,) if args.checker else CHECKERS
    for machine in machines:
        scope = bounded(machine.ir, bounds)
        yield machine.__name__, lambda m=machine, s=scope: judge_machine(m, s, by, args.timeout)
    for system in models:
        system = _rebound(system, bounds)
        yield system.name, lambda s=system: judge_system(s, by, args.timeout)


def _instead(unknown: list[str], known: list[str]) -> str:
    """What may have been meant, else all that there is."""
    folded = {name.lower(): name for name in known}
    close = [
        [name.lower()] if name.lower() in folded else difflib.get_close_matches(name.lower(), folded, 3)
        for name in unknown
    ]
    if all(close):
        return f"did you mean {' or '.join(dict.fromkeys(folded[n] for names in close for n in names))}?"
    return f"there are {', '.join(known)}"


def _own(names: list[str]) -> tuple[list[type[Machine]], list[SystemModel], set[str]]:
    """What these declare, and the models among it that were named themselves: they are meant in any profile."""
    machines: dict[type[Machine], None] = {}
    models: dict[str, SystemModel] = {}
    meant: set[str] = set()
    for name in names:
        declared, beside = load_declared(name)
        machines.update(dict.fromkeys(declared))
        for model in beside:
            if models.setdefault(model.name, model) is not model:
                raise UnknownName(f"{name}: two models are called {model.name}: give each a name of its own")
        if ":" in name:
            meant.update(model.name for model in beside)
    return list(machines), list(models.values()), meant


def _project() -> tuple[list[type[Machine]], list[SystemModel]]:
    from ..spec.models import MODELS
    from ..statemachines.machines import MACHINES

    return list(MACHINES), list(MODELS)


def _bounds(given: list[str], machines: list[type[Machine]], models: list[SystemModel]) -> dict[str, int]:
    """`--bound`: raises UnknownBound for what nothing here has, UnknownName for what is no natural."""
    from ..statemachines.scopes import refuse_unknown

    bounds: dict[str, int] = {}
    for text in given:
        name, _, value = text.partition("=")
        if not value.isdecimal():
            raise UnknownName(f"--bound {text}: write NAME=VALUE with a natural, as in --bound nat=3")
        bounds[name] = int(value)
    numbers = {name for model in models for name, value in model.config.constants.items() if value.isdecimal()}
    refuse_unknown([m.ir for m in machines], bounds, numbers)
    return bounds


def _rebound(system: SystemModel, bounds: dict[str, int]) -> SystemModel:
    """The model with other numbers; how many states it then has is not known beforehand."""
    constants = system.config.constants
    changed = {n: str(v) for n, v in bounds.items() if constants.get(n, "").isdecimal() and constants[n] != str(v)}
    if not changed:
        return system
    return replace(system, distinct=0, config=replace(system.config, constants={**constants, **changed}))


def _judge(todo: list[Job], args: argparse.Namespace) -> int:
    from ..spec.checkers.ending import side_by_side

    began = time.monotonic()
    counts = {"good": 0, "failed": 0, "not judged": 0}
    # With JSON asked for, one document is all that standard output has.
    say = partial(print, file=sys.stderr if args.format == "json" else sys.stdout, flush=True)
    folder = None if args.save is None else Folder(args.save)
    document: list[dict[str, Any]] = []
    say(_rows.HEAD)
    # Two at a time: in one alone, the faster checker waits for the slower one.
    with closing(side_by_side([judge for _, judge in todo], min(2, os.cpu_count() or 1))) as rows:
        for number, (name, _) in enumerate(todo, start=1):
            _progress(f"{name} ({number} of {len(todo)}) ...")
            row = next(rows)
            _progress("")
            counts["good" if row.ok else "not judged" if row.unjudged else "failed"] += 1
            say(_rows.line(row))
            for line in _rows.details(row, bool(args.names), bool(args.model), args.format):
                say(f"  {line}")
            if folder is not None:
                for line in folder.save(row):
                    say(f"  {line}")
            if args.format == "json":
                document.append(_rows.data(row))
    if args.profile == "full" and not (args.names or args.model):
        from ..spec.models import MODELS
        from ..spec.models.pairs import table

        say("Pairs of faults, and the models in which they meet:")
        for line in table(MODELS):
            say(f"  {line}")
    if folder is not None and not folder.saved:
        say(f"nothing is saved in {args.save}: no property fails")
    seconds = time.monotonic() - began
    unjudged = f", {counts['not judged']} not judged" if counts["not judged"] else ""
    say(f"{counts['good']} good, {counts['failed']} failed{unjudged}, in {seconds:.0f} s")
    if args.format == "json":
        told = {"format": "sluicegate-check", "version": 1, "models": document, **counts, "seconds": round(seconds, 3)}
        print(json.dumps(told, indent=1, ensure_ascii=False))
    return 0 if counts["good"] == len(todo) else 1


def _progress(text: str) -> None:
    """What runs now, on a terminal only."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
