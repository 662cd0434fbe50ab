"""`sluicegate diagram`: a machine as a picture, or as its whole table."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ._machines import UnknownName, load_machine

HELP = "draw a machine: as Mermaid, DOT or SVG, or its table in Markdown"
EXAMPLE = "sluicegate diagram Gate --format svg --out gate.svg"
FORMATS = ("mermaid", "dot", "svg", "table")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("machine", help="a machine of this project by its name, or MODULE:CLASS of your own")
    parser.add_argument("--format", choices=FORMATS, default="mermaid", help="by default mermaid")
    parser.add_argument("--moves", action="store_true", help="leave out what stays in its state")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write here; by default to the terminal")


def run(args: argparse.Namespace) -> int:
    from ..statemachines.diagram import diagram
    from ..statemachines.diagram_svg import svg
    from ..statemachines.diagram_text import dot, mermaid, table
    from ..statemachines.machines import MACHINES
    from ..statemachines.problems import DeclarationError

    own = {machine.__name__: machine for machine in MACHINES}
    try:
        if args.machine not in own and ":" not in args.machine:
            raise UnknownName(f"no machine {args.machine}: there are {', '.join(own)}; write MODULE:CLASS for your own")
        machine = own.get(args.machine) or load_machine(args.machine)
    except (UnknownName, DeclarationError) as error:
        print(f"sluicegate: {error}", file=sys.stderr)
        return 2 if isinstance(error, UnknownName) else 1
    drawn = diagram(machine.ir)
    render = {"mermaid": mermaid, "dot": dot, "svg": svg, "table": table}[args.format]
    text = render(drawn.moves() if args.moves else drawn)
    if args.out is None:
        print(text, end="")
        return 0
    try:
        args.out.write_text(text, encoding="utf-8")
    except OSError as error:
        print(f"sluicegate diagram: cannot write {args.out} ({error.strerror}): name a file of yours", file=sys.stderr)
        return 2
    return 0
