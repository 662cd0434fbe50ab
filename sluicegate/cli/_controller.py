"""What `status`, `pause`, `resume` and `poison` share: whom to ask, one operation until it is answered."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import re
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..runtime.controller.client import Answer, ControllerClient

REGISTERS = ("register.db", "state/register.db")
"""Where a run's folder has its register."""
SLICE_S = 5.0
"""How long one try may take before it is said that no answer has come; the next joins what goes on."""
ACCESS_FILE = "SLUICEGATE_ACCESS"
"""The environment variable that names the file of `--access` where that is not given."""
LOOK_S = 1.0
"""How often it is looked at what an operation waits for."""
_ADDRESS = re.compile(r"(\[[^]]+\]|[^:/\s]+):\d{1,5}")


class PlaceError(Exception):
    """Nothing can be asked there; says why, and how to mend it."""


@dataclass(frozen=True, slots=True)
class Place:
    """A run as it was named: by its register, or by the address of its controller."""

    register: Path | None
    address: str

    def client(self, within: float) -> ControllerClient:
        """A client of the controller that rules; `within` seconds for a call."""
        from ..runtime.controller.client import ControllerClient

        if self.register is None:
            return ControllerClient(self.address, within=within)
        return ControllerClient.of_register(self.register, within=within)

    def __str__(self) -> str:
        return self.address or str(self.register)


def add_where(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("where", help="the run's folder, its register file, or host:port of its controller")
    parser.add_argument(
        "--access", type=Path, metavar="FILE", default=os.environ.get(ACCESS_FILE),
        help=f"certificate, key, authorities and token as JSON, where the run uses TLS; else {ACCESS_FILE} names it",
    )  # fmt: skip


@contextlib.contextmanager
def known_by(file: Path | str | None) -> Iterator[None]:
    """Call as the access settings in this file say, in plain text without one. Raises PlaceError."""
    from ..protocol.access import Access, acting_as, check
    from ..protocol.sources import AccessError
    from ..runtime.config import ConfigError, read_config

    try:
        access = Access() if file is None else read_config(Access, Path(file))
        check(access)
    except (ConfigError, AccessError) as error:
        raise PlaceError(str(error)) from error
    with acting_as(access):
        yield


def place_of(where: str) -> Place:
    """Raises PlaceError."""
    path = Path(where)
    try:
        if path.is_dir():
            for name in REGISTERS:
                if (path / name).is_file():
                    return Place(path / name, "")
            raise PlaceError(f"{where} has no {' and no '.join(REGISTERS)}: give the folder of a run, or host:port")
        if path.is_file():
            return Place(path, "")
    except OSError as error:
        raise PlaceError(f"{where} cannot be looked at ({error.strerror}): give another path, or host:port") from error
    if _ADDRESS.fullmatch(where):
        return Place(None, where)
    raise PlaceError(f"there is no {where}: give the folder of a run, its register, or host:port of its controller")


def add_operation(parser: argparse.ArgumentParser) -> None:
    """The arguments that every operation has."""
    add_where(parser)
    parser.add_argument(
        "--within", type=seconds, default=120.0, metavar="SECONDS", help="how long to ask, 120 if not given"
    )
    parser.add_argument("--operation-id", default="", metavar="ID", help="ask on about an operation of before")


def seconds(text: str) -> float:
    """An argument that is a number of seconds above 0."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError
    return value


def run_operation(args: argparse.Namespace, ask: Callable[[ControllerClient, str, float], Awaitable[Answer]]) -> int:
    """Ask for an operation, `ask(client, operation id, seconds)`, until it is answered; the exit status."""
    from ..protocol.store import StoreError

    try:
        with known_by(args.access):
            operation = args.operation_id or os.urandom(16).hex()
            return asyncio.run(_operate(place_of(args.where), ask, args.within, operation))
    except (PlaceError, StoreError) as error:
        say(str(error))
        return 2


async def _operate(place: Place, ask: Any, within: float, operation: str) -> int:
    from ..runtime.controller.client import OperationFailed, Rejected, Unreachable

    clock = asyncio.get_running_loop().time
    until = clock() + within
    say(f"operation {operation}: asking {_ruler(place)}")
    async with place.client(within) as client:
        looking = asyncio.create_task(_look(client))
        told = ""
        try:
            while (left := until - clock()) > 0:
                try:
                    answer = await ask(client, operation, min(SLICE_S, left))
                except Unreachable as error:
                    if str(error) != told and not _goes_on(error):
                        told = str(error)
                        say(f"no answer yet: {told}; asking again")
                    await asyncio.sleep(min(0.2, max(0.0, until - clock())))
                    continue
                print(_told(answer))
                return 0
        except OperationFailed as error:
            say(f"{'it was begun, and failed' if error.begun else 'refused'}: {error} ({error.reason})")
            for replica, why in sorted(error.left_behind.items()):
                say(f"  {replica}: {why}")
            if error.retry:
                say("a new operation may be taken later")
            return 1
        except Rejected as error:
            say(str(error))
            return 2
        finally:
            looking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await looking
    say(f"no answer within {within:g} s, what came of it is unknown: ask again with --operation-id {operation}")
    return 1


def _ruler(place: Place) -> str:
    """Who is asked first. Raises StoreError."""
    from ..runtime.controller.roster import Roster

    if place.register is None:
        return f"the controller at {place}"
    with Roster(place.register, looks=True) as roster:
        ruler = roster.ruler()
    return f"{ruler.incarnation} (term {ruler.term})" if ruler else f"whoever will rule {place}: nobody has yet"


def _goes_on(error: Exception) -> bool:
    """Whether a call ended only because its own time was over."""
    code = getattr(error.__cause__, "code", None)
    return code is not None and code().name == "DEADLINE_EXCEEDED"


async def _look(client: ControllerClient) -> None:
    """Say what is waited for, whenever that changes."""
    from ..protocol.client import CallError

    told = ""
    while True:
        await asyncio.sleep(LOOK_S)
        try:
            found = await client.status(within=LOOK_S * 3)
        except CallError:
            continue
        text = waiting(found)
        if text != told:
            told = text
            if text:
                say(text)


def waiting(found: Any) -> str:
    """What a cohort waits for, in words; empty while no operation runs."""
    if found.taking_over:
        return f"{found.incarnation} takes over: every gate that it found is brought home first"
    if not found.HasField("operation"):
        return ""
    operation = found.operation
    why = {r.replica: r.waits_for or r.unanswered for r in found.replicas}
    names = [f"{name} ({why[name]})" if why.get(name) else name for name in operation.awaited]
    for_whom = f", waits for {', '.join(names)}" if names else ""
    return f"epoch {operation.epoch}: {operation.phase}, {operation.left:.0f} s left{for_whom}"


def _told(answer: Answer) -> str:
    said = [f"{answer.result} by the controller of term {answer.term}"]
    if answer.epoch:
        said.append(f"epoch {answer.epoch}")
    if answer.version is not None:
        said.append(f"published is version {answer.version}")
    if answer.replayed:
        said.append("as an earlier call was answered")
    lines = [", ".join(said) + (f": {answer.text}" if answer.text else "")]
    lines += [f"  without {replica}: {why}" for replica, why in sorted(answer.left_behind.items())]
    return "\n".join(lines)


def say(text: str) -> None:
    print(f"sluicegate: {text}", file=sys.stderr, flush=True)
