"""Writes keys 0, 1, 2 ... to a store, each in a write of its own, and prints each when it is stored.

    python write_store.py STORE DURABILITY [sole]

It goes on until it is killed, or ends with status 1 and the store's error.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

from sluicegate.protocol.sqlite import SqliteStore
from sluicegate.protocol.store import Durability, Put, StoreError


def write(path: str, durability: str, *how: str) -> int:
    try:
        store = SqliteStore(Path(path), Durability(durability), sole="sole" in how)
        for n in itertools.count():
            store.write([Put("s", f"{n:06}", "p", bytes(100))])
            print(n, flush=True)
    except StoreError as error:
        print(error, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(write(*sys.argv[1:]))
