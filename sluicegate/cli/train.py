"""`sluicegate train`: a whole training run."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

HELP = "run a whole training run from one config, or go on with one: processes, agents, updates, checkpoints"
EXAMPLE = "sluicegate train examples/disaggregated.yaml --folder runs/mine"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", type=Path, help="a YAML file (docs/train.md lists its keys)")
    parser.add_argument(
        "--folder", type=Path, help="the run's folder, new or of a run to go on with; by default runs/<the file's name>"
    )
    parser.add_argument("--updates", type=int, help="training steps in all, instead of the config's")


def run(args: argparse.Namespace) -> int:
    from dataclasses import replace

    from ..protocol.access import check
    from ..protocol.sources import AccessError
    from ..runtime.config import ConfigError
    from ..runtime.runs.config import read_run_config
    from ..runtime.tasks import make_task

    folder: Path = (args.folder or Path("runs") / args.config.stem).absolute()
    if odd := sorted({*"*?[]"} & {*str(folder)}):
        # DeepSpeed looks for the files of a checkpoint by patterns.
        print(
            f"sluicegate: {folder}: a run in a folder with {' '.join(odd)} in its path could not be resumed: give "
            "another --folder", file=sys.stderr,
        )  # fmt: skip
        return 2
    try:
        config = read_run_config(args.config)
        if args.updates is not None:
            config = replace(config, updates=args.updates)
        task = make_task(config.task, seed=config.seed)
        check(config.access)
        config.require_fit(task)
    except (ConfigError, AccessError) as error:
        print(f"sluicegate: {error}", file=sys.stderr)
        return 2
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        print(f"sluicegate: {folder} cannot be made ({error.strerror}): give another --folder", file=sys.stderr)
        return 2
    from transformers.utils import logging

    from ..runtime.runs.reporting import report_of, telling_of
    from ..runtime.runs.run import FAILURES, TrainingRun

    logging.disable_progress_bar()
    try:
        with telling_of(config, folder) as telling:
            made = TrainingRun(config, task, folder.resolve(), telling)
            asyncio.run(_until_told(made.run()))
        print(f"report: {report_of(config, folder)}")
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    except ConfigError as error:
        print(f"sluicegate: {error}", file=sys.stderr)
        return 2
    except FAILURES as error:
        print(f"sluicegate: the run could not go on: {error}", file=sys.stderr)
        print(f"sluicegate: its logs are in {folder / 'processes'}", file=sys.stderr)
        return 1
    return 0


async def _until_told(work: Coroutine[Any, Any, None]) -> None:
    """Do it; Ctrl-C and SIGTERM cancel it, so that what it started ends with it."""
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        # A second one must not cut the clean-up short.
        loop.add_signal_handler(number, lambda: task.cancelling() or task.cancel())
    await work
