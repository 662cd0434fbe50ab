"""Code of somebody before each call and after each answer: it may change and refuse, and fails alone."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from hooks_kit import Recording
from scripted_server import GENERATE, asks, scripted_server
from serving_kit import chatting, until
from session_kit import host
from session_kit import until as seen

from sluicegate.runtime.config import ConfigError
from sluicegate.runtime.serving.hooks import NoHooks, load

pytestmark = pytest.mark.timeout(120)


@pytest.mark.slow
async def test_hooks_change_refuse_and_hear_and_their_failures_are_told(tmp_path: Path) -> None:
    Recording.answers.clear()
    async with (
        chatting(tmp_path) as chat,
        chat.server(hooks="hooks_kit:recording"),
        chat.http() as http,
    ):

        async def ask(session: str, do: str = "", **more: Any) -> Any:
            body = {"model": "m", "messages": [{"role": "user", "content": "ok"}], "max_tokens": 6, "temperature": 2,
                    "seed": 3, "metadata": {"do": do}, "session_id": session, **more}  # fmt: skip
            return await http.post("/v1/chat/completions", json=body)

        assert (await ask("plain")).status_code == 200
        assert (await ask("changed", "change")).json()["usage"]["completion_tokens"] <= 2
        told = {do: (await ask("x", do)) for do in ("refuse", "fail", "break")}
        codes = {do: (a.status_code, a.json()["error"]["code"]) for do, a in told.items()}
        assert codes == {"refuse": (403, "not_today"), "fail": (502, "hook_failed"), "break": (502, "hook_failed")}
        streamed = await ask("fails-after", stream=True)
        assert streamed.text.endswith("data: [DONE]\n\n")

        async def have_heard() -> bool:
            return [session for session, _, _ in Recording.answers] == ["plain", "changed", "fails-after"]

        await until(have_heard)
        answer = Recording.answers[-1][2]
        assert answer["choices"][0]["message"]["role"] == "assistant"
        assert (await ask("fails-after-2")).status_code == 200
        # A call that a hook refuses begins no session.
        assert (await http.get("/v1/sessions/x")).status_code == 404


@pytest.mark.parametrize("name", ["hooks_kit:nothing", "hooks_kit:missing", "no_such_module:x", "hooks_kit", ":x"])
def test_what_is_no_hooks_is_refused_with_its_name(name: str) -> None:
    with pytest.raises(ConfigError, match="hooks: "):
        load(name)


def test_hooks_are_an_object_or_a_class_and_none_do_nothing() -> None:
    assert isinstance(load("hooks_kit:Recording"), Recording)
    assert isinstance(load("hooks_kit:recording"), Recording)
    assert isinstance(load(""), NoHooks)


class Slow(NoHooks):
    """Before or after each call it waits to be let go."""

    def __init__(self, when: str) -> None:
        self._when, self.go, self.began, self.ended, self.is_cancelled = when, asyncio.Event(), 0, 0, False

    async def before(self, session: str, api: str, body: dict[str, Any]) -> dict[str, Any]:
        await self._wait("before")
        return body

    async def after(self, session: str, api: str, answer: dict[str, Any]) -> None:
        await self._wait("after")

    async def _wait(self, when: str) -> None:
        if when != self._when:
            return
        self.began += 1
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.is_cancelled = True
            raise
        self.ended += 1


async def test_a_hook_that_is_too_slow_is_not_waited_for_and_begins_nothing(tmp_path: Path) -> None:
    slow = Slow("before")
    async with (
        host(tmp_path) as on, on.server() as served, scripted_server(served, tmp_path, hooks=slow, hook=0.2) as server
    ):  # fmt: skip
        answer = await server.http.post(GENERATE, json=asks())
        assert (answer.status_code, answer.json()["error"]["code"]) == (502, "hook_failed")
        assert "0.2 s" in answer.json()["error"]["message"]
        assert slow.is_cancelled
        assert "s" not in served.sessions


async def test_a_hook_before_a_call_is_given_up_once_its_client_has_left(tmp_path: Path) -> None:
    slow = Slow("before")
    async with (
        host(tmp_path) as on, on.server() as served, scripted_server(served, tmp_path, hooks=slow, hook=60) as server
    ):  # fmt: skip
        call = asyncio.create_task(server.http.post(GENERATE, json=asks()))
        await seen(lambda: slow.began)
        call.cancel()
        with suppress(asyncio.CancelledError):
            await call
        await seen(lambda: slow.is_cancelled)


async def test_a_hook_after_an_answer_is_not_given_up_with_who_listened(tmp_path: Path) -> None:
    slow = Slow("after")
    async with (
        host(tmp_path) as on, on.server() as served,
        scripted_server(served, tmp_path, hooks=slow, hook=60, grace=0.1) as server,
    ):  # fmt: skip
        on.cohort.lives[0].go.set()
        assert (await server.http.post(GENERATE, json=asks())).status_code == 200
        await seen(lambda: slow.began)
        assert server.exchanges.running == 0
        await asyncio.sleep(0.3)
        slow.go.set()
        await seen(lambda: slow.ended)


async def test_a_hook_after_an_answer_that_is_too_slow_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    slow = Slow("after")
    async with (
        host(tmp_path) as on, on.server() as served, scripted_server(served, tmp_path, hooks=slow, hook=0.2) as server
    ):  # fmt: skip
        on.cohort.lives[0].go.set()
        assert (await server.http.post(GENERATE, json=asks())).status_code == 200
        await seen(lambda: slow.is_cancelled)
        await seen(lambda: any(r.levelno == logging.ERROR and "too slow" in r.getMessage() for r in caplog.records))


BROKEN = [None, "text", {"x": {1}}, asks(messages=object()), asks(more=b"x"), asks(messages=5), asks(seed=float("nan"))]


async def test_a_body_that_a_hook_broke_is_not_the_fault_of_the_client(tmp_path: Path) -> None:
    made = list[Any]()

    class Breaks(NoHooks):
        async def before(self, session: str, api: str, body: dict[str, Any]) -> dict[str, Any]:
            if not made:
                return body
            # Also where it is broken in place.
            body.clear()
            if isinstance(made[-1], dict):
                body.update(made[-1])
                return body
            return made[-1]

    async def said(http: httpx.AsyncClient, **more: Any) -> tuple[int, str]:
        answer = await http.post(GENERATE, json=asks(**more))
        return answer.status_code, answer.json()["error"]["code"]

    async with (
        host(tmp_path) as on, on.server() as served, scripted_server(served, tmp_path, hooks=Breaks()) as server
    ):  # fmt: skip
        assert await said(server.http, messages=5) == (400, "malformed")
        for broken in BROKEN:
            made.append(broken)
            assert await said(server.http) == (502, "hook_failed"), broken
        assert "s" not in served.sessions
