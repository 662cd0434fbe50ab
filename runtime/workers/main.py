"""What every worker process does around its work: parent, output, config, errors, exit status."""

from __future__ import annotations

import asyncio
import logging
import os
import traceback
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TextIO

from ..config import ConfigError, read_config
from .process import announce, die_with_parent, take_stdout


def main(kind: str, path: Path, parent: int, errors: TextIO) -> int:
    """Run the worker of this kind until it is told to end, then end the process; returns for a bad config.

    The exit status: 0 after a graceful end, 2 for a config that cannot be used, 1 for anything else.
    """
    stdout = take_stdout()
    die_with_parent(parent)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        work = _rollout(path) if kind == "rollout" else _trainer(path)
    except ConfigError as error:
        print(f"sluicegate worker: {error}", file=errors)
        return 2
    try:
        asyncio.run(work(lambda facts: announce(stdout, facts)))
    except Exception:
        traceback.print_exc(file=errors)
        status = 1
    else:
        status = 0
    errors.flush()
    # Everything is closed. A thread that is in the middle of a step must not hold the process up.
    os._exit(status)


Work = Callable[[Callable[[dict[str, Any]], None]], Coroutine[Any, Any, None]]


def _rollout(path: Path) -> Work:
    from .config import RolloutConfig

    config = read_config(RolloutConfig, path)
    # Only now, so that a config is judged without waiting for torch.
    from .rollout import run

    return lambda announce: run(config, announce)


def _trainer(path: Path) -> Work:
    from .config import TrainerConfig

    config = read_config(TrainerConfig, path)
    # Only now, so that a config is judged without waiting for torch.
    from .trainer import run

    return lambda announce: run(config, announce)
