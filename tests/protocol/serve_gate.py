"""A gate server in a process of its own, for tests that kill it.

    python serve_gate.py STORE PORT INCARNATION [die]

With `die` the process kills itself right after its first operation is on the disk, before the answer.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from sluicegate.protocol.generated.gate_service import GATE, GateServicer
from sluicegate.protocol.host import MachineHost
from sluicegate.protocol.server import Server
from sluicegate.protocol.sqlite import SqliteStore


class Deadly(SqliteStore):
    def write(self, changes: Any) -> None:
        super().write(changes)
        os.kill(os.getpid(), signal.SIGKILL)


class Shell:
    def __getattr__(self, name: str) -> Any:
        async def handle(*_: Any) -> None:
            pass

        return handle


async def serve(path: str, port: str, incarnation: str, *how: str) -> None:
    store = (Deadly if "die" in how else SqliteStore)(Path(path))
    shell: Any = Shell()
    async with MachineHost(GATE, shell, incarnation=incarnation, store=store) as host:
        if not host.restore("g"):
            host.create("g", ranks=frozenset({"0"}))
        async with Server([GateServicer(host)], port=int(port)) as server:
            print(server.port, flush=True)
            await asyncio.sleep(60)


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]))
