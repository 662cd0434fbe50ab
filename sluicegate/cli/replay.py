"""`sluicegate replay`: a counterexample on the real machines, step by step."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ._machines import UnknownName, load_machine

HELP = "run a saved counterexample on the real machines: exit 0 if they follow it to its end, 1 if not"
EXAMPLE = "sluicegate check --model orphaned --save found && sluicegate replay found/orphaned-NeverOrphans.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="a counterexample, from `sluicegate check --save`")
    parser.add_argument("--pytest", type=Path, metavar="FILE", help="write it as a pytest case too")


def run(args: argparse.Namespace) -> int:
    from ..replaying.cases import case
    from ..replaying.replay import ReplayError, replay
    from ..replaying.telling import lines
    from ..spec.counterexamples import CounterexampleError, load
    from ..statemachines import DeclarationError

    try:
        example = load(args.file)
        machines = [load_machine(name) for name in example.machines]
        done = replay(example, machines)
        if args.pytest is not None:
            args.pytest.write_text(case(example, machines), encoding="utf-8")
    except OSError as error:
        said = error.strerror or error
        print(f"sluicegate replay: {error.filename or args.file}: {said}: name a file of yours", file=sys.stderr)
        return 2
    except (CounterexampleError, ReplayError, UnknownName) as error:
        print(f"sluicegate replay: {error}", file=sys.stderr)
        return 2
    except DeclarationError as error:
        print(f"sluicegate: {error}", file=sys.stderr)
        return 2
    for line in lines(done):
        print(line)
    return 0 if done.follows else 1
