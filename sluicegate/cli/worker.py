"""`sluicegate worker`: one worker process; launchers start it, people rarely do."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

HELP = "run one worker process: a replica (rollout), the trainer, a controller or a session server, from a JSON config"
EXAMPLE = "sluicegate worker rollout runs/<time>/processes/rollout-0.1.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", choices=("rollout", "trainer", "controller", "sessions"))
    parser.add_argument(
        "config",
        type=Path,
        help="a JSON file with the keys of RolloutConfig, TrainerConfig, ControllerConfig or SessionsConfig",
    )


def run(args: argparse.Namespace) -> int:
    parent = os.getppid()
    from ..runtime.workers.main import main

    return main(args.kind, args.config, parent, sys.stderr)
