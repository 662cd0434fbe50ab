"""Repeats, limits and calls that are handed on, where storage, hooks and clients behave as they please."""

from __future__ import annotations

import asyncio
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest
from scripted_server import GENERATE, RETRY, asks, scripted_server
from session_kit import Host, host, until

from sluicegate.protocol.store import StoreError
from sluicegate.runtime.serving.export import PIECE, lines, pieces
from sluicegate.runtime.serving.hooks import NoHooks
from sluicegate.runtime.sessions import TurnLost, TurnRefused
from sluicegate.runtime.sessions.traces import Tree

TOKEN = "agent's own secret, long enough for anybody"


def released(on: Host) -> None:
    for replica in on.cohort.lives:
        replica.go.set()
        replica.settle.set()


async def test_a_repeat_is_not_told_again_what_is_not_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with host(tmp_path, store=0.4) as on, on.server() as served, scripted_server(served, tmp_path) as server:
        released(on)
        write = served.sessions.kept._store.write

        def without_traces(changes: Any) -> None:
            if any(change.space == "traces" for change in changes):
                raise StoreError("the disk is full")
            write(changes)

        with monkeypatch.context() as disk:
            disk.setattr(served.sessions.kept._store, "write", without_traces)
            for headers in ({}, RETRY):
                answer = await server.http.post(GENERATE, json=asks(), headers=headers)
                assert (answer.status_code, answer.json()["error"]["code"]) == (503, "storage")
        answer = await server.http.post(GENERATE, json=asks(), headers=RETRY)
        assert answer.status_code == 200
        (segment,) = served.sessions.kept.tree("s").segments
        assert answer.json()["request_id"] == segment.request


async def test_a_repeat_is_known_by_what_its_client_asks_whatever_a_hook_makes_of_it(tmp_path: Path) -> None:
    numbers = count(1)

    class Seeds(NoHooks):
        async def before(self, session: str, api: str, body: dict[str, Any]) -> dict[str, Any]:
            return {**body, "seed": next(numbers)}

    async with (
        host(tmp_path) as on, on.server() as served, scripted_server(served, tmp_path, hooks=Seeds()) as server
    ):  # fmt: skip
        released(on)
        calls = [server.http.post(GENERATE, json=asks(), headers={"idempotency-key": "k"}) for _ in range(2)]
        first, second = [await call for call in calls]
        assert first.status_code == 200
        assert first.text == second.text


async def test_who_leaves_a_server_that_handed_its_call_on_has_left_there_too(tmp_path: Path) -> None:
    async with host(tmp_path, call=60) as on, on.server("a") as a, on.server("b") as b:
        on.cohort.lives[0].settle.set()
        async with (
            scripted_server(a, tmp_path, grace=0.2) as there,
            scripted_server(b, tmp_path, where=lambda name: there.url) as here,
        ):
            await a.sessions.open("s")
            with pytest.raises(httpx.ReadTimeout):
                await here.http.post(GENERATE, json=asks(), timeout=1.0)
            await until(lambda: a.state() == "BOUND")
            assert there.exchanges.running == 0


async def test_limits_of_sessions_hold_for_those_that_begin_together(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"agent data {TOKEN.replace(' ', '-')}\n")
    tokens.chmod(0o600)
    async with (
        host(tmp_path, sessions=3) as on,
        on.server() as served,
        scripted_server(served, tmp_path, tokens=str(tokens), sessions_per_token=2) as server,
    ):
        released(on)
        headers = {"authorization": f"Bearer {TOKEN.replace(' ', '-')}"}
        calls = [server.http.post(GENERATE, json=asks(f"s{n}"), headers=headers) for n in range(6)]
        statuses = sorted([answer.status_code for answer in await asyncio.gather(*calls)])
        assert statuses == [200, 200, 503, 503, 503, 503]
        opened = [served.sessions.open(f"t{n}") for n in range(4)]
        refused = [e for e in await asyncio.gather(*opened, return_exceptions=True) if isinstance(e, Exception)]
        assert (len(refused), len(served.sessions.facts)) == (3, 3)


async def test_replicas_are_called_without_the_proxies_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("no_proxy", "NO_PROXY", "no_grpc_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in ("grpc_proxy", "http_proxy", "https_proxy"):
        # Nothing listens there.
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with host(tmp_path) as on, on.server() as served:
        released(on)
        await served.sessions.open("s")
        assert (await served.turn()).ending == "length"


def test_a_trace_is_the_same_lines_in_pieces_of_some_size() -> None:
    tree = Tree()
    for number in range(400):
        tree.grow(f"r{number}", [number] * 50, [1, 2], [-0.5, -0.25], [(1, 2)], "stop")
    made = list(pieces("s", tree))
    assert b"".join(made) == b"".join(lines("s", tree))
    assert len(made) > 1
    assert all(len(piece) >= PIECE and piece.endswith(b"\n") for piece in made[:-1])


async def failing(place: Any, request: Any) -> Any:
    """A replica that is full."""
    raise TurnRefused(request.session, "hold_full", "it is full", retry=True)
    yield


async def test_a_retry_of_a_call_that_failed_is_not_told_an_older_answer_to_the_same_words(tmp_path: Path) -> None:
    async with host(tmp_path) as on, on.server() as served, scripted_server(served, tmp_path, remember=0.0) as server:
        released(on)
        first = await server.http.post(GENERATE, json=asks())
        assert first.status_code == 200
        backend: Any = served.router.backend
        run, backend.run = backend.run, failing
        assert (await server.http.post(GENERATE, json=asks())).status_code == 503
        backend.run = run
        again = await server.http.post(GENERATE, json=asks(), headers=RETRY)
        assert again.status_code == 200
        assert again.json()["request_id"] != first.json()["request_id"]
        # A retry of that one, whose answer is no longer in memory, is told it from the trace.
        told = await server.http.post(GENERATE, json=asks(), headers=RETRY)
        assert told.json()["request_id"] == again.json()["request_id"]
    async with on.server() as served, scripted_server(served, tmp_path) as server:
        # A next life does not know when a call began: a retry is of the last one.
        told = await server.http.post(GENERATE, json=asks(), headers=RETRY)
        assert told.json()["request_id"] == again.json()["request_id"]


async def test_of_a_call_one_of_whose_choices_fails_nothing_is_kept(tmp_path: Path) -> None:
    async with host(tmp_path) as on, on.server() as served, scripted_server(served, tmp_path) as server:
        released(on)
        assert (await server.http.post(GENERATE, json=asks())).status_code == 200
        backend: Any = served.router.backend
        run, number = backend.run, count(1)

        async def one_fails(place: Any, request: Any) -> Any:
            if next(number) == 2:
                await asyncio.sleep(0.3)
                raise TurnLost(request.session, request.lease, "failed", "the engine broke")
            async for word in run(place, request):
                yield word

        backend.run = one_fails
        assert (await server.http.post(GENERATE, json=asks(n=3, seed=5))).status_code == 502
        assert len(served.sessions.kept.tree("s")) == 1
        await until(lambda: served.state() == "BOUND")
        backend.run = run
        assert (await server.http.post(GENERATE, json=asks(n=3, seed=5))).status_code == 200
        assert len(served.sessions.kept.tree("s")) == 4


async def test_who_has_no_room_for_more_sessions_is_told_that_an_old_one_is_retired(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("agent data 0123456789abcdef0123456789abcdef\n")
    known = {"authorization": "Bearer 0123456789abcdef0123456789abcdef"}
    async with (
        host(tmp_path) as on,
        on.server() as served,
        scripted_server(served, tmp_path, sessions_per_token=1, tokens=str(tokens)) as server,
    ):
        released(on)
        assert (await server.http.post(GENERATE, json=asks("old"), headers=known)).status_code == 200
        assert (await server.http.delete("/v1/sessions/old", headers=known)).status_code == 200
        await until(lambda: "old" not in served.sessions)
        assert (await server.http.post(GENERATE, json=asks("new"), headers=known)).status_code == 200
        assert (await server.http.post(GENERATE, json=asks("more"), headers=known)).status_code == 503
        assert (await server.http.post(GENERATE, json=asks("old"), headers=known)).status_code == 410
