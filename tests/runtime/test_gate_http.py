"""The gate in front of an app under a real HTTP server, with real clients, good and bad."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from gate_kit import Published, until
from http_kit import SESSION, Served, Wire, post, served
from rollout_kit import driven

from sluicegate import Bounds
from sluicegate.runtime.workers.records import LeaseStore

pytestmark = pytest.mark.timeout(120)
SUPPORT = Path(__file__).parents[1] / "support"


async def test_a_request_is_admitted_labelled_and_settled(tmp_path: Path) -> None:
    async with served(tmp_path) as s:
        answer = await s.http.post(s.url, content=b"12")
        assert (answer.status_code, answer.text, answer.headers["x-model-version"]) == (200, "1" * 12, "1")
        assert await s.closures() == {"completed": 1}
        kept = s.gate.records.answer(answer.headers["x-lease-id"])
        assert (kept.closure, kept.session, kept.spans) == ("completed", "agent-1", [(1, 12)])


async def test_requests_are_held_while_weights_are_swapped_and_then_answered(tmp_path: Path) -> None:
    async with served(tmp_path) as s:
        await s.controller.seal()
        held = [asyncio.create_task(s.http.post(s.url, content=b"5")) for _ in range(3)]
        await until(lambda: s.gate.counts["waiting"] == 3)
        await s.controller.drain()
        await s.controller.install(2)
        assert not any(task.done() for task in held)
        await s.controller.reopen()
        await s.controller.close()
        for task in held:
            answer = await task
            assert (answer.status_code, answer.text, answer.headers["x-model-version"]) == (200, "22222", "2")
        assert await s.closures() == {"completed": 3}


async def test_a_sealed_gate_refuses_by_policy_and_the_connection_goes_on(tmp_path: Path) -> None:
    async with served(tmp_path, hold=0.0) as s:
        await s.controller.seal()
        wire = await Wire.to(s.port)
        for _ in range(3):
            await wire.send(post(b"5"))
            status, headers, body = await wire.answer()
            assert (status, headers["retry-after"]) == (503, "7")
            assert json.loads(body)["error"]["type"] == "closed"
        await s.controller.gate.resume(
            term=1, epoch=s.controller.epoch, operation_id=s.controller.operation("resume")
        )  # fmt: skip
        await wire.send(post(b"5"))
        assert (await wire.answer())[::2] == (200, b"11111")
        wire.reset()
        assert await s.closures() == {"completed": 1}


async def test_a_client_that_leaves_a_stream_ends_its_lease(tmp_path: Path) -> None:
    async with served(tmp_path) as s:
        async with s.http.stream("POST", s.url, content=b"100000") as answer:
            await anext(answer.aiter_raw())
            assert s.gate.counts["open"] == 1
        assert await s.closures() == {"aborted": 1}
        waits = await Wire.to(s.port)
        await s.controller.seal()
        await waits.send(post(b"5"))
        await until(lambda: s.gate.counts["waiting"])
        waits.reset()
        await until(lambda: not s.gate.counts["waiting"])
        assert s.gate.counts["left"] == 1


async def test_sequences_on_one_connection_are_a_lease_each(tmp_path: Path) -> None:
    async with served(tmp_path) as s:
        for _ in range(5):
            assert (await s.http.post(s.url, content=b"2")).text == "11"
        head = await s.http.head(s.url)
        assert (head.status_code, head.text, head.headers["x-model-version"]) == (200, "", "1")
        assert (await s.http.get(s.url)).text == "1"
        assert await s.closures() == {"completed": 7}
        wire = await Wire.to(s.port)
        await wire.send(*(post(b"%d" % n) for n in range(1, 6)))
        for n in range(1, 6):
            assert (await wire.answer())[::2] == (200, b"1" * n)
        expecting = post(b"", 1, "expect: 100-continue")
        await wire.send(expecting)
        assert b"100" in await wire.reader.readuntil(b"\r\n\r\n")
        await wire.send(b"3")
        assert (await wire.answer())[::2] == (200, b"111")
        assert await s.closures() == {"completed": 13}
        await wire.send(post(b"3"), post(b"100000"), post(b"3"), post(b"3")[:20])
        assert (await wire.answer())[::2] == (200, b"111")
        await wire.reader.readuntil(b"\r\n\r\n")
        wire.reset()
        assert await s.closures() == {"completed": 14, "aborted": 1}


async def test_requests_that_are_cut_anywhere_leave_nothing(tmp_path: Path) -> None:
    whole = post(b"50", None, "x-session-id: agent-2")
    async with served(tmp_path) as s:
        for cut in range(1, len(whole) + 1, 3):
            wire = await Wire.to(s.port)
            await wire.send(whole[:cut])
            if cut % 2:
                wire.reset()
            else:
                wire.writer.close()
        wire = await Wire.to(s.port)
        await wire.send(post(b"5", 1000))
        await until(lambda: s.gate.counts["open"])
        wire.reset()
        wire = await Wire.to(s.port)
        await wire.send(b"POST /v1/generate HTTP/9.9\r\n\0\r\n\r\n")
        assert b"400" in await wire.reader.readline()
        wire.reset()
        await until(lambda: not s.gate.counts["open"])
        assert not s.gate.counts["waiting"]
        assert (await s.http.post(s.url, content=b"5")).text == "11111"
        closures = await s.closures()
        assert sum(closures.values()) == s.gate.counts["admitted"]
        assert set(closures) <= {"completed", "aborted", "not_sent"}


async def test_connections_that_are_reset_under_load_leak_no_lease(tmp_path: Path) -> None:
    """One request in a hundred or more is reset by its client, while weights are swapped three times."""
    rng, told = random.Random(3), Counter[str]()
    stop = asyncio.Event()
    async with served(tmp_path, bounds=Bounds(hold=30.0)) as s:

        async def client() -> None:
            while not stop.is_set():
                wire = await Wire.to(s.port)
                for _ in range(rng.randint(1, 12)):
                    count = rng.randint(1, 15)
                    await wire.send(post(b"%d" % count))
                    if rng.random() < 0.05:
                        await asyncio.sleep(rng.random() * 0.02)
                        break
                    status, headers, body = await wire.answer()
                    assert (status, body.decode()) == (200, headers["x-model-version"] * count)
                    told["answered"] += 1
                else:
                    wire.writer.close()
                    continue
                told["reset"] += 1
                wire.reset()

        async with asyncio.TaskGroup() as clients:
            for _ in range(12):
                clients.create_task(client())
            for version in (2, 3, 4):
                seen = told["answered"]
                await until(lambda seen=seen: told["answered"] > seen + 40, within=60)
                await s.controller.update(version)
            stop.set()
        await until(lambda: not s.gate.counts["open"] and not s.gate.counts["waiting"])
        closures, counts = await s.closures(), s.gate.counts
        assert sum(closures.values()) == counts["admitted"]
        assert set(closures) <= {"completed", "aborted", "not_sent"}
        assert closures["completed"] >= told["answered"]
        assert 100 * told["reset"] >= told["answered"] > 100


# -- a server that is ended ----------------------------------------------------------------------------


@asynccontextmanager
async def process(folder: Path, grace: int) -> AsyncIterator[tuple[Any, Served, Any]]:
    """A server in a process of its own, whose gate serves version 1, and its ready line."""
    paths = os.pathsep.join([str(SUPPORT), os.environ.get("PYTHONPATH", "")])
    child = await asyncio.create_subprocess_exec(
        sys.executable, str(SUPPORT / "serve_http.py"), str(folder), str(grace),
        stdout=asyncio.subprocess.PIPE, env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    try:
        assert child.stdout is not None
        async with asyncio.timeout(60):
            ready = json.loads(await child.stdout.readline())
        async with driven(ready, Published("library")) as controller, httpx.AsyncClient(headers=SESSION) as http:
            await controller.update(1)
            made: Any = None
            yield child, Served(made, controller, made, ready["port"], http), ready
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()


async def test_sigterm_lets_requests_end_and_cuts_those_that_would_not(tmp_path: Path) -> None:
    async with process(tmp_path, grace=2) as (child, s, _):
        short, long = await Wire.to(s.port), await Wire.to(s.port)
        await short.send(post(b"150"))
        await long.send(post(b"1000000"))
        for wire in (short, long):
            await wire.reader.readuntil(b"\r\n\r\n")
        child.send_signal(signal.SIGTERM)
        async with asyncio.timeout(60):
            rest = await short.reader.read()
            assert rest.endswith(b"0\r\n\r\n"), "what ends in its time is whole"
            cut = await long.reader.read()
            assert not cut.endswith(b"0\r\n\r\n"), "what is cut does not look whole"
            assert await child.wait() in (0, -signal.SIGTERM)
    with closing(LeaseStore(tmp_path / "state" / "leases.sqlite")) as records:
        assert records.open_leases() == []
        assert records.counts() == {"completed": 1, "aborted": 1}
