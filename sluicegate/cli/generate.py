"""`sluicegate generate`: write what is made from the declared machines, or find where it has drifted."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ._machines import UnknownName, load_machine

HELP = "write TLA+ modules, proto files, stubs and services from the machines; --check finds drift"
EXAMPLE = "sluicegate generate --check"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "machines",
        nargs="*",
        metavar="MODULE:CLASS",
        help="machines of your own; without, those of this project",
    )
    parser.add_argument("--out", type=Path, help="folder of the files of your own machines, a package of yours")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file differs")


def run(args: argparse.Namespace) -> int:
    from ..generation import GenerationError, house, own
    from ..statemachines.problems import DeclarationError

    if bool(args.machines) != bool(args.out):
        print(
            "sluicegate generate: machines of your own need --out FOLDER, and the other way round",
            file=sys.stderr,
        )
        return 2
    try:
        made = own([load_machine(name) for name in args.machines], args.out) if args.machines else house()
        if args.check:
            found = made.drift()
            for line in found:
                print(line)
            print(
                f"{len(found)} of {len(made.texts)} files differ: run `sluicegate generate`"
                if found
                else f"{len(made.texts)} generated files are up to date"
            )
            return 1 if found else 0
        changed = made.write()
    except (UnknownName, DeclarationError) as error:
        print(f"sluicegate: {error}", file=sys.stderr)
        return 2
    except GenerationError as error:
        print(f"sluicegate generate: {error}", file=sys.stderr)
        return 1
    for path in changed:
        print(path)
    print(f"{len(made.texts)} files, {len(changed)} changed")
    return 0
