"""Windows: a trainer of somebody's own loads weights into upstreams, and what becomes of each."""

from __future__ import annotations

import asyncio
import socket
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from grpc import StatusCode, aio
from relay_kit import Relayed, judged, relayed
from stand_in import StandIn

from sluicegate import SyncClient, WindowFailed
from sluicegate.protocol.generated import window_pb2 as pb
from sluicegate.protocol.generated import window_pb2_grpc as rpc
from sluicegate.runtime.controller.client import ControllerClient
from sluicegate.statemachines.sorts import Mode

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


async def load(url: str, weights: str) -> None:
    async with httpx.AsyncClient() as http:
        (await http.post(f"{url}/load", json={"weights": weights})).raise_for_status()


async def update(server: Relayed, weights: str) -> int:
    """A window as it is meant; the version."""
    async with server.sync() as sync, sync.window(step=1, digest=weights) as window:
        for name, url in window.upstreams.items():
            await load(url, weights)
            await window.loaded(name, weights)
    assert window.left_behind == {}
    return window.version


async def replicas(server: Relayed) -> dict[str, tuple[str, str, int]]:
    """Of each that has a gate: its life, its gate's state and version."""
    return {r.replica: (r.incarnation, r.gate, r.version) for r in (await server.status()).replicas}


async def until(server: Relayed, holds: Any, within: float = 30) -> Any:
    """The status for which it holds."""
    async with asyncio.timeout(within):
        while not holds(status := await server.status()):  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.05)
        return status


def require_valid(folder: Path) -> None:
    verdict = judged(folder)
    assert verdict.valid, verdict.refusal


async def test_a_window_publishes_what_the_trainer_has_loaded_under_requests_that_wait_for_it(tmp_path: Path) -> None:
    first, second = StandIn(), StandIn()
    async with relayed(tmp_path, first, second) as server:
        assert (await server.say("a", "hello"))["model_version"] == 1
        first.pause = second.pause = 0.02
        calls = [asyncio.create_task(server.say(f"s{n}", "hello")) for n in range(8)]
        await asyncio.sleep(0.05)
        async with server.sync() as sync, sync.window(step=7, digest="w2") as window:
            assert window.version == 2
            assert set(window.upstreams) == {"upstream-0", "upstream-1"}
            assert first.running == second.running == 0
            held = asyncio.create_task(server.say("a", "hello"))
            assert (await server.http().get("/health")).json()["status"] == "installing"
            for name, url in window.upstreams.items():
                await load(url, "w2")
                await window.loaded(name, "w2")
        answer = await held
        assert (answer["model_version"], answer["choices"][0]["message"]["content"][:4]) == (2, "[w2]")
        for call in calls:
            told = await call
            made = "[w2]" if told["model_version"] == 2 else "[base"
            assert told["choices"][0]["message"]["content"].startswith(made)
        status = await server.status()
        assert (status.published, [r.gate for r in status.replicas]) == (2, ["OPEN", "OPEN"])
    require_valid(tmp_path)


async def test_an_exception_inside_poisons_who_was_not_loaded_and_the_next_window_brings_it_home(
    tmp_path: Path,
) -> None:
    first, second = StandIn(), StandIn()
    async with relayed(tmp_path, first, second) as server:
        await until(server, lambda s: s.published == 1 and len(s.replicas) == 2)

        async def fails_midway() -> None:
            async with server.sync() as sync, sync.window(step=1, digest="w2") as window:
                name, url = sorted(window.upstreams.items())[0]
                await load(url, "w2")
                await window.loaded(name, "w2")
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await fails_midway()
        # Who was loaded holds what was named, which is published; the other is closed, and says why.
        status = await until(server, lambda s: "upstream-1" in s.held and len(s.replicas) == 1)
        assert (status.published, "in doubt" in status.held["upstream-1"]) == (2, True)
        assert {name: found[1:] for name, found in (await replicas(server)).items()} == {"upstream-0": ("OPEN", 2)}
        assert (await server.say("a", "hello"))["model_version"] == 2
        assert await update(server, "w3") == 3
        found = await replicas(server)
        assert found == {"upstream-0": ("upstream-0.1", "OPEN", 3), "upstream-1": ("upstream-1.2", "OPEN", 3)}
        assert (await server.status()).held == {}
    require_valid(tmp_path)


async def test_where_nobody_was_loaded_nothing_is_published(tmp_path: Path) -> None:
    upstream = StandIn()
    async with relayed(tmp_path, upstream) as server:
        await server.say("a", "hello")
        async with server.sync() as sync:
            with pytest.raises(WindowFailed, match="not published") as found:
                async with sync.window(digest="w2"):
                    pass
            assert "did not load it" in found.value.left_behind["upstream-0"]
            status = await until(server, lambda s: "upstream-0" in s.held and not s.replicas)
            assert status.published == 1
            async with server.http(**{"x-session-id": "a"}) as http:
                # A session whose replica is gone is bound to another; there is none for now.
                assert (await http.get("/health")).json()["status"] == "waiting"
            assert await update(server, "w3") == 3
        assert (await server.say("a", "hello"))["model_version"] == 3
    require_valid(tmp_path)


async def test_other_weights_than_the_windows_are_not_served(tmp_path: Path) -> None:
    upstream = StandIn()
    async with relayed(tmp_path, upstream) as server:
        await server.say("a", "hello")

        async def loads_others() -> None:
            async with server.sync() as sync, sync.window(digest="w2") as window:
                with pytest.raises(WindowFailed, match="does not wait"):
                    await window.loaded("upstream-9", "w2")
                await window.loaded("upstream-0", "w1")

        with pytest.raises(WindowFailed, match="poisoned"):
            await loads_others()
        status = await until(server, lambda s: "upstream-0" in s.held)
        assert status.published == 1


KILLED = """
import asyncio, sys
from sluicegate import SyncClient

async def main():
    async with SyncClient(sys.argv[1]) as sync, sync.window(digest="w2") as window:
        print("entered", flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


async def test_a_trainer_that_is_killed_inside_leaves_weights_in_doubt_and_the_next_window_mends_it(
    tmp_path: Path,
) -> None:
    upstream = StandIn()
    async with relayed(tmp_path, upstream) as server:
        await server.say("a", "hello")
        trainer = await asyncio.create_subprocess_exec(
            sys.executable, "-c", KILLED, server.control, stdout=asyncio.subprocess.PIPE
        )
        try:
            assert trainer.stdout is not None
            assert await trainer.stdout.readline() == b"entered\n"
        finally:
            trainer.kill()
            await trainer.wait()
        await until(server, lambda s: "in doubt" in s.held.get("upstream-0", ""))
        assert await update(server, "w3") == 3
        assert (await server.say("a", "hello"))["model_version"] == 3
    require_valid(tmp_path)


async def test_a_trainer_that_goes_while_requests_run_changes_nothing(tmp_path: Path) -> None:
    upstream = StandIn()
    async with relayed(tmp_path, upstream) as server:
        await server.say("a", "hello")
        upstream.goes.clear()
        call = asyncio.create_task(server.say("a", "hello"))
        async with asyncio.timeout(20):
            while not upstream.running:  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0.02)
        async with server.sync() as sync:
            entering = asyncio.create_task(sync.window(digest="w2").__aenter__())
            await until(server, lambda s: s.operation.phase == "DRAINING")
            entering.cancel()
            await asyncio.gather(entering, return_exceptions=True)
        upstream.goes.set()
        assert (await call)["model_version"] == 1
        status = await until(server, lambda s: not s.HasField("operation") and s.replicas[0].gate == "OPEN")
        assert (status.published, status.replicas[0].incarnation) == (1, "upstream-0.1")
        assert await update(server, "w3") == 3
    require_valid(tmp_path)


async def test_what_runs_is_hung_up_on_in_mode_abort_before_anything_is_loaded(tmp_path: Path) -> None:
    upstream = StandIn()
    async with relayed(tmp_path, upstream, mode=Mode.ABORT) as server:
        await server.say("a", "hello")
        upstream.goes.clear()
        async with server.http(**{"x-session-id": "a"}) as http:
            body = {"messages": [{"role": "user", "content": "hello"}], "stream": True}
            call = asyncio.create_task(http.post("/v1/chat/completions", json=body))
            async with asyncio.timeout(20):
                while not upstream.running:  # noqa: ASYNC110 - nothing tells
                    await asyncio.sleep(0.02)
            assert await update(server, "w2") == 2
            upstream.goes.set()
            assert '"code": "turn_lost"' in (await call).text
        assert (await server.say("a", "hello"))["model_version"] == 2
    require_valid(tmp_path)


async def test_who_is_poisoned_by_hand_is_closed_until_it_is_loaded_or_another_process(tmp_path: Path) -> None:
    upstream = StandIn()
    async with relayed(tmp_path, upstream) as server, ControllerClient(server.control, within=20) as controller:
        await server.say("a", "hello")
        await controller.poison("upstream-0", "it answers oddly")
        await until(server, lambda s: "in doubt" in s.held.get("upstream-0", ""))
        upstream.started += 60
        assert (await server.say("b", "hello"))["model_version"] == 1
        await controller.poison("upstream-0", "it answers oddly")
        await until(server, lambda s: "in doubt" in s.held.get("upstream-0", ""))
        assert await update(server, "w2") == 2
        assert (await server.say("b", "hello"))["model_version"] == 2
    require_valid(tmp_path)


async def test_a_window_that_takes_too_long_ends(tmp_path: Path) -> None:
    upstream = StandIn()
    async with relayed(tmp_path, upstream, deadline=2.0, takeover=1.0) as server:
        await server.say("a", "hello")

        async def dawdles() -> None:
            async with server.sync() as sync, sync.window(digest="w2") as window:
                await until(server, lambda s: "upstream-0" in s.held)
                with pytest.raises(WindowFailed):
                    await window.loaded("upstream-0", "w2")

        with pytest.raises(WindowFailed, match="not published"):
            await dawdles()
        assert await update(server, "w3") == 3


async def test_an_id_has_one_outcome_and_one_window_is_open_at_a_time(tmp_path: Path) -> None:
    upstream = StandIn()
    async with relayed(tmp_path, upstream) as server, server.sync() as sync, server.sync() as other:
        await server.say("a", "hello")
        async with sync.window(step=3, digest="w2", operation_id="one") as window:
            with pytest.raises(WindowFailed, match="another window is open") as found:
                await other.window(digest="w3").__aenter__()
            assert found.value.retry
            await load(window.upstreams["upstream-0"], "w2")
            await window.loaded("upstream-0", "w2")
        with pytest.raises(WindowFailed, match="published as version 2"):
            await other.window(step=3, digest="w2", operation_id="one").__aenter__()
        with pytest.raises(WindowFailed, match="another request"):
            await sync.window(step=4, digest="w2", operation_id="one").__aenter__()
        assert (await server.status()).published == 2


async def test_a_server_that_restarts_opens_where_upstreams_hold_what_is_published(tmp_path: Path) -> None:
    upstream, other = StandIn(), StandIn()
    async with upstream.serving() as url, other.serving() as url_2:
        async with relayed(tmp_path, urls=(url, url_2)) as server:
            assert (await server.say("a", "hello"))["model_version"] == 1
            assert await update(server, "w2") == 2
        other.started += 60
        async with relayed(tmp_path, urls=(url, url_2)) as server:
            answer = await server.say("a", "hello")
            assert answer["model_version"] == 2
            status = await until(server, lambda s: "upstream-1" in s.held)
            assert "has restarted since" in status.held["upstream-1"]
            assert [(r.replica, r.gate, r.version) for r in status.replicas] == [("upstream-0", "OPEN", 2)]
            assert await update(server, "w3") == 3
            assert set(await replicas(server)) == {"upstream-0", "upstream-1"}
    require_valid(tmp_path)


async def test_an_upstream_that_restarts_is_closed_until_it_is_loaded_again(tmp_path: Path) -> None:
    upstream = StandIn()
    async with relayed(tmp_path, upstream) as server:
        await server.say("a", "hello")
        # What is as it was found may begin anew at any time: it is as found again.
        upstream.started += 60
        await until(server, lambda s: [r.incarnation for r in s.replicas if r.gate == "OPEN"] == ["upstream-0.2"])
        assert (await server.say("a", "hello"))["model_version"] == 1
        assert await update(server, "w2") == 2
        upstream.started, upstream.weights = upstream.started + 60, "base"
        status = await until(server, lambda s: "upstream-0" in s.held)
        assert "has restarted since" in status.held["upstream-0"]
        assert await update(server, "w3") == 3
        assert (await server.say("a", "hello"))["model_version"] == 3
    require_valid(tmp_path)


@pytest.mark.parametrize("mode", [Mode.WAIT, Mode.ABORT])
async def test_every_answer_is_of_the_weights_that_its_label_says_while_weights_change(
    tmp_path: Path, mode: Mode
) -> None:
    upstreams = [StandIn(), StandIn()]
    agents, windows = 8, 4
    seen: set[int] = set()
    is_over = asyncio.Event()

    async def agent(server: Relayed, name: str) -> None:
        async with server.http(**{"x-session-id": name}) as http:
            while not is_over.is_set():
                body = {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 3}
                answer = await http.post("/v1/chat/completions", json=body)
                if mode is Mode.ABORT and answer.status_code == 503:
                    assert answer.json()["error"]["code"] == "turn_lost"
                    continue
                assert answer.status_code == 200, answer.text
                told = answer.json()
                version, text = told["model_version"], told["choices"][0]["message"]["content"]
                assert text.startswith("[base]" if version == 1 else f"[w{version}]")
                assert told["binding"] == 1
                seen.add(version)

    async with relayed(tmp_path, *upstreams, mode=mode) as server:
        await server.say("first", "hello")
        for upstream in upstreams:
            upstream.pause = 0.02
        async with asyncio.TaskGroup() as group:
            for number in range(agents):
                group.create_task(agent(server, f"agent-{number}"))
            for version in range(2, windows + 2):
                assert await update(server, f"w{version}") == version
                async with asyncio.timeout(30):
                    while version not in seen:  # noqa: ASYNC110 - nothing tells
                        await asyncio.sleep(0.01)
            is_over.set()
    require_valid(tmp_path)


async def test_an_upstream_that_is_started_late_is_taken_in(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    first, late = StandIn(), StandIn()
    async with first.serving() as url, relayed(tmp_path, urls=(url, f"http://127.0.0.1:{port}")) as server:
        await server.say("a", "hello")
        status = await until(server, lambda s: "upstream-1" in s.held)
        assert "cannot be reached" in status.held["upstream-1"]
        assert await update(server, "w2") == 2
        async with late.serving(port):
            await until(server, lambda s: "published is 2" in s.held.get("upstream-1", ""))
            assert await update(server, "w3") == 3
            assert set(await replicas(server)) == {"upstream-0", "upstream-1"}
    require_valid(tmp_path)


WRONG = [
    pb.WindowRequest(),
    pb.WindowRequest(leave=pb.WindowLeave()),
    pb.WindowRequest(loaded=pb.WindowLoaded(upstream="upstream-0", digest="w")),
    pb.WindowRequest(begin=pb.WindowBegin(operation_id="", digest="w")),
    pb.WindowRequest(begin=pb.WindowBegin(operation_id="x" * 1000, digest="w")),
    pb.WindowRequest(begin=pb.WindowBegin(operation_id="x", digest="")),
    pb.WindowRequest(begin=pb.WindowBegin(operation_id="x", digest="w" * 5000)),
    pb.WindowRequest(begin=pb.WindowBegin(operation_id="x", digest="w", step=2**64 - 1)),
]


async def test_what_is_no_window_begins_none(tmp_path: Path) -> None:
    upstream = StandIn()
    async with relayed(tmp_path, upstream) as server, aio.insecure_channel(server.control) as channel:
        await server.say("a", "hello")
        for wrong in WRONG:
            call: Any = rpc.WindowStub(channel).Open()
            await call.write(wrong)
            assert await call.code() is StatusCode.INVALID_ARGUMENT
        assert await update(server, "w2") == 2


async def test_where_no_server_answers_that_is_said() -> None:
    async with SyncClient("127.0.0.1:1", within=5) as sync:
        with pytest.raises(WindowFailed, match="no answer") as found:
            async with sync.window(digest="w"):
                pass
    assert found.value.reason == "unknown"
