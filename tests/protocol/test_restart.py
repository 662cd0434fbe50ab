"""Answers that were lost with the process: the operation is applied once, and the repeat is told so."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sluicegate.protocol.client import Retry, Stale, Unreachable, dial
from sluicegate.protocol.generated.gate_service import GateClient

SERVER = Path(__file__).with_name("serve_gate.py")


@asynccontextmanager
async def process(store: Path, port: int, *how: str) -> AsyncIterator[tuple[int, asyncio.subprocess.Process]]:
    """A gate server: its port, and its process, which ends with the block."""
    command = (sys.executable, str(SERVER), str(store), str(port), *how)
    child = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        assert child.stdout is not None
        async with asyncio.timeout(30):
            yield int(await child.stdout.readline()), child
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()


async def test_an_answer_lost_by_kill_9_after_the_journal_is_told_by_the_next_life(tmp_path: Path) -> None:
    store = tmp_path / "s"
    async with process(store, 0, "life-1", "die") as (port, child), dial(f"127.0.0.1:{port}") as channel:
        client = GateClient(channel, "g", incarnation="life-1")
        with pytest.raises(Unreachable) as raised:
            await client.claim(term=4, operation_id="a", deadline=2)
        assert await child.wait() == -signal.SIGKILL
        assert raised.value.operation_id == "a"
    async with process(store, port, "life-2") as (port, _), dial(f"127.0.0.1:{port}") as channel:
        reply = await GateClient(channel, "g", incarnation="life-1").claim(term=4, operation_id="a", deadline=10)
        assert (reply.replayed, reply.incarnation, reply.number) == (True, "life-1", 1)
        # What was never made is not made by a request for a life that is over.
        with pytest.raises(Stale):
            await GateClient(channel, "g", incarnation="life-1").claim(term=5, operation_id="b")
        seen = await GateClient(channel, "g").get()
        assert (seen.incarnation, seen.number, seen.snapshot.term) == ("life-2", 1, 4)


async def test_one_call_outlives_the_server_that_it_began_with(tmp_path: Path) -> None:
    """The client's own retries carry the operation id over the restart."""
    store = tmp_path / "s"
    async with process(store, 0, "life-1", "die") as (port, child), dial(f"127.0.0.1:{port}") as channel:
        client = GateClient(channel, "g", incarnation="life-1", retry=Retry(tries=40))
        call = asyncio.create_task(client.claim(term=4, deadline=25))
        await child.wait()
        async with process(store, port, "life-2"):
            reply = await call
    assert (reply.replayed, reply.incarnation, reply.snapshot.term) == (True, "life-1", 4)
