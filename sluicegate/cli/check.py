"""`sluicegate check`: machines and system models, judged by two model checkers."""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from . import _coverage, _mutants
from ._machines import UnknownName, load_declared, load_machine

if TYPE_CHECKING:
    from ..spec.claims import Claim
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
        help="how counterexamples are shown: text, a Mermaid sequence chart, JSON",
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
        if args.mutants:
            return _mutants.run(args.model)
        if args.coverage:
            return _coverage.run(args.model, args.profile, _progress)
        todo = list(_jobs(args))
    except DeclarationError as error:
        print(f"sluicegate: {error}", file=sys.stderr)
        return 1
    except (UnknownName, CheckerMissing) as error:
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

    machines, models = _own(args.names) if args.names else _project()
    known = [m.__name__ for m in machines] + [m.name for m in models]
    if unknown := [name for name in args.model if name not in known]:
        raise UnknownName(f"no model {', '.join(unknown)}; there are {', '.join(known)}")
    if args.model:
        machines = [m for m in machines if m.__name__ in args.model]
        models = [m for m in models if m.name in args.model]
    else:
        models = [m for m in models if m.profile == args.profile]
        machines = machines if args.names or args.profile == "small" else []
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


def _own(names: list[str]) -> tuple[list[type[Machine]], list[SystemModel]]:
    machines: dict[type[Machine], None] = {}
    models: dict[str, SystemModel] = {}
    for name in names:
        declared, beside = load_declared(name)
        machines.update(dict.fromkeys(declared))
        models.update((model.name, model) for model in beside)
    return list(machines), list(models.values())


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
    bad = 0
    print(f"{'model':14} {'distinct':>9} {'seconds':>8}  {'tla-checker':28} {'TLC':28} properties", flush=True)
    # Two at a time: in one alone, the faster checker waits for the slower one.
    with closing(side_by_side([judge for _, judge in todo], min(2, os.cpu_count() or 1))) as rows:
        for number, (name, _) in enumerate(todo, start=1):
            _progress(f"{name} ({number} of {len(todo)}) ...")
            bad += not _told(next(rows), args)
    if args.profile == "full" and not (args.names or args.model):
        from ..spec.models import MODELS
        from ..spec.models.pairs import table

        print("Pairs of faults, and the models in which they meet:")
        print(*(f"  {line}" for line in table(MODELS)), sep="\n")
    print(f"{len(todo) - bad} good, {bad} failed, in {time.monotonic() - began:.0f} s")
    return 1 if bad else 0


def _told(row: Row, args: argparse.Namespace) -> bool:
    """Print what came of a row, and keep what shows that it fails; whether it is good."""
    _progress("")
    cells = (row.verdicts.get(checker, "-") for checker in ("tla-checker", "TLC"))
    judged = " ".join(f"{cell:28}" for cell in cells)
    print(f"{row.name:14} {row.distinct:>9} {row.seconds:>8.1f}  {judged} {row.properties}", flush=True)
    for line in _details(row, bool(args.names), args.format):
        print(f"  {line}")
    if args.save is not None and row.example is not None:
        for line in _saved(row, args.save):
            print(f"  {line}")
    return row.ok


def _details(row: Row, own: bool, format: str) -> Iterator[str]:
    """What is told under the line of a model: its properties and findings, and what shows that one fails."""
    from ..spec.counterexamples import render

    for finding in row.findings:
        yield f"{'FAILED' if finding.fault else 'note'}: {finding}"
        yield from (f"    {line}" for line in finding.run)
    shown = any(finding.fault for finding in row.findings)
    for claim in row.claims:
        broken = not claim.ok and (claim.verdict in ("fails", "not reached") or bool(claim.story))
        shown = shown or broken
        if own or broken:
            yield from _claim(claim, broken)
    if not row.ok and not shown:
        yield f"FAILED: {row.trouble}"
    told = format == "text" and any(claim.story for claim in row.claims)
    if row.example is not None and not told and (own or not row.ok):
        yield from (f"    {line}" for line in render(row.example(), format).splitlines())


def _saved(row: Row, folder: Path) -> Iterator[str]:
    """Write the counterexample of a row; what was written, and why a case was not."""
    from ..replaying.cases import case
    from ..replaying.replay import ReplayError

    assert row.example is not None
    example = row.example()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{example.model}.json"
    example.save(path)
    yield f"saved {path}"
    test = folder / f"test_{re.sub(r'[^0-9A-Za-z]+', '_', example.model).lower()}.py"
    try:
        test.write_text(case(example, [load_machine(name) for name in example.machines]), encoding="utf-8")
    except (ReplayError, UnknownName) as error:
        yield f"no pytest case: {error}"
    else:
        yield f"saved {test}"


def _claim(claim: Claim, broken: bool) -> Iterator[str]:
    words = f": {claim.says}" if claim.says else ""
    mark = "FAILED: " if broken else ""
    yield f"{mark}{claim.name} {claim.verdict}{', as it must' if claim.expected else ''}{words}"
    by = [
        f"{j.checker} {j.verdict}, {j.distinct} states, {j.seconds:.1f} s" if j.seconds else f"{j.checker} {j.verdict}"
        for j in claim.judged
    ]
    yield f"    {'; '.join(by) or 'TLC alone judges it'}"
    yield from (f"    {line}" for line in claim.story)


def _progress(text: str) -> None:
    """What runs now, on a terminal only."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
