"""All measurements, one after the other: `make bench`, or `python -m bench [name ...]`.

Figures are ratios of things measured side by side in one run; absolute rates belong to the machine.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys

PARTS = {
    "steps": "Gate steps in place, pure, and in `transitions`",
    "traces": "events of a run per second: read, replayed, and with the rules between machines",
    "wire": "a generated gRPC call against a bare one",
    "checkers": "states per second of both model checkers",
    "engine": "tokens per second of the torch engine",
    "swap": "from seal to reopened by phase, on an idle and a loaded worker",
    "window": "from seal to reopened for three sizes of weights: staged, in place, and by a plain swap",
    "roads": "bandwidth of each road of weights against what carries its bytes; memory that publishing takes",
    "control": "control calls with 2,000 generations outstanding, against none",
    "journal": "leases admitted and settled per second by durability, against a semaphore and the disk",
    "serving": "calls per second and latencies through a session server, against a bare proxy and gRPC; export",
    "runs": "whole runs: tokens per second with an update at every step against none; how long replicas stand still",
    "sessions": "memory, start and look-ups with many bound sessions and used-up ids, against few",
}
LARGE = ("sessions",)
"""Parts whose full size takes minutes."""


def main(names: list[str]) -> int:
    """Run the parts named, or all."""
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, epilog="example: python -m bench traces checkers",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    told = "; ".join(f"{name}: {what}" for name, what in PARTS.items())
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"what to measure, by default all. {told}")
    parser.add_argument("--full", action="store_true", help="in full size, which takes minutes: sessions")
    given = parser.parse_args(names)
    names = given.names
    if unknown := [name for name in names if name not in PARTS]:
        parser.error(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    load = os.getloadavg()[0]
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load {load:.1f} at the start")
    for name in names or PARTS:
        print(f"\n== {name}: {PARTS[name]}", flush=True)
        whole = {"full": True} if given.full and name in LARGE else {}
        importlib.import_module(f"bench.{name}").main(**whole)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
