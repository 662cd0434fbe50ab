"""`sluicegate demo`: the main job, on this machine."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..runtime.demo.report import Report

HELP = "train a small model from nothing: weights are swapped under live agent sessions, and the run is judged"
EXAMPLE = "sluicegate demo --updates 30 --seed 1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, help="a YAML file (docs/demo.md lists its keys)")
    parser.add_argument("--updates", type=int, help="training steps, each followed by a sync of the weights")
    parser.add_argument("--seed", type=int, help="decides the model, the prompts and the sampling")
    parser.add_argument("--shuffle-rewards", action="store_true", help="a control run: rewards say nothing of answers")
    parser.add_argument("--out", type=Path, help="the run's folder, which must be new; by default runs/<time>")


def run(args: argparse.Namespace) -> int:
    from dataclasses import replace

    from ..protocol.access import check
    from ..protocol.sources import AccessError
    from ..runtime.config import ConfigError
    from ..runtime.demo.config import DemoConfig, read_demo_config
    from ..runtime.demo.loop import run as run_demo
    from ..runtime.demo.screen import Terminal

    folder: Path = args.out or Path("runs") / time.strftime("%Y-%m-%dT%H-%M-%S")
    try:
        config = read_demo_config(args.config) if args.config else DemoConfig()
        changed = {k: getattr(args, k) for k in ("updates", "seed") if getattr(args, k) is not None}
        if args.shuffle_rewards:
            changed["training"] = replace(config.training, shuffle_rewards=True)
        config = replace(config, **changed)
        check(config.access)
    except (ConfigError, AccessError) as error:
        print(f"sluicegate: {error}", file=sys.stderr)
        return 2
    try:
        # Only to learn whether it can be made: the run makes it.
        folder.mkdir(parents=True)
        folder.rmdir()
    except FileExistsError:
        print(f"sluicegate: {folder} exists: a run has a folder of its own, give another --out", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"sluicegate: {folder} cannot be made ({error.strerror}): give another --out", file=sys.stderr)
        return 2
    try:
        with Terminal() as screen:
            report = asyncio.run(_until_told(run_demo(config, folder.resolve(), screen)))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    except ExceptionGroup as group:
        print(f"sluicegate: the run in {folder} could not go on:", file=sys.stderr)
        for error in _leaves(group):
            print(f"  {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    screen.report(report, str(folder / "report.md"))
    return report.status()


async def _until_told(work: Coroutine[Any, Any, Report]) -> Report:
    """What `work` returns; a SIGTERM cancels it, as Ctrl-C does, so that what it started ends with it."""
    task = asyncio.current_task()
    assert task is not None
    # A second one must not cut the clean-up short.
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: task.cancelling() or task.cancel())
    return await work


def _leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    """The errors in a group, without the groups."""
    return [e for part in group.exceptions for e in (_leaves(part) if isinstance(part, BaseExceptionGroup) else [part])]
