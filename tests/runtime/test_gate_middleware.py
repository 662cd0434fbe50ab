"""The gate in front of ASGI apps, driven as a server drives them: by the messages of ASGI, with no server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from sluicegate import EmbeddedGate, GateMiddleware, LeaseEnded
from sluicegate.statemachines.sorts import Mode

from ..support.gate_kit import TokenServer, commanded, judge, made_for, until
from ..support.rollout_kit import Driven

pytestmark = pytest.mark.timeout(120)


class Exchange:
    """One request as a server hands it to an app; `left` says that its client hung up."""

    def __init__(self, app: Any, path: str = "/v1/generate", body: bytes = b"5", **headers: str) -> None:
        self._app = app
        names = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        self.scope = {
            "type": "http", "method": "POST", "path": path, "headers": names, "client": ("10.0.0.7", 1), "asgi": {},
        }  # fmt: skip
        self._parts = [{"type": "http.request", "body": body[:1], "more_body": True},
                       {"type": "http.request", "body": body[1:], "more_body": False}]  # fmt: skip
        self.left, self.begun, self.sent = asyncio.Event(), asyncio.Event(), list[dict[str, Any]]()

    @property
    def is_complete(self) -> bool:
        return any(m["type"] == "http.response.body" and not m.get("more_body") for m in self.sent)

    async def receive(self) -> dict[str, Any]:
        if self._parts:
            return self._parts.pop(0)
        if not self.is_complete:
            await self.left.wait()
        # A server says so after the last byte, too.
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.sent.append(dict(message))
        self.begun.set()
        if self.is_complete:
            self.left.set()

    async def run(self) -> Exchange:
        await self._app(self.scope, self.receive, self.send)
        return self

    @property
    def status(self) -> int:
        return self.sent[0]["status"]

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode(): value.decode() for name, value in self.sent[0]["headers"]}

    @property
    def body(self) -> bytes:
        return b"".join(m.get("body", b"") for m in self.sent if m["type"] == "http.response.body")


class Streaming:
    """An app that streams as many tokens as the body says, each with the version that made it."""

    def __init__(self, server: TokenServer) -> None:
        self.server = server
        self.seen: list[Any] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.seen.append(scope)
        if scope["type"] != "http":
            await send({"type": f"{scope['type']}.reached"})
            return
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message["body"]
            if not message["more_body"]:
                break
        lease = scope.get("sluicegate.lease")
        await send({"type": "http.response.start", "status": 200, "headers": [(b"X-Lease-Id", b"forged")]})
        for number in range(int(body)):
            version = await self.server.token()
            if lease is not None:
                assert lease.tokens([number]) == version
            await send({"type": "http.response.body", "body": b"%d" % version, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        await asyncio.sleep(0.01)


class Stage:
    def __init__(self, controller: Driven, gate: EmbeddedGate, server: TokenServer, inner: Streaming) -> None:
        self.controller, self.gate, self.server, self.inner = controller, gate, server, inner
        self.app = GateMiddleware(inner, gate, session="X-Session-ID")

    def closures(self) -> dict[str, int]:
        return self.gate.records.counts()


@asynccontextmanager
async def stage(folder: Path) -> AsyncIterator[Stage]:
    server = TokenServer()
    gate = made_for(server, folder)
    async with commanded(gate) as controller:
        await controller.update(1)
        yield Stage(controller, gate, server, Streaming(server))
    judge(folder)


async def test_an_answer_is_streamed_under_its_lease_and_labelled(tmp_path: Path) -> None:
    async with stage(tmp_path) as s:
        done = await Exchange(s.app, body=b"12", x_session_id="agent-1").run()
        assert (done.status, done.body) == (200, b"1" * 12)
        assert done.headers["x-model-version"] == "1"
        answer = s.gate.records.answer(done.headers["x-lease-id"])
        assert (answer.closure, answer.session, answer.spans) == ("completed", "agent-1", [(1, 12)])
        assert [name for name, _ in done.sent[0]["headers"]].count(b"x-lease-id") == 1
        assert b"X-Lease-Id" not in dict(done.sent[0]["headers"])


async def test_a_closed_gate_holds_and_the_answer_tells_what_it_ran_on(tmp_path: Path) -> None:
    async with stage(tmp_path) as s:
        await s.controller.seal()
        held = asyncio.create_task(Exchange(s.app).run())
        await asyncio.sleep(0.1)
        assert not s.inner.seen
        assert s.gate.counts["waiting"] == 1
        await s.controller.drain()
        await s.controller.install(2)
        await s.controller.reopen()
        await s.controller.close()
        done = await held
        assert (done.status, done.body, done.headers["x-model-version"]) == (200, b"22222", "2")


async def test_refusals_are_503_and_say_whether_to_come_again(tmp_path: Path) -> None:
    async with stage(tmp_path) as s:
        quick = GateMiddleware(s.inner, s.gate, hold=0, retry_after=7)
        await s.controller.seal()
        closed = await Exchange(quick).run()
        assert (closed.status, closed.headers["retry-after"]) == (503, "7")
        assert json.loads(closed.body)["error"]["type"] == "closed"
        await s.controller.gate.poison(term=1, why="a test", operation_id=s.controller.operation("poison", 0))
        poisoned = await Exchange(s.app).run()
        assert (poisoned.status, poisoned.headers["x-should-retry"]) == (503, "false")
        assert "retry-after" not in poisoned.headers
        assert "a test" in json.loads(poisoned.body)["error"]["message"]
        assert not s.inner.seen


async def test_a_client_that_leaves_is_cancelled_wherever_its_request_is(tmp_path: Path) -> None:
    async with stage(tmp_path) as s:
        running = Exchange(s.app, body=b"10000")
        task = asyncio.create_task(running.run())
        await running.begun.wait()
        running.left.set()
        await task
        await until(lambda: not s.gate.counts["open"])
        assert s.closures() == {"aborted": 1}
        assert not running.is_complete
        await s.controller.seal()
        waiting = Exchange(s.app)
        task = asyncio.create_task(waiting.run())
        await asyncio.sleep(0.1)
        assert s.gate.counts["waiting"] == 1
        waiting.left.set()
        await task
        assert (s.gate.counts["waiting"], s.gate.counts["left"], waiting.sent) == (0, 1, [])


async def test_an_app_that_waits_for_its_client_to_leave_after_the_answer_ends_with_it(tmp_path: Path) -> None:
    async with stage(tmp_path) as s:

        async def app(scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"all"})
            while (await receive())["type"] != "http.disconnect":
                pass

        async with asyncio.timeout(20):
            await Exchange(GateMiddleware(app, s.gate)).run()
        await until(lambda: not s.gate.counts["open"])
        assert s.closures() == {"completed": 1}


async def test_a_drain_that_aborts_cuts_what_has_begun_and_refuses_what_has_not(tmp_path: Path) -> None:
    async with stage(tmp_path) as s:
        begun = Exchange(s.app, body=b"10000")
        task = asyncio.create_task(begun.run())
        await begun.begun.wait()

        async def slow_to_answer(scope: Any, receive: Any, send: Any) -> None:
            await asyncio.sleep(60)

        silent = asyncio.create_task(Exchange(GateMiddleware(slow_to_answer, s.gate)).run())
        await until(lambda: s.gate.counts["running"] == 2)
        await s.controller.update(2, Mode.ABORT)
        with pytest.raises(LeaseEnded, match="aborted"):
            await task
        assert not begun.is_complete, "it does not look whole"
        refused = await silent
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        assert json.loads(refused.body)["error"]["type"] == "aborted"
        assert s.closures() == {"aborted": 2}


async def test_an_app_that_fails_or_answers_500_has_failed(tmp_path: Path) -> None:
    async with stage(tmp_path) as s:

        async def raises(scope: Any, receive: Any, send: Any) -> None:
            raise KeyError("x")

        async def answers_500(scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 500, "headers": []})
            await send({"type": "http.response.body", "body": b"oops"})

        with pytest.raises(KeyError):
            await Exchange(GateMiddleware(raises, s.gate)).run()
        assert (await Exchange(GateMiddleware(answers_500, s.gate)).run()).body == b"oops"
        assert s.closures() == {"failed": 2}


async def test_other_paths_and_lifespans_go_by_and_websockets_as_set(tmp_path: Path) -> None:
    async with stage(tmp_path) as s:
        await s.controller.seal()
        app = GateMiddleware(s.inner, s.gate, paths=("/v1/", "/generate"))
        for path in ("/health", "/v1", "/generate/more"):
            assert (await Exchange(app, path, body=b"0").run()).status == 200
        assert s.gate.counts["admitted"] == 0
        life = Exchange(app)
        life.scope = {"type": "lifespan"}
        assert (await life.run()).sent == [{"type": "lifespan.reached"}]
        for setting, told in (("close", "websocket.close"), ("pass", "websocket.reached")):
            socket = Exchange(GateMiddleware(s.inner, s.gate, websockets=setting))  # type: ignore[arg-type]
            socket.scope["type"] = "websocket"
            assert [m["type"] for m in (await socket.run()).sent] == [told]
        await s.controller.drain()
        await s.controller.install(2)
        await s.controller.reopen()
        await s.controller.close()
        assert (await Exchange(app, "/generate").run()).body == b"22222"


async def nothing(scope: Any, receive: Any, send: Any) -> None:
    pass


@pytest.mark.parametrize(
    "settings", [{"paths": "/v1/"}, {"paths": ()}, {"paths": ("v1/",)}, {"paths": ("/v1/*",)}, {"websockets": "drop"}]
)
def test_settings_that_would_gate_nothing_are_refused(tmp_path: Path, settings: Any) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(settings))} is .*: give"):
        GateMiddleware(nothing, made_for(TokenServer(), tmp_path), **settings)


async def test_a_session_may_be_required(tmp_path: Path) -> None:
    async with stage(tmp_path) as s:
        strict = GateMiddleware(s.inner, s.gate, required=True)
        assert (await Exchange(strict).run()).status == 400
        assert (await Exchange(strict, x_session_id="a" * 300).run()).status == 400
        assert not s.inner.seen
        assert (await Exchange(strict, x_session_id="a").run()).status == 200


async def test_every_front_is_closed_once_the_seal_is_answered(tmp_path: Path) -> None:
    """R07: two middlewares and a caller of the gate stand before it; none lets anything in behind the seal."""
    async with stage(tmp_path) as s:
        other = GateMiddleware(s.inner, s.gate, paths=("/other/",))
        stop = asyncio.Event()
        admitted: list[int] = []

        async def direct() -> None:
            async with s.gate.admit() as lease:
                admitted.append(lease.epoch)
                await s.server.token()

        async def client(front: int) -> None:
            while not stop.is_set():
                if front == 0:
                    await direct()
                else:
                    path = "/v1/x" if front == 1 else "/other/x"
                    done = await Exchange(s.app if front == 1 else other, path, body=b"2").run()
                    assert done.status == 200

        clients = [asyncio.create_task(client(front)) for front in (0, 1, 2) * 3]
        for version in range(2, 6):
            await asyncio.sleep(0.05)
            await s.controller.seal()
            before = s.gate.counts["admitted"]
            await s.controller.drain()
            await s.controller.install(version)
            assert s.gate.counts["admitted"] == before
            await s.controller.reopen()
            await s.controller.close()
        await asyncio.sleep(0.05)
        stop.set()
        await asyncio.gather(*clients)
        assert s.gate.counts["admitted"] == sum(s.closures().values()) == s.closures()["completed"]
        assert len(set(admitted)) > 1
