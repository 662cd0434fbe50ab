"""What every worker process does around its work: parent, output, config, errors, exit status."""

from __future__ import annotations

import asyncio
import os
import signal
import traceback
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TextIO

from ...protocol.access import acting_as, check
from ...protocol.server import ServerError
from ...protocol.sources import AccessError
from ...protocol.store import StoreError
from ..config import ConfigError, read_config
from ..watching.settings import watching
from .process import announce, die_with_parent, give_back_stdout, take_stdout
from .torchrun import UNUSABLE, is_rank, launch, own_rank, shown_by_rank


def main(kind: str, path: Path, parent: int, errors: TextIO) -> int:
    """Run the worker of this kind until it is told to end, then end the process; returns for a bad config.

    The exit status: 0 after a graceful end, 2 where what the config names cannot be used, 3 for a controller that a
    higher term overruled, 1 for anything else.
    """
    stdout = take_stdout()
    # A trainer whose launcher was killed has no time for a graceful end: another life may begin at once.
    die_with_parent(parent, signal.SIGKILL if kind == "trainer" and is_rank() else signal.SIGTERM)
    try:
        config, work = _KINDS[kind](path)
        check(config.access)
    except (ConfigError, AccessError) as error:
        print(f"sluicegate worker: {error}", file=errors)
        return UNUSABLE
    if kind == "trainer" and config.ranks > 1 and not is_rank():
        give_back_stdout(stdout)
        status = launch(path, config.ranks, config.stop_ms / 1000, errors)
        errors.flush()
        os._exit(status)
    shows, named = config.watching, config.incarnation
    if kind == "trainer":
        shows, named = shown_by_rank(shows, named)
    is_ready = False

    def ready(facts: dict[str, Any]) -> None:
        nonlocal is_ready
        is_ready = True
        announce(stdout, facts)

    try:
        with (
            acting_as(config.access),
            watching(shows, run=config.run, process=kind, incarnation=named) as shown,
        ):
            status = asyncio.run(work(lambda facts: ready({**facts, **shown}))) or 0
    except ModuleNotFoundError:
        # The command line says which extra brings it.
        raise
    except (StoreError, ServerError, ConfigError) as error:
        print(f"sluicegate worker: {error}", file=errors)
        status = 1 if is_ready else UNUSABLE
    except Exception:
        traceback.print_exc(file=errors)
        status = 1
    errors.flush()
    # Everything is closed. A thread that is in the middle of a step must not hold the process up.
    os._exit(status)


Announce = Callable[[dict[str, Any]], None]
Work = Callable[[Announce], Coroutine[Any, Any, int | None]]
"""What a worker does; called, it imports what it needs. A config is judged before, without waiting for torch."""


def _rollout(path: Path) -> tuple[Any, Work]:
    from .config import RolloutConfig
    from .places import require_places

    config = read_config(RolloutConfig, path)
    require_places(config)

    def work(announce: Announce) -> Coroutine[Any, Any, int | None]:
        from .rollout import run

        return run(config, announce)

    return config, work


def _trainer(path: Path) -> tuple[Any, Work]:
    from .config import TrainerConfig
    from .places import require_places

    config = read_config(TrainerConfig, path)
    require_places(config)
    if is_rank() or config.ranks == 1:
        own_rank(config.ranks)

    def work(announce: Announce) -> Coroutine[Any, Any, int | None]:
        from .trainer import run

        return run(config, announce)

    return config, work


def _controller(path: Path) -> tuple[Any, Work]:
    from ..controller.config import ControllerConfig

    config = read_config(ControllerConfig, path)

    def work(announce: Announce) -> Coroutine[Any, Any, int | None]:
        from ..controller.process import run

        return run(config, announce)

    return config, work


def _sessions(path: Path) -> tuple[Any, Work]:
    from ..serving.config import SessionsConfig

    config = read_config(SessionsConfig, path)

    def work(announce: Announce) -> Coroutine[Any, Any, int | None]:
        from ..serving.process import run

        return run(config, announce)

    return config, work


_KINDS: dict[str, Callable[[Path], tuple[Any, Work]]] = {
    "rollout": _rollout, "trainer": _trainer, "controller": _controller, "sessions": _sessions,
}  # fmt: skip
KINDS = tuple(_KINDS)
